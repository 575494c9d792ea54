//! The admission of a plan's flows, and the simulation of the admitted flows.

use accelflow_units::Time;

use super::by_run::Runs;
use super::check::CheckedPlan;
use super::error::PlanError;
use super::result::{PlanResult, Rejected};
use crate::control::{Command, CommandOutcome, FlowStatus, Manager, ProfileTable, Runtime};
use crate::{Arrivals, Mechanism, PlatformError, simulate_with};

/// Admits the flows of a plan and simulates the admitted flows twice, with ARCUS and without
/// shaping. Flows with a `from_us` above 0 ask for admission during the simulation. Capacities
/// in `profiles` are not simulated again.
///
/// # Errors
/// [`PlanError`] for invalid flows, such as two of the same name. Flows that do not fit are no
/// error: [`PlanResult::rejected`] lists them.
pub fn plan(checked: &CheckedPlan, profiles: ProfileTable) -> Result<PlanResult, PlanError> {
    let settings = checked.settings;
    let mut manager = checked.manager(profiles)?;
    let mut rejected = Vec::new();
    let commands = register(checked, &mut manager, &mut rejected)?;
    let arrivals = |status: &FlowStatus| {
        let mut flows = checked.flows.iter();
        let found = flows.find(|flow| flow.request.name == status.request.name);
        found.map_or(Arrivals::Backlogged, |flow| flow.arrivals)
    };
    let (flows, arcus) = manager.deploy(arrivals);
    let mut admitted = manager.flows().to_vec();
    let predicted = manager.predicted()?;
    // Algorithm 1 runs in any case: bursts, moves and adjustments also happen when no flow comes or
    // goes.
    let ahead = Time::from_us(checked.file.predict_us).as_ps();
    let ahead = ahead / settings.control_period.as_ps().max(1);
    let mut runtime = Runtime::new(manager).predicting(ahead as u32);
    for (time, command) in commands {
        runtime = runtime.at(settings.warmup + time, command);
    }
    let platform = &checked.platform;
    let shaped = simulate_with(platform, &flows, &arcus, &settings, &mut runtime)?;
    for decision in runtime.decisions() {
        match &decision.outcome {
            CommandOutcome::Admitted(status) => admitted.push(FlowStatus::clone(status)),
            CommandOutcome::Released(_) => {}
            // The release of a flow that was not admitted.
            CommandOutcome::Refused(PlatformError::UnknownFlow(_)) => {}
            CommandOutcome::Refused(error) => {
                rejected.push(refused(&decision.name, error.clone())?);
            }
        }
    }
    let mut timetable = runtime.timetable();
    let none = Mechanism::NoShaping;
    let turns = simulate_with(platform, &flows, &none, &settings, &mut timetable)?;
    let runs = Runs {
        arcus: &shaped,
        host_no_ts: &turns,
    };
    Ok(PlanResult::of(
        platform,
        &admitted,
        &predicted,
        rejected,
        runs,
        settings.control_period,
        &mut runtime,
    ))
}

/// Registers the flows that are present from the start. Returns the commands for flows that come or
/// leave later.
fn register(
    checked: &CheckedPlan,
    manager: &mut Manager,
    rejected: &mut Vec<Rejected>,
) -> Result<Vec<(Time, Command)>, PlanError> {
    let mut later = Vec::new();
    for flow in &checked.flows {
        let request = flow.request.clone();
        let release = Command::Release(request.name.clone());
        if flow.from > Time::ZERO {
            let command = Command::Register(Box::new(request), flow.arrivals);
            later.push((flow.from, command));
        } else if let Err(error) = manager.register(request) {
            rejected.push(refused(&flow.request.name, error)?);
            continue;
        }
        later.extend(flow.until.map(|until| (until, release)));
    }
    Ok(later)
}

/// The flow `name`, rejected with `error`, or the error for a flow that cannot be. Such an error
/// names the flow.
fn refused(name: &str, error: PlatformError) -> Result<Rejected, PlanError> {
    let unnamed = matches!(
        error,
        PlatformError::OutOfRange { .. } | PlatformError::Shaping(_)
    );
    Rejected::of(error).map_err(|error| match unnamed {
        true => PlanError::of(Vec::new(), format!("flow '{name}': {error}")),
        false => error,
    })
}
