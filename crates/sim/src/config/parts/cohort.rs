//! Cohort's software queues.

use accelflow_units::Time;

/// The parameters of Cohort's software queues, by which cores and accelerators exchange operations
/// in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct CohortConfig {
    /// Shortest time between two polls by a core that has other work.
    pub poll_period: Time,
    /// Core time to poll its queues for new entries.
    pub poll: Time,
    /// Core time to take an entry out of its queue.
    pub pop: Time,
    /// Core time to add an entry to an accelerator's queue.
    pub push: Time,
    /// Time until an accelerator sees an entry that a core has added to its queue.
    pub engine: Time,
    /// Number of entries of a core's queue.
    pub queue_entries: usize,
}
