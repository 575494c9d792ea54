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

/// Raises AccelflowError if `text` is not a recording.
#[pyfunction]
pub(crate) fn check_recording(text: &str) -> PyResult<()> {
    let recording = Recording::from_json(text).map_err(failure)?;
    recording.check().map_err(failure)
}

/// The data that the recording `text` lacks for simulations with its distributions, one sentence
/// each.
///
/// Raises AccelflowError if `text` is not a recording.
#[pyfunction]
pub(crate) fn recording_lacks(text: &str) -> PyResult<Vec<String>> {
    let recording = Recording::from_json(text).map_err(failure)?;
    Ok(recording.lacks())
}

/// Converts `samples` to a table of quantiles with the same mean, in the format of recordings.
#[pyfunction]
pub(crate) fn quantile_table(samples: Vec<f64>) -> Vec<(f64, f64)> {
    quantiles(&samples)
}

/// The processor and system of this machine.
#[pyfunction]
pub(crate) fn machine_name() -> String {
    machine()
}

/// Runs the services of `workload` on real bytes and measures every step; the recording as JSON.
///
/// `workload` is a suite's name or the tree of a workload's file (JSON), by default socialnetwork,
/// and `names` are the services to run; all if it is empty. `date` is written into the recording.
/// `progress` is called with the number of finished invocations and the total number. Raises
/// AccelflowError if the machine has no loopback sockets, for an unknown workload or service, and
/// for a service without built-in messages; an exception of `progress` ends the recording and is
/// passed on.
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

/// (phase, chain, trace, arm, accelerator) of a step.
type ExecutedOperation = (usize, usize, String, usize, &'static str);

/// One invocation of a service on real bytes: (phase, chain, trace, arm, accelerator) of each
/// step, in order within a chain. Raises AccelflowError for an unknown service.
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
