//! The state machine that determines an output dispatcher's next action (AccelFlow, Fig. 8).
//!
//! All code that executes compiled traces uses [`step`], or [`Effect::of`], on which [`step`] is
//! built. The runtime passes payload values (facts) from real bytes, the simulator facts drawn from
//! a workload, and the models the facts of a stated path.

use crate::word::{AtmAddress, DecodeError, Instruction, PositionMark, Word};
use crate::{Accel, Facts, PredicateTable, Transform};

/// The next action of an output dispatcher, the hardware that sends an accelerator's output to the
/// next step of the trace (AccelFlow, Fig. 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Move the data and the trace to the input queue of this accelerator.
    Forward(Accel),
    /// Change the data format of the payload, in the dispatcher's transformation engine.
    Transform(Transform),
    /// Start a second execution of this word on a copy of the payload. If the first execution is an
    /// arm of a join, the join also waits for the second.
    Fork {
        /// The position in the word at which the second execution starts.
        arm: PositionMark,
    },
    /// Begin the arms of a join: start a second execution of this word on a copy of the payload.
    /// The join waits for both executions.
    Scatter {
        /// The position in the word at which the second execution starts.
        arm: PositionMark,
    },
    /// Wait at a join for its other executions. After all have arrived, one of them continues with
    /// the payloads of all, in the order in which the executions started. [`Joins`](crate::Joins)
    /// counts the arrivals.
    Join,
    /// Load another word from the accelerator trace memory (ATM).
    LoadAtm {
        /// The address of the word to load, in the trace memory.
        address: AtmAddress,
        /// Whether the loaded word begins the next trace or continues this one.
        link: Link,
    },
    /// End the trace: move the result to memory and notify the core that started the trace.
    Notify,
}

/// Whether a word that is loaded from trace memory begins the next trace or continues the current
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The loaded word begins a new trace. If the new trace begins with TCP, the execution waits
    /// there for a message.
    Next,
    /// The loaded word is the rest of the same trace, which continues at once.
    Continue,
}

/// The result of [`step`]: the next action of a trace, the position at which to continue after the
/// action, and the number of branches resolved before the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The next action of the output dispatcher.
    pub action: Action,
    /// The position in the word from which to continue after the action. After [`Action::LoadAtm`],
    /// continue at [`PositionMark::START`] of the loaded word instead.
    pub next: PositionMark,
    /// The number of branches that this step resolved before the action. The time that the
    /// dispatcher needs depends on this number.
    pub branches: u8,
}

/// The effect of one instruction of a compiled trace: an action of the dispatcher (the hardware
/// that executes traces), or a choice of the next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The dispatcher performs this action and reads no further.
    Act(Action),
    /// The dispatcher continues with the next instruction if the predicate holds, else at another
    /// position of the word.
    Branch {
        /// The index of the branch's predicate in the memory's table.
        predicate: u8,
        /// The position in the word at which to continue if the predicate does not hold.
        otherwise: PositionMark,
    },
    /// The dispatcher continues at this position of the word.
    Jump(PositionMark),
}

impl Effect {
    /// Returns the effect of `instruction` on the dispatcher (the hardware that executes traces):
    /// an action, or the choice of the next instruction.
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

/// A defect of a compiled trace or of its payload values (facts), because of which the execution of
/// the trace cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Some nibbles of the word are not an instruction.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A branch refers to a predicate that the memory's table does not have. Holds the predicate's
    /// index.
    #[error("predicate = {0}: must be the index of a branch condition in the trace memory")]
    UnknownPredicate(u8),
    /// A branch tests a field that the payload does not have. Holds the field's name.
    #[error("a branch tests field '{0}', which the payload does not have")]
    MissingField(String),
    /// The trace reaches a join, but its execution is not an arm of any join.
    #[error(
        "the trace reaches a join, but no scatter instruction has started the arms of that join"
    )]
    NoJoin,
    /// The trace refers to an address outside the trace memory. Holds the address.
    #[error("address = {0}: must be inside the trace memory")]
    DanglingAddress(AtmAddress),
}

/// Executes the compiled trace in `word` from position `at` on, until the dispatcher (the hardware
/// that executes traces) must act; returns this action. `predicates` are the compiled branch
/// conditions, and `facts` the payload values that the conditions test.
///
/// The function is pure: it has no side effects, and its result depends only on its arguments.
///
/// # Errors
/// [`Fault`] for nibbles (4-bit codes) that are not an instruction, for a condition that
/// `predicates` does not have, and for a payload value that `facts` does not have.
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
