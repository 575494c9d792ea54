//! The simulator: comparisons, the services' paths, and the parameters.

use std::collections::BTreeMap;
use std::sync::Mutex;

use accelflow_kernel::ConfidenceInterval;
use accelflow_shaping::{FlowConfig, Registers, Splitting, Unit};
use accelflow_sim::compare::{Comparison, Placement, compare};
use accelflow_sim::orchestrators::{ORCHESTRATORS, Orchestrator, SYSTEMS, orchestrator};
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::Operated;
use accelflow_sim::{Config, Load, Run, simulate_logged};
use accelflow_trace::{Image, templates};
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::{ASSUMED_DWELL, ArrivalProcess, Modulation};
use accelflow_workload::profile::{
    PaperOptions, Profile, Recording, RecordingOptions, RemoteWaits, ShareKind,
};
use accelflow_workload::services::{Service, social_network};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::{RateShares, Suite};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::comparison::system_json;
use crate::errors::AccelflowError;
use crate::parameters::profile_rows;
use crate::services::{find_service, wanted_services};

pub(crate) fn failure(error: impl std::fmt::Display) -> PyErr {
    AccelflowError::new_err(error.to_string())
}

pub(crate) fn memory() -> PyResult<Image> {
    templates().map_err(failure)?.link().map_err(failure)
}

fn pick<T: Clone>(what: &str, name: &str, known: &[(&'static str, T)]) -> PyResult<T> {
    known
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, value)| value.clone())
        .ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(n, _)| *n).collect();
            failure(format!(
                "unknown {what} '{name}'; known are {}",
                names.join(", ")
            ))
        })
}

/// The arguments of a comparison, as JSON on the Python side.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    workload: String,
    services: Vec<String>,
    orchestrators: Vec<String>,
    placement: String,
    arrivals: String,
    rate_rps: f64,
    rates: String,
    facts: String,
    requests: u64,
    warmup: u64,
    by_rate: bool,
    tail_share: f64,
    seed: u64,
    threads: usize,
    tcp_cost_ns: f64,
    remote: String,
    sizes: String,
    config: BTreeMap<String, f64>,
    slo_us: BTreeMap<String, f64>,
    slo_factor: Option<f64>,
    tenants: BTreeMap<String, u16>,
    priorities: BTreeMap<String, u8>,
    shaping: BTreeMap<u16, Vec<Limiter>>,
}

/// What a tenant's traces are limited to: `refill` tokens every `interval` cycles.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Limiter {
    unit: String,
    refill: u64,
    bucket: u64,
    interval: u64,
}

impl Limiter {
    fn registers(&self) -> PyResult<(Unit, Registers)> {
        let units = Unit::ALL.map(|unit| (unit.name(), unit));
        let unit = pick("unit", &self.unit, &units)?;
        let made = Registers::new(self.refill, self.bucket, self.interval);
        Ok((unit, made.map_err(failure)?))
    }
}

/// Simulates what `request` (JSON) asks for, with the costs of `recording` (JSON) or, without
/// one, of the paper's shares; the result as JSON.
///
/// `progress` is called with the number of requests that have ended and of all. Raises
/// AccelflowError for a name, value or recording that cannot be used; an exception of `progress`
/// ends the comparison and is passed on.
#[pyfunction]
#[pyo3(signature = (request, recording=None, progress=None))]
pub(crate) fn simulate_comparison(
    py: Python<'_>,
    request: &str,
    recording: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let request: Request = serde_json::from_str(request).map_err(failure)?;
    let prepared = Prepared::new(&request, recording)?;
    let interrupted: Mutex<Option<PyErr>> = Mutex::new(None);
    let report = |done: u64, all: u64| {
        Python::attach(|py| {
            let called = match &progress {
                Some(callback) => callback.call1(py, (done, all)).map(drop),
                None => Ok(()),
            };
            match called.and_then(|()| py.check_signals()) {
                Ok(()) => true,
                Err(error) => {
                    if let Ok(mut slot) = interrupted.lock() {
                        slot.get_or_insert(error);
                    }
                    false
                }
            }
        })
    };
    let systems = py
        .detach(|| compare(&prepared.comparison(&request), &report))
        .map_err(failure)?;
    if let Some(error) = interrupted.into_inner().ok().flatten() {
        return Err(error);
    }
    let systems = systems.ok_or_else(|| failure("the comparison was interrupted"))?;
    Ok(json!({
        "systems": systems.iter().map(system_json).collect::<Vec<_>>(),
        "profile_parameters": prepared.profile_parameters,
        "cohort_links": prepared.plan.links.pairs()
            .map(|(from, to)| format!("{from}>{to}")).collect::<Vec<_>>(),
    })
    .to_string())
}

struct Prepared {
    config: Config,
    plan: Plan,
    orchestrators: Vec<&'static dyn Orchestrator>,
    placement: Placement,
    arrivals: ArrivalProcess,
    rate_shares: Vec<f64>,
    slos: BTreeMap<String, Time>,
    profile_parameters: Vec<Value>,
    slo_factor: Option<f64>,
    tenants: Vec<u16>,
    priorities: Vec<u8>,
    shaping: BTreeMap<u16, FlowConfig>,
}

impl Prepared {
    fn new(request: &Request, recording: Option<&str>) -> PyResult<Prepared> {
        let mut config = Config::default();
        for (key, value) in &request.config {
            config.set(key, *value).map_err(failure)?;
        }
        let orchestrators = request
            .orchestrators
            .iter()
            .map(|id| orchestrator(id).map_err(failure))
            .collect::<PyResult<_>>()?;
        let placements = Placement::ALL.map(|p| (p.name(), p));
        let sizes = SizePreset::ALL.map(|p| (p.name(), p));
        let image = memory()?;
        let suite: Suite = request.workload.parse().map_err(failure)?;
        let shares: RateShares = request.rates.parse().map_err(failure)?;
        let services = wanted_services(suite, &request.services)?;
        let share = |it: &Service| suite.rate_share(it.name(), shares).map_err(failure);
        let rate_shares = services.iter().map(share).collect::<PyResult<_>>()?;
        let profile = profile(request, recording, suite, &services, &image)?;
        let sizes = PayloadSizes::preset(pick("payload sizes", &request.sizes, &sizes)?);
        let profile_parameters = profile_rows(profile.parameters());
        let names: Vec<&str> = services.iter().map(Service::name).collect();
        let plan = Plan::new(&profile, &image, &sizes).map_err(failure)?;
        let plan = match request.facts.as_str() {
            "common" => plan,
            "drawn" => plan.with_odds(&config.facts.odds().map_err(failure)?),
            "recorded" => plan.with_recorded_facts(&profile).map_err(failure)?,
            other => {
                return Err(failure(format!(
                    "unknown facts '{other}'; known are common, drawn, recorded"
                )));
            }
        };
        Ok(Prepared {
            plan,
            rate_shares,
            slo_factor: request.slo_factor,
            tenants: of_services(&names, &request.tenants),
            priorities: of_services(&names, &request.priorities),
            shaping: flows(&request.shaping)?,
            config,
            slos: slos(&request.slo_us, &services)?,
            orchestrators,
            placement: pick("placement", &request.placement, &placements)?,
            arrivals: arrivals(&request.arrivals, request.rate_rps)?,
            profile_parameters,
        })
    }

    fn comparison<'c>(&'c self, request: &Request) -> Comparison<'c> {
        Comparison {
            config: &self.config,
            plan: &self.plan,
            orchestrators: &self.orchestrators,
            placement: self.placement,
            arrivals: &self.arrivals,
            rate_shares: &self.rate_shares,
            slos: &self.slos,
            requests: request.requests,
            warmup: request.warmup,
            by_rate: request.by_rate,
            tail_share: request.tail_share,
            slo_factor: self.slo_factor,
            tenants: &self.tenants,
            priorities: &self.priorities,
            shaping: &self.shaping,
            seed: request.seed,
            threads: request.threads,
        }
    }
}

fn slos(slo_us: &BTreeMap<String, f64>, services: &[Service]) -> PyResult<BTreeMap<String, Time>> {
    let slo = |(name, &us): (&String, &f64)| {
        find_service(services, name)?;
        Ok((name.clone(), Time::from_ns_f64(us * 1e3)))
    };
    slo_us.iter().map(slo).collect()
}

/// The shapers of tenants, with one limit or one of each unit.
fn flows(limits: &BTreeMap<u16, Vec<Limiter>>) -> PyResult<BTreeMap<u16, FlowConfig>> {
    let flow = |(&tenant, limits): (&u16, &Vec<Limiter>)| {
        let made = limits.iter().map(Limiter::registers);
        let made: Vec<(Unit, Registers)> = made.collect::<PyResult<_>>()?;
        let mut flow = match *made {
            [(unit, registers)] => FlowConfig::new(unit, registers),
            [(unit, registers), (other, also)] if other != unit => {
                FlowConfig::new(unit, registers).and(also)
            }
            _ => {
                return Err(failure(format!(
                    "shaping of tenant {tenant}: must be one limit, or one of each unit"
                )));
            }
        };
        if let Some((_, registers)) = made.iter().find(|it| it.0 == Unit::Bytes) {
            // An input larger than the bucket is paid for in pieces.
            let bucket = Bytes(u64::from(registers.bucket()));
            flow.splitting = Splitting::segments(bucket, Bytes(0)).map_err(failure)?;
        }
        Ok((tenant, flow))
    };
    limits.iter().map(flow).collect()
}

/// What `given` says of each service, the default for those that it does not name.
fn of_services<T: Copy + Default>(names: &[&str], given: &BTreeMap<String, T>) -> Vec<T> {
    let of = |name: &&str| given.get(*name).copied().unwrap_or_default();
    names.iter().map(of).collect()
}

/// The paper's shares are means over the eight services of SocialNetwork, so costs are derived
/// from all eight whatever is simulated.
fn profile(
    request: &Request,
    recording: Option<&str>,
    suite: Suite,
    services: &[Service],
    image: &Image,
) -> PyResult<Profile> {
    let waits = remote_waits(&request.remote)?;
    if let Some(recording) = recording {
        let recording = Recording::from_json(recording).map_err(failure)?;
        let options = RecordingOptions {
            waits,
            ..RecordingOptions::default()
        };
        return Profile::from_recording(&recording, services, image, &options).map_err(failure);
    }
    let tcp_cost = Time::from_ns_f64(request.tcp_cost_ns);
    let options = PaperOptions {
        tcp_cost,
        waits,
        ..PaperOptions::default()
    };
    let all = social_network().map_err(failure)?;
    let profile = Profile::paper_like(services, &all, image, &options).map_err(failure)?;
    Ok(profile.with_app_times(|name| suite.app_time(name)))
}

pub(crate) fn remote_waits(name: &str) -> PyResult<RemoteWaits> {
    let remotes = [
        ("short", RemoteWaits::short()),
        ("socialnetwork", RemoteWaits::social_network()),
        ("short_drawn", RemoteWaits::short().spread()),
        (
            "socialnetwork_drawn",
            RemoteWaits::social_network().spread(),
        ),
    ];
    pick("remote", name, &remotes)
}

fn arrivals(kind: &str, rate_rps: f64) -> PyResult<ArrivalProcess> {
    let bursty = |modulation| ArrivalProcess::Bursty {
        rate_rps,
        modulation,
    };
    match kind {
        "poisson" => Ok(ArrivalProcess::Poisson { rate_rps }),
        "alibaba" => Ok(bursty(Modulation::alibaba(ASSUMED_DWELL).map_err(failure)?)),
        "azure" => Ok(bursty(Modulation::azure(ASSUMED_DWELL).map_err(failure)?)),
        "short_bursts" => Ok(bursty(Modulation::short_bursts())),
        _ => Err(failure(format!(
            "unknown arrivals '{kind}'; known are poisson, alibaba, azure, short_bursts"
        ))),
    }
}

/// The mean time from one rate of the arrivals `kind` to the next in us, None if the rate holds.
///
/// Raises AccelflowError for unknown arrivals.
#[pyfunction]
pub(crate) fn arrivals_dwell_us(kind: &str) -> PyResult<Option<f64>> {
    Ok(match arrivals(kind, 1.0)? {
        ArrivalProcess::Bursty { modulation, .. } => Some(modulation.dwell().as_us_f64()),
        ArrivalProcess::Poisson { .. } | ArrivalProcess::Trace(_) => None,
    })
}

/// The identifiers of the orchestrators that a comparison runs by default, with the names of the
/// paper, in its order.
#[pyfunction]
pub(crate) fn orchestrator_names() -> Vec<(&'static str, &'static str)> {
    names(&ORCHESTRATORS)
}

/// The identifiers of all systems that can be simulated, with the names of the paper.
#[pyfunction]
pub(crate) fn system_names() -> Vec<(&'static str, &'static str)> {
    names(&SYSTEMS)
}

fn names(systems: &[&dyn Orchestrator]) -> Vec<(&'static str, &'static str)> {
    systems.iter().map(|o| (o.id(), o.paper_name())).collect()
}

/// (phase, chain, trace, accelerator, whether on a core) of an operation.
type SimulatedOperation = (usize, usize, String, &'static str, bool);

/// One invocation of a service on an idle simulated server: (phase, chain, trace, accelerator,
/// whether on a core) of each operation, in the order of simulated time. Raises AccelflowError for
/// an unknown service or orchestrator.
#[pyfunction]
pub(crate) fn simulated_operations(
    name: &str,
    orchestrator_id: &str,
) -> PyResult<Vec<SimulatedOperation>> {
    let all = social_network().map_err(failure)?;
    find_service(&all, name)?;
    let image = memory()?;
    let log = idle_log(
        &all,
        &image,
        name,
        orchestrator_id,
        SizePreset::SocialNetwork,
        1,
    )?;
    let row = |it: &Operated| {
        (
            it.phase,
            it.chain,
            image.name(it.trace).to_owned(),
            it.accel.name(),
            it.on_core,
        )
    };
    Ok(log.iter().map(row).collect())
}

/// The operations of `requests` invocations of a service, one at a time on an idle server.
fn idle_log(
    services: &[Service],
    image: &Image,
    name: &str,
    orchestrator_id: &str,
    sizes: SizePreset,
    requests: u64,
) -> PyResult<Vec<Operated>> {
    let named = |service: &Service| service.name() == name;
    let profile = Profile::paper(services, image, &PaperOptions::default()).map_err(failure)?;
    let plan = Plan::new(&profile, image, &PayloadSizes::preset(sizes)).map_err(failure)?;
    let service = services.iter().position(named).unwrap_or(0);
    let load = Load::new(
        service,
        ArrivalProcess::Poisson { rate_rps: 1.0 },
        requests,
        0,
    );
    let (_, log) = simulate_logged(&Run {
        config: &Config::default(),
        plan: &plan,
        orchestrator: orchestrator(orchestrator_id).map_err(failure)?,
        loads: &[load],
        seed: 1,
    })
    .map_err(failure)?;
    Ok(log)
}

/// Payloads of the operations of all services: (accelerator, bytes before, bytes after) of each
/// operation of `requests` invocations of each service, with the payload sizes called `sizes`.
/// Raises AccelflowError for unknown sizes.
#[pyfunction]
pub(crate) fn simulated_payloads(
    py: Python<'_>,
    sizes: &str,
    requests: u64,
) -> PyResult<Vec<(&'static str, u64, u64)>> {
    let presets = SizePreset::ALL.map(|preset| (preset.name(), preset));
    let sizes = pick("payload sizes", sizes, &presets)?;
    let all = social_network().map_err(failure)?;
    let image = memory()?;
    py.detach(|| {
        let mut found = Vec::new();
        for service in &all {
            let log = idle_log(&all, &image, service.name(), "accelflow", sizes, requests)?;
            let row = |it: &Operated| (it.accel.name(), it.sizes[0].get(), it.sizes[1].get());
            found.extend(log.iter().map(row));
        }
        Ok(found)
    })
}

/// What each service spends on a core without accelerators, by category, in ns: the profile
/// `paper` with what TCP costs a core, as JSON.
#[pyfunction]
pub(crate) fn service_breakdown(tcp_cost_ns: f64) -> PyResult<String> {
    let options = PaperOptions {
        tcp_cost: Time::from_ns_f64(tcp_cost_ns),
        ..PaperOptions::default()
    };
    let all = social_network().map_err(failure)?;
    let profile = Profile::paper(&all, &memory()?, &options).map_err(failure)?;
    let rows = profile.services().iter().map(|service| {
        let mut spent: BTreeMap<&str, f64> = BTreeMap::new();
        for it in service.operations() {
            let kind = ShareKind::of(it.operation.accel).name();
            *spent.entry(kind).or_default() += it.cost.mean().as_ns_f64();
        }
        spent.insert(ShareKind::App.name(), service.app_time().as_ns_f64());
        json!({"service": service.service().name(), "spent_ns": spent})
    });
    Ok(Value::Array(rows.collect()).to_string())
}

/// (mean, half width of its 95 % confidence interval) of independent observations; None for fewer
/// than two.
#[pyfunction]
pub(crate) fn confidence_interval(observations: Vec<f64>) -> Option<(f64, f64)> {
    ConfidenceInterval::of(&observations).map(|it| (it.mean, it.half_width))
}
