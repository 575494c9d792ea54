//! Executions in the ensemble, and the turns that the arms of a fork take.
//!
//! The arms of a fork run at the same time. But a run keeps its record, uses its connections and
//! notifies the core in the order of inline execution. So one arm at a time has the *turn*: it
//! holds the record, and passes the record on when it ends. The other arms run ahead, log their
//! steps, and wait where they need the turn. The bytes and visits of a run then equal those of
//! inline execution, whichever arm is faster.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use accelflow_accel::Job;
use accelflow_trace::{Accel, Fault, Image, JoinArm, Visit};
use accelflow_units::Time;

use super::cursor::Cursor;
use super::ending::Ending;
use super::handle::Shared;
use super::pace::Pace;
use super::rendezvous::{Rendezvous, Taken};
use crate::book::{Book, MAX_VISITS};
use crate::error::Cause;
use crate::execution::{Execution, ReadFacts};
use crate::guard::guard;
use crate::outcome::{Conversation, Detail, Step, StepTime};
use crate::peer::Peer;
use crate::processor_time::thread_time;
use crate::terms::Terms;

/// The state that all executions of a run share.
pub(super) struct Run {
    pub(super) image: Arc<Image>,
    pub(super) detail: Detail,
    pub(super) terms: Terms,
    /// Whether the handle receives arrivals before the run ends.
    pub(super) early: bool,
    pub(super) shared: Arc<Shared>,
    /// The number of visits by arms that run ahead of their turn. It limits how far they may run.
    pub(super) ahead: AtomicUsize,
}

/// The record of a run. The arm that holds it has the turn.
pub(super) struct Turn {
    pub(super) book: Book<Box<dyn Peer + Send>, Box<Conversation>>,
    /// The arms whose turn comes next, in order.
    pub(super) queue: VecDeque<Queued>,
    /// The work of the longest execution so far, if the run has a deadline.
    pub(super) work: Time,
    pub(super) ending: Ending,
}

/// An arm whose turn has not come.
pub(super) struct Queued {
    pub(super) arm: Arc<Arm>,
    place: (usize, Option<JoinArm>),
}

/// The place where an arm receives its turn. The turn may arrive before the arm.
pub(super) type Arm = Rendezvous<Box<Flow>, Granted>;

/// The turn, with the arm's number and its place at a join.
pub(super) struct Granted {
    turn: Box<Turn>,
    place: (usize, Option<JoinArm>),
}

/// An execution in flight: the queue entry.
pub(super) struct Flow {
    pub(super) run: Arc<Run>,
    pub(super) execution: Execution,
    pub(super) cursor: Cursor,
    pub(super) standing: Standing,
    pub(super) pace: Pace,
    /// The call that the execution is queued for, or has made.
    pub(super) call: Option<Called>,
}

/// Whether an execution has the turn.
pub(super) enum Standing {
    InTurn(Box<Turn>),
    Ahead { arm: Arc<Arm>, log: Vec<Event> },
}

/// An event of an execution that ran ahead of its turn.
pub(super) enum Event {
    Visit(Visit),
    Step(Option<Step>, StepTime),
    /// The facts that a branch of this trace has read.
    Facts(String, ReadFacts),
    Fork {
        arm: Arc<Arm>,
        scatter: bool,
    },
    Failed(Cause),
}

/// A call of an accelerator.
pub(super) struct Called {
    pub(super) accel: Accel,
    pub(super) receives: bool,
    pub(super) queued: Instant,
    pub(super) input_bytes: usize,
    pub(super) done: Result<(), Cause>,
    pub(super) took: Duration,
    /// Processor time, if it is measured.
    pub(super) worked: Duration,
}

/// The error of the visit with this index.
pub(super) type Failed = (Cause, usize);

impl Turn {
    /// Assigns an arm its number and its position in the order of turns.
    fn line_up(&mut self, arm: Arc<Arm>, execution: &mut Execution, scatter: bool) {
        let place = match scatter {
            true => self.book.scatter(execution),
            false => self.book.fork(execution.join_arm),
        };
        self.queue.push_back(Queued { arm, place });
    }

    /// The index of the last recorded visit.
    fn step(&self) -> usize {
        self.book.visited().saturating_sub(1)
    }

    /// Records the events of an arm that ran ahead.
    fn commit(&mut self, flow: &mut Flow, log: Vec<Event>) -> Result<(), Failed> {
        for event in log {
            match event {
                Event::Visit(visit) => {
                    let step = self.book.visited();
                    self.book.visit(&visit).map_err(|cause| (cause, step))?;
                }
                Event::Step(step, time) => {
                    let arm = flow.execution.arm;
                    if let Some(step) = step {
                        self.book.outcome.steps.push(Step { arm, ..step });
                        self.book.outcome.times.push(time);
                    }
                }
                Event::Facts(trace, facts) => self.book.outcome.add_facts(&trace, facts),
                Event::Fork { arm, scatter } => self.line_up(arm, &mut flow.execution, scatter),
                Event::Failed(cause) => return Err((cause, self.step())),
            }
        }
        Ok(())
    }
}

/// Passes the turn to the next waiting arm, and returns that arm. Ends the run if no arm waits.
pub(super) fn pass(mut turn: Box<Turn>) -> Option<Box<Flow>> {
    let Some(Queued { arm, place }) = turn.queue.pop_front() else {
        end(turn);
        return None;
    };
    let (flow, granted) = arm.offer(Granted { turn, place })?;
    granted.take_up(flow)
}

/// Ends a run whose executions have all ended.
fn end(turn: Box<Turn>) {
    let Turn {
        book, ending, work, ..
    } = *turn;
    ending.completed(book.outcome, *book.conversation, work);
}

impl Granted {
    /// Takes the turn and records the execution's logged events. Returns `None` if these events end
    /// the run.
    fn take_up(self, mut flow: Box<Flow>) -> Option<Box<Flow>> {
        let Granted { mut turn, place } = self;
        (flow.execution.arm, flow.execution.join_arm) = place;
        let before = std::mem::replace(
            &mut flow.standing,
            Standing::Ahead {
                arm: Arc::default(),
                log: Vec::new(),
            },
        );
        let committed = match before {
            Standing::Ahead { log, .. } => turn.commit(&mut flow, log),
            Standing::InTurn(_) => Ok(()),
        };
        flow.standing = Standing::InTurn(turn);
        match committed {
            Ok(()) => Some(flow),
            Err(failed) => {
                flow.fail(failed);
                None
            }
        }
    }
}

impl Flow {
    /// Takes the turn if it has been offered. Returns `None` if the run has ended or ends here.
    pub(super) fn look_for_turn(self: Box<Self>) -> Option<Box<Flow>> {
        let Standing::Ahead { arm, .. } = &self.standing else {
            return Some(self);
        };
        match arm.take() {
            Taken::Nothing => Some(self),
            Taken::Offer(granted) => granted.take_up(self),
            Taken::Closed => None,
        }
    }

    /// Parks the execution until its turn, without blocking a thread. Returns it if the turn has
    /// already been offered.
    pub(super) fn wait_for_turn(self: Box<Self>) -> Option<Box<Flow>> {
        let Standing::Ahead { arm, .. } = &self.standing else {
            return Some(self);
        };
        let arm = arm.clone();
        let (flow, granted) = arm.wait(self)?;
        granted.take_up(flow)
    }

    /// Whether the execution must stop running ahead, since the arms ahead have used up the visits
    /// of a run.
    pub(super) fn is_far_ahead(&self) -> bool {
        matches!(self.standing, Standing::Ahead { .. })
            && self.run.ahead.load(Ordering::Relaxed) >= MAX_VISITS
    }

    /// Records a visit.
    pub(super) fn visit(&mut self, visit: Visit) -> Result<(), Failed> {
        match &mut self.standing {
            Standing::InTurn(turn) => {
                let step = turn.book.visited();
                turn.book.visit(&visit).map_err(|cause| (cause, step))
            }
            Standing::Ahead { log, .. } => {
                self.run.ahead.fetch_add(1, Ordering::Relaxed);
                log.push(Event::Visit(visit));
                Ok(())
            }
        }
    }

    /// Records the facts that a branch has read from the output of the last step.
    pub(super) fn note_facts(&mut self, facts: ReadFacts) {
        if facts.is_empty() {
            return;
        }
        let trace = self.cursor.trace(&self.run.image);
        match &mut self.standing {
            Standing::InTurn(turn) => turn.book.outcome.add_facts(trace, facts),
            Standing::Ahead { log, .. } => log.push(Event::Facts(trace.to_owned(), facts)),
        }
    }

    /// The second execution of a fork, which runs ahead.
    pub(super) fn fork(&mut self, cursor: Cursor, scatter: bool) -> Box<Flow> {
        let arm = Arc::<Arm>::default();
        let execution = self.execution.fork();
        match &mut self.standing {
            Standing::InTurn(turn) => turn.line_up(arm.clone(), &mut self.execution, scatter),
            Standing::Ahead { log, .. } => log.push(Event::Fork {
                arm: arm.clone(),
                scatter,
            }),
        }
        Box::new(Flow {
            run: self.run.clone(),
            execution,
            cursor,
            standing: Standing::Ahead {
                arm,
                log: Vec::new(),
            },
            pace: self.pace,
            call: None,
        })
    }

    /// Performs the call that the execution was queued for.
    pub(super) fn perform<E: Into<Cause>>(&mut self, body: impl FnOnce(&mut Job) -> Result<(), E>) {
        if let Some(call) = &mut self.call {
            // Reading the clock of the thread is a call of the system.
            let begun = (self.run.detail == Detail::Steps).then(thread_time);
            call.done = guard(|| body(&mut self.execution.job));
            call.worked = begun.map_or(Duration::ZERO, |begun| thread_time().saturating_sub(begun));
            call.took = call.queued.elapsed();
        }
    }

    /// Records the call that was made, and returns its error if it failed.
    pub(super) fn note_call(&mut self, call: Called) -> Result<(), Cause> {
        let (accel, receives) = (call.accel, call.receives);
        call.done.map_err(|cause| cause.at(accel))?;
        self.execution.called(accel, receives);
        let trace = self.cursor.trace(&self.run.image);
        let step = (self.run.detail == Detail::Steps).then(|| {
            let (image, kind) = (&self.run.image, (accel, receives));
            self.execution
                .describe(trace, kind, call.input_bytes, image)
        });
        let time = StepTime {
            queued: call.queued,
            took: call.took,
            worked: call.worked,
        };
        match &mut self.standing {
            Standing::InTurn(turn) => {
                if step.is_some() {
                    turn.book.outcome.times.push(time);
                }
                turn.book.called(&mut self.execution, trace, accel, step);
            }
            Standing::Ahead { log, .. } => log.push(Event::Step(step, time)),
        }
        Ok(())
    }

    /// Ends the run with the error of the last visit. An execution without the turn waits for it
    /// first.
    pub(super) fn fail_here(mut self: Box<Self>, cause: Cause) {
        match &mut self.standing {
            Standing::InTurn(turn) => {
                let step = turn.step();
                self.fail((cause, step));
            }
            Standing::Ahead { log, .. } => {
                log.push(Event::Failed(cause));
                // If the turn was offered in the meantime, the run ends now.
                let _ = self.wait_for_turn();
            }
        }
    }

    /// Ends the run with a fault of the trace, which has no visit in the record.
    pub(super) fn fault(self: Box<Self>, fault: Fault) {
        let step = match &self.standing {
            Standing::InTurn(turn) => turn.book.visited(),
            Standing::Ahead { .. } => 0,
        };
        self.fail((fault.into(), step));
    }

    /// Ends the run. Other arms stop.
    pub(super) fn fail(self: Box<Self>, (cause, step): Failed) {
        let Flow {
            run,
            execution,
            cursor,
            standing,
            ..
        } = *self;
        if let Standing::InTurn(turn) = standing {
            fail(&run, turn, Some(execution), cursor, (cause, step));
        }
    }
}

/// Ends a run with an error. Other arms stop.
pub(super) fn fail(
    run: &Run,
    mut turn: Box<Turn>,
    execution: Option<Execution>,
    cursor: Cursor,
    (cause, step): Failed,
) {
    let trace = cursor.trace(&run.image);
    let (failure, sent) = turn.book.fail(execution, trace, cause, step);
    for queued in turn.queue.drain(..) {
        queued.arm.close();
    }
    turn.ending.failed(failure, sent, *turn.book.conversation);
}
