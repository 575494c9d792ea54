//! The error of linking traces into a trace memory, or of verifying a trace memory.

use crate::PredicateError;
use crate::check::CheckError;
use crate::disassemble::Unstructured;
use crate::kinds::KindsError;
use crate::limits::MAX_EXECUTIONS;
use crate::word::{DecodeError, MAX_WORDS, NIBBLES};

/// The error of traces that cannot be linked into one trace memory, or of a trace file whose
/// contents break the same rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A tail leads to a trace that is not registered.
    #[error("trace '{trace}': tail = '{tail}': must be a registered trace, such as {known}")]
    UnknownTail {
        /// The name of the trace that has the tail.
        trace: String,
        /// The name of the unregistered trace to which the tail leads.
        tail: String,
        /// The names of the traces that are linked together, separated by commas.
        known: String,
    },
    /// The tails of a chain of traces lead back to a trace of the chain. Holds the names of the
    /// words in order, such as `A -> A.1 -> B -> A`.
    #[error("chain of traces = {0}: must end, not lead back to one of its traces")]
    NeverEnds(String),
    /// The forks and joins of a trace and of the traces after it create more than
    /// [`MAX_EXECUTIONS`] parallel executions.
    #[error(
        "trace '{trace}': parallel executions = {executions}: must be at most {MAX_EXECUTIONS}"
    )]
    TooManyExecutions {
        /// The name of the trace.
        trace: String,
        /// The largest number of parallel executions that the trace and those after it create.
        executions: u64,
    },
    /// The traces need more than [`MAX_WORDS`] words, which 12-bit addresses cannot reach. Holds
    /// the number of words.
    #[error("words of the trace memory = {0}: must be at most {MAX_WORDS}")]
    MemoryFull(usize),
    /// A trace memory has more or fewer names than words.
    #[error("names of the trace memory = {names}: must be one for each of its words, {words}")]
    NameCount {
        /// The number of words.
        words: usize,
        /// The number of names.
        names: usize,
    },
    /// Two parts have the same name, so that it is not clear to which of them a tail leads. Holds
    /// the name.
    #[error("name of a part = '{0}': must be that of one part only")]
    SameName(String),
    /// The branch conditions of the traces are too many for one memory, or one condition is too
    /// large.
    #[error("trace '{trace}': {error}")]
    Predicate {
        /// The name of the trace at whose condition a limit is exceeded.
        trace: String,
        /// The limit of conditions that is exceeded.
        error: PredicateError,
    },
    /// The traces declare custom accelerators that conflict with one another, or too many of them.
    #[error(transparent)]
    Kinds(#[from] KindsError),
    /// A part of a trace does not fit its 8-byte word. The compiler splits traces into parts that
    /// fit, so this is the error of a part that was made in another way. Holds the part's name.
    #[error("size of part '{0}': must be at most {NIBBLES} nibbles, an 8-byte word")]
    PartTooLong(String),
    /// A word in a trace file breaks a rule of the trace language.
    #[error("word '{word}': {error}")]
    Check {
        /// The name of the word, such as `T1` or `T1.1`.
        word: String,
        /// The rule that the word breaks.
        error: CheckError,
    },
    /// Some nibbles of a word in a trace file are not an instruction.
    #[error("word '{word}': {error}")]
    Decode {
        /// The name of the word, such as `T1` or `T1.1`.
        word: String,
        /// The invalid nibbles and their position.
        error: DecodeError,
    },
    /// A word in a trace file is not the compiled form of any source.
    #[error("word '{word}': {error}")]
    Unstructured {
        /// The name of the word, such as `T1` or `T1.1`.
        word: String,
        /// The reason why the word has no source, with the position in the word.
        error: Unstructured,
    },
    /// A word in a trace file breaks a rule about how words refer to one another, or is not the
    /// word that the compiler makes of the same source.
    #[error("word '{word}': {message}")]
    Memory {
        /// The name of the word, such as `T1` or `T1.1`.
        word: String,
        /// The rule that the word breaks, in words.
        message: String,
    },
    /// A table of a trace file has other entries than the words of the file need, or has them in
    /// another order or form than the compiler.
    #[error(
        "{table} of the trace memory: must be those that its words {needed}, as the compiler writes them, without further ones"
    )]
    Table {
        /// The entries of the table, in words, such as `branch conditions`.
        table: &'static str,
        /// What words do with an entry, such as `test`.
        needed: &'static str,
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
