//! The one state machine: what an output dispatcher does at one field of a trace
//! (AccelFlow, Fig. 8).
//!
//! Everything that executes a trace goes through [`step`]: the runtime gives it facts read from
//! real bytes, the simulator facts drawn from a workload, the models the facts of a stated path.

use crate::word::{AtmAddress, DecodeError, Instruction, PositionMark, Word};
use crate::{Accel, Facts, PredicateTable, Transform};

/// The dispatcher's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Move the entry to the input queue of this accelerator.
    Forward(Accel),
    /// Change the payload's format in the transformation engine.
    Transform(Transform),
    /// Start a second execution of this word at `arm` on a copy of the payload. If a join waits for
    /// the first, it waits for the second as well.
    Fork {
        /// The position at which the second execution starts.
        arm: PositionMark,
    },
    /// Start a second execution of this word at `arm` on a copy of the payload, and open a join
    /// that waits for both.
    Scatter {
        /// The position at which the second execution starts.
        arm: PositionMark,
    },
    /// Wait for the other executions that the join waits for: one goes on, with the payloads of
    /// all, in the order in which they were started. [`Joins`](crate::Joins) counts them.
    Join,
    /// Read the trace memory.
    LoadAtm {
        /// The word to load.
        address: AtmAddress,
        /// Whether it is the next trace or the rest of this one.
        link: Link,
    },
    /// The trace has ended: move the result to memory and notify the core.
    Notify,
}

/// The relation of a loaded word to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A new trace: if it begins with TCP, it is parked there until a message arrives.
    Next,
    /// The rest of a trace that was split: it runs on at once.
    Continue,
}

/// The outcome of [`step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The action.
    pub action: Action,
    /// The position to read next in this word. After [`Action::LoadAtm`] reading starts anew at
    /// [`PositionMark::START`] of the loaded word.
    pub next: PositionMark,
    /// Branches that were resolved on the way, for the cost of the dispatcher.
    pub branches: u8,
}

/// The effect of an instruction: an action, or the choice of the next instruction of its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Act, and stop reading.
    Act(Action),
    /// Go on if the predicate holds, else continue at the mark.
    Branch {
        /// Index in the predicate table.
        predicate: u8,
        /// The position to continue at if it does not hold.
        otherwise: PositionMark,
    },
    /// Continue at the mark.
    Jump(PositionMark),
}

impl Effect {
    /// The effect of `instruction`.
    #[inline]
    pub fn of(instruction: Instruction) -> Effect {
        Effect::Act(match instruction {
            Instruction::Branch {
                predicate,
                otherwise,
            } => {
                return Effect::Branch {
                    predicate,
                    otherwise,
                };
            }
            Instruction::Jump(to) => return Effect::Jump(to),
            Instruction::End => Action::Notify,
            Instruction::Call(accel) => Action::Forward(accel),
            Instruction::Transform(change) => Action::Transform(change),
            Instruction::Fork(arm) => Action::Fork { arm },
            Instruction::Scatter(arm) => Action::Scatter { arm },
            Instruction::Join => Action::Join,
            Instruction::Tail(address) => Action::LoadAtm {
                address,
                link: Link::Next,
            },
            Instruction::Continue(address) => Action::LoadAtm {
                address,
                link: Link::Continue,
            },
        })
    }
}

/// An error that stops a trace; the core takes over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nibbles without meaning.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A predicate that the table does not have.
    #[error("predicate {0} is not in the table")]
    UnknownPredicate(u8),
    /// A condition tests a field that the payload does not have.
    #[error("the payload has no field '{0}', which a branch tests")]
    MissingField(String),
    /// A join without a scatter before it.
    #[error("the trace reaches a join, but no arm was started before it")]
    NoJoin,
    /// An address without a word.
    #[error("address {0} is outside the trace memory")]
    DanglingAddress(AtmAddress),
}

/// Reads `word` from `at`, resolving branches with `facts`, up to the next action.
///
/// Pure: the same arguments give the same outcome, and nothing else is touched.
///
/// # Errors
/// [`Fault`] where the word, the table or the payload do not fit together.
pub fn step<F: Facts + ?Sized>(
    word: Word,
    at: PositionMark,
    predicates: &PredicateTable,
    facts: &F,
) -> Result<Step, Fault> {
    let mut mark = at;
    let mut branches = 0;
    loop {
        let (instruction, next) = word.decode(mark)?;
        let action = match Effect::of(instruction) {
            Effect::Branch {
                predicate,
                otherwise,
            } => {
                branches += 1;
                mark = if resolve(predicate, predicates, facts)? {
                    next
                } else {
                    otherwise
                };
                continue;
            }
            Effect::Jump(to) => {
                mark = to;
                continue;
            }
            Effect::Act(action) => action,
        };
        return Ok(Step {
            action,
            next,
            branches,
        });
    }
}

fn resolve<F: Facts + ?Sized>(
    nibble: u8,
    predicates: &PredicateTable,
    facts: &F,
) -> Result<bool, Fault> {
    let predicate = predicates
        .get(nibble)
        .ok_or(Fault::UnknownPredicate(nibble))?;
    predicate
        .holds(predicates.fields(), facts)
        .map_err(|field| {
            let name = predicates.fields().get(field).cloned().unwrap_or_default();
            Fault::MissingField(name)
        })
}
