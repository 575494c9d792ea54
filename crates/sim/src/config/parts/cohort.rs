//! Cohort's software queues.

use accelflow_units::Time;

/// Cohort's software queues.
#[derive(Clone, Debug, PartialEq)]
pub struct CohortConfig {
    /// Time between two polls of its queues by a core that has other work.
    pub poll_period: Time,
    /// Core time of a poll.
    pub poll: Time,
    /// Core time to take an entry.
    pub pop: Time,
    /// Core time to add an entry.
    pub push: Time,
    /// Time from an added entry to the accelerator's seeing it.
    pub engine: Time,
    /// Entries of a core's queue.
    pub queue_entries: usize,
}
