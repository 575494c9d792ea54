//! Every application under every orchestrator: what it takes alone, and its throughput by each
//! definition.

use std::collections::BTreeMap;

use accelflow_parameters::Refusal;
use serde::Serialize;

use crate::dag::Dag;
use crate::load::Load;
use crate::orchestrator::Orchestrator;
use crate::platform::Platform;
use crate::run::simulate;
use crate::suite::{self, RELEASE, Release};
use crate::throughput::{Length, Pattern, bound_per_s, closed_loop, within_deadline};

/// The results of one application under one orchestrator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SystemRow {
    /// Time from start to end of a graph alone, in us.
    pub solo_us: f64,
    /// Time of the manager for a graph alone, in us.
    pub manager_us: f64,
    /// Interrupts of a graph alone.
    pub interrupts: u64,
    /// Inputs of a graph alone that came from a scratchpad or a queue.
    pub forwards: u64,
    /// Graphs per second, one at a time.
    pub one_at_a_time_per_s: f64,
    /// Graphs per second of a closed loop.
    pub closed_loop_per_s: f64,
    /// The number of graphs in flight at which the closed loop reaches this throughput.
    pub in_flight: usize,
    /// The highest periodic rate within the deadline, in graphs per second.
    pub periodic_per_s: f64,
    /// The highest random rate within the deadline, in graphs per second.
    pub poisson_per_s: f64,
}

/// An application, its tasks, and its results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplicationRow {
    /// The application's name.
    pub application: &'static str,
    /// The number of its tasks.
    pub tasks: usize,
    /// The number of inputs that other tasks produce.
    pub edges: usize,
    /// Its deadline in us.
    pub deadline_us: f64,
    /// The busiest kind of accelerator.
    pub bottleneck: &'static str,
    /// Time that a graph computes on the busiest kind of accelerator, in us.
    pub bottleneck_us: f64,
    /// The bound on graphs per second, at which the busiest kind of accelerator always computes.
    pub bound_per_s: f64,
    /// The results by orchestrator.
    pub systems: BTreeMap<&'static str, SystemRow>,
    /// The statistics in RELIEF's release.
    pub release: ReleaseRow,
}

/// The statistics in RELIEF's release of an application that runs alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReleaseRow {
    /// The number of tasks.
    pub tasks: usize,
    /// Time under RELIEF, in us.
    pub relief_us: f64,
    /// Time under FCFS, in us.
    pub fcfs_us: f64,
    /// Computation of the busiest kind of accelerator, in us.
    pub bottleneck_us: f64,
    /// Time of the manager, in us.
    pub manager_us: f64,
    /// Forwarded inputs.
    pub forwards: u64,
}

/// Simulates the applications `names`, all for an empty list, on `platform` under every
/// orchestrator. `seed` is that of random arrivals.
///
/// # Errors
/// [`Refusal`] for an unknown name, and the errors of [`simulate`].
pub fn compare(
    names: &[String],
    platform: &Platform,
    length: Length,
    seed: u64,
) -> Result<Vec<ApplicationRow>, Refusal> {
    if let Some(name) = names.iter().find(|name| suite::find(name).is_none()) {
        let known = RELEASE.map(|release| release.name);
        return Err(Refusal::unknown("application", name, known));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|given| given == name);
    let all = suite::all();
    let chosen = all
        .iter()
        .zip(RELEASE)
        .filter(|(dag, _)| wanted(dag.name()));
    chosen
        .map(|(dag, release)| application(dag, release, platform, length, seed))
        .collect()
}

fn application(
    dag: &Dag,
    release: Release,
    platform: &Platform,
    length: Length,
    seed: u64,
) -> Result<ApplicationRow, Refusal> {
    let of = |orchestrator: Orchestrator| {
        let row = system(dag, platform, orchestrator, length, seed)?;
        Ok((orchestrator.name(), row))
    };
    let systems = Orchestrator::ALL.into_iter().map(of);
    Ok(ApplicationRow {
        application: dag.name(),
        tasks: dag.tasks().len(),
        edges: dag.edges(),
        deadline_us: dag.deadline().as_us_f64(),
        bottleneck: dag.bottleneck().name(),
        bottleneck_us: dag.compute_of(dag.bottleneck()).as_us_f64(),
        bound_per_s: bound_per_s(dag, platform),
        systems: systems.collect::<Result<_, Refusal>>()?,
        release: ReleaseRow {
            tasks: release.tasks,
            relief_us: release.relief_us,
            fcfs_us: release.fcfs_us,
            bottleneck_us: release.bottleneck_us,
            manager_us: release.manager_us,
            forwards: release.forwards,
        },
    })
}

fn system(
    dag: &Dag,
    platform: &Platform,
    orchestrator: Orchestrator,
    length: Length,
    seed: u64,
) -> Result<SystemRow, Refusal> {
    let alone = simulate(dag, platform, orchestrator, &Load::closed(1, 1))?;
    let (closed_loop_per_s, in_flight) = closed_loop(dag, platform, orchestrator, length)?;
    let deadline = |pattern| within_deadline(dag, platform, orchestrator, pattern, length);
    Ok(SystemRow {
        solo_us: alone.makespan.as_us_f64(),
        manager_us: alone.manager.as_us_f64(),
        interrupts: alone.interrupts,
        forwards: alone.forwards,
        one_at_a_time_per_s: 1.0 / alone.makespan.as_s_f64(),
        closed_loop_per_s,
        in_flight,
        periodic_per_s: deadline(Pattern::Periodic)?,
        poisson_per_s: deadline(Pattern::Poisson(seed))?,
    })
}
