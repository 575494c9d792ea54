//! Scenarios that were checked and can be run.

use std::collections::BTreeMap;

use accelflow_sim::orchestrators::Orchestrator;
use accelflow_sim::{Config, Limits};
use accelflow_trace::Image;
use accelflow_workload::services::Service;

use crate::resolved::Resolved;
use crate::scenario::Scenario;

/// A scenario that can be run, with every default filled in.
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
    /// The scenario as it was given.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The scenario with every default filled in.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }
}
