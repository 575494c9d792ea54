//! The error of a scenario that cannot be read, checked or run.

use accelflow_parameters::{Refusal, quoted};
use accelflow_sim::SimError;
use accelflow_workload::file::FileError;
use accelflow_workload::profile::RecordingError;

/// The reason why a scenario cannot be read, checked or simulated.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text of a scenario is not JSON.
    #[error("scenario: must be JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A value of the scenario is not allowed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The workload file cannot be parsed or used.
    #[error(transparent)]
    Workload(#[from] FileError),
    /// The recording is invalid or does not fit the workload.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The simulator or another engine has failed.
    #[error(transparent)]
    Engine(Box<dyn std::error::Error + Send + Sync>),
}

impl ScenarioError {
    /// Returns the refused value with the allowed values, if the error is that a value of the
    /// scenario, the workload file or the simulator is not allowed; `None` for any other error.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            ScenarioError::Refused(refusal) => Some(refusal),
            ScenarioError::Workload(error) => error.cause.refusal(),
            ScenarioError::Engine(error) => {
                let of_simulator = error.downcast_ref().and_then(SimError::refusal);
                error.downcast_ref().or(of_simulator)
            }
            ScenarioError::Json(_) | ScenarioError::Recording(_) => None,
        }
    }
}

/// The refusal of `name`, which `place`, a list, has already.
pub(crate) fn twice(place: &str, name: &str) -> ScenarioError {
    Refusal::new(place, quoted(name), "must be given only once").into()
}

/// Wraps the error of an engine.
pub(crate) fn engine(error: impl std::error::Error + Send + Sync + 'static) -> ScenarioError {
    ScenarioError::Engine(Box::new(error))
}
