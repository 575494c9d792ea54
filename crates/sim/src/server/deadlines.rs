//! Deadlines of acceleration steps, and what software knows of a service when it sets them.

use accelflow_trace::{Accel, Action, AtmAddress, Link, PositionMark, step};
use accelflow_units::Time;

use super::engine::Engine;
use super::state::{Job, Request};
use crate::plan::{ChainPlan, Form, Message, Operation, PhasePlan, Plan};

/// An operation on a chain's way.
pub(super) struct Visit {
    pub accel: Accel,
    pub trace: AtmAddress,
    pub receives: bool,
    /// Number of the trace within the chain.
    pub ordinal: u16,
}

impl Visit {
    /// The operation on a message of the mean size.
    fn typical(&self, chain: &ChainPlan) -> Option<Operation> {
        let mean = chain.message(self.ordinal, 0, 0).mean;
        let message = Message { size: mean, mean };
        chain.operation(self.trace, self.accel, self.receives, message, Form::PLAIN)
    }
}

/// A place in a chain.
#[derive(Clone, Copy)]
struct Position {
    trace: AtmAddress,
    word: AtmAddress,
    mark: PositionMark,
    ordinal: u16,
}

/// How long `chain` takes if each operation takes what `duration` says and messages come after
/// their waits: to the end of the longest of its arms. Faults end the walk; the run reports them.
pub(super) fn walk(
    plan: &Plan,
    chain: &ChainPlan,
    duration: &mut dyn FnMut(Visit) -> Time,
) -> Time {
    let entry = chain.facts.entry();
    let start = Position {
        trace: entry,
        word: entry,
        mark: PositionMark::START,
        ordinal: 0,
    };
    walk_from(plan, chain, start, duration).0
}

/// The same from `at` to the join around it, if there is one: then also where it goes on.
fn walk_from(
    plan: &Plan,
    chain: &ChainPlan,
    mut at: Position,
    duration: &mut dyn FnMut(Visit) -> Time,
) -> (Time, Option<Position>) {
    let (mut total, mut longest) = (Time::ZERO, Time::ZERO);
    loop {
        let Ok(word) = plan.image.word(at.word) else {
            return (total.max(longest), None);
        };
        let facts = chain.facts.of(at.trace);
        let Ok(read) = step(word, at.mark, plan.image.predicates(), &facts) else {
            return (total.max(longest), None);
        };
        let first = at.word == at.trace && at.mark == PositionMark::START;
        at.mark = read.next;
        match read.action {
            Action::Forward(accel) => {
                total += duration(Visit {
                    accel,
                    trace: at.trace,
                    receives: first && accel == Accel::Tcp,
                    ordinal: at.ordinal,
                });
            }
            Action::Transform(_) => {}
            Action::Fork { arm } => {
                let arm = Position { mark: arm, ..at };
                let (time, _) = walk_from(plan, chain, arm, duration);
                longest = longest.max(total + time);
            }
            Action::Scatter { arm } => {
                let arm = Position { mark: arm, ..at };
                let (first, meets) = walk_from(plan, chain, at, duration);
                let (second, _) = walk_from(plan, chain, arm, duration);
                total += first.max(second);
                match meets {
                    Some(after) => at = after,
                    None => return (total.max(longest), None),
                }
            }
            Action::Join => return (total.max(longest), Some(at)),
            Action::Notify => return (total.max(longest), None),
            Action::LoadAtm { address, link } => {
                (at.word, at.mark) = (address, PositionMark::START);
                if link == Link::Next {
                    (at.trace, at.ordinal) = (address, at.ordinal + 1);
                    let receives = plan
                        .image
                        .word(address)
                        .is_ok_and(|word| word.first() == Some(Accel::Tcp));
                    if receives {
                        total += plan.typical_wait(address);
                    }
                }
            }
        }
    }
}

impl Engine<'_> {
    /// From each phase of each service to its end on an idle server: operations on accelerators,
    /// application logic, and waits for others.
    pub(super) fn unloaded(&self) -> Vec<Vec<Time>> {
        let switch = self.run.config.core.context_switch;
        let phase = |phase: &PhasePlan| match phase {
            PhasePlan::Cpu(time) => self.run.config.application_time(*time) + switch,
            PhasePlan::Chains(chains) => {
                let time = |chain| self.unloaded_chain(chain);
                chains.iter().map(time).max().unwrap_or(Time::ZERO)
            }
        };
        let service = |service: &crate::plan::ServicePlan| {
            let mut left: Vec<Time> = service.phases.iter().rev().map(phase).collect();
            for index in 1..left.len() {
                left[index] = left[index] + left[index - 1];
            }
            left.reverse();
            left
        };
        self.run.plan.services.iter().map(service).collect()
    }

    fn unloaded_chain(&self, chain: &ChainPlan) -> Time {
        walk(self.run.plan, chain, &mut |visit| {
            let operation = visit.typical(chain);
            operation.map_or(Time::ZERO, |it| self.operation_time(visit.accel, it))
        })
    }

    /// "It assigns a deadline to each of the acceleration steps" (AccelFlow, section IV.C): what
    /// is left of the SLO when a chain starts is divided over what is left of the service in
    /// proportion to unloaded times. The job carries the factor, and each step adds its share to
    /// the deadline of the one before, so that slack is passed on.
    pub(super) fn set_deadlines(&self, job: &mut Job) {
        let request = self.requests.get(job.request);
        let now = self.calendar.now();
        if self.unloaded.is_empty() || request.due == Time::MAX {
            return;
        }
        let left = self.unloaded_left(request);
        let budget = request.due.saturating_sub(now);
        job.due = now;
        job.stretch = if left > Time::ZERO {
            budget.as_ps() as f64 / left.as_ps() as f64
        } else {
            0.0
        };
    }

    fn unloaded_left(&self, request: &Request) -> Time {
        let phases = self.unloaded.get(usize::from(request.service));
        let left = phases.and_then(|phases| phases.get(usize::from(request.phase)));
        left.copied().unwrap_or(Time::ZERO)
    }

    /// The deadline of the operation that `job` is to begin.
    pub(super) fn advance_deadline(&self, job: &Job) -> Time {
        if job.due == Time::MAX {
            return Time::MAX;
        }
        let work = self.operation_time(job.accel, job.operation);
        job.due + work.scale(job.stretch)
    }
}
