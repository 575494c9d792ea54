//! The simulation of a checked scenario.

use accelflow_parameters::Refusal;
use accelflow_sim::compare::{Comparison, SystemResult, compare};
use accelflow_sim::orchestrators::Orchestrator;
use accelflow_workload::profile::ProfileParameter;

use crate::checked::Checked;
use crate::error::{ScenarioError, engine};
use crate::limits::MAX_SAMPLES;
use crate::options::RunOptions;
use crate::own_loads::OwnLoads;
use crate::setup::Setup;

/// The results of a simulated scenario.
#[derive(Clone, Debug)]
pub struct ScenarioResult {
    /// The results of each system, in the order of
    /// [`Resolved::orchestrators`](crate::Resolved::orchestrators), then those of the additional
    /// systems of [`Checked::run_beside`]. With several chips, the results of all systems on the
    /// first chip come first, and so on.
    pub systems: Vec<SystemResult>,
    /// The names of the compared chips; empty if there is only one chip.
    pub chips: Vec<String>,
    /// The numbers of the cost profile that the simulation used, such as operation costs, each with
    /// unit and source.
    pub profile_parameters: Vec<ProfileParameter>,
    /// The pairs of accelerators that the system Cohort links statically, such as `TCP>Decr`.
    pub cohort_links: Vec<String>,
    /// Whether results keep the longest response times.
    pub(crate) has_tails: bool,
    /// Whether response times were counted in bins.
    pub(crate) binned: bool,
    /// How many requests the services had.
    pub(crate) loads: OwnLoads,
}

impl Checked {
    /// Checks that `runs` simulations of each chip, with different seeds, together list at most
    /// [`MAX_SAMPLES`] single requests (samples). Each simulation lists up to `samples` requests of
    /// each service under each system.
    ///
    /// # Errors
    /// [`ScenarioError`] for more than [`MAX_SAMPLES`] samples in all, a recording that does not
    /// fit the workload, or a scenario that the simulator cannot run.
    pub fn check_samples(&self, samples: u64, runs: u64) -> Result<(), ScenarioError> {
        // Chips do not change how many requests there are.
        let Some(server) = self.servers.first() else {
            return Ok(());
        };
        let setup = Setup::new(self, server)?;
        let (systems, services) = (self.systems.len() as u64, self.services.len());
        let of_a_system = self.kept(&setup, samples);
        let runs = runs.saturating_mul(self.servers.len() as u64);
        let copies = systems.saturating_mul(runs);
        if of_a_system.saturating_mul(copies) <= MAX_SAMPLES {
            return Ok(());
        }
        let each = MAX_SAMPLES / copies.saturating_mul(services as u64).max(1);
        let allowed = format!(
            "must be at most {each} per service: all systems ({systems}), services ({services}) \
             and runs ({runs}: seeds times chips) together keep at most {MAX_SAMPLES} samples"
        );
        let value = match samples {
            u64::MAX => "all".to_owned(),
            samples => samples.to_string(),
        };
        Err(Refusal::new("samples", value, allowed).into())
    }

    /// How many single requests a simulation of one system keeps: at most `samples` of each
    /// service.
    pub(crate) fn kept(&self, setup: &Setup<'_>, samples: u64) -> u64 {
        let options = RunOptions::default();
        let comparison = setup.comparison(self, &options);
        let kept = |service| comparison.counted(service).min(samples);
        (0..self.services.len())
            .map(kept)
            .fold(0, u64::saturating_add)
    }

    /// Simulates the scenario's systems and returns the results. `progress` is called as in
    /// [`Checked::run_beside`]; if `progress` returns `false`, the result is `None`.
    ///
    /// # Errors
    /// The errors of [`Checked::run_beside`].
    pub fn run(
        &self,
        options: &RunOptions,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
    ) -> Result<Option<ScenarioResult>, ScenarioError> {
        self.run_beside(&[], options, progress)
    }

    /// Simulates the scenario's systems, then the additional systems `others`. Returns the results
    /// in this order. `others` are not part of the scenario, so [`Checked::hash`] does not depend
    /// on them.
    ///
    /// `progress` is called regularly with the number of finished requests and the total number of
    /// requests, over all simulations. If `progress` returns `false`, the simulation stops and the
    /// result is `None`.
    ///
    /// # Errors
    /// [`ScenarioError`] for options out of range, a recording that does not fit the workload, the
    /// profile `measured` without a recording, or a scenario that the simulator cannot run.
    pub fn run_beside(
        &self,
        others: &[&dyn Orchestrator],
        options: &RunOptions,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
    ) -> Result<Option<ScenarioResult>, ScenarioError> {
        options.check()?;
        let mut outcome = ScenarioResult {
            systems: Vec::new(),
            chips: self
                .resolved
                .chips
                .iter()
                .map(|chip| chip.name.clone())
                .collect(),
            profile_parameters: Vec::new(),
            cohort_links: Vec::new(),
            has_tails: options.tail_share > 0.0,
            binned: false,
            loads: OwnLoads::default(),
        };
        let systems = self.systems.iter().copied().chain(others.iter().copied());
        let systems: Vec<&dyn Orchestrator> = systems.collect();
        let chips = self.servers.len() as u64;
        for (server, before) in self.servers.iter().zip(0_u64..) {
            let setup = Setup::new(self, server)?;
            let comparison = Comparison {
                orchestrators: &systems,
                ..setup.comparison(self, options)
            };
            outcome.binned = comparison.binned;
            if before == 0 {
                let workload = self.scenario.workload.workload().map_err(engine)?;
                outcome.loads = OwnLoads::new(self, workload.as_ref(), &comparison);
            }
            // All chips serve the same requests.
            let progress = |done, all: u64| progress(before * all + done, chips * all);
            let Some(found) = compare(&comparison, &progress).map_err(engine)? else {
                return Ok(None);
            };
            outcome.systems.extend(found);
            if before == 0 {
                let link = |(from, to)| format!("{from}>{to}");
                outcome.profile_parameters = setup.profile.parameters().to_vec();
                outcome.cohort_links = setup.plan.links.pairs().map(link).collect();
            }
        }
        Ok(Some(outcome))
    }
}
