//! Admission of the flows of a plan, and the run of those that were admitted.

use accelflow_arcus::control::{Command, CommandOutcome, FlowStatus, Manager, Runtime};
use accelflow_arcus::{Arrivals, Mechanism, PlatformError, simulate_with};
use accelflow_units::Time;
use serde_json::{Value, json};

use super::request::PlanRequest;
use super::result::{Found, planned_value};

/// The admitted and rejected flows of a plan, by their numbers on the platform.
#[derive(Default)]
struct Planned {
    admitted: Vec<FlowStatus>,
    /// The rates that the profiles predict for the flows that are there from the start.
    predicted: Vec<f64>,
    rejected: Vec<Value>,
}

impl Planned {
    fn reject(&mut self, error: PlatformError) -> Result<(), PlatformError> {
        let PlatformError::NotAdmitted {
            name,
            accelerator,
            asked,
            left,
        } = error
        else {
            return Err(error);
        };
        self.rejected.push(json!({
            "name": name,
            "accelerator": accelerator,
            "asked_gbit_per_s": asked,
            "left_gbit_per_s": left,
        }));
        Ok(())
    }
}

pub(super) fn plan(request: &PlanRequest) -> Result<Value, PlatformError> {
    let platform = request.platform.platform()?;
    let settings = request.settings();
    let mut manager = request.manager(&platform)?;
    let mut planned = Planned::default();
    let commands = register(request, &mut manager, &mut planned)?;
    let arrivals = |status: &FlowStatus| {
        let same = |flow: &&super::flow::FlowRequest| flow.name() == status.request.name;
        let found = request.flows.iter().find(same);
        found.map_or(Arrivals::Backlogged, |flow| flow.arrivals())
    };
    let (flows, arcus) = manager.deploy(arrivals);
    let registered = manager.flows().to_vec();
    planned.predicted = manager.predicted()?;
    // Algorithm 1 runs in any case: bursts, moves and adjustments also happen when no flow comes or
    // goes.
    let ahead = Time::from_us(request.predict_us).as_ps() / settings.control_period.as_ps().max(1);
    let mut runtime = Runtime::new(manager).predicting(ahead as u32);
    for (time, command) in commands {
        runtime = runtime.at(settings.warmup + time, command);
    }
    let shaped = simulate_with(&platform, &flows, &arcus, &settings, &mut runtime)?;
    planned.admitted = registered;
    for it in runtime.decisions() {
        match &it.outcome {
            CommandOutcome::Admitted(status) => planned.admitted.push(FlowStatus::clone(status)),
            CommandOutcome::Released(_) => {}
            // The release of a flow that was not admitted.
            CommandOutcome::Refused(PlatformError::UnknownFlow(_)) => {}
            CommandOutcome::Refused(error) => planned.reject(error.clone())?,
        }
    }
    let mut timetable = runtime.timetable();
    let none = Mechanism::NoShaping;
    let turns = simulate_with(&platform, &flows, &none, &settings, &mut timetable)?;
    let names: Vec<String> = platform
        .accelerators
        .iter()
        .map(|accelerator| accelerator.name.clone())
        .collect();
    Ok(planned_value(
        &Found {
            admitted: planned.admitted,
            predicted: planned.predicted,
            violations: runtime.violations(),
            predicted_violations: runtime.predicted_violations(),
            accelerators: names,
        },
        planned.rejected,
        [&shaped, &turns],
    ))
}

/// Registers the flows that are there from the start. Returns the commands of the others.
fn register(
    request: &PlanRequest,
    manager: &mut Manager,
    planned: &mut Planned,
) -> Result<Vec<(Time, Command)>, PlatformError> {
    let mut later = Vec::new();
    for flow in &request.flows {
        let it = flow.request();
        let release = Command::Release(it.name.clone());
        let from = Time::from_us(flow.from_us);
        if from > Time::ZERO {
            later.push((from, Command::Register(Box::new(it), flow.arrivals())));
        } else if let Err(error) = manager.register(it) {
            planned.reject(error)?;
            continue;
        }
        later.extend(flow.until_us.map(|until| (Time::from_us(until), release)));
    }
    Ok(later)
}
