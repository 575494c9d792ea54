//! The demands of services: the core time and accelerator time of one request, in closed form.

use std::collections::BTreeMap;

use accelflow_parameters::Refusal;
use accelflow_sim::plan::{ChainPlan, PhasePlan, Plan, ServicePlan};
use accelflow_sim::{Config, SizedSpeedups};
use accelflow_trace::Accel;
use accelflow_units::Bytes;
use accelflow_workload::profile::{OperationProfile, PhaseProfile, WaitDistribution};
use serde::Serialize;

use crate::checked::Checked;
use crate::error::ScenarioError;
use crate::setup::Setup;
use crate::ways::{Way, ways};

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

/// The mean work of one request to a service. Payload values that are random count with their
/// probabilities, and so do repeated attempts of chains that may fail. A request that is answered
/// with an error has no later phases. Times do not include queueing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    /// The mean core time of a request's application logic, in ns.
    pub app_ns: f64,
    /// The mean number of CPU phases: stretches of application logic between chains of traces.
    pub cpu_phases: f64,
    /// The mean number of chains of traces that a core starts for one request: all chains but the
    /// first, which the request itself starts.
    pub started_chains: f64,
    /// The mean number of a request's attempts of chains that follow a failed attempt.
    pub repeated: f64,
    /// The mean number of a request's waits for messages that follow an operation on an accelerator.
    pub parked: f64,
    /// The mean number of a request's chains whose last operation is on an accelerator.
    pub ended: f64,
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
    /// The mean number of a request's calls of each simulated service, by the service's name.
    pub calls: BTreeMap<String, f64>,
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
/// as caches, databases and services that are not simulated. All numbers are means per request, as in
/// [`ServiceDemand`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChainDemand {
    /// The number of times that the chain runs.
    pub attempts: f64,
    /// The number of answers for which the chain waits.
    pub answers: f64,
    /// The name of the simulated service that the chain calls, which gives the answers; `None` if
    /// remote sides give them.
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
    /// The number of the chain's operations that a core executes since the chip lacks their
    /// accelerators, as in [`OperationDemand::on_core`].
    pub on_core: f64,
    /// The part of `core_ns` that belongs to the operations counted in `on_core`.
    pub on_core_ns: f64,
}

impl Checked {
    /// Computes the work of one request to each service on the first chip, without a simulation.
    ///
    /// # Errors
    /// [`ScenarioError`] for a recording that does not fit the workload, for the profile `measured`
    /// without a recording, and for an operation without a cost.
    pub fn demands(&self) -> Result<Demands, ScenarioError> {
        let Some(server) = self.servers.first() else {
            return Err(Refusal::new("chips", "[]", "must have at least one chip").into());
        };
        let setup = Setup::new(self, server)?;
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
        let services =
            (0..setup.plan.services.len()).map(|index| demand(&setup, index, &chip).map(with_slo));
        Ok(Demands {
            services: services.collect::<Result<_, _>>()?,
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

/// Where an operation is executed.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Core,
    Accelerator,
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

/// The demands of the service with index `index` in `setup`.
fn demand(
    setup: &Setup<'_>,
    index: usize,
    chip: &Chip<'_>,
) -> Result<ServiceDemand, ScenarioError> {
    let (profile, plan) = (
        &setup.profile.services()[index],
        &setup.plan.services[index],
    );
    let mut found = ServiceDemand {
        service: profile.service().name().to_owned(),
        rate_share: setup.rate_shares()[index],
        outside_core_ns: mean_ns(profile.outside().core.as_ref()),
        outside_client_ns: mean_ns(profile.outside().client.as_ref()),
        ..ServiceDemand::default()
    };
    let message = mean_message(plan);
    // The probability that a request comes to the phase.
    let mut comes = 1.0;
    for (phase, costs) in profile.phases().iter().enumerate() {
        let planned: &[ChainPlan] = match (costs, plan.phases.get(phase)) {
            (PhaseProfile::Traces(_), Some(PhasePlan::Chains(planned))) => planned,
            (PhaseProfile::Cpu(time), _) => {
                found.app_ns += comes * time.as_ns_f64();
                found.cpu_phases += comes;
                continue;
            }
            _ => continue,
        };
        let (mut demands, mut goes_on) = (Vec::new(), 1.0);
        for (number, planned) in planned.iter().enumerate() {
            let ways = ways(setup, index, (phase, number))?;
            let slowdowns = chip.slowdowns(planned);
            let mut demand = ChainDemand::of(planned, chip.plan);
            for way in &ways {
                let first = comes * way.probability;
                let attempts = first * attempts(planned, way);
                found.repeated += attempts - first;
                found.started_chains += if phase > 0 { attempts } else { 0.0 };
                let times = Times {
                    chip,
                    message,
                    slowdowns: &slowdowns,
                };
                found.add(way, attempts, &times);
                let times = Times {
                    message: planned.message(0, 0, 0).mean,
                    ..times
                };
                demand.add(way, attempts, planned, phase == 0, &times);
                demand.remote_ns += pauses_ns(planned, attempts - first);
            }
            if let Some(callee) = &demand.calls {
                *found.calls.entry(callee.clone()).or_default() += demand.answers;
            }
            if !planned.detached {
                goes_on *= 1.0 - ways.iter().map(|way| failing(planned, way)).sum::<f64>();
                demands.push(demand);
            }
        }
        found.phases.push(demands);
        comes *= goes_on;
    }
    Ok(found)
}

/// What the times of a chain's operations on accelerators depend on.
struct Times<'c> {
    chip: &'c Chip<'c>,
    /// The mean size of messages, for operations without a measured size.
    message: Bytes,
    slowdowns: &'c [f64; Accel::MOST],
}

impl Times<'_> {
    /// The time of an operation on its accelerator, in ns.
    fn on_accelerator(&self, operation: &OperationProfile) -> f64 {
        let (chip, accel) = (self.chip, operation.operation.accel);
        let on_core = operation.cost.mean();
        if !chip.server.is_sped_up(accel) {
            let input = operation
                .payload
                .map_or(self.message, |payload| payload.input);
            let time = chip.server.accelerated_input(accel, on_core, input);
            return time.as_ns_f64();
        }
        let time = match chip.plan.own_speedup(accel) {
            Some(speedup) => on_core.scale(1.0 / speedup),
            None => chip.server.accelerated(accel, on_core),
        };
        time.as_ns_f64() * self.slowdowns[accel.index()]
    }
}

impl ServiceDemand {
    /// Adds `attempts` executions of a chain on `way`.
    fn add(&mut self, way: &Way<'_>, attempts: f64, times: &Times<'_>) {
        let mut software = Software::new(times.chip);
        let mut before = None;
        for operation in way.operations.iter() {
            let call = &operation.operation;
            if call.receives && before == Some(Place::Accelerator) {
                self.parked += attempts;
            }
            self.received += attempts * f64::from(u8::from(call.receives));
            let name = times.chip.plan.image.accel_name(call.accel).to_owned();
            let of = self.operations.entry(name).or_default();
            let core_ns = attempts * operation.cost.mean().as_ns_f64();
            of.count += attempts;
            of.core_ns += core_ns;
            if software.has(operation) {
                before = Some(Place::Core);
                of.on_core += attempts;
                of.on_core_ns += core_ns;
            } else {
                before = Some(Place::Accelerator);
                of.accelerator_ns += attempts * times.on_accelerator(operation);
            }
        }
        if before == Some(Place::Accelerator) {
            self.ended += attempts;
        }
        self.fallbacks += attempts * software.traces;
    }
}

impl ChainDemand {
    /// The chain without executions.
    fn of(planned: &ChainPlan, plan: &Plan) -> ChainDemand {
        let callee = planned.calls.and_then(|index| plan.services.get(index));
        ChainDemand {
            calls: callee.map(|service| service.name.clone()),
            ..ChainDemand::default()
        }
    }

    /// Adds `attempts` executions on `way`. The chain that receives the request, the `first`, does
    /// not wait for that message, and simulated services are not remote sides.
    fn add(
        &mut self,
        way: &Way<'_>,
        attempts: f64,
        planned: &ChainPlan,
        first: bool,
        times: &Times<'_>,
    ) {
        let mut software = Software::new(times.chip);
        self.attempts += attempts;
        for operation in way.operations.iter() {
            let call = &operation.operation;
            let core_ns = attempts * operation.cost.mean().as_ns_f64();
            self.operations += attempts;
            self.core_ns += core_ns;
            if software.has(operation) {
                self.on_core += attempts;
                self.on_core_ns += core_ns;
            } else {
                self.accelerator_ns += attempts * times.on_accelerator(operation);
            }
            if call.accel == Accel::Tcp && call.receives && !first {
                self.answers += attempts;
                if planned.calls.is_none() {
                    let wait = times.chip.plan.mean_wait_in(planned, &call.trace);
                    self.remote_ns += attempts * wait.as_ns_f64();
                }
            }
        }
    }
}

/// The mean number of attempts of a chain on `way`. Each attempt after the first follows a failed
/// one. A chain that reports an error makes no further attempts.
fn attempts(chain: &ChainPlan, way: &Way<'_>) -> f64 {
    let Some(retry) = chain.retry.filter(|_| !way.fails) else {
        return 1.0;
    };
    let reached = (0..retry.attempts).map(|before| retry.odds.powi(i32::from(before)));
    reached.sum()
}

/// The probability that a request takes `way` and is answered with an error: the chain reports one,
/// or all of its attempts fail.
fn failing(chain: &ChainPlan, way: &Way<'_>) -> f64 {
    let gives_up = chain
        .retry
        .map_or(0.0, |retry| retry.odds.powi(i32::from(retry.attempts)));
    way.probability * if way.fails { 1.0 } else { gives_up }
}

/// The pauses before `attempts` repeated attempts of a chain, in ns.
fn pauses_ns(chain: &ChainPlan, attempts: f64) -> f64 {
    let pause = chain.retry.map_or(0.0, |retry| retry.backoff.as_ns_f64());
    attempts * pause
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
