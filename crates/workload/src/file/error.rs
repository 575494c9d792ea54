//! Errors of workload files.

use accelflow_parameters::Refusal;

use super::places::Position;

/// The error of a workload's file that cannot be read or used. Its text is `FILE:LINE:COLUMN:
/// MESSAGE`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {cause}", .at.map(|at| format!(":{at}")).unwrap_or_default())]
pub struct FileError {
    /// The given name of the file.
    pub file: String,
    /// The position in the file, if it is known.
    pub at: Option<Position>,
    /// The reason why the workload cannot be used.
    pub cause: Cause,
}

/// The reason why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// The text is not TOML or JSON.
    #[error("must be {format}: {message}")]
    Syntax {
        /// TOML or JSON.
        format: &'static str,
        /// The parser's message.
        message: String,
    },
    /// A value that is not allowed.
    #[error("{0}")]
    Refused(Box<Refusal>),
}

impl Cause {
    /// The refusal of a value; None for text that cannot be parsed.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Cause::Refused(refusal) => Some(refusal),
            Cause::Syntax { .. } => None,
        }
    }
}

impl From<Refusal> for Cause {
    fn from(refusal: Refusal) -> Cause {
        Cause::Refused(Box::new(refusal))
    }
}
