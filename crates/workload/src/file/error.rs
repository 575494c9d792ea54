//! Errors of workload files.

use accelflow_parameters::Refusal;

use super::places::Position;

/// The error of a workload file that cannot be parsed or used. Displayed as
/// `FILE:LINE:COLUMN: MESSAGE`, or as `FILE: MESSAGE` if the position is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {cause}", .at.map(|at| format!(":{at}")).unwrap_or_default())]
pub struct FileError {
    /// The name of the workload file, as given.
    pub file: String,
    /// The line and column in the file; `None` if unknown.
    pub at: Option<Position>,
    /// The reason why the file cannot be used.
    pub cause: Cause,
}

/// The reason why a workload file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// The text is not valid TOML or JSON, or its fields do not form a workload.
    #[error("must be {format}: {message}")]
    Syntax {
        /// What the text must be: `TOML`, `JSON` or `a workload`.
        format: &'static str,
        /// The message of the parser.
        message: String,
    },
    /// The file has a value that is not allowed.
    #[error("{0}")]
    Refused(Box<Refusal>),
}

impl Cause {
    /// Returns the refusal: the value that is not allowed, with the reason; `None` if the text
    /// cannot be parsed.
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
