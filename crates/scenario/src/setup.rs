//! From a checked scenario to the engine's comparison.

use std::collections::BTreeMap;

use accelflow_sim::Config;
use accelflow_sim::compare::Comparison;
use accelflow_sim::plan::Plan;
use accelflow_trace::{Image, templates};
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile, Recording, RecordingOptions};
use accelflow_workload::services::{Service, social_network};
use accelflow_workload::sizes::PayloadSizes;

use crate::check::Checked;
use crate::error::{ScenarioError, engine};
use crate::names::FactSource;
use crate::resolved::Costs;

/// What a comparison on one chip borrows.
pub(crate) struct Setup<'c> {
    server: &'c Config,
    pub(crate) plan: Plan,
    pub(crate) profile: Profile,
    arrivals: ArrivalProcess,
    rate_shares: Vec<f64>,
    slos: BTreeMap<String, Time>,
    tenants: Vec<u16>,
    priorities: Vec<u8>,
}

impl<'s> Setup<'s> {
    pub(crate) fn new(checked: &Checked, server: &'s Config) -> Result<Setup<'s>, ScenarioError> {
        let (scenario, resolved) = (&checked.scenario, &checked.resolved);
        let image = memory()?;
        let profile = profile(checked, &image)?;
        let share = |service: &Service| {
            if let Some(rate_rps) = scenario.rates_rps.get(service.name()) {
                return Ok(rate_rps / resolved.rate_rps);
            }
            let share = scenario.workload.rate_share(service.name(), resolved.rates);
            share.map_err(engine)
        };
        let due = |(name, &us): (&String, &f64)| (name.clone(), Time::from_ns_f64(us * 1e3));
        Ok(Setup {
            plan: plan(checked, server, &profile, &image)?,
            server,
            profile,
            arrivals: resolved
                .arrivals
                .process(resolved.rate_rps)
                .map_err(engine)?,
            rate_shares: checked
                .services
                .iter()
                .map(share)
                .collect::<Result<_, _>>()?,
            slos: scenario.slo_us.iter().map(due).collect(),
            tenants: by_service(checked, &scenario.tenants),
            priorities: by_service(checked, &scenario.priorities),
        })
    }

    /// The factor of each service on the mean rate.
    pub(crate) fn rate_shares(&self) -> &[f64] {
        &self.rate_shares
    }

    pub(crate) fn comparison<'c>(
        &'c self,
        checked: &'c Checked,
        threads: usize,
        tail_share: f64,
    ) -> Comparison<'c> {
        let resolved = &checked.resolved;
        Comparison {
            config: self.server,
            plan: &self.plan,
            orchestrators: &checked.systems,
            placement: resolved.placement,
            arrivals: &self.arrivals,
            rate_shares: &self.rate_shares,
            requests: resolved.requests,
            warmup: resolved.warmup_requests,
            by_rate: resolved.by_rate,
            tail_share,
            slos: &self.slos,
            slo_factor: resolved.slo_factor,
            tenants: &self.tenants,
            priorities: &self.priorities,
            shaping: &checked.flows,
            seed: resolved.seed,
            threads,
        }
    }
}

/// The trace memory with the paper's traces.
pub(crate) fn memory() -> Result<Image, ScenarioError> {
    templates().map_err(engine)?.link().map_err(engine)
}

/// The costs of the services.
///
/// The paper's shares are means over the eight services of SocialNetwork, so costs are derived
/// from all eight whatever is simulated.
fn profile(checked: &Checked, image: &Image) -> Result<Profile, ScenarioError> {
    let (scenario, services) = (&checked.scenario, &checked.services);
    let waits = scenario.remote.waits();
    if let Some(text) = &scenario.recording {
        let recording = Recording::from_json(text)?;
        let options = RecordingOptions {
            waits,
            ..RecordingOptions::default()
        };
        return Ok(Profile::from_recording(
            &recording, services, image, &options,
        )?);
    }
    if checked.resolved.costs == Costs::Measured {
        return Err(ScenarioError::NotMeasured);
    }
    let options = PaperOptions {
        tcp_cost: Time::from_ns_f64(scenario.tcp_cost_ns),
        waits,
        ..PaperOptions::default()
    };
    let all = social_network().map_err(engine)?;
    let profile = Profile::paper_like(services, &all, image, &options).map_err(engine)?;
    Ok(profile.with_app_times(|name| scenario.workload.app_time(name)))
}

/// What the simulator executes.
fn plan(
    checked: &Checked,
    server: &Config,
    profile: &Profile,
    image: &Image,
) -> Result<Plan, ScenarioError> {
    let sizes = PayloadSizes::preset(checked.resolved.sizes);
    let plan = Plan::new(profile, image, &sizes).map_err(engine)?;
    Ok(match checked.resolved.facts {
        FactSource::Common => plan,
        FactSource::Drawn => plan.with_odds(&server.facts.odds().map_err(engine)?),
        FactSource::Recorded => plan.with_recorded_facts(profile)?,
    })
}

/// The value of each simulated service; the default for those that `given` does not name.
fn by_service<T: Copy + Default>(checked: &Checked, given: &BTreeMap<String, T>) -> Vec<T> {
    let of = |service: &Service| given.get(service.name()).copied().unwrap_or_default();
    checked.services.iter().map(of).collect()
}
