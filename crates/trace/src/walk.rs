//! Walks, which follow the execution of traces through words, tails and forks with [`step`].

use std::collections::VecDeque;

use crate::image::Image;
use crate::joins::{JoinArm, Joins};
use crate::step::{Action, Fault, Link, step};
use crate::word::{AtmAddress, PositionMark};
use crate::{Accel, Facts, Transform};

/// One action in the execution of a chain of traces (a trace and those that follow it through
/// tails), such as an accelerator call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visit {
    /// The execution enters the trace of this name.
    Enter(String),
    /// The execution calls an accelerator, which performs its operation.
    Call {
        /// The accelerator that is called.
        accel: Accel,
        /// Whether the accelerator is a TCP that waits for a message and receives it: one that is
        /// the first call of its trace.
        receives: bool,
    },
    /// The dispatcher changes the data format of the payload.
    Transform(Transform),
    /// A fork starts a second execution. The walk follows this execution once those that started
    /// before it have ended or wait at a join.
    Fork,
    /// The arms of a join begin: a second execution starts, and the join waits for both.
    Scatter,
    /// The execution reaches a join and ends there, since other arms have not arrived yet. The last
    /// arm to arrive continues.
    Wait,
    /// The execution is the last arm to reach a join, and continues after the join.
    Join,
    /// The execution ends and notifies a core that its result is ready.
    Notify,
}

/// Follows the execution of a trace in a trace memory, action by action, and then of the traces to
/// which its tails lead.
///
/// Parallel arms of forks and joins are followed one after another, in the order in which they
/// start.
#[derive(Clone, Debug)]
pub struct Walker<'i> {
    image: &'i Image,
    current: Option<Cursor>,
    waiting: VecDeque<Cursor>,
    joins: Joins<()>,
}

#[derive(Clone, Copy, Debug)]
struct Cursor {
    trace: AtmAddress,
    address: AtmAddress,
    mark: PositionMark,
    entered: bool,
    join_arm: Option<JoinArm>,
}

impl<'i> Walker<'i> {
    /// Creates a walk through the traces of the trace memory `image` that begins with the trace
    /// `name`; `None` if `image` has no such trace.
    pub fn new(image: &'i Image, name: &str) -> Option<Walker<'i>> {
        let entry = image.entry(name)?;
        let start = Cursor {
            trace: entry,
            address: entry,
            mark: PositionMark::START,
            entered: false,
            join_arm: None,
        };
        Some(Walker {
            image,
            current: Some(start),
            waiting: VecDeque::new(),
            joins: Joins::default(),
        })
    }

    /// Returns the trace memory whose traces the walk follows.
    pub fn image(&self) -> &'i Image {
        self.image
    }

    /// Returns the name of the trace that the next action belongs to; `None` once all executions
    /// have ended.
    pub fn trace(&self) -> Option<&'i str> {
        let cursor = self.current.or_else(|| self.waiting.front().copied())?;
        Some(self.image.name(cursor.trace))
    }

    /// Performs the next action and returns it; `None` once all executions have ended. Branches
    /// test the payload values `facts`.
    ///
    /// # Errors
    /// [`Fault`] if the trace cannot continue with these payload values. The walk is then
    /// unchanged.
    pub fn advance<F: Facts + ?Sized>(&mut self, facts: &F) -> Result<Option<Visit>, Fault> {
        if self.current.is_none() {
            self.current = self.waiting.pop_front();
        }
        let Some(mut cursor) = self.current else {
            return Ok(None);
        };
        if !cursor.entered {
            cursor.entered = true;
            self.current = Some(cursor);
            return Ok(Some(Visit::Enter(self.image.name(cursor.trace).to_owned())));
        }
        loop {
            let word = self.image.word(cursor.address)?;
            let step = step(word, cursor.mark, self.image.predicates(), facts)?;
            let first = cursor.mark == PositionMark::START && cursor.address == cursor.trace;
            cursor.mark = step.next;
            let Some(visit) = self.act(step.action, first, &mut cursor)? else {
                continue;
            };
            let ended = matches!(visit, Visit::Notify | Visit::Wait);
            self.current = (!ended).then_some(cursor);
            return Ok(Some(visit));
        }
    }

    /// Performs `action`. Returns `None` if the trace continues in its next word. `first` is true
    /// if the action begins a trace.
    fn act(
        &mut self,
        action: Action,
        first: bool,
        cursor: &mut Cursor,
    ) -> Result<Option<Visit>, Fault> {
        Ok(Some(match action {
            Action::Forward(accel) => Visit::Call {
                accel,
                receives: accel == Accel::Tcp && first,
            },
            Action::Transform(change) => Visit::Transform(change),
            Action::Notify => Visit::Notify,
            Action::Fork { arm } => {
                let join_arm = self.joins.fork(cursor.join_arm);
                self.start(*cursor, arm, join_arm);
                Visit::Fork
            }
            Action::Scatter { arm } => {
                let [own, other] = self.joins.scatter(cursor.join_arm).map(Some);
                self.start(*cursor, arm, other);
                cursor.join_arm = own;
                Visit::Scatter
            }
            Action::Join => {
                let join_arm = cursor.join_arm.ok_or(Fault::NoJoin)?;
                match self.joins.arrive(join_arm, ()) {
                    Some((_, outer)) => {
                        cursor.join_arm = outer;
                        Visit::Join
                    }
                    None => Visit::Wait,
                }
            }
            Action::LoadAtm { address, link } => {
                (cursor.address, cursor.mark) = (address, PositionMark::START);
                if link == Link::Continue {
                    return Ok(None);
                }
                cursor.trace = address;
                Visit::Enter(self.image.name(address).to_owned())
            }
        }))
    }

    fn start(&mut self, cursor: Cursor, mark: PositionMark, join_arm: Option<JoinArm>) {
        self.waiting.push_back(Cursor {
            mark,
            join_arm,
            ..cursor
        });
    }
}
