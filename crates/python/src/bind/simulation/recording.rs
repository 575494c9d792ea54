//! Recordings of the runtime (`accelflow_runtime::record`) for `accelflow.calibration`.

use std::ops::ControlFlow;

use accelflow_runtime::record::{RecordOptions, machine, record};
use accelflow_runtime::{Executor, run_service};
use accelflow_scenario::find_service;
use accelflow_trace::templates;
use accelflow_workload::profile::Recording;
use accelflow_workload::services::social_network;
use pyo3::prelude::*;

use crate::bind::simulation::progress::Progress;
use crate::errors::failure;

/// Raises AccelflowError if `text` is no recording.
#[pyfunction]
pub(crate) fn check_recording(text: &str) -> PyResult<()> {
    Recording::from_json(text).map(drop).map_err(failure)
}

/// The processor and system of this machine.
#[pyfunction]
pub(crate) fn machine_name() -> String {
    machine()
}

/// Runs all services on real bytes and measures every step; the recording as JSON.
///
/// `date` is written into it. `progress` is called with the invocations done and of all. Raises
/// AccelflowError if the machine has no loopback sockets; an exception of `progress` ends the
/// recording and is passed on.
#[pyfunction]
#[pyo3(signature = (date, progress=None))]
pub(crate) fn record_services(
    py: Python<'_>,
    date: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let image = templates().map_err(failure)?.link().map_err(failure)?;
    let services = social_network().map_err(failure)?;
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
    let service = find_service(&services, name).map_err(failure)?;
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
