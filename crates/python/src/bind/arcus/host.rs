//! Tenants who share accelerators, for `accelflow.arcus`: experiments and plans.

use accelflow_arcus::control::{
    AdmissionRequest, Command, CommandOutcome, FlowStatus, Manager, Rate, Runtime, ServiceClass,
    Verdict,
};
use accelflow_arcus::experiments::{self, EXPERIMENTS};
use accelflow_arcus::{
    Accelerator, Arrivals, Mechanism, Path, Platform, PlatformError, RunResult, Settings,
    StorageConfig, parameters, simulate_with,
};
use accelflow_units::{Bytes, Time};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::AccelflowError;

fn failure(error: impl std::fmt::Display) -> PyErr {
    AccelflowError::new_err(error.to_string())
}

/// The paper's experiments as a JSON list: name, title and how many seeds they run with.
#[pyfunction]
pub(crate) fn arcus_experiments() -> String {
    let row = |it: &experiments::Experiment| json!({"name": it.name, "title": it.title, "replications": it.replications});
    Value::from_iter(EXPERIMENTS.iter().map(row)).to_string()
}

/// Runs an experiment with so many seeds, by default its own number, on so many threads; its report as JSON.
/// Raises AccelflowError for a name that none has.
#[pyfunction]
pub(crate) fn arcus_experiment(
    py: Python<'_>,
    name: &str,
    seed: u64,
    replications: Option<u64>,
    threads: usize,
) -> PyResult<String> {
    let run = || experiments::replicate(name, seed, replications, threads);
    let report = py.detach(run).ok_or_else(|| {
        let known: Vec<&str> = EXPERIMENTS
            .iter()
            .map(|experiment| experiment.name)
            .collect();
        failure(format!(
            "unknown experiment '{name}'; known are {}",
            known.join(", ")
        ))
    })?;
    serde_json::to_string(&report.map_err(failure)?).map_err(failure)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanRequest {
    accelerators: Vec<String>,
    flows: Vec<FlowRequest>,
    storage_devices: u32,
    duration_us: u64,
    seed: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowRequest {
    name: String,
    vm: usize,
    accelerator: String,
    path: String,
    message_bytes: u64,
    slo_gbit_per_s: Option<f64>,
    slo_operations_per_s: Option<f64>,
    policy: String,
    burst_factor: Option<f64>,
    burst_us: Option<u64>,
    window_us: Option<u64>,
    from_us: u64,
    until_us: Option<u64>,
}

impl FlowRequest {
    /// A flow comes before the end and before it goes.
    fn check_times(&self, duration_us: u64) -> PyResult<()> {
        let name = &self.name;
        if self.from_us >= duration_us {
            let (from, end) = (self.from_us, duration_us - 1);
            return Err(failure(format!(
                "flow '{name}': from_us = {from}: must be at most {end}, or the run is over"
            )));
        }
        match self.until_us {
            Some(until) if until <= self.from_us => Err(failure(format!(
                "flow '{name}': until_us = {until}: must be above from_us = {}",
                self.from_us
            ))),
            _ => Ok(()),
        }
    }

    fn limits(&self, policy: ServiceClass) -> PyResult<(Option<Rate>, Option<Rate>)> {
        let gbit = self.slo_gbit_per_s.map(Rate::GbitPerS);
        let operations = self.slo_operations_per_s.map(Rate::OperationsPerS);
        match (gbit, operations) {
            (None, None) if policy != ServiceClass::Opportunistic => Err(failure(format!(
                "flow '{}': needs slo_gbit_per_s, slo_operations_per_s, or both",
                self.name
            ))),
            (Some(rate), also) => Ok((Some(rate), also)),
            (None, rate) => Ok((rate, None)),
        }
    }

    fn request(&self) -> PyResult<AdmissionRequest> {
        let name = &self.name;
        let path = Path::ALL
            .into_iter()
            .find(|path| path.name() == self.path)
            .ok_or_else(|| {
                let known = Path::ALL.map(Path::name).join(", ");
                failure(format!(
                    "flow '{name}': unknown path '{}'; known are {known}",
                    self.path
                ))
            })?;
        let policy = self.policy()?;
        let (slo, also) = self.limits(policy)?;
        if !(1..=1 << 26).contains(&self.message_bytes) {
            let size = self.message_bytes;
            return Err(failure(format!(
                "flow '{name}': message_bytes = {size}: must be from 1 to {}",
                1 << 26
            )));
        }
        Ok(AdmissionRequest {
            name: name.clone(),
            vm: self.vm,
            accelerator: self.accelerator.clone(),
            path,
            size: Bytes(self.message_bytes),
            slo,
            also,
            class: policy,
        })
    }

    fn policy(&self) -> PyResult<ServiceClass> {
        let burst = ServiceClass::ManagedBurst {
            factor: self.burst_factor.unwrap_or(10.0),
            allowance: Time::from_us(self.burst_us.unwrap_or(0)),
            window: Time::from_us(self.window_us.unwrap_or(1_000_000)),
        };
        let all = [
            ServiceClass::Reserved,
            ServiceClass::OnDemand,
            burst,
            ServiceClass::Opportunistic,
        ];
        let found = all.into_iter().find(|policy| policy.name() == self.policy);
        let policy = found.ok_or_else(|| {
            let known = all.map(ServiceClass::name).join(", ");
            let (name, policy) = (&self.name, &self.policy);
            failure(format!(
                "flow '{name}': unknown policy '{policy}'; known are {known}"
            ))
        })?;
        match self.burst_field() {
            Some((field, value)) if policy != burst => Err(failure(format!(
                "flow '{}': {field} = {value}: must be left out, or policy be 'managed-burst'; the flow's \
                 is '{}', which has no bursts",
                self.name, self.policy
            ))),
            _ => Ok(policy),
        }
    }

    /// The first field given that says something of bursts.
    fn burst_field(&self) -> Option<(&'static str, f64)> {
        let us = |value: Option<u64>| value.map(|number| number as f64);
        let given = [
            ("burst_factor", self.burst_factor),
            ("burst_us", us(self.burst_us)),
            ("window_us", us(self.window_us)),
        ];
        given
            .into_iter()
            .find_map(|(field, value)| value.map(|value| (field, value)))
    }
}

fn accelerators(names: &[String]) -> PyResult<Vec<Accelerator>> {
    let catalogue = parameters::catalogue();
    let find = |name: &String| {
        catalogue
            .iter()
            .find(|accelerator| accelerator.name == *name)
            .cloned()
            .ok_or_else(|| {
                let known: Vec<&str> = catalogue
                    .iter()
                    .map(|accelerator| accelerator.name.as_str())
                    .collect();
                failure(format!(
                    "unknown accelerator '{name}'; known are {}",
                    known.join(", ")
                ))
            })
    };
    names.iter().map(find).collect()
}

/// Registers the flows of a request (JSON) one after the other on a platform, those that come later
/// while it runs, and runs those that were admitted with and without shaping, each with a backlog while
/// it is there. JSON: what was admitted, with which registers, what was rejected and what is left, and
/// what each got, with a verdict and warnings. Raises AccelflowError for a value out of range.
#[pyfunction]
pub(crate) fn arcus_plan(py: Python<'_>, request: &str) -> PyResult<String> {
    let request: PlanRequest = serde_json::from_str(request).map_err(failure)?;
    if !(1..=1_000_000).contains(&request.duration_us) {
        let message = format!(
            "duration_us = {}: must be from 1 to 1000000",
            request.duration_us
        );
        return Err(failure(message));
    }
    let mut platform = Platform::prototype(accelerators(&request.accelerators)?);
    if request.storage_devices > 0 {
        platform.storage = Some(StorageConfig::paper(request.storage_devices));
    }
    let mut flows = Vec::new();
    for it in &request.flows {
        it.check_times(request.duration_us)?;
        flows.push(Coming {
            request: it.request()?,
            from: Time::from_us(it.from_us),
            until: it.until_us.map(Time::from_us),
        });
    }
    // Times of the file are those of the measured time, which begins when the first flows run evenly.
    let settings = Settings::lasting(Time::from_us(request.duration_us)).seeded(request.seed);
    py.detach(|| plan(platform, flows, &settings))
        .map(|result| result.to_string())
        .map_err(failure)
}

/// A flow, and when it is registered and released; at zero before the run.
struct Coming {
    request: AdmissionRequest,
    from: Time,
    until: Option<Time>,
}

/// What became of the plan's flows, by their numbers on the platform.
#[derive(Default)]
struct Planned {
    admitted: Vec<FlowStatus>,
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

fn plan(
    platform: Platform,
    flows: Vec<Coming>,
    settings: &Settings,
) -> Result<Value, PlatformError> {
    let mut manager = Manager::new(platform.clone());
    let mut planned = Planned::default();
    // Algorithm 1 runs in any case: bursts, moves and adjustments need nobody who comes or goes.
    let mut later = Vec::new();
    for it in flows {
        if it.from > Time::ZERO {
            later.push((
                it.from,
                Command::Register(it.request.clone(), Arrivals::Backlogged),
            ));
        } else if let Err(error) = manager.register(it.request.clone()) {
            planned.reject(error)?;
            continue;
        }
        let release = |until| (until, Command::Release(it.request.name.clone()));
        later.extend(it.until.map(release));
    }
    let (flows, arcus) = manager.deploy(|_| Arrivals::Backlogged);
    let none = Mechanism::NoShaping;
    let registered = manager.flows().to_vec();
    let mut runtime = Runtime::new(manager);
    for (time, command) in later {
        runtime = runtime.at(settings.warmup + time, command);
    }
    let shaped = simulate_with(&platform, &flows, &arcus, settings, &mut runtime)?;
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
    let turns = simulate_with(&platform, &flows, &none, settings, &mut timetable)?;
    Ok(planned_value(&planned, [&shaped, &turns]))
}

fn planned_value(planned: &Planned, runs: [&RunResult; 2]) -> Value {
    let each = planned.admitted.iter().enumerate();
    let admitted = each.map(|(number, it)| status_value(it, number, runs));
    let each = planned.admitted.iter().enumerate();
    let warnings = each.filter_map(|(number, it)| warning(it, number, runs[0]));
    json!({
        "admitted": Value::from_iter(admitted),
        "rejected": planned.rejected,
        "warnings": Value::from_iter(warnings),
    })
}

/// What a run is too short to show.
fn warning(it: &FlowStatus, number: usize, run: &RunResult) -> Option<String> {
    let needed = it.shown_within(run, number)?;
    if it.verdict(run, number) != Verdict::TooShort {
        return None;
    }
    let present = run.present(number);
    Some(format!(
        "flow '{}': is there for {} us, which is too short to show a promise of {:.3} Gbit/s in messages of {} \
         bytes to 1 %: that takes {} us",
        it.request.name,
        present.as_us_f64().round(),
        it.slo_gbit_per_s().unwrap_or(0.0),
        it.request.size.get(),
        needed.as_us_f64().ceil(),
    ))
}

/// The names of the paper, as [`Mechanism::name`] has them.
const RUNS: [&str; 2] = ["Arcus", "Host_noTS"];

fn status_value(it: &FlowStatus, number: usize, runs: [&RunResult; 2]) -> Value {
    let by_run = |got: &dyn Fn(&RunResult) -> Value| {
        let each = RUNS.into_iter().zip(runs);
        each.map(|(name, run)| (name.to_owned(), got(run)))
            .collect::<serde_json::Map<_, _>>()
    };
    let [shaped, _] = runs;
    let us = |time: Time| time.saturating_sub(shaped.warmup).as_us_f64();
    let flow = &shaped.flows[number];
    let bits = it.request.size.get() as f64 * 8e-9;
    json!({
        "name": it.request.name,
        "vm": it.request.vm,
        "accelerator": it.request.accelerator,
        "instance": it.route.accelerator,
        "path": it.request.path.name(),
        "policy": it.request.class.name(),
        "message_bytes": it.request.size.get(),
        "segment_bytes": it.segment.get(),
        "slo_gbit_per_s": it.slo_gbit_per_s(),
        "shaped_gbit_per_s": it.shaped_gbit_per_s,
        "unit": it.request.unit().name(),
        "refill": it.registers.refill(),
        "bucket": it.registers.bucket(),
        "interval_cycles": it.registers.interval().0,
        "also": it.also.map(|also| json!({
            "unit": it.request.unit().other().name(),
            "refill": also.refill(),
            "bucket": also.bucket(),
            "interval_cycles": also.interval().0,
        })),
        "registered_us": us(flow.since),
        "released_us": flow.until.map(us),
        "verdict": by_run(&|run| json!(it.verdict(run, number).name())),
        "gbit_per_s": by_run(&|run| json!(run.gbit_per_s_present(number))),
        "operations_per_s": by_run(&|run| {
            json!(run.gbit_per_s_present(number).map(|rate| rate / bits))
        }),
    })
}
