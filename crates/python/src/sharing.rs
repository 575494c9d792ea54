//! Tenants who share accelerators, for `accelflow.arcus`: experiments and plans.

use accelflow_platform::control::{FlowStatus, Manager, Policy, Rate, Request};
use accelflow_platform::experiments::{self, EXPERIMENTS, Report};
use accelflow_platform::{
    Accelerator, Arrivals, Mechanism, Path, Platform, PlatformError, RunResult, Settings,
    parameters, simulate,
};
use accelflow_units::{Bytes, Time};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::AccelflowError;

fn failure(error: impl std::fmt::Display) -> PyErr {
    AccelflowError::new_err(error.to_string())
}

/// The paper's experiments as a JSON list: name and title.
#[pyfunction]
pub(crate) fn arcus_experiments() -> String {
    let row = |it: &experiments::Experiment| json!({"name": it.name, "title": it.title});
    Value::from_iter(EXPERIMENTS.iter().map(row)).to_string()
}

/// Runs an experiment; its report as JSON. Raises AccelflowError for a name that none has.
#[pyfunction]
pub(crate) fn arcus_experiment(py: Python<'_>, name: &str, seed: u64) -> PyResult<String> {
    let report = py.detach(|| experiments::run(name, seed)).ok_or_else(|| {
        let known: Vec<&str> = EXPERIMENTS.iter().map(|it| it.name).collect();
        failure(format!(
            "unknown experiment '{name}'; known are {}",
            known.join(", ")
        ))
    })?;
    report_value(&report.map_err(failure)?).map(|it| it.to_string())
}

fn report_value(report: &Report) -> PyResult<Value> {
    let mut value = serde_json::to_value(report).map_err(failure)?;
    let rows = value["rows"].as_array_mut().into_iter().flatten();
    for (row, it) in rows.zip(&report.rows) {
        row["difference"] = json!(it.difference());
    }
    Ok(value)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanRequest {
    accelerators: Vec<String>,
    flows: Vec<FlowRequest>,
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
    burst_factor: f64,
    burst_us: u64,
    window_us: u64,
}

impl FlowRequest {
    fn request(&self) -> PyResult<Request> {
        let name = &self.name;
        let path = Path::ALL
            .into_iter()
            .find(|it| it.name() == self.path)
            .ok_or_else(|| {
                let known = Path::ALL.map(Path::name).join(", ");
                failure(format!(
                    "flow '{name}': unknown path '{}'; known are {known}",
                    self.path
                ))
            })?;
        let slo = match (self.slo_gbit_per_s, self.slo_operations_per_s) {
            (Some(rate), None) => Rate::GbitPerS(rate),
            (None, Some(rate)) => Rate::OperationsPerS(rate),
            _ => {
                let needs = "needs one of slo_gbit_per_s and slo_operations_per_s";
                return Err(failure(format!("flow '{name}': {needs}")));
            }
        };
        if !(1..=1 << 26).contains(&self.message_bytes) {
            let size = self.message_bytes;
            return Err(failure(format!(
                "flow '{name}': message_bytes = {size}: must be from 1 to {}",
                1 << 26
            )));
        }
        Ok(Request {
            name: name.clone(),
            vm: self.vm,
            accelerator: self.accelerator.clone(),
            path,
            size: Bytes(self.message_bytes),
            slo,
            policy: self.policy()?,
        })
    }

    fn policy(&self) -> PyResult<Policy> {
        let burst = Policy::ManagedBurst {
            factor: self.burst_factor,
            allowance: Time::from_us(self.burst_us),
            window: Time::from_us(self.window_us),
        };
        let all = [
            Policy::Reserved,
            Policy::OnDemand,
            burst,
            Policy::Opportunistic,
        ];
        all.into_iter()
            .find(|it| it.name() == self.policy)
            .ok_or_else(|| {
                let known = all.map(Policy::name).join(", ");
                let (name, policy) = (&self.name, &self.policy);
                failure(format!(
                    "flow '{name}': unknown policy '{policy}'; known are {known}"
                ))
            })
    }
}

fn accelerators(names: &[String]) -> PyResult<Vec<Accelerator>> {
    let catalogue = parameters::catalogue();
    let find = |name: &String| {
        catalogue
            .iter()
            .find(|it| it.name == *name)
            .cloned()
            .ok_or_else(|| {
                let known: Vec<&str> = catalogue.iter().map(|it| it.name.as_str()).collect();
                failure(format!(
                    "unknown accelerator '{name}'; known are {}",
                    known.join(", ")
                ))
            })
    };
    names.iter().map(find).collect()
}

/// Registers the flows of a request (JSON) one after the other on a platform, and runs those that were
/// admitted with and without shaping, each with a backlog. JSON: what was admitted, with which
/// registers, what was rejected and what is left, and what each got. Raises AccelflowError for a value
/// out of range.
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
    let platform = Platform::prototype(accelerators(&request.accelerators)?);
    let flows: Vec<Request> = request
        .flows
        .iter()
        .map(FlowRequest::request)
        .collect::<PyResult<_>>()?;
    let settings = Settings::lasting(Time::from_us(request.duration_us)).seeded(request.seed);
    py.detach(|| plan(platform, flows, &settings))
        .map(|it| it.to_string())
        .map_err(failure)
}

fn plan(
    platform: Platform,
    requests: Vec<Request>,
    settings: &Settings,
) -> Result<Value, PlatformError> {
    let mut manager = Manager::new(platform.clone());
    let mut rejected = Vec::new();
    for request in requests {
        match manager.register(request) {
            Ok(_) => {}
            Err(PlatformError::NotAdmitted { name, accelerator, asked, left }) => rejected.push(json!({
                "name": name, "accelerator": accelerator, "asked_gbit_per_s": asked, "left_gbit_per_s": left,
            })),
            Err(other) => return Err(other),
        }
    }
    let (flows, arcus) = manager.deploy(|_| Arrivals::Backlogged);
    let shaped = simulate(&platform, &flows, &arcus, settings)?;
    let turns = simulate(&platform, &flows, &Mechanism::NoShaping, settings)?;
    let admitted = manager.flows().iter().enumerate().map(|(number, it)| {
        status_value(
            it,
            &[(&arcus, &shaped), (&Mechanism::NoShaping, &turns)],
            number,
        )
    });
    Ok(json!({"admitted": Value::from_iter(admitted), "rejected": rejected}))
}

fn status_value(it: &FlowStatus, runs: &[(&Mechanism, &RunResult)], number: usize) -> Value {
    let got = runs.iter().map(|(mechanism, result)| {
        (
            mechanism.name().to_owned(),
            json!(result.gbit_per_s(number)),
        )
    });
    json!({
        "name": it.request.name,
        "vm": it.request.vm,
        "accelerator": it.request.accelerator,
        "instance": it.route.accelerator,
        "path": it.request.path.name(),
        "policy": it.request.policy.name(),
        "message_bytes": it.request.size.get(),
        "segment_bytes": it.segment.get(),
        "slo_gbit_per_s": it.slo_gbit_per_s(),
        "shaped_gbit_per_s": it.shaped_gbit_per_s,
        "unit": it.request.slo.unit().name(),
        "refill": it.registers.refill(),
        "bucket": it.registers.bucket(),
        "interval_cycles": it.registers.interval().0,
        "gbit_per_s": got.collect::<serde_json::Map<_, _>>(),
    })
}
