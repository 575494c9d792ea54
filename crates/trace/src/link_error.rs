//! Errors of the linker.

use crate::PredicateError;
use crate::check::CheckError;
use crate::disassemble::Unstructured;
use crate::kinds::KindsError;
use crate::limits::MAX_EXECUTIONS;
use crate::word::{DecodeError, MAX_WORDS};

/// The error of linking traces that are valid individually.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A tail to an unregistered trace.
    #[error("trace '{trace}': tail = '{tail}': must be a registered trace: {known}")]
    UnknownTail {
        /// The trace.
        trace: String,
        /// The name in its tail.
        tail: String,
        /// The registered names.
        known: String,
    },
    /// A chain of traces that returns to itself.
    #[error("chain of traces = {0}: must end")]
    NeverEnds(String),
    /// Too many executions from forks along a chain of tails.
    #[error(
        "trace '{trace}': parallel executions = {executions}: must be at most {MAX_EXECUTIONS}"
    )]
    TooManyExecutions {
        /// The trace.
        trace: String,
        /// The number of its executions.
        executions: u64,
    },
    /// More words than 12 bits can address.
    #[error("words of the trace memory = {0}: must be at most {MAX_WORDS}")]
    MemoryFull(usize),
    /// Too many conditions, or one that is too large.
    #[error("trace '{trace}': {error}")]
    Predicate {
        /// The trace.
        trace: String,
        /// The problem.
        error: PredicateError,
    },
    /// Conflicting or too many custom accelerators.
    #[error(transparent)]
    Kinds(#[from] KindsError),
    /// A part that does not fit its word. This is a bug in the compiler, not an error in the input.
    #[error("a part of a trace does not fit a word")]
    PartTooLong,
    /// A memory from a file that breaks a rule of the language.
    #[error("word '{word}': {error}")]
    Check {
        /// The word's name.
        word: String,
        /// The rule.
        error: CheckError,
    },
    /// Invalid nibbles.
    #[error("word '{word}': {error}")]
    Decode {
        /// The word's name.
        word: String,
        /// The problem.
        error: DecodeError,
    },
    /// Jumps to which no source compiles.
    #[error("word '{word}': {error}")]
    Unstructured {
        /// The word's name.
        word: String,
        /// The problem, with its position.
        error: Unstructured,
    },
    /// A word that breaks a rule of the memory.
    #[error("word '{word}': {message}")]
    Memory {
        /// The word's name.
        word: String,
        /// The rule.
        message: String,
    },
}

impl From<PredicateError> for LinkError {
    fn from(error: PredicateError) -> LinkError {
        LinkError::Predicate {
            trace: String::new(),
            error,
        }
    }
}
