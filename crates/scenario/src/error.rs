//! The error of a scenario that cannot be read, checked or run.

use accelflow_parameters::Refusal;
use accelflow_workload::file::FileError;
use accelflow_workload::profile::RecordingError;

/// The error of a scenario that cannot be read, checked or run.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text is not JSON.
    #[error("the scenario is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A value that is not allowed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A workload that cannot be used.
    #[error(transparent)]
    Workload(#[from] FileError),
    /// A list that names something twice.
    #[error("{place}: '{name}' is named twice")]
    Twice {
        /// The list.
        place: &'static str,
        /// The name.
        name: String,
    },
    /// Inconsistent parameters of the server.
    #[error("{place}: {refusal}")]
    Config {
        /// The place where they are set.
        place: String,
        /// The inconsistency.
        refusal: Refusal,
    },
    /// A recording that cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The profile is `measured`, and the scenario has no recording of this machine's costs.
    #[error("profile = 'measured': must have a recording of this machine's costs")]
    NotMeasured,
    /// The engine cannot run the scenario.
    #[error(transparent)]
    Engine(Box<dyn std::error::Error + Send + Sync>),
}

/// Wraps the error of an engine.
pub(crate) fn engine(error: impl std::error::Error + Send + Sync + 'static) -> ScenarioError {
    ScenarioError::Engine(Box::new(error))
}
