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
use crate::paths::{CostedPath, costed_paths};
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

/// The mean work of one request to a service. Payload values that are random count with their
/// probabilities, and so do repeated attempts of chains that may fail. A request that is answered
/// with an error has no later phases. Times do not include queueing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ServiceDemand {
    /// The name of the service.
    pub service: String,
    /// The service's request rate divided by the scenario's mean rate
    /// ([`Resolved::rate_rps`](crate::Resolved::rate_rps)); 0 for a service that only other
    /// services call.
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
    /// The mean number of chains of traces that a core starts for one request: all chains but those
    /// of the first phase, which the request itself starts. Each attempt counts.
    pub started_chains: f64,
    /// The mean number of a request's attempts of chains that follow a failed attempt.
    pub repeated: f64,
    /// The mean number of times that a trace of a request waits for a message after an operation on
    /// an accelerator.
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
/// as caches, databases and services that are not simulated. All numbers are means per request, as
/// in [`ServiceDemand`].
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
    /// The number of the chain's operations that a core executes because the chip lacks an
    /// accelerator, as in [`OperationDemand::on_core`].
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

/// Returns the operations of `path`, each with whether a core executes it. A core executes a trace
/// from the first operation whose accelerator the chip lacks.
fn placed<'w>(
    path: &'w CostedPath<'_>,
    chip: &Chip<'_>,
) -> impl Iterator<Item = (&'w OperationProfile, bool)> {
    let (mut trace, mut falls_back) = ("", false);
    path.operations.iter().map(move |next| {
        let operation = &next.operation;
        let absent = !chip.server.accelerator.has(operation.accel);
        falls_back = absent || (trace == operation.trace && falls_back);
        trace = &operation.trace;
        (next, falls_back)
    })
}

/// The demands of the service with index `index` in `setup`.
fn demand(
    setup: &Setup<'_>,
    index: usize,
    chip: &Chip<'_>,
) -> Result<ServiceDemand, ScenarioError> {
    let profile = &setup.profile.services()[index];
    let plan = &setup.plan.services[index];
    let mut found = ServiceDemand {
        service: profile.service().name().to_owned(),
        rate_share: setup.rate_shares()[index],
        outside_core_ns: mean_ns(profile.outside().core.as_ref()),
        outside_client_ns: mean_ns(profile.outside().client.as_ref()),
        ..ServiceDemand::default()
    };
    // The probability that a request comes to the phase.
    let mut comes = 1.0;
    for (phase, costs) in profile.phases().iter().enumerate() {
        match (costs, plan.phases.get(phase)) {
            (PhaseProfile::Cpu(time), _) => {
                found.app_ns += comes * time.as_ns_f64();
                found.cpu_phases += comes;
            }
            (PhaseProfile::Traces(_), Some(PhasePlan::Chains(chains))) => {
                let mut goes_on = 1.0;
                found.phases.push(Vec::new());
                for (number, chain) in chains.iter().enumerate() {
                    let paths = costed_paths(setup, index, (phase, number))?;
                    let run = ChainRun {
                        chip,
                        chain,
                        is_first: phase == 0,
                        comes,
                        message: mean_message(plan),
                        slowdowns: chip.slowdowns(chain),
                    };
                    found.add_chain(&run, &paths);
                    if !chain.detached {
                        let failing = paths.iter().map(|path| failing(chain, path));
                        goes_on *= 1.0 - failing.sum::<f64>();
                    }
                }
                comes *= goes_on;
            }
            (PhaseProfile::Traces(_), _) => {}
        }
    }
    Ok(found)
}

/// A chain that requests run.
struct ChainRun<'c> {
    chip: &'c Chip<'c>,
    chain: &'c ChainPlan,
    /// Whether the chain receives the request.
    is_first: bool,
    /// The probability that a request comes to the chain.
    comes: f64,
    /// The mean size of the service's messages, for operations without a measured size.
    message: Bytes,
    slowdowns: [f64; Accel::MOST],
}

impl ChainRun<'_> {
    /// The time of an operation on its accelerator, in ns; without a measured size its input has
    /// `message`.
    fn on_accelerator_ns(&self, operation: &OperationProfile, message: Bytes) -> f64 {
        let (chip, accel) = (self.chip, operation.operation.accel);
        let on_core = operation.cost.mean();
        if !chip.server.is_sped_up(accel) {
            let input = operation.payload.map_or(message, |payload| payload.input);
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
    /// Adds a chain whose requests take `paths`.
    fn add_chain(&mut self, run: &ChainRun<'_>, paths: &[CostedPath<'_>]) {
        let mut demand = ChainDemand::of(run);
        for path in paths {
            let first = run.comes * path.probability;
            let attempts = first * attempts(run.chain, path);
            self.repeated += attempts - first;
            self.started_chains += if run.is_first { 0.0 } else { attempts };
            self.add(path, attempts, run);
            demand.add(path, attempts, run);
            demand.remote_ns += pauses_ns(run.chain, attempts - first);
        }
        if let Some(callee) = &demand.calls {
            *self.calls.entry(callee.clone()).or_default() += demand.answers;
        }
        if let Some(phase) = self.phases.last_mut().filter(|_| !run.chain.detached) {
            phase.push(demand);
        }
    }

    /// Adds `attempts` executions of a chain on `path`.
    fn add(&mut self, path: &CostedPath<'_>, attempts: f64, run: &ChainRun<'_>) {
        let (mut trace, mut before_on_core) = ("", None);
        for (operation, on_core) in placed(path, run.chip) {
            let call = &operation.operation;
            let falls_back = on_core && (before_on_core != Some(true) || trace != call.trace);
            self.fallbacks += if falls_back { attempts } else { 0.0 };
            if call.receives {
                self.received += attempts;
                self.parked += if before_on_core == Some(false) {
                    attempts
                } else {
                    0.0
                };
            }
            let name = run.chip.plan.image.accel_name(call.accel).to_owned();
            let of = self.operations.entry(name).or_default();
            let core_ns = attempts * operation.cost.mean().as_ns_f64();
            of.count += attempts;
            of.core_ns += core_ns;
            if on_core {
                of.on_core += attempts;
                of.on_core_ns += core_ns;
            } else {
                of.accelerator_ns += attempts * run.on_accelerator_ns(operation, run.message);
            }
            (trace, before_on_core) = (&call.trace, Some(on_core));
        }
        self.ended += if before_on_core == Some(false) {
            attempts
        } else {
            0.0
        };
    }
}

impl ChainDemand {
    /// The chain without executions.
    fn of(run: &ChainRun<'_>) -> ChainDemand {
        let callee = run.chain.calls;
        let callee = callee.and_then(|index| run.chip.plan.services.get(index));
        ChainDemand {
            calls: callee.map(|service| service.name.clone()),
            ..ChainDemand::default()
        }
    }

    /// Adds `attempts` executions on `path`. The chain that receives the request does not wait for
    /// that message, and simulated services are not remote sides.
    fn add(&mut self, path: &CostedPath<'_>, attempts: f64, run: &ChainRun<'_>) {
        let message = run.chain.message(0, 0, 0).mean;
        self.attempts += attempts;
        for (operation, on_core) in placed(path, run.chip) {
            let call = &operation.operation;
            let core_ns = attempts * operation.cost.mean().as_ns_f64();
            self.operations += attempts;
            self.core_ns += core_ns;
            if on_core {
                self.on_core += attempts;
                self.on_core_ns += core_ns;
            } else {
                self.accelerator_ns += attempts * run.on_accelerator_ns(operation, message);
            }
            if call.accel == Accel::Tcp && call.receives && !run.is_first {
                self.answers += attempts;
                if run.chain.calls.is_none() {
                    let wait = run.chip.plan.mean_wait_in(run.chain, &call.trace);
                    self.remote_ns += attempts * wait.as_ns_f64();
                }
            }
        }
    }
}

/// The mean number of attempts of a chain on `path`. Each attempt after the first follows a failed
/// one. A chain that reports an error makes no further attempts.
fn attempts(chain: &ChainPlan, path: &CostedPath<'_>) -> f64 {
    let Some(retry) = chain.retry.filter(|_| !path.fails) else {
        return 1.0;
    };
    let reached = (0..retry.attempts).map(|before| retry.odds.powi(i32::from(before)));
    reached.sum()
}

/// The probability that a request takes `path` and is answered with an error: the chain reports
/// one, or all of its attempts fail.
fn failing(chain: &ChainPlan, path: &CostedPath<'_>) -> f64 {
    let gives_up = chain
        .retry
        .map_or(0.0, |retry| retry.odds.powi(i32::from(retry.attempts)));
    path.probability * if path.fails { 1.0 } else { gives_up }
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
