//! Parameters of Cohort's software queues.

use accelflow_units::Time;

/// The parameters of the software queues of the system Cohort, through which cores and accelerators
/// exchange operations in memory. Of the built-in orchestrators, only `cohort_polling` has such
/// queues.
#[derive(Clone, Debug, PartialEq)]
pub struct CohortConfig {
    /// Shortest time between two polls by a core that has other work. A poll looks for new entries
    /// in the core's software queue.
    pub poll_period: Time,
    /// Core time of one poll of the core's software queue for new entries.
    pub poll: Time,
    /// Core time to take an entry out of the core's software queue.
    pub pop: Time,
    /// Core time to add an entry to an accelerator's software queue.
    pub push: Time,
    /// Time from the moment when a core adds an entry to an accelerator's software queue until the
    /// accelerator sees the entry.
    pub engine: Time,
    /// Number of entries of a core's software queue.
    pub queue_entries: usize,
}
