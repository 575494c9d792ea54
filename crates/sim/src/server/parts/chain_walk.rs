//! The time that a chain of traces takes, found by a walk over its traces without a simulation.

use accelflow_trace::{Accel, Action, AtmAddress, Link, PositionMark, step};
use accelflow_units::Time;

use crate::plan::{ChainPlan, Form, MessageSize, Operation, Plan};

/// An operation that a walk over a chain meets.
pub(crate) struct Visit {
    /// The accelerator type of the operation.
    pub accel: Accel,
    /// The address of the first word of the operation's trace.
    pub trace: AtmAddress,
    /// Whether the operation receives a message: true for TCP at the start of a trace.
    pub receives: bool,
    /// Index of the trace within the chain, from 0.
    pub ordinal: u16,
}

impl Visit {
    /// The operation on a message of the mean size.
    pub(crate) fn typical(&self, chain: &ChainPlan) -> Option<Operation> {
        let mean = chain.message(self.ordinal, 0, 0).mean;
        let message = MessageSize { size: mean, mean };
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

/// The time of `chain` to the end of its longest arm, if operations take the time that `duration`
/// returns, messages arrive after their typical waits, and responses of the service that the chain
/// calls after `called`. A fault ends the walk; the run reports it.
pub(crate) fn walk(
    plan: &Plan,
    chain: &ChainPlan,
    called: Time,
    duration: &mut dyn FnMut(Visit) -> Time,
) -> Time {
    let entry = chain.facts.entry();
    let start = Position {
        trace: entry,
        word: entry,
        mark: PositionMark::START,
        ordinal: 0,
    };
    let wait = |trace| match chain.calls {
        Some(_) => called,
        None => plan.typical_wait(chain, trace),
    };
    walk_from(plan, chain, start, &wait, duration).0
}

/// Like [`walk`], from `at` on. With an enclosing join it is the time to the join, and the position
/// after the join is returned too.
fn walk_from(
    plan: &Plan,
    chain: &ChainPlan,
    mut at: Position,
    wait: &dyn Fn(AtmAddress) -> Time,
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
                let (time, _) = walk_from(plan, chain, arm, wait, duration);
                longest = longest.max(total + time);
            }
            Action::Scatter { arm } => {
                let arm = Position { mark: arm, ..at };
                let (first, meets) = walk_from(plan, chain, at, wait, duration);
                let (second, _) = walk_from(plan, chain, arm, wait, duration);
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
                        total += wait(address);
                    }
                }
            }
        }
    }
}
