//! The workloads' services: names, paths and closed-form results.

use accelflow_scenario::WorkloadRow;
use accelflow_units::Time;
use pyo3::prelude::*;

use crate::errors::failure;
use crate::refused::refused;

/// The service called `name` as JSON: its method, path, traces, accelerators and sequences, found
/// by walking its traces. `workload` is the name of a suite or the tree of a workload's file
/// (JSON); if it is None, all suites are searched. Raises AccelflowError for an unknown service or
/// workload.
#[pyfunction]
#[pyo3(signature = (name, workload=None))]
pub(crate) fn service_walk(name: &str, workload: Option<&str>) -> PyResult<String> {
    let walked = accelflow_scenario::walk_service(name, workload).map_err(refused)?;
    serde_json::to_string(&walked).map_err(failure)
}

/// The workloads: (name, share of its sequences that branch, the share that the paper prints).
#[pyfunction]
pub(crate) fn workload_names() -> PyResult<Vec<WorkloadRow>> {
    accelflow_scenario::workloads().map_err(refused)
}

/// The names of the services of `workload`, a suite's name or a tree; for socialnetwork, in the
/// paper's order. Raises AccelflowError for an unknown workload.
#[pyfunction]
pub(crate) fn service_names(workload: &str) -> PyResult<Vec<String>> {
    accelflow_scenario::service_names(workload).map_err(refused)
}

/// Returns for each service of `workload` the mean number of messages per request whose wait
/// exceeds `timeout_us`. `remote` chooses the waits, as the field `remote` of a scenario does.
/// Raises AccelflowError for unknown names.
#[pyfunction]
pub(crate) fn timeouts_by_service(
    workload: &str,
    remote: &str,
    timeout_us: f64,
) -> PyResult<Vec<(String, f64)>> {
    let timeout = Time::from_ns_f64(timeout_us * 1e3);
    accelflow_scenario::timeouts_by_service(workload, remote, timeout).map_err(refused)
}
