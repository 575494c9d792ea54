//! Scenarios that have passed their check and can be simulated.

use std::collections::BTreeMap;

use accelflow_sim::orchestrators::Orchestrator;
use accelflow_sim::{Config, Limits};
use accelflow_trace::Image;
use accelflow_workload::services::Service;

use crate::resolved::Resolved;
use crate::scenario::Scenario;

/// A scenario that has passed [`crate::Scenario::check`] and can be simulated. A simulation checks
/// the recording; with the profile `measured`, the scenario must have one.
pub struct Checked {
    pub(crate) scenario: Scenario,
    pub(crate) resolved: Resolved,
    pub(crate) servers: Vec<Config>,
    pub(crate) services: Vec<Service>,
    pub(crate) image: Image,
    pub(crate) systems: Vec<&'static dyn Orchestrator>,
    pub(crate) flows: BTreeMap<u16, Limits>,
}

impl Checked {
    /// Returns the scenario as it was before defaults were filled in.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns the scenario with every default filled in.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }
}
