//! Options of the simulation of a scenario.

use accelflow_parameters::Refusal;

/// Options of a simulation that do not change the simulated behavior. They change only the use of
/// threads and memory, and what results contain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOptions {
    /// The number of threads that run simulations; by default 1. 0 counts as 1.
    pub threads: usize,
    /// The fraction of each service's response times that results list one by one, from 0 (the
    /// default) to 1. Results list the longest ones.
    pub tail_share: f64,
    /// The largest number of requests (samples) per service, system and chip that results list one
    /// by one; by default 0. [`crate::Checked::check_samples`] checks that all samples fit into
    /// memory.
    pub samples: u64,
    /// Whether each response time is stored, for exact percentiles, instead of being counted in
    /// bins. `None`, the default, means true if the scenario's field `requests` is at most
    /// [`crate::EXACT_REQUESTS`].
    pub exact: Option<bool>,
    /// The largest number of intervals of simulated time for which results list the servers'
    /// utilization, at most [`MAX_USE_INTERVALS`]. Below 2 (by default 0), results do not list the
    /// utilization over time.
    pub use_intervals: usize,
}

/// The largest allowed value of [`RunOptions::use_intervals`].
pub const MAX_USE_INTERVALS: usize = 10_000;

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            threads: 1,
            tail_share: 0.0,
            samples: 0,
            exact: None,
            use_intervals: 0,
        }
    }
}

impl RunOptions {
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if !(0.0..=1.0).contains(&self.tail_share) {
            let allowed = "must be a number from 0 to 1";
            return Err(Refusal::number("tail_share", self.tail_share, allowed));
        }
        if self.use_intervals > MAX_USE_INTERVALS {
            let allowed = format!("must be at most {MAX_USE_INTERVALS}");
            let given = self.use_intervals.to_string();
            return Err(Refusal::new("use_intervals", given, allowed));
        }
        Ok(())
    }
}
