//! A request in flight.

use accelflow_units::Time;

use crate::buffers::Reserved;
use crate::outcome::{Group, Spent};
use crate::program::Kind;

/// The place where a request is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    /// In transit to the NIC for the first time.
    Coming,
    /// At its sender, since the NIC has no memory: to be sent again, or given up.
    NoMemory,
    /// Queued at a pipeline, which begins the request's task at this time.
    Pipeline(Time),
    /// In the NIC, waiting for a core.
    Nic,
    /// With a core, or done.
    Core,
}

pub(crate) struct Request {
    pub(crate) function: usize,
    pub(crate) kind: Kind,
    pub(crate) arrived: Time,
    pub(crate) place: Place,
    pub(crate) attempts: u64,
    /// The memory of the NIC that the request holds: for its own message, and for nested responses.
    pub(crate) held: Vec<Reserved>,
    pub(crate) core: usize,
    /// The request's next step while it waits without its core.
    pub(crate) next: usize,
    pub(crate) steered: bool,
    pub(crate) misses: u64,
    pub(crate) layer_misses: u64,
    pub(crate) spent: Spent,
}

/// Adds the times of an answered request to a group of results.
pub(crate) fn record(group: &mut Group, now: Time, request: &Request) {
    group.requests += 1;
    group.spent.add(&request.spent);
    group.latency.record(now - request.arrived);
    group
        .core
        .record(request.spent.on_core + request.spent.function());
    group.misses += request.misses;
    group.layer_misses += request.layer_misses;
    group.miss_free += u64::from(request.misses == 0);
    group.steered += u64::from(request.steered);
}
