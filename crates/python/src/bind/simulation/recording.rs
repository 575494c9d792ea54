//! Recordings of the runtime (`accelflow_runtime::record`) for `accelflow.calibration`.

use std::ops::ControlFlow;

use accelflow_runtime::record::{RecordOptions, machine, record};
use accelflow_runtime::{Executor, run_service};
use accelflow_scenario::find_service;
use accelflow_trace::templates;
use accelflow_workload::profile::{Recording, quantiles};
use accelflow_workload::suites::social_network;
use pyo3::prelude::*;

use crate::bind::simulation::progress::Progress;
use crate::errors::failure;
use crate::refused::refused;

/// Raises AccelflowError unless `text` is a recording.
#[pyfunction]
pub(crate) fn check_recording(text: &str) -> PyResult<()> {
    let recording = Recording::from_json(text).map_err(failure)?;
    recording.check().map_err(failure)
}

/// Returns what `text`, a recording, lacks to simulate distributions of times, a sentence each.
///
/// Empty if it lacks nothing. Raises AccelflowError if `text` is not a recording.
#[pyfunction]
pub(crate) fn recording_lacks(text: &str) -> PyResult<Vec<String>> {
    let recording = Recording::from_json(text).map_err(failure)?;
    Ok(recording.lacks())
}

/// Returns quantiles of `samples` in the format of recordings: pairs (probability, value).
///
/// The table has the same mean as the samples.
#[pyfunction]
pub(crate) fn quantile_table(samples: Vec<f64>) -> Vec<(f64, f64)> {
    quantiles(&samples)
}

/// Returns the names of this machine's processor, operating system and architecture.
#[pyfunction]
pub(crate) fn machine_name() -> String {
    machine()
}

/// Runs services on real bytes, and returns a recording with the cost of each operation, as JSON.
///
/// `workload` is a suite's name or the content of a workload's file (JSON); `names` are the
/// services, all if empty. `date` is written into the recording. `progress` is called with the
/// number of finished requests and the total number; an exception that it raises ends the
/// recording. Use `accelflow.calibration`. Raises AccelflowError if the machine has no loopback
/// sockets, for an unknown name, and for a service without built-in messages.
#[pyfunction]
#[pyo3(signature = (date, progress=None, workload="socialnetwork", names=Vec::new()))]
pub(crate) fn record_services(
    py: Python<'_>,
    date: &str,
    progress: Option<Py<PyAny>>,
    workload: &str,
    names: Vec<String>,
) -> PyResult<String> {
    let (image, mut services) = accelflow_scenario::workload_paths(workload).map_err(refused)?;
    for name in &names {
        find_service(&services, name).map_err(refused)?;
    }
    if !names.is_empty() {
        services.retain(|service| names.iter().any(|name| name == service.name()));
    }
    let options = RecordOptions::new(&machine(), date);
    let progress = Progress::new(progress);
    let recorded = py.detach(|| {
        record(
            &image,
            &services,
            &options,
            &mut |at| match progress.report(at.done, at.total) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            },
        )
    });
    progress.finish()?;
    recorded.map_err(failure)?.to_json().map_err(failure)
}

/// A step: (index of the phase, index of the chain, trace, index of the execution, accelerator).
type ExecutedOperation = (usize, usize, String, usize, &'static str);

/// Executes one request on real bytes, and returns its operations in order.
///
/// Each is (index of the phase, index of the chain, trace, index of the execution, accelerator).
/// Use `accelflow.calibration.executed_operations`. Raises AccelflowError for an unknown service.
#[pyfunction]
pub(crate) fn executed_operations(name: &str, seed: u64) -> PyResult<Vec<ExecutedOperation>> {
    let image = templates().map_err(failure)?.link().map_err(failure)?;
    let services = social_network().map_err(failure)?;
    let service = find_service(&services, name).map_err(refused)?;
    let mut executor = Executor::with_cores(image, 1).map_err(failure)?;
    let run = run_service(&mut executor, service, seed, 0).map_err(failure)?;
    let mut rows = Vec::new();
    for (phase, part) in run.phases.iter().enumerate() {
        for (chain, outcome) in part.chains().iter().enumerate() {
            rows.extend(outcome.steps.iter().map(|step| {
                (
                    phase,
                    chain,
                    step.trace.clone(),
                    step.arm,
                    step.accel.name(),
                )
            }));
        }
    }
    Ok(rows)
}
