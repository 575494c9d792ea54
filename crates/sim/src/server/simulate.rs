//! The functions that run simulations.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use super::engine::Engine;
use super::error::SimError;
use super::observer::Observer;
use super::parts::Shared;
use super::run::{Load, Run, Watch};
use super::servers::Servers;
use crate::config::Config;
use crate::stats::{Operated, SimulationResult};

/// The result of one server in a simulation of one or more servers.
#[derive(Clone, Debug)]
pub struct ServerResult {
    /// The ID of the server ([`ServicePlan::server`](crate::plan::ServicePlan::server)).
    pub server: usize,
    /// Indices, in the plan, of the services on this server that have a load or are called; in
    /// ascending order. In `outcome`, the statistics of other services are empty.
    pub services: Vec<usize>,
    /// The statistics of the server.
    pub outcome: SimulationResult,
}

/// Simulates one server until every request has ended, and returns the server's statistics.
///
/// # Errors
/// [`SimError`] for an invalid server, plan or load, for services on several servers, if a
/// user-written orchestrator fails, and if the simulated time reaches 53 days.
pub fn simulate(run: &Run<'_>) -> Result<SimulationResult, SimError> {
    let config = checked(run.config)?;
    let (server, loads) = only_server(run)?;
    Ok(Engine::new(&run.on(&config, &loads), server)?.run()?.0)
}

/// Simulates one server like [`simulate`], and reports progress to `watch`. Returns `None` if
/// another thread has set [`Watch::stop`] before the simulation returns.
///
/// # Errors
/// The errors of [`simulate`].
pub fn simulate_watched(
    run: &Run<'_>,
    watch: &Watch,
) -> Result<Option<SimulationResult>, SimError> {
    let config = checked(run.config)?;
    let (server, loads) = only_server(run)?;
    let engine = Engine::new(&run.on(&config, &loads), server)?.watched_by(watch);
    let (outcome, _) = engine.run()?;
    Ok((!watch.stop.load(Ordering::Relaxed)).then_some(outcome))
}

/// Simulates one server like [`simulate`], and reports events to `observer`.
///
/// # Errors
/// The errors of [`simulate`].
pub fn simulate_observed(
    run: &Run<'_>,
    observer: &mut dyn Observer,
) -> Result<SimulationResult, SimError> {
    let config = checked(run.config)?;
    let (server, loads) = only_server(run)?;
    let observer: Shared<'_> = RefCell::new(observer);
    let engine = Engine::new(&run.on(&config, &loads), server)?.observed_by(server, &observer);
    Ok(engine.run()?.0)
}

/// Simulates servers like [`simulate_servers`], and reports events to `observer` instead of
/// returning statistics. Reports progress to `watch`. If another thread sets [`Watch::stop`], the
/// simulation ends early, and the observer may have seen only a part of the events.
///
/// # Errors
/// The errors of [`simulate_servers`].
pub fn simulate_servers_observed(
    run: &Run<'_>,
    observer: &mut dyn Observer,
    watch: &Watch,
) -> Result<(), SimError> {
    let config = checked(run.config)?;
    let servers = loads_by_server(run)?;
    let observer: Shared<'_> = RefCell::new(observer);
    let mut engines = Vec::with_capacity(servers.len());
    for (server, loads) in &servers {
        let engine = Engine::new(&run.on(&config, loads), *server)?;
        engines.push((*server, engine.observed_by(*server, &observer)));
    }
    if servers.len() > 1 {
        Servers::new(engines).run(Some(watch))?;
    } else {
        for (_, engine) in engines {
            engine.watched_by(watch).run()?;
        }
    }
    Ok(())
}

/// Simulates one server like [`simulate`], and also returns every operation of every request, in
/// the order of their ends. Operations that a core executes are listed when the core gets their
/// trace.
///
/// # Errors
/// The errors of [`simulate`].
pub fn simulate_logged(run: &Run<'_>) -> Result<(SimulationResult, Vec<Operated>), SimError> {
    let config = checked(run.config)?;
    let (server, loads) = only_server(run)?;
    Engine::new(&run.on(&config, &loads), server)?
        .with_log()
        .run()
}

/// Simulates several servers together until every request has ended, and returns the result of each
/// server, in ascending order of the servers' IDs. The servers are those of all services with a
/// load in `run`, and of the services that they call. All servers have the parameters `run.config`.
///
/// # Errors
/// [`SimError`] for an invalid server, plan or load, if a user-written orchestrator fails, and if
/// the simulated time reaches 53 days.
pub fn simulate_servers(run: &Run<'_>) -> Result<Vec<ServerResult>, SimError> {
    simulate_all(run, None)
}

/// Simulates servers like [`simulate_servers`], and reports progress to `watch`. Returns `None` if
/// another thread has set [`Watch::stop`] before the simulation returns.
///
/// # Errors
/// The errors of [`simulate_servers`].
pub fn simulate_servers_watched(
    run: &Run<'_>,
    watch: &Watch,
) -> Result<Option<Vec<ServerResult>>, SimError> {
    let outcomes = simulate_all(run, Some(watch))?;
    Ok((!watch.stop.load(Ordering::Relaxed)).then_some(outcomes))
}

fn simulate_all(run: &Run<'_>, watch: Option<&Watch>) -> Result<Vec<ServerResult>, SimError> {
    let config = checked(run.config)?;
    let servers = loads_by_server(run)?;
    let intervals = watch.map_or(0, |watch| watch.use_intervals);
    let outcomes = match &servers[..] {
        [(server, loads)] => vec![run_alone(run, &config, *server, loads, watch)?],
        _ => {
            let mut engines = Vec::with_capacity(servers.len());
            for (server, loads) in &servers {
                let engine = Engine::new(&run.on(&config, loads), *server)?;
                engines.push((*server, engine.reading_use(intervals)));
            }
            Servers::new(engines).run(watch)?
        }
    };
    let named = servers.iter().zip(outcomes);
    let named = named.map(|((server, loads), outcome)| {
        let mut services: Vec<usize> = loads.iter().map(|load| load.service).collect();
        services.sort_unstable();
        services.dedup();
        ServerResult {
            server: *server,
            services,
            outcome,
        }
    });
    Ok(named.collect())
}

/// Checks `config`, and returns it with the costs of its processor generation.
fn checked(config: &Config) -> Result<Config, SimError> {
    config.check()?;
    Ok(config.with_generation_costs())
}

fn run_alone(
    run: &Run<'_>,
    config: &Config,
    server: usize,
    loads: &[Load],
    watch: Option<&Watch>,
) -> Result<SimulationResult, SimError> {
    let mut engine = Engine::new(&run.on(config, loads), server)?;
    if let Some(watch) = watch {
        engine = engine.watched_by(watch);
    }
    Ok(engine.run()?.0)
}

/// The ID and the loads of the only server of `run`.
fn only_server(run: &Run<'_>) -> Result<(usize, Vec<Load>), SimError> {
    let mut servers = loads_by_server(run)?;
    match servers.pop() {
        Some(server) if servers.is_empty() => Ok(server),
        _ => Err(SimError::SeveralServers(servers.len() + 1)),
    }
}

/// The loads of each server of `run`, in ascending order of the servers' IDs. A service that is
/// called and has no load gets one without arrivals.
fn loads_by_server(run: &Run<'_>) -> Result<Vec<(usize, Vec<Load>)>, SimError> {
    let plan = run.plan;
    let unknown = run.loads.iter().map(|load| load.service);
    if let Some(unknown) = unknown.filter(|&s| s >= plan.services.len()).min() {
        return Err(SimError::UnknownService(unknown));
    }
    let arriving = run.loads.iter().filter(|load| !load.is_called());
    let called = plan.reached_from(arriving.flat_map(|load| plan.callees(load.service)));
    let mut loads = run.loads.to_vec();
    for load in &loads {
        if load.is_called() && !called.contains(&load.service) {
            let service = plan.services[load.service].name.clone();
            return Err(SimError::NeverCalled(service));
        }
    }
    for service in called {
        if loads.iter().all(|load| load.service != service) {
            loads.push(Load::called(service));
        }
    }
    let mut servers = std::collections::BTreeMap::new();
    for load in loads {
        let server = plan.services[load.service].server;
        servers.entry(server).or_insert_with(Vec::new).push(load);
    }
    if servers.is_empty() {
        servers.insert(0, Vec::new());
    }
    Ok(servers.into_iter().collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use accelflow_trace::{Accel, templates};
    use accelflow_units::Time;
    use accelflow_workload::arrivals::ArrivalProcess;
    use accelflow_workload::profile::{PaperOptions, Profile};
    use accelflow_workload::sizes::{PayloadSizes, SizePreset};
    use accelflow_workload::suites::social_network;

    use super::*;
    use crate::config::Config;
    use crate::orchestrators::AccelFlow;
    use crate::plan::Plan;
    use crate::server::run::Load;

    #[test]
    fn a_run_whose_requests_cannot_end_is_refused() {
        let (image, services) = (
            templates().unwrap().link().unwrap(),
            social_network().unwrap(),
        );
        let profile = Profile::paper(&services, &image, &PaperOptions::default()).unwrap();
        let sizes = PayloadSizes::preset(SizePreset::Fleet);
        let plan = Plan::new(&profile, &image, &sizes).unwrap();
        let arrivals = ArrivalProcess::Trace(vec![Time::from_us(1)]);
        let run = Run {
            config: &Config::default(),
            plan: &plan,
            orchestrator: &AccelFlow,
            loads: &[Load::new(0, arrivals, 1, 0)],
            seed: 1,
        };
        // Nobody will free this entry.
        let mut engine = Engine::new(&run, 0).unwrap();
        let unit = engine.ensemble.unit(Accel::Ser, 0, 0);
        assert!(engine.ensemble.station_mut(unit).reserve_input());
        let error = engine.run().unwrap_err();
        let found = error.to_string();
        assert!(found.starts_with("no events are left, but "), "{found}");
        assert!(
            found.ends_with(": 0 requests have not ended, 0 traces are in flight, Ser is not idle"),
            "{found}"
        );
        let engine = Engine::new(&run, 0).unwrap();
        assert!(engine.run().unwrap().0.totals.drained);
    }
}
