//! Micro-benchmarks of the accelerators' software, for `accelflow accelerometer --measure
//! --bodies`.

use accelflow_runtime::measure::{MeasureOptions, MeasuredBody, SizeTimes, measure};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::failure;

/// Measures the times of the accelerators' software and of thread switches on this machine.
///
/// There are `rounds` rounds, each of `calls` calls; a value is the median of its round. Returns
/// JSON: `bodies` by accelerator, each with `setup_ns` and `transfer_ns` (the costs of an offload,
/// one value per round) and `sizes` (times by size of the input); and `thread_switch_ns`. Raises
/// AccelflowError for a count of 0, and if the process may use only one core.
#[pyfunction]
pub(crate) fn measure_bodies(py: Python<'_>, rounds: u32, calls: u32) -> PyResult<String> {
    let found = py.detach(|| measure(&MeasureOptions { rounds, calls }));
    let found = found.map_err(failure)?;
    let bodies = found.bodies.iter();
    let bodies: serde_json::Map<String, Value> = bodies
        .map(|body| (body.accel.name().to_owned(), body_json(body)))
        .collect();
    let result = json!({ "bodies": bodies, "thread_switch_ns": found.thread_switch_ns });
    Ok(result.to_string())
}

fn body_json(body: &MeasuredBody) -> Value {
    json!({
        "setup_ns": body.setup_ns,
        "transfer_ns": body.transfer_ns,
        "sizes": body.sizes.iter().map(size_json).collect::<Vec<_>>(),
    })
}

fn size_json(size: &SizeTimes) -> Value {
    json!({
        "input_bytes": size.input_bytes,
        "host_ns": size.host_ns,
        "worker_ns": size.worker_ns,
    })
}
