//! How a scenario is run.

use accelflow_parameters::Refusal;

/// How a scenario is run; nothing of it changes what is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOptions {
    /// Worker threads.
    pub threads: usize,
    /// The share of the response times of each service that results keep, the longest first; from
    /// 0 to 1.
    pub tail_share: f64,
    /// The most requests of each service under each system that results keep one by one
    /// ([`crate::Checked::check_samples`] says whether memory should hold them).
    pub samples: u64,
    /// Whether response times are kept one by one, and percentiles exact, rather than counted in
    /// bins. `None`: for up to [`crate::EXACT_REQUESTS`] requests.
    pub exact: Option<bool>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            threads: 1,
            tail_share: 0.0,
            samples: 0,
            exact: None,
        }
    }
}

impl RunOptions {
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if (0.0..=1.0).contains(&self.tail_share) {
            return Ok(());
        }
        let allowed = "must be a number from 0 to 1";
        Err(Refusal::number("tail_share", self.tail_share, allowed))
    }
}
