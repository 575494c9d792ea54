//! Errors of imports and timelines of spans.

use accelflow_parameters::{Refusal, quoted, system_text};

/// The reason why an import of spans, or a timeline of spans, failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// One of: an option is unknown or has a value that is not allowed; no file is given; a
    /// timeline would show no request; the files of a timeline have more than
    /// [`MAX_SPANS`](crate::MAX_SPANS) spans.
    #[error(transparent)]
    Option(#[from] Refusal),
    /// A file cannot be opened, or its beginning cannot be read.
    #[error(
        "FILE = {}: must be a file that can be read: {}",
        quoted(file),
        system_text(error)
    )]
    Read {
        /// The path of the file.
        file: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The timeline cannot be written.
    #[error("the timeline cannot be written: {}", system_text(.0))]
    Write(std::io::Error),
    /// A file is empty or does not have the format that the caller states.
    #[error("FILE = {}: {why}", quoted(file))]
    Kind {
        /// The path of the file.
        file: String,
        /// The required format, and what the file contains instead.
        why: String,
    },
    /// A JSON file ends too early, does not follow its format, cannot be read further, or has more
    /// than 64 MiB without a span.
    #[error("{file}:{line}:{column} (byte {offset}): {why}")]
    Syntax {
        /// The path of the file.
        file: String,
        /// The line of the error, counted from 1.
        line: usize,
        /// The column of the error in bytes, counted from 1; 0 at the end of a file that ends with
        /// a line break.
        column: usize,
        /// The number of bytes read from the file up to the error, after decompression.
        offset: u64,
        /// What is wrong at this position.
        why: String,
    },
    /// A file of protocol buffers ends too early, does not follow its format, cannot be read
    /// further, or has more than 64 MiB without a span.
    #[error("{file}, byte {offset}: {why}")]
    Binary {
        /// The path of the file.
        file: String,
        /// The position of the error in the decompressed file, in bytes, counted from 0.
        offset: u64,
        /// What is wrong at this position.
        why: String,
    },
    /// The import would need a guess or leave something out, which [`crate::Options::strict`]
    /// forbids.
    #[error("{place}: {what}: not allowed with strict (without strict: {done})")]
    Strict {
        /// The file and the distributed trace of the problem.
        place: String,
        /// What the import would guess or leave out.
        what: String,
        /// What the import would do without `strict`.
        done: String,
    },
    /// The files contain no request.
    #[error("FILE = {}: must have at least one request: {why}", quoted(files))]
    NoRequests {
        /// The paths of the files, separated by commas.
        files: String,
        /// What the files contain instead of requests.
        why: String,
    },
}
