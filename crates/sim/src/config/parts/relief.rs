//! Parameters of RELIEF's central hardware manager.

use accelflow_units::Time;

/// The parameters of the central hardware manager of the system RELIEF, where the manager starts
/// every operation, and of the systems between RELIEF and AccelFlow
/// ([`LADDER`](crate::orchestrators::LADDER)).
#[derive(Clone, Debug, PartialEq)]
pub struct ReliefConfig {
    /// Time from the request of a core or an accelerator to the manager's decision, if the manager
    /// is idle. If `occupancy` is longer, it counts instead.
    pub latency: Time,
    /// Time for which one request of a core or an accelerator occupies the manager.
    pub occupancy: Time,
    /// Number of entries of the manager's queue, which all accelerators share.
    pub queue_entries: usize,
    /// Time from the arrival of a request at the server to its deadline, as a multiple of the
    /// execution time of the request's service on an idle server.
    pub deadline: f64,
    /// Who resolves branches, transforms payloads, and moves payloads that are larger than a queue
    /// entry can hold: a core or the manager.
    pub fallback: FallbackTo,
    /// Whether the manager gets a further task when a core has resolved a branch, transformed a
    /// payload or moved a large payload, and submits the rest of the chain. This applies to RELIEF
    /// and PerAccTypeQ, whose cores submit chains to the manager.
    pub resubmission: Resubmission,
}

/// The unit that resolves branches, transforms payloads, and moves payloads that are larger than a
/// queue entry can hold: a core or the manager. The choice applies to systems with a central
/// hardware manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackTo {
    /// The request's core, which the manager interrupts.
    Core,
    /// The manager itself.
    Manager,
}

/// Whether the manager gets a further task when a core submits the rest of a chain, after the
/// manager had interrupted the core ([`FallbackTo::Core`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resubmission {
    /// No: the manager already knows the chain for which it interrupted the core.
    Known,
    /// Yes: the same task as for a new chain.
    Visit,
}
