//! The demands of services: the core time and accelerator time of one request, in closed form.

use std::collections::BTreeMap;

use accelflow_parameters::Refusal;
use accelflow_sim::plan::{ChainPlan, PhasePlan, Plan, ServicePlan};
use accelflow_sim::{Config, SizedSpeedups};
use accelflow_trace::Accel;
use accelflow_units::Bytes;
use accelflow_workload::profile::{
    OperationProfile, PhaseProfile, ServiceProfile, WaitDistribution,
};
use serde::Serialize;

use crate::checked::Checked;
use crate::error::ScenarioError;
use crate::setup::Setup;

/// The input of queueing models: the work that one request to each service causes, and the numbers
/// of cores and processing elements of one server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Demands {
    /// The work of one request to each service, in the order in which results list the services.
    pub services: Vec<ServiceDemand>,
    /// The number of cores of one server.
    pub cores: usize,
    /// The number of processing elements of each accelerator, summed over its instances, by the
    /// accelerator's name.
    pub elements: BTreeMap<String, usize>,
}

/// The mean work of one request to a service on its most common path. Repeated attempts of chains
/// that may fail are included. Times do not include queueing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceDemand {
    /// The name of the service.
    pub service: String,
    /// The service's request rate divided by the mean request rate of the services.
    pub rate_share: f64,
    /// The SLO in us, as the scenario or the workload file states it; `None` if neither does.
    pub slo_us: Option<f64>,
    /// The SLO as a multiple of the service's mean response time on an idle server, which applies
    /// if `slo_us` is `None`. If both are `None`, the service has no SLO.
    pub slo_factor: Option<f64>,
    /// The core time of a request's application logic, in ns.
    pub app_ns: f64,
    /// The number of CPU phases: stretches of application logic between chains of traces.
    pub cpu_phases: usize,
    /// The mean number of chains of traces that a core starts for one request: all chains but the
    /// first, which the request itself starts.
    pub started_chains: f64,
    /// The mean number of messages that the service receives for one request, including the request
    /// itself.
    pub received: f64,
    /// The mean number of a request's traces that a core executes in part or whole because they
    /// call an accelerator that the chip lacks.
    pub fallbacks: f64,
    /// For each phase of traces, the chains that the request waits for. The chains of a phase start
    /// together, and the phase ends when the last of them ends.
    pub phases: Vec<Vec<ChainDemand>>,
    /// The mean core time of a request outside of operations and application logic, in ns. It is
    /// known from a recording, and applies if cores execute the traces in software. 0 if the
    /// recording lacks it, or the scenario uses no recorded distributions.
    pub outside_core_ns: f64,
    /// The mean time by which the response time measured by the client exceeds the response time
    /// measured by the server, in ns. It is known from a recording. 0 if the recording lacks it, or
    /// the scenario uses no recorded distributions.
    pub outside_client_ns: f64,
    /// The tax operations of all chains of the service, by the accelerator's name.
    pub operations: BTreeMap<String, OperationDemand>,
}

/// The operations of one accelerator that one request needs: their mean number, and the mean of
/// their total time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OperationDemand {
    /// The mean number of operations of the accelerator for one request.
    pub count: f64,
    /// The total time of a request's operations of the accelerator if a core executes them, in ns.
    pub core_ns: f64,
    /// The total time of those of a request's operations that the accelerator executes, in ns.
    pub accelerator_ns: f64,
    /// The mean number of a request's operations of the accelerator that a core executes because
    /// the chip lacks an accelerator: from a trace's first call of a missing accelerator on, a core
    /// executes the rest of the trace.
    pub on_core: f64,
    /// The part of `core_ns` that belongs to the operations counted in `on_core`.
    pub on_core_ns: f64,
}

/// The operations of one chain of traces, their times, and the chain's waits for remote sides such
/// as caches, databases and services that are not simulated. All numbers are means per request;
/// repeated attempts of a chain that may fail are included.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChainDemand {
    /// The number of attempts, at least 1.
    pub attempts: f64,
    /// The name of the simulated service that answers each attempt, if one does.
    pub calls: Option<String>,
    /// The number of operations of the chain.
    pub operations: f64,
    /// The sum of the chain's mean waits for remote sides and of its pauses between attempts, in
    /// ns. Waits for simulated services are not included.
    pub remote_ns: f64,
    /// The total time of the chain's operations if a core executes them, in ns.
    pub core_ns: f64,
    /// The total time of those operations that accelerators execute, in ns.
    pub accelerator_ns: f64,
    /// The mean number of the chain's operations, in one run, that a core executes since the chip
    /// lacks their accelerators, as in [`OperationDemand::on_core`].
    pub on_core: f64,
    /// The part of `core_ns` that belongs to the operations counted in `on_core`.
    pub on_core_ns: f64,
}

impl Checked {
    /// Computes the work of one request to each service on the first chip, without a simulation.
    ///
    /// # Errors
    /// [`ScenarioError`] for a recording that does not fit the workload, and for the profile
    /// `measured` without a recording.
    pub fn demands(&self) -> Result<Demands, ScenarioError> {
        let Some(server) = self.servers.first() else {
            return Err(Refusal::new("chips", "[]", "must have at least one chip").into());
        };
        let setup = Setup::new(self, server)?;
        let profiles = setup.profile.services().iter();
        let with_shares = profiles.zip(&setup.plan.services).zip(setup.rate_shares());
        let accelerator = &server.accelerator;
        let elements = |accel: Accel| {
            (
                self.image.accel_name(accel).to_owned(),
                accelerator.instances_of(accel) * accelerator.pes_of(accel),
            )
        };
        let chip = Chip {
            server,
            plan: &setup.plan,
            sized: SizedSpeedups::new(server, &setup.plan, 0..setup.plan.services.len()),
        };
        let with_slo = |found: ServiceDemand| ServiceDemand {
            slo_us: setup.slo_us(&found.service),
            slo_factor: setup
                .slo_factor(&found.service)
                .or(self.resolved.slo_factor),
            ..found
        };
        Ok(Demands {
            services: with_shares
                .map(|(of, share)| with_slo(demand(of, *share, &chip)))
                .collect(),
            cores: server.core.count,
            elements: self.image.accelerators().map(elements).collect(),
        })
    }
}

/// The chip, with what the times of operations on its accelerators depend on.
struct Chip<'p> {
    server: &'p Config,
    plan: &'p Plan,
    sized: Option<SizedSpeedups>,
}

impl Chip<'_> {
    /// How many times as long as with the mean speedup a chain's operations take, by
    /// [`Accel::index`].
    fn slowdowns(&self, chain: &ChainPlan) -> [f64; Accel::MOST] {
        let sized = self.sized.as_ref();
        sized.map_or([1.0; Accel::MOST], |sized| {
            sized.slowdowns(self.plan, chain)
        })
    }
}

/// Follows a chain, and finds its operations that a core executes: from the first one in a trace
/// whose accelerator the chip lacks to the end of the trace.
struct Software<'c> {
    chip: &'c Chip<'c>,
    trace: &'c str,
    entered: bool,
    /// The number of traces that a core executes so far, in part or whole.
    traces: f64,
}

impl<'c> Software<'c> {
    fn new(chip: &'c Chip<'c>) -> Software<'c> {
        Software {
            chip,
            trace: "",
            entered: false,
            traces: 0.0,
        }
    }

    /// Whether a core executes the chain's next operation.
    fn has(&mut self, next: &'c OperationProfile) -> bool {
        let operation = &next.operation;
        let same = self.trace == operation.trace;
        self.trace = &operation.trace;
        let absent = !self.chip.server.accelerator.has(operation.accel);
        let before = same && self.entered;
        self.entered = before || absent;
        self.traces += f64::from(u8::from(absent && !before));
        self.entered
    }
}

fn demand(
    (profile, plan): (&ServiceProfile, &ServicePlan),
    rate_share: f64,
    chip: &Chip<'_>,
) -> ServiceDemand {
    let mut found = ServiceDemand {
        service: profile.service().name().to_owned(),
        rate_share,
        slo_us: None,
        slo_factor: None,
        app_ns: profile.app_time().as_ns_f64(),
        cpu_phases: profile.service().cpu_phases(),
        started_chains: 0.0,
        received: 0.0,
        fallbacks: 0.0,
        phases: Vec::new(),
        outside_core_ns: mean_ns(profile.outside().core.as_ref()),
        outside_client_ns: mean_ns(profile.outside().client.as_ref()),
        operations: BTreeMap::new(),
    };
    let message = mean_message(plan);
    for (phase, costs) in profile.phases().iter().enumerate() {
        let PhaseProfile::Traces(chains) = costs else {
            continue;
        };
        let planned: &[ChainPlan] = match plan.phases.get(phase) {
            Some(PhasePlan::Chains(planned)) => planned,
            _ => &[],
        };
        let mut demands = Vec::new();
        for (chain, planned) in chains.iter().zip(planned) {
            let (attempts, slowdowns) = (attempts(planned), chip.slowdowns(planned));
            found.started_chains += if phase > 0 { attempts } else { 0.0 };
            let mut software = Software::new(chip);
            for operation in chain {
                found.received += attempts * f64::from(u8::from(operation.operation.receives));
                let name = chip
                    .plan
                    .image
                    .accel_name(operation.operation.accel)
                    .to_owned();
                let of = found.operations.entry(name).or_default();
                let core_ns = attempts * operation.cost.mean().as_ns_f64();
                of.count += attempts;
                of.core_ns += core_ns;
                if software.has(operation) {
                    of.on_core += attempts;
                    of.on_core_ns += core_ns;
                } else {
                    let time_ns = on_accelerator(operation, message, chip, &slowdowns);
                    of.accelerator_ns += attempts * time_ns;
                }
            }
            found.fallbacks += attempts * software.traces;
            if !planned.detached {
                demands.push(demand_of(chain, planned, phase == 0, chip, &slowdowns));
            }
        }
        found.phases.push(demands);
    }
    found
}

/// The mean number of attempts of a chain. Each attempt after the first follows a failed one.
fn attempts(chain: &ChainPlan) -> f64 {
    let Some(retry) = chain.retry else {
        return 1.0;
    };
    let reached = (0..retry.attempts).map(|before| retry.odds.powi(i32::from(before)));
    reached.sum()
}

/// The mean size of a service's messages, by its first chain.
fn mean_message(plan: &ServicePlan) -> Bytes {
    let chains = plan.phases.iter().find_map(|phase| match phase {
        PhasePlan::Chains(chains) => chains.first(),
        _ => None,
    });
    chains.map_or(Bytes(0), |chain| chain.message(0, 0, 0).mean)
}

/// The mean of times; 0 without any.
fn mean_ns(times: Option<&WaitDistribution>) -> f64 {
    times.map_or(0.0, |times| times.mean().as_ns_f64())
}

/// The demands of `chain`, planned as `planned`. A chain that receives the request, the `first`, or
/// that a simulated service answers, does not wait for a remote side.
fn demand_of(
    chain: &[OperationProfile],
    planned: &ChainPlan,
    first: bool,
    chip: &Chip<'_>,
    slowdowns: &[f64; Accel::MOST],
) -> ChainDemand {
    let plan = chip.plan;
    let attempts = attempts(planned);
    let message = planned.message(0, 0, 0).mean;
    let callee = planned.calls.and_then(|index| plan.services.get(index));
    let pause = planned.retry.map_or(0.0, |retry| retry.backoff.as_ns_f64());
    let mut found = ChainDemand {
        attempts,
        calls: callee.map(|service| service.name.clone()),
        remote_ns: (attempts - 1.0) * pause,
        ..ChainDemand::default()
    };
    let mut software = Software::new(chip);
    for operation in chain {
        let call = &operation.operation;
        let core_ns = attempts * operation.cost.mean().as_ns_f64();
        found.operations += attempts;
        found.core_ns += core_ns;
        if software.has(operation) {
            found.on_core += attempts;
            found.on_core_ns += core_ns;
        } else {
            found.accelerator_ns += attempts * on_accelerator(operation, message, chip, slowdowns);
        }
        let waits = call.accel == Accel::Tcp && call.receives;
        if waits && !first && planned.calls.is_none() {
            let wait = plan.mean_wait_in(planned, &call.trace);
            found.remote_ns += attempts * wait.as_ns_f64();
        }
    }
    found
}

/// The time of an operation on its accelerator, in ns; without a measured size its input has
/// `message`. `slowdowns` are those of its chain.
fn on_accelerator(
    operation: &OperationProfile,
    message: Bytes,
    chip: &Chip<'_>,
    slowdowns: &[f64; Accel::MOST],
) -> f64 {
    let (accel, on_core) = (operation.operation.accel, operation.cost.mean());
    if !chip.server.is_sped_up(accel) {
        let input = operation.payload.map_or(message, |payload| payload.input);
        let time = chip.server.accelerated_input(accel, on_core, input);
        return time.as_ns_f64();
    }
    let time = match chip.plan.own_speedup(accel) {
        Some(speedup) => on_core.scale(1.0 / speedup),
        None => chip.server.accelerated(accel, on_core),
    };
    time.as_ns_f64() * slowdowns[accel.index()]
}
