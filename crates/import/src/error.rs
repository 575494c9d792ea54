//! Errors of imports.

use accelflow_parameters::{Refusal, quoted, system_text};

/// The error of a failed import, which writes nothing.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// An option is not allowed.
    #[error(transparent)]
    Option(#[from] Refusal),
    /// A file cannot be read.
    #[error(
        "FILE = {}: must be a file that can be read: {}",
        quoted(file),
        system_text(error)
    )]
    Read {
        /// The file.
        file: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The output cannot be written.
    #[error("the timeline cannot be written: {}", system_text(.0))]
    Write(std::io::Error),
    /// A file is not of the declared kind.
    #[error("FILE = {}: {why}", quoted(file))]
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
    #[error("strict = true: must be left out for {what} ({place}); without it: {done}")]
    Strict {
        /// The file and the trace.
        place: String,
        /// What was found.
        what: String,
        /// The guess that would be made.
        done: String,
    },
    /// No request is in the files.
    #[error("FILE = {}: must have at least one request: {why}", quoted(files))]
    Nothing {
        /// The files.
        files: String,
        /// What was found instead.
        why: String,
    },
}
