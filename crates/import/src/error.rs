//! Errors of imports.

use accelflow_parameters::Refusal;

/// The error of a failed import, which writes nothing.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// An option is not allowed.
    #[error(transparent)]
    Option(#[from] Refusal),
    /// A file cannot be read.
    #[error("{file}: {error}")]
    Read {
        /// The file.
        file: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// A file is not of the declared kind.
    #[error("{file}: {why}")]
    Kind {
        /// The file.
        file: String,
        /// Its actual kind, and the expected one.
        why: String,
    },
    /// A file ends too early or does not follow its format.
    #[error("{file}:{line}:{column} (byte {offset}): {why}")]
    Syntax {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The number of bytes read.
        offset: u64,
        /// The error.
        why: String,
    },
    /// A file of protocol buffers ends too early or does not follow its format.
    #[error("{file}, byte {offset}: {why}")]
    Binary {
        /// The file.
        file: String,
        /// The byte, from 0.
        offset: u64,
        /// The error.
        why: String,
    },
    /// A guess is needed, but `strict` forbids guesses.
    #[error("{place}: {what}, and `strict` forbids this: {done}")]
    Strict {
        /// The file and the trace.
        place: String,
        /// What was found.
        what: String,
        /// The guess that would be made.
        done: String,
    },
    /// No request is in the files.
    #[error("{files}: no request was found: {why}")]
    Nothing {
        /// The files.
        files: String,
        /// What was found instead.
        why: String,
    },
}
