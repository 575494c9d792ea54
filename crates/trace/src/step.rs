//! The state machine that determines an output dispatcher's next action (AccelFlow, Fig. 8).
//!
//! Everything that executes traces uses [`step`]. The runtime passes facts from real bytes, the
//! simulator passes facts drawn from a workload, and the models pass the facts of a stated path.

use crate::word::{AtmAddress, DecodeError, Instruction, PositionMark, Word};
use crate::{Accel, Facts, PredicateTable, Transform};

/// The dispatcher's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Move the entry to the input queue of this accelerator.
    Forward(Accel),
    /// Change the payload's format in the transformation engine.
    Transform(Transform),
    /// Start a second execution of this word at `arm` on a copy of the payload. A join that waits
    /// for the first also waits for the second.
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
    /// Wait for the other executions of the join. One of them continues with the payloads of all,
    /// in the order of their starts. [`Joins`](crate::Joins) counts them.
    Join,
    /// Read the trace memory.
    LoadAtm {
        /// The word to load.
        address: AtmAddress,
        /// Whether the word is the next trace or the rest of this one.
        link: Link,
    },
    /// End the trace: move the result to memory and notify the core.
    Notify,
}

/// The relation of a loaded word to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A new trace. If it begins with TCP, it is parked there until a message arrives.
    Next,
    /// The rest of a split trace, which continues at once.
    Continue,
}

/// The outcome of [`step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The next action of the output dispatcher.
    pub action: Action,
    /// The next position in this word. After [`Action::LoadAtm`] reading starts at
    /// [`PositionMark::START`] of the loaded word.
    pub next: PositionMark,
    /// The number of branches resolved before the action, for the dispatcher's cost.
    pub branches: u8,
}

/// The effect of an instruction: an action, or a choice of the next instruction in the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Act, and stop reading.
    Act(Action),
    /// Continue with the next instruction if the predicate holds, else at the mark.
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
    /// Invalid nibbles.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A predicate that the table does not have.
    #[error("predicate = {0}: must be in the predicate table")]
    UnknownPredicate(u8),
    /// A condition tests a field that the payload does not have.
    #[error("a branch tests field '{0}', which the payload does not have")]
    MissingField(String),
    /// A join without a scatter before it.
    #[error("the trace reaches a join without a scatter before it")]
    NoJoin,
    /// An address outside the trace memory.
    #[error("address = {0}: must be inside the trace memory")]
    DanglingAddress(AtmAddress),
}

/// Executes `word` from `at` up to the next action. Resolves branches with `facts`.
///
/// The function is pure: it has no side effects, and its result depends only on its arguments.
///
/// # Errors
/// [`Fault`] for an invalid word, or if the table or the payload lacks what the word refers to.
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
