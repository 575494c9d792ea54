//! Refusals of the linker.

use crate::PredicateError;
use crate::check::CheckError;
use crate::disassemble::Unstructured;
use crate::kinds::KindsError;
use crate::limits::MAX_EXECUTIONS;
use crate::word::{DecodeError, MAX_WORDS};

/// Errors of linking traces that are correct one by one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A tail to nothing.
    #[error(
        "trace '{trace}' has a tail to '{tail}', which is not registered; registered are {known}"
    )]
    UnknownTail {
        /// The trace.
        trace: String,
        /// The name in its tail.
        tail: String,
        /// The registered names.
        known: String,
    },
    /// A chain of traces that returns to itself.
    #[error("this chain of traces never ends: {0}")]
    NeverEnds(String),
    /// Forks that multiply along a chain of tails.
    #[error(
        "trace '{trace}' can turn into {executions} parallel executions; at most {MAX_EXECUTIONS}"
    )]
    TooManyExecutions {
        /// The trace.
        trace: String,
        /// Its executions.
        executions: u64,
    },
    /// More words than 12 bits address.
    #[error("{0} words do not fit the trace memory of {MAX_WORDS}")]
    MemoryFull(usize),
    /// Too many conditions, or one that is too large.
    #[error("trace '{trace}': {error}")]
    Predicate {
        /// The trace.
        trace: String,
        /// The problem.
        error: PredicateError,
    },
    /// Accelerators beside the nine that do not fit together.
    #[error(transparent)]
    Kinds(#[from] KindsError),
    /// A part that does not fit its word: a bug of the compiler, never of the input.
    #[error("a part of a trace does not fit a word")]
    PartTooLong,
    /// A memory read from elsewhere that breaks a rule of the language.
    #[error("word '{word}': {error}")]
    Check {
        /// The word's name.
        word: String,
        /// The rule.
        error: CheckError,
    },
    /// Nibbles without meaning.
    #[error("word '{word}': {error}")]
    Decode {
        /// The word's name.
        word: String,
        /// The problem.
        error: DecodeError,
    },
    /// Jumps that are not the code of any source.
    #[error("word '{word}': {error}")]
    Unstructured {
        /// The word's name.
        word: String,
        /// Where.
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
