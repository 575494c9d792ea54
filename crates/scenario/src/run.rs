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
    /// The results of each system, in the order of the scenario; of each chip, one after the other.
    pub systems: Vec<SystemResult>,
    /// The names of the chips; empty if there is one.
    pub chips: Vec<String>,
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
        let mut outcome = Outcome {
            systems: Vec::new(),
            chips: self
                .resolved
                .chips
                .iter()
                .map(|chip| chip.name.clone())
                .collect(),
            profile_parameters: Vec::new(),
            cohort_links: Vec::new(),
            has_tails: tail_share > 0.0,
        };
        let chips = self.servers.len() as u64;
        for (server, before) in self.servers.iter().zip(0_u64..) {
            let setup = Setup::new(self, server)?;
            let comparison = setup.comparison(self, options.threads, tail_share);
            // All chips serve the same requests.
            let progress = |done, all: u64| progress(before * all + done, chips * all);
            let Some(systems) = compare(&comparison, &progress).map_err(engine)? else {
                return Ok(None);
            };
            outcome.systems.extend(systems);
            if before == 0 {
                let link = |(from, to)| format!("{from}>{to}");
                outcome.profile_parameters = setup.profile.parameters().to_vec();
                outcome.cohort_links = setup.plan.links.pairs().map(link).collect();
            }
        }
        Ok(Some(outcome))
    }
}
