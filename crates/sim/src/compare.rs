//! Comparisons of orchestrators on the same requests: the simulations behind `accelflow compare`.

mod results;
mod slos;
mod threads;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;

use crate::config::Config;
use crate::groups::groups;
use crate::orchestrators::Orchestrator;
use crate::plan::Plan;
use crate::server::{
    Limits, Load, Observer, Run, ServerResult, SimError, Watch, simulate_servers_observed,
    simulate_servers_watched,
};
use crate::server_use::used;
use crate::stats::{ServiceStats, SimulationResult};

pub use results::{CalledResult, ServiceResult, SystemResult};
use slos::{Slo, Terms, slos};
use threads::on_threads;

pub use crate::server_use::ServerUse;

/// Whether services share servers or have a server each. The AccelFlow paper gives an "average load
/// per service" without stating which services share a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each service has a server of its own.
    Isolated,
    /// Services share servers, as the plan assigns them ([`Plan::on_server`]). By default all
    /// services are on one server.
    Colocated,
}

impl Placement {
    /// Both placements, in the order in which commands list them.
    pub const ALL: [Placement; 2] = [Placement::Colocated, Placement::Isolated];

    /// Returns the name of the placement in commands and results: `isolated` or `colocated`.
    pub const fn name(self) -> &'static str {
        match self {
            Placement::Isolated => "isolated",
            Placement::Colocated => "colocated",
        }
    }
}

/// The inputs of [`compare`], which simulates the same services under the same load on several
/// systems. A system is an orchestrator: the rule for which hardware starts the next operation.
pub struct Comparison<'c> {
    /// The parameters of the simulated server.
    pub config: &'c Config,
    /// The services to simulate.
    pub plan: &'c Plan,
    /// The orchestrators (systems) to compare, in the order of the results.
    pub orchestrators: &'c [&'c dyn Orchestrator],
    /// How the services are placed on servers.
    pub placement: Placement,
    /// The arrival process of each service that has none in `own_arrivals`. Services draw their
    /// arrival times independently of each other.
    pub arrivals: &'c ArrivalProcess,
    /// Arrival processes of individual services, indexed like the services of the plan.
    /// `rate_shares` does not scale these processes. A service with `None`, or without an entry,
    /// uses `arrivals`.
    pub own_arrivals: &'c [Option<ArrivalProcess>],
    /// Factors by which the rate of `arrivals` is multiplied for individual services, indexed like
    /// the services of the plan; 1 for services without an entry. A service with the factor 0 must
    /// have its own arrival process, or other services must call it.
    pub rate_shares: &'c [f64],
    /// Number of requests that clients send to each service, including the warm-up; fewer if
    /// `own_arrivals` has a shorter list of arrival times for the service. When all have arrived,
    /// further ones keep up the load until those of all services that are simulated together have
    /// arrived ([`Load::requests`]).
    pub requests: u64,
    /// Number of each service's first requests that the statistics leave out, unless they cover the
    /// whole run. If `own_arrivals` has a list of arrival times for a service, at most a tenth of
    /// the list is left out.
    pub warmup: u64,
    /// Whether `requests` and `warmup` are multiplied by each service's factor in `rate_shares`.
    /// Then the counted requests of all services arrive over about the same period.
    pub by_rate: bool,
    /// The share of each service's response times, 0 to 1, that [`ServiceResult::tail`] or
    /// [`ServiceResult::tail_bins`] lists. The longest response times are listed.
    pub tail_share: f64,
    /// The largest number of requests per service that [`ServiceResult::samples`] lists; 0 for
    /// none.
    pub samples: u64,
    /// Whether response times are counted in the bins of a histogram, so that memory does not grow
    /// with the number of requests. If `false`, every response time is stored.
    pub binned: bool,
    /// The largest number of time intervals for which the utilization of servers is recorded
    /// ([`SystemResult::used`]). Below 2, no utilization is recorded.
    pub use_intervals: usize,
    /// The SLO (longest acceptable response time) of individual services. The key is the name of
    /// the service.
    pub slos: &'c BTreeMap<String, Time>,
    /// The SLO of services that are not in `slos`, as a multiple of the service's mean response
    /// time on an idle server with AccelFlow; `None` for no SLO. The paper takes 5 times "the
    /// service execution time on an unloaded system" (section VII.A.3) without naming the system.
    /// All systems get the same SLOs, so that their results are comparable.
    pub slo_factor: Option<f64>,
    /// Factors that replace `slo_factor` for individual services. The key is the name of the
    /// service. For a service in `slos`, the factor is ignored.
    pub slo_factors: &'c BTreeMap<String, f64>,
    /// The ID of the tenant that sends each service's requests, indexed like the services of the
    /// plan. If there are fewer IDs than services, the other services have the tenant 0.
    pub tenants: &'c [u16],
    /// The priority of each service's requests, indexed like the services of the plan; 0 for
    /// services without an entry. Requests with a higher value go first in queues that are ordered
    /// by priority.
    pub priorities: &'c [u8],
    /// The limits on tenants' traffic. The key is the ID of the tenant. Tenants without an entry
    /// have no limit.
    pub shaping: &'c BTreeMap<u16, Limits>,
    /// The random seed of the compared simulations. The simulations on idle servers, from which
    /// SLOs are calculated, always have the seed 1.
    pub seed: u64,
    /// Number of worker threads on the machine that runs the simulation. Results do not depend on
    /// this number.
    pub threads: usize,
}

impl Comparison<'_> {
    /// Returns the number of requests that statistics count for the service with index `service` in
    /// the plan: all requests from clients except the warm-up, so 0 for a service that only other
    /// services call.
    pub fn counted(&self, service: usize) -> u64 {
        let (requests, warmup) = self.planned(service);
        requests.saturating_sub(warmup)
    }

    /// Returns how many requests clients send to the service with the index `service`, and how many
    /// of these requests belong to the warm-up, as a pair; zeros for a service that only other
    /// services call. If `own_arrivals` has a list of arrival times for the service, the list's
    /// length limits both numbers.
    pub fn planned(&self, service: usize) -> (u64, u64) {
        let of_service = |requests| self.of_service(service, requests);
        match self.own_arrivals.get(service) {
            Some(Some(ArrivalProcess::Trace(times))) => {
                let listed = times.len() as u64;
                let requests = of_service(self.requests).min(listed);
                (requests, of_service(self.warmup).min(listed / 10))
            }
            Some(Some(_)) => (of_service(self.requests), of_service(self.warmup)),
            _ if self.rate_share(service) > 0.0 || !self.plan.called().contains(&service) => {
                (of_service(self.requests), of_service(self.warmup))
            }
            _ => (0, 0),
        }
    }

    /// What the SLOs of the services follow from.
    fn terms(&self) -> Terms<'_> {
        Terms {
            config: self.config,
            plan: self.plan,
            stated: self.slos,
            factor: self.slo_factor,
            factors: self.slo_factors,
        }
    }

    /// `requests` of a service with the mean rate, in requests of `service`.
    fn of_service(&self, service: usize, requests: u64) -> u64 {
        let factor = match self.by_rate {
            true => self.rate_share(service),
            false => 1.0,
        };
        (requests as f64 * factor).round() as u64
    }

    /// The factor of the arrival rate of `service`.
    fn rate_share(&self, service: usize) -> f64 {
        self.rate_shares.get(service).copied().unwrap_or(1.0)
    }
}

/// Runs the simulations of `comparison` and returns the results of each system, in the order of
/// [`Comparison::orchestrators`]. Several times a second, calls `progress` with the approximate
/// number of requests that have ended, and the approximate number of all requests. If `progress`
/// returns `false`, the comparison stops and the result is `None`.
///
/// # Errors
/// [`SimError`] if a simulation cannot run or fails. If several simulations fail, the error of the
/// first failed one is returned. The order is that of the results, except that orchestrators with
/// [`Orchestrator::takes_turns`] come before all others.
pub fn compare(
    comparison: &Comparison<'_>,
    progress: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<Option<Vec<SystemResult>>, SimError> {
    let plan = placed(comparison);
    let comparison = &Comparison {
        plan: &plan,
        ..*comparison
    };
    let groups = groups(comparison.plan);
    let cells: Vec<(usize, &[usize])> = (0..comparison.orchestrators.len())
        .flat_map(|system| groups.iter().map(move |group| (system, group.as_slice())))
        .collect();
    let all = all_requests(comparison, &cells);
    let Some(slos) = slos(&comparison.terms(), &|| progress(0, all))? else {
        return Ok(None);
    };
    let Some(outcomes) = run_cells(comparison, &slos, &cells, progress)? else {
        return Ok(None);
    };
    let systems = comparison.orchestrators.iter();
    let mut systems: Vec<_> = systems
        .map(|system| (system.id().to_owned(), Vec::new(), Vec::new()))
        .collect();
    for (&(system, group), mut servers) in cells.iter().zip(outcomes) {
        systems[system]
            .2
            .extend(used(comparison.plan, &mut servers));
        for &service in group {
            if let Some(server) = server_of(&mut servers, service) {
                let result = service_result(comparison, &slos, service, &mut server.outcome);
                systems[system].1.push((service, result));
            }
        }
    }
    let systems = systems
        .into_iter()
        .map(|(orchestrator, mut services, used)| {
            services.sort_by_key(|(service, _)| *service);
            let services = services.into_iter().map(|(_, result)| result).collect();
            SystemResult {
                orchestrator,
                services,
                used,
            }
        });
    Ok(Some(systems.collect()))
}

/// Runs the simulations of [`compare`] for one system only, and reports the events of each request
/// to `observer`. `system` is the index of the system in [`Comparison::orchestrators`]. `progress`
/// is called as in [`compare`]. Returns `None` if `progress` stops the simulations.
///
/// # Errors
/// [`SimError`] if a simulation cannot run or fails.
///
/// # Panics
/// If `system` is not an index in [`Comparison::orchestrators`].
pub fn observe(
    comparison: &Comparison<'_>,
    system: usize,
    observer: &mut (dyn Observer + Send),
    progress: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<Option<()>, SimError> {
    let plan = placed(comparison);
    let comparison = &Comparison {
        plan: &plan,
        ..*comparison
    };
    let groups = groups(comparison.plan);
    let cells: Vec<(usize, &[usize])> = groups.iter().map(|group| (system, &group[..])).collect();
    let all = all_requests(comparison, &cells);
    let Some(slos) = slos(&comparison.terms(), &|| progress(0, all))? else {
        return Ok(None);
    };
    let observer = Mutex::new(observer);
    let mut before = 0;
    for cell in &cells {
        let watch = Watch::default();
        let outcome = Mutex::new(Ok(()));
        let work = |_| {
            if let (Ok(mut observer), Ok(mut slot)) = (observer.lock(), outcome.lock()) {
                let ran = run_cell(comparison, &slos, cell, &watch, Some(&mut **observer));
                *slot = ran.map(drop);
            }
        };
        on_threads(1, &work, || {
            if !progress(before + watch.ended.load(Ordering::Relaxed), all) {
                watch.stop.store(true, Ordering::Relaxed);
            }
        });
        outcome
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)?;
        if watch.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        before += all_requests(comparison, &[*cell]);
    }
    Ok(Some(()))
}

/// The plan, with services assigned to servers as the placement requires.
fn placed<'c>(comparison: &Comparison<'c>) -> Cow<'c, Plan> {
    match comparison.placement {
        Placement::Isolated => Cow::Owned(comparison.plan.clone().isolated()),
        Placement::Colocated => Cow::Borrowed(comparison.plan),
    }
}

/// The server that a service is on.
fn server_of(servers: &mut [ServerResult], service: usize) -> Option<&mut ServerResult> {
    servers
        .iter_mut()
        .find(|server| server.services.contains(&service))
}

/// The outcomes of the servers that are simulated together.
type CellResult = Result<Vec<ServerResult>, SimError>;

/// Simulates the cells on worker threads. Returns their outcomes in order; `None` if `progress`
/// stops them.
///
/// The first worker simulates the cells that take turns before it helps with the others: they are
/// the slowest, and the first of them that fails stops all cells.
fn run_cells(
    comparison: &Comparison<'_>,
    slos: &[Slo],
    cells: &[(usize, &[usize])],
    progress: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<Option<Vec<Vec<ServerResult>>>, SimError> {
    let in_turn = |&index: &usize| {
        let system = cells.get(index).map(|&(system, _)| system);
        system.is_some_and(|system| comparison.orchestrators[system].takes_turns())
    };
    let (in_turn, at_once): (Vec<usize>, Vec<usize>) = (0..cells.len()).partition(in_turn);
    let next = AtomicUsize::new(0);
    let watch = || Watch {
        use_intervals: comparison.use_intervals,
        ..Watch::default()
    };
    let watches: Vec<Watch> = cells.iter().map(|_| watch()).collect();
    let size = |cell: &(usize, &[usize])| all_requests(comparison, &[*cell]);
    let all = all_requests(comparison, cells);
    let outcomes: Vec<Mutex<Option<CellResult>>> = cells.iter().map(|_| Mutex::new(None)).collect();
    let stop_all = || {
        for watch in &watches {
            watch.stop.store(true, Ordering::Relaxed);
        }
    };
    // Whether more cells may run on this thread.
    let run = |index: usize| {
        let Some((cell, watch)) = cells.get(index).zip(watches.get(index)) else {
            return false;
        };
        if watch.stop.load(Ordering::Relaxed) {
            return false;
        }
        let outcome = run_cell(comparison, slos, cell, watch, None).transpose();
        let failed = matches!(outcome, Some(Err(_)));
        if let Ok(mut slot) = outcomes[index].lock() {
            *slot = outcome;
        }
        watch.ended.store(size(cell), Ordering::Relaxed);
        !failed
    };
    let worker = |first: bool| {
        if first && !in_turn.iter().all(|&index| run(index)) {
            stop_all();
        }
        while let Some(&index) = at_once.get(next.fetch_add(1, Ordering::Relaxed)) {
            run(index);
        }
    };
    let report = || {
        let ended = watches
            .iter()
            .map(|watch| watch.ended.load(Ordering::Relaxed));
        if !progress(ended.sum(), all) {
            stop_all();
        }
    };
    let threads = comparison.threads.clamp(1, cells.len().max(1));
    on_threads(threads, &worker, report);
    let outcomes = outcomes.into_iter();
    let outcomes = outcomes.map(|slot| slot.into_inner().ok().flatten());
    collected(outcomes.collect(), &in_turn)
}

/// The number of clients' requests to the services of all `cells`.
fn all_requests(comparison: &Comparison<'_>, cells: &[(usize, &[usize])]) -> u64 {
    let services = cells.iter().flat_map(|(_, group)| group.iter());
    services.map(|&service| comparison.planned(service).0).sum()
}

/// The outcomes of all cells, or `None` if one has none. The error is that of the first cell of
/// `in_turn` that failed, since it stopped the others; otherwise that of the first cell that
/// failed.
fn collected(
    mut outcomes: Vec<Option<CellResult>>,
    in_turn: &[usize],
) -> Result<Option<Vec<Vec<ServerResult>>>, SimError> {
    for &index in in_turn {
        if let Some(Err(error)) = outcomes[index].take_if(|outcome| outcome.is_err()) {
            return Err(error);
        }
    }
    let outcomes: Option<Vec<CellResult>> = outcomes.into_iter().collect();
    outcomes
        .map(|outcomes| outcomes.into_iter().collect())
        .transpose()
}

fn run_cell(
    comparison: &Comparison<'_>,
    slos: &[Slo],
    &(system, group): &(usize, &[usize]),
    watch: &Watch,
    observer: Option<&mut dyn Observer>,
) -> Result<Option<Vec<ServerResult>>, SimError> {
    let called = comparison.plan.called();
    let load = |&service: &usize| {
        let share = comparison.rate_share(service);
        let tenant = tenant(comparison, service);
        let own = comparison.own_arrivals.get(service).cloned().flatten();
        let (requests, warmup) = comparison.planned(service);
        let arrives = own.is_some() || share > 0.0 || !called.contains(&service);
        let arrivals = own.unwrap_or_else(|| comparison.arrivals.scaled(share));
        let new = match arrives {
            true => Load::new(service, arrivals, requests, warmup),
            false => Load::called(service),
        };
        Load {
            shaping: comparison.shaping.get(&tenant).copied().unwrap_or_default(),
            slo: slos[service].time(),
            priority: comparison.priorities.get(service).copied().unwrap_or(0),
            binned: comparison.binned,
            ..new.of_tenant(tenant).sampling(comparison.samples)
        }
    };
    let run = Run {
        config: comparison.config,
        plan: comparison.plan,
        orchestrator: comparison.orchestrators[system],
        loads: &group.iter().map(load).collect::<Vec<_>>(),
        seed: comparison.seed,
    };
    if let Some(observer) = observer {
        // The observer has seen all counted requests.
        return simulate_servers_observed(&run, observer, watch).map(|()| None);
    }
    let mut outcome = Ok(None);
    run.orchestrator
        .host(&mut || outcome = simulate_servers_watched(&run, watch));
    outcome
}

fn tenant(comparison: &Comparison<'_>, service: usize) -> u16 {
    comparison.tenants.get(service).copied().unwrap_or(0)
}

/// Counts all requests as late: no response is within a multiple of a time that does not exist.
fn all_late(stats: &mut ServiceStats) {
    (stats.with_slo, stats.slo_missed) = (stats.counted, stats.counted);
    let called = &mut stats.called;
    (called.with_slo, called.slo_missed) = (called.counted, called.counted);
}

/// The result of the service with the index `service` in `outcome`.
fn service_result(
    comparison: &Comparison<'_>,
    slos: &[Slo],
    service: usize,
    outcome: &mut SimulationResult,
) -> ServiceResult {
    let operations: u64 = outcome.totals.on_accelerators.iter().sum();
    let arrived = outcome.services.iter();
    let arrived: u64 = arrived
        .map(|stats| stats.arrived + stats.called.arrived)
        .sum();
    let tenant = tenant(comparison, service);
    let tenants = outcome.tenants.iter().copied();
    let tenant = tenants.into_iter().find(|stats| stats.tenant == tenant);
    let stats = &mut outcome.services[service];
    let window = stats
        .measured
        .map_or(Time::ZERO, |(first, last)| last - first);
    let called_only = stats.arrived == 0;
    let per_second = |count: u64| match window {
        Time::ZERO => called_only.then_some(0.0),
        _ => Some(count as f64 / window.as_s_f64()),
    };
    let slo = slos[service];
    if slo == Slo::Unanswered {
        all_late(stats);
    }
    let completed = stats.latency.count() as u64;
    ServiceResult {
        service: comparison.plan.services[service].name.clone(),
        offered_rps: per_second(stats.counted.saturating_sub(1)),
        completed,
        errors: stats.errors,
        mean: stats.latency.mean(),
        percentiles: [50.0, 99.0, 99.9].map(|percent| stats.latency.percentile(percent)),
        tail: stats.latency.longest(comparison.tail_share),
        tail_bins: stats.latency.longest_bins(comparison.tail_share),
        samples: std::mem::take(&mut stats.samples),
        throughput_rps: per_second(stats.completed_in_window),
        core_utilization: outcome.core_utilization,
        accelerators: comparison.plan.accelerator_names(),
        accelerator_utilization: outcome.accelerators.map(|a| a.utilization),
        accelerator_any_busy: outcome.accelerators.map(|a| a.any_busy),
        accelerator_denied: outcome.accelerators.map(|a| a.denied),
        accelerator_on_core: outcome.totals.on_core_shares(),
        manager_utilization: outcome.manager_utilization,
        dma_utilization: outcome.dma_utilization,
        operations_per_request: operations as f64 / arrived.max(1) as f64,
        within: slo.time(),
        idle_unanswered: slo == Slo::Unanswered,
        timed_out: stats.timed_out,
        deadlines: (stats.deadlines, stats.deadlines_missed),
        exchanged: stats.exchanged,
        tenant: tenant.unwrap_or_default(),
        fallbacks: stats.fallbacks.clone(),
        responded: stats.completed,
        slo: (stats.with_slo, stats.slo_missed),
        saturated: outcome.saturated.as_ref().map(|found| found.cause.clone()),
        dispatcher_instructions: outcome.dispatcher_instructions,
        spent: stats.spent,
        data: outcome.data,
        called: CalledResult::new(&mut stats.called),
        calls: stats.calls,
        retries: (stats.retries, stats.gave_up),
    }
}
