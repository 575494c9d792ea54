//! Why a workload's file cannot be used.

use accelflow_parameters::Refusal;

use super::places::Position;

/// Why a workload's file cannot be read or used: `FILE:LINE:COLUMN: WHAT`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {cause}", .at.map(|at| format!(":{at}")).unwrap_or_default())]
pub struct FileError {
    /// The file's name, as it was given.
    pub file: String,
    /// Where in the file, if that is known.
    pub at: Option<Position>,
    /// Why.
    pub cause: Cause,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// The text is not TOML or JSON.
    #[error("must be {format}: {message}")]
    Syntax {
        /// TOML or JSON.
        format: &'static str,
        /// What the parser says.
        message: String,
    },
    /// A value that is not allowed.
    #[error("{0}")]
    Refused(Box<Refusal>),
}

impl From<Refusal> for Cause {
    fn from(refusal: Refusal) -> Cause {
        Cause::Refused(Box::new(refusal))
    }
}
