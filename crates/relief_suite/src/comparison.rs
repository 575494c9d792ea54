//! The comparison of all orchestrators on every application: the latency of a single run, and the
//! throughput by each definition of [`throughput`](crate::throughput).

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
    /// The time of a single run of the application on an idle system, in microseconds.
    pub solo_us: f64,
    /// The busy time of the manager for a single run of the application, in microseconds; 0 under
    /// AccelFlow, which has no manager.
    pub manager_us: f64,
    /// The number of interrupts that the manager serves for a single run of the application; 0
    /// under AccelFlow.
    pub interrupts: u64,
    /// The number of task inputs in a single run of the application that come from a scratchpad or
    /// a queue instead of memory.
    pub forwards: u64,
    /// The throughput if each run starts when the previous one has ended, in runs per second.
    pub one_at_a_time_per_s: f64,
    /// The throughput of a closed loop with the best number of runs in flight of 1, 2, 4, 8 and 16,
    /// in runs per second.
    pub closed_loop_per_s: f64,
    /// The number of runs in flight at which the closed loop reaches `closed_loop_per_s`.
    pub in_flight: usize,
    /// The highest rate of periodic arrivals at which 99 % of the runs meet their deadline, in runs
    /// per second.
    pub periodic_per_s: f64,
    /// The highest rate of Poisson arrivals at which 99 % of the runs meet their deadline, in runs
    /// per second.
    pub poisson_per_s: f64,
}

/// One application: the properties of its graph, and its results under each orchestrator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplicationRow {
    /// The application's name.
    pub application: &'static str,
    /// The number of tasks of the application's graph.
    pub tasks: usize,
    /// The number of task inputs that are results of other tasks.
    pub edges: usize,
    /// The longest time allowed from the arrival of a run to its end, in microseconds.
    pub deadline_us: f64,
    /// The name of the kind of accelerator with the longest total computing time in one run of the
    /// application.
    pub bottleneck: &'static str,
    /// The total computing time of all accelerators of the kind `bottleneck` in one run of the
    /// application, in microseconds.
    pub bottleneck_us: f64,
    /// The upper bound of the throughput, in runs per second: the rate at which all accelerators of
    /// the kind `bottleneck` compute without pause.
    pub bound_per_s: f64,
    /// The results under each orchestrator, by the orchestrator's name.
    pub systems: BTreeMap<&'static str, SystemRow>,
    /// The statistics of the application from the artifact that RELIEF's authors released.
    pub release: ReleaseRow,
}

/// The statistics of one application that runs alone, from the artifact that RELIEF's authors
/// released.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReleaseRow {
    /// The number of tasks of the application's graph.
    pub tasks: usize,
    /// The time of one run of the application under RELIEF, in microseconds.
    pub relief_us: f64,
    /// The time of one run under first come, first served (FCFS), in microseconds.
    pub fcfs_us: f64,
    /// The computing time of the busiest kind of accelerator in one run of the application, in
    /// microseconds.
    pub bottleneck_us: f64,
    /// The busy time of the manager for one run of the application, in microseconds.
    pub manager_us: f64,
    /// The number of task inputs of one run that came from a scratchpad instead of memory.
    pub forwards: u64,
}

/// Simulates the applications in `names`, or all if `names` is empty, on `platform` under every
/// orchestrator. `length` has the number of runs of the application in each throughput measurement.
/// `seed` is the seed of Poisson arrivals.
///
/// # Errors
/// [`Refusal`] for an unknown application, and the errors of [`simulate`].
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
