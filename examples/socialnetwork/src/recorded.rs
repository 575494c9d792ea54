//! The report of a process of servers when it ends.

use std::collections::BTreeMap;

use accelflow_serve::RecordedPath;
use accelflow_workload::profile::RecordedPhase;
use serde::{Deserialize, Serialize};

/// Paths by function, and the floor's measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Recorded {
    pub(crate) functions: BTreeMap<String, Vec<PathOfRequests>>,
    /// Processor time of a request to the server that does nothing, in microseconds.
    pub(crate) floor_us: Option<f64>,
}

/// A [`RecordedPath`], serialised for another process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PathOfRequests {
    pub(crate) requests: u64,
    pub(crate) phases: Vec<RecordedPhase>,
    /// By the trace that received the responses.
    pub(crate) waits_ns: BTreeMap<String, Vec<f64>>,
}

impl From<RecordedPath> for PathOfRequests {
    fn from(path: RecordedPath) -> PathOfRequests {
        PathOfRequests {
            requests: path.requests,
            phases: path.phases,
            waits_ns: path.waits_ns,
        }
    }
}
