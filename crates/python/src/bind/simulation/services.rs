//! The services of workloads: their names, their paths, and how many messages time out in a request
//! on average.

use accelflow_scenario::WorkloadRow;
use accelflow_units::Time;
use pyo3::prelude::*;

use crate::errors::failure;
use crate::refused::refused;

/// Returns the most common path of the service `name` as JSON.
///
/// The JSON has the names of the service and its method, the path's phases and traces, the number
/// of invocations of accelerators (in all, and by accelerator), the largest number of parallel
/// chains, and the largest number of branches of each sequence of accelerators. `workload` is a
/// suite's name or the content of a workload's file (JSON); None searches all suites. Raises
/// AccelflowError for an unknown service or workload.
#[pyfunction]
#[pyo3(signature = (name, workload=None))]
pub(crate) fn service_walk(name: &str, workload: Option<&str>) -> PyResult<String> {
    let walked = accelflow_scenario::walk_service(name, workload).map_err(refused)?;
    serde_json::to_string(&walked).map_err(failure)
}

/// Returns a row for each suite: its name, the fraction of its accelerator sequences that branch
/// (section III, Q2), and the fraction that the paper prints, or None.
#[pyfunction]
pub(crate) fn workload_names() -> PyResult<Vec<WorkloadRow>> {
    accelflow_scenario::workloads().map_err(refused)
}

/// Returns the names of the services of a workload; for socialnetwork in the paper's order.
///
/// `workload` is a suite's name or the content of a workload's file (JSON). Raises AccelflowError
/// for an unknown workload.
#[pyfunction]
pub(crate) fn service_names(workload: &str) -> PyResult<Vec<String>> {
    accelflow_scenario::service_names(workload).map_err(refused)
}

/// Returns how many messages of a request time out, on average, by service.
///
/// A message times out if it waits longer than `timeout_us` for a remote side. `remote` names the
/// distribution of waits, as the field `remote` of a scenario does. Raises AccelflowError for an
/// unknown workload or remote.
#[pyfunction]
pub(crate) fn timeouts_by_service(
    workload: &str,
    remote: &str,
    timeout_us: f64,
) -> PyResult<Vec<(String, f64)>> {
    let timeout = Time::from_ns_f64(timeout_us * 1e3);
    accelflow_scenario::timeouts_by_service(workload, remote, timeout).map_err(refused)
}
