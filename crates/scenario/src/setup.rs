//! Conversion of a checked scenario into the input of the simulator: a comparison of systems on one
//! chip.

use std::collections::BTreeMap;

use accelflow_parameters::{Refusal, quoted};
use accelflow_sim::Config;
use accelflow_sim::compare::Comparison;
use accelflow_sim::plan::Plan;
use accelflow_trace::{Image, templates};
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::file::Workload;
use accelflow_workload::profile::{
    PaperOptions, Profile, Recording, RecordingOptions, RemoteWaits,
};
use accelflow_workload::services::{FactOdds, Service};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

use crate::checked::Checked;
use crate::choice::{Choice, OrOwn};
use crate::connected::connected;
use crate::error::{ScenarioError, engine};
use crate::limits::EXACT_REQUESTS;
use crate::names::{Arrivals, CostSource, Costs, FactSource};
use crate::options::RunOptions;
use crate::own::Own;
use crate::shares::rate_shares;

/// The data that a comparison on one chip borrows.
pub(crate) struct Setup<'c> {
    pub(crate) server: &'c Config,
    pub(crate) plan: Plan,
    pub(crate) profile: Profile,
    facts: Facts,
    arrivals: ArrivalProcess,
    own_arrivals: Vec<Option<ArrivalProcess>>,
    rate_shares: Vec<f64>,
    slos: BTreeMap<String, Time>,
    slo_factors: BTreeMap<String, f64>,
    tenants: Vec<u16>,
    priorities: Vec<u8>,
}

/// Where requests have their facts from: the payload values that branches test.
pub(crate) enum Facts {
    /// All requests have those of the most common path.
    Common,
    /// They are drawn, with these odds of the chains at (service, phase, chain).
    Drawn(BTreeMap<(String, usize, usize), FactOdds>),
    /// Each request has those of a recorded request.
    Recorded,
}

impl<'s> Setup<'s> {
    pub(crate) fn new(checked: &Checked, server: &'s Config) -> Result<Setup<'s>, ScenarioError> {
        let (scenario, resolved) = (&checked.scenario, &checked.resolved);
        let workload = scenario.workload.workload().map_err(engine)?;
        let own = Own {
            scenario,
            workload: workload.as_ref(),
        };
        let sizes = match resolved.sizes {
            OrOwn::Chosen(preset) => PayloadSizes::preset(preset),
            OrOwn::Own => own.workload.payload_sizes(SizePreset::Fleet)?,
        };
        let profile = profile(checked, &own, &sizes)?;
        let arrivals = match resolved.arrivals {
            OrOwn::Chosen(arrivals) => arrivals,
            OrOwn::Own => Arrivals::Poisson,
        };
        let facts = facts(checked, server, own.workload)?;
        let services = &checked.services;
        let rate_shares = rate_shares(scenario, own.workload, resolved, services);
        let due = |(name, us): (String, f64)| (name, Time::from_ns_f64(us * 1e3));
        Ok(Setup {
            plan: plan(checked, &own, &profile, &sizes, &facts)?,
            server,
            profile,
            facts,
            arrivals: arrivals.process(resolved.rate_rps).map_err(engine)?,
            own_arrivals: own_arrivals(checked, own.workload, &rate_shares)?,
            rate_shares,
            slos: own.slo_us().into_iter().map(due).collect(),
            slo_factors: own.slo_factors(),
            tenants: by_service(checked, &own.tenants()),
            priorities: by_service(checked, &own.priorities()),
        })
    }

    /// Where requests have their facts from.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The factor of each service on the mean rate.
    pub(crate) fn rate_shares(&self) -> &[f64] {
        &self.rate_shares
    }

    /// The SLO of a service in us, if one is stated.
    pub(crate) fn slo_us(&self, service: &str) -> Option<f64> {
        self.slos.get(service).map(|slo| slo.as_ns_f64() * 1e-3)
    }

    /// The SLO of a service as a multiple of its time on an idle server, if it has one of its own.
    pub(crate) fn slo_factor(&self, service: &str) -> Option<f64> {
        self.slo_factors.get(service).copied()
    }

    pub(crate) fn comparison<'c>(
        &'c self,
        checked: &'c Checked,
        options: &RunOptions,
    ) -> Comparison<'c> {
        let resolved = &checked.resolved;
        Comparison {
            config: self.server,
            plan: &self.plan,
            orchestrators: &checked.systems,
            placement: resolved.placement,
            arrivals: &self.arrivals,
            own_arrivals: &self.own_arrivals,
            rate_shares: &self.rate_shares,
            requests: resolved.requests,
            warmup: resolved.warmup_requests,
            by_rate: resolved.by_rate,
            tail_share: options.tail_share,
            samples: options.samples,
            binned: !options.exact.unwrap_or(resolved.requests <= EXACT_REQUESTS),
            use_intervals: options.use_intervals,
            slos: &self.slos,
            slo_factor: resolved.slo_factor,
            slo_factors: &self.slo_factors,
            tenants: &self.tenants,
            priorities: &self.priorities,
            shaping: &checked.flows,
            seed: resolved.seed,
            threads: options.threads,
        }
    }
}

/// The trace memory with the paper's traces.
pub(crate) fn memory() -> Result<Image, ScenarioError> {
    templates().map_err(engine)?.link().map_err(engine)
}

/// The arrivals of each simulated service that the workload's file describes.
fn own_arrivals(
    checked: &Checked,
    workload: &Workload,
    shares: &[f64],
) -> Result<Vec<Option<ArrivalProcess>>, ScenarioError> {
    if checked.resolved.arrivals != OrOwn::Own {
        return Ok(Vec::new());
    }
    let process = |(service, share): (&Service, &f64)| {
        let stated = workload.service(service.name());
        // A service that others call may have no requests from outside.
        if *share == 0.0 {
            return Ok(None);
        }
        let rate_rps = checked.resolved.rate_rps * share;
        let made = stated.map(|stated| workload.arrival_process(stated, rate_rps));
        made.transpose().map(Option::flatten).map_err(engine)
    };
    checked.services.iter().zip(shares).map(process).collect()
}

/// The costs of the services.
///
/// The paper's shares are means over the eight services of SocialNetwork, so costs are always
/// derived from all eight.
fn profile(
    checked: &Checked,
    own: &Own<'_>,
    sizes: &PayloadSizes,
) -> Result<Profile, ScenarioError> {
    let (scenario, services, image) = (&checked.scenario, &checked.services, &checked.image);
    let resolved = &checked.resolved;
    let waits = match resolved.remote {
        OrOwn::Chosen(remote) => remote.waits(),
        OrOwn::Own => own.workload.remote_waits(RemoteWaits::short()),
    };
    if let Some(text) = &scenario.recording {
        let recording = Recording::from_json(text)?;
        let options = RecordingOptions {
            waits,
            times: resolved.recorded_times.recorded(),
            ..RecordingOptions::default()
        };
        return Ok(Profile::from_recording(
            &recording, services, image, &options,
        )?);
    }
    let all = social_network().map_err(engine)?;
    let profile = match resolved.costs {
        Costs::Measured | Costs::Recording => {
            let allowed = "must be given with a recording, which contains this machine's costs";
            let measured = quoted(CostSource::Measured.name());
            return Err(Refusal::new("profile", measured, allowed).into());
        }
        Costs::Own => {
            let tcp_cost_ns = resolved.tcp_cost_ns;
            // The scenario's cost of TCP overrides those of single services, too.
            let overridden = scenario
                .tcp_cost_ns
                .map(|_| own.workload.with_one_tcp_cost());
            let workload = overridden.as_ref().unwrap_or(own.workload);
            let made = workload.profile(services, &all, image, sizes, &waits, tcp_cost_ns);
            made.map_err(|refusal| refusal.within("workload"))?
        }
        Costs::Paper if !image.kinds().is_empty() => {
            let tcp_cost_ns = resolved.tcp_cost_ns;
            let workload = own.workload;
            let made = workload.paper_profile(services, &all, image, sizes, &waits, tcp_cost_ns);
            made.map_err(|refusal| refusal.within("workload"))?
        }
        Costs::Paper => {
            let options = PaperOptions {
                tcp_cost: Time::from_ns_f64(resolved.tcp_cost_ns),
                waits,
                ..PaperOptions::default()
            };
            Profile::paper_like(services, &all, image, &options).map_err(engine)?
        }
    };
    Ok(profile.with_cpu_times(|name| own.workload.cpu_times(name)))
}

/// Where requests have their facts from. Drawn facts have the odds of the workload's file, or else
/// those of the server's parameters.
fn facts(checked: &Checked, server: &Config, workload: &Workload) -> Result<Facts, ScenarioError> {
    match checked.resolved.facts {
        FactSource::Common => return Ok(Facts::Common),
        FactSource::Recorded => return Ok(Facts::Recorded),
        FactSource::Drawn => {}
    }
    let of_server = server.facts.odds().map_err(engine)?;
    let mut odds = BTreeMap::new();
    for (place, _) in checked.services.iter().flat_map(Service::chains) {
        let at = (place.phase, place.chain);
        let drawn = match workload.has_odds() {
            true => workload.fact_odds(&place.service, at),
            false => of_server.clone(),
        };
        odds.insert((place.service, place.phase, place.chain), drawn);
    }
    Ok(Facts::Drawn(odds))
}

/// The plan that the simulator executes.
fn plan(
    checked: &Checked,
    own: &Own<'_>,
    profile: &Profile,
    sizes: &PayloadSizes,
    facts: &Facts,
) -> Result<Plan, ScenarioError> {
    let workload = own.workload;
    let speedups = workload.kind_speedups(&checked.image)?;
    let plan = Plan::new(profile, &checked.image, sizes).map_err(engine)?;
    let mut plan = plan.with_own_speedups(speedups);
    if checked.resolved.remote == OrOwn::Own {
        plan =
            plan.with_chain_waits(|service, place, trace| workload.own_wait(service, place, trace));
    }
    // A recording given from outside has application times of its own.
    if checked.scenario.recording.is_none() {
        plan = plan.with_application_times(|name, phase| workload.drawn_cpu_time(name, phase));
    }
    let plan = connected(plan, workload, &checked.services)?;
    Ok(match facts {
        Facts::Common => plan,
        Facts::Drawn(odds) => plan.with_chain_odds(|service, phase, number| {
            let place = (service.to_owned(), phase, number);
            odds.get(&place).cloned().unwrap_or_default()
        }),
        Facts::Recorded => plan.with_recorded_facts(profile)?,
    })
}

/// The value of each simulated service; the default for those that `given` does not name.
fn by_service<T: Copy + Default>(checked: &Checked, given: &BTreeMap<String, T>) -> Vec<T> {
    let of = |service: &Service| given.get(service.name()).copied().unwrap_or_default();
    checked.services.iter().map(of).collect()
}
