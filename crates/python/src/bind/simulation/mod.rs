//! Python bindings of the simulator: scenarios, chip and workload files, policies, recordings, and
//! the observation of single requests.

pub(crate) mod chip;
pub(crate) mod importing;
pub(crate) mod policies;
pub(crate) mod progress;
pub(crate) mod recording;
pub(crate) mod samples;
pub(crate) mod scenario;
pub(crate) mod services;
pub(crate) mod watching;
pub(crate) mod workload;
