//! The utilization of servers over time, for the results of a comparison.

use crate::plan::Plan;
use crate::server::ServerResult;
use crate::stats::Used;

/// The utilization of one server's cores, accelerators, central manager and DMA engines over time.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerUse {
    /// The names of the services on the server that have a load or are called.
    pub services: Vec<String>,
    /// The utilization in successive intervals of time, from the first arrival to about the last.
    pub intervals: Vec<Used>,
}

/// The utilization of those of `servers` whose outcomes have readings of it.
pub(crate) fn used(plan: &Plan, servers: &mut [ServerResult]) -> Vec<ServerUse> {
    let name = |&service: &usize| plan.services[service].name.clone();
    let used = servers.iter_mut().map(|server| ServerUse {
        services: server.services.iter().map(name).collect(),
        intervals: std::mem::take(&mut server.outcome.used),
    });
    used.filter(|used| !used.intervals.is_empty()).collect()
}
