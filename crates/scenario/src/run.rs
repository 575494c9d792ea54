//! Running a checked scenario.

use accelflow_sim::compare::{SystemResult, compare};
use accelflow_workload::profile::ProfileParameter;

use crate::check::Checked;
use crate::error::{ScenarioError, engine};
use crate::setup::Setup;
use accelflow_parameters::Refusal;

/// How a scenario is run; nothing of it changes what is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOptions {
    /// Worker threads.
    pub threads: usize,
    /// The share of the response times of each service that results keep, the longest first; from
    /// 0 to 1.
    pub tail_share: f64,
}

/// What a run found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The results of each system, in the order of the scenario.
    pub systems: Vec<SystemResult>,
    /// The numbers that the costs rest on.
    pub profile_parameters: Vec<ProfileParameter>,
    /// The pairs of accelerators that Cohort links: `TCP>Decr`.
    pub cohort_links: Vec<String>,
    /// Whether results keep the longest response times.
    pub(crate) has_tails: bool,
}

impl Checked {
    /// Simulates the scenario. `progress` is called from time to time with the requests that have
    /// ended and with all, over all simulations; it stops the run by returning `false`, and the
    /// outcome is `None` then.
    ///
    /// # Errors
    /// [`ScenarioError`] for options out of range, for a recording that does not fit, and for what
    /// the simulator cannot run.
    pub fn run(
        &self,
        options: &RunOptions,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
    ) -> Result<Option<Outcome>, ScenarioError> {
        let tail_share = options.tail_share;
        if !(0.0..=1.0).contains(&tail_share) {
            let allowed = "must be a number from 0 to 1";
            return Err(Refusal::number("tail_share", tail_share, allowed).into());
        }
        let setup = Setup::new(self)?;
        let comparison = setup.comparison(self, options.threads, tail_share);
        let systems = compare(&comparison, progress).map_err(engine)?;
        let link = |(from, to)| format!("{from}>{to}");
        Ok(systems.map(|systems| Outcome {
            systems,
            profile_parameters: setup.profile.parameters().to_vec(),
            cohort_links: setup.plan.links.pairs().map(link).collect(),
            has_tails: tail_share > 0.0,
        }))
    }
}
