//! The simulation of an application under an orchestrator.

use crate::dag::Dag;
use crate::load::Load;
use crate::orchestrator::Orchestrator;
use crate::outcome::SimulationResult;
use crate::platform::Platform;
use crate::{accelflow, managed};
use accelflow_parameters::Refusal;

/// Simulates the graphs of `load` on `platform` under `orchestrator`. Each graph is a run of the
/// application `dag`.
///
/// # Errors
/// [`Refusal`] for
///
/// * an application without tasks;
/// * a value of `platform` out of range;
/// * a `load` without graphs after the warm-up, without graphs in flight, or with an interval of 0.
pub fn simulate(
    dag: &Dag,
    platform: &Platform,
    orchestrator: Orchestrator,
    load: &Load,
) -> Result<SimulationResult, Refusal> {
    platform.check()?;
    load.check()?;
    if dag.tasks().is_empty() {
        return Err(Refusal::new(
            "number of tasks of the application",
            0,
            "must be at least 1",
        ));
    }
    Ok(match orchestrator {
        Orchestrator::Fcfs => managed::run(dag, platform, managed::LaunchOrder::Fcfs, load),
        Orchestrator::Relief => managed::run(dag, platform, managed::LaunchOrder::Relief, load),
        Orchestrator::AccelFlow => accelflow::run(dag, platform, load),
    })
}
