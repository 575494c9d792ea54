//! Cohort's software queues.

use accelflow_units::Time;

/// Cohort's software queues.
#[derive(Clone, Debug, PartialEq)]
pub struct CohortConfig {
    /// Interval at which a core that has other work polls its queues.
    pub poll_period: Time,
    /// Core time of a poll.
    pub poll: Time,
    /// Core time to take an entry.
    pub pop: Time,
    /// Core time to add an entry.
    pub push: Time,
    /// Time until an accelerator sees an entry that a core has added to its queue.
    pub engine: Time,
    /// Entries of a core's queue.
    pub queue_entries: usize,
}
