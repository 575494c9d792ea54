//! The workloads' services: their names, paths and what follows from them in closed form.

use std::collections::BTreeMap;

use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::profile::timeouts_per_request;
use accelflow_workload::services::{Service, branching_share, invocations, sequences};
use accelflow_workload::suites::Suite;
use pyo3::prelude::*;
use serde_json::json;

use crate::simulation::{failure, memory, remote_waits};

pub(crate) fn wanted_services(suite: Suite, names: &[String]) -> PyResult<Vec<Service>> {
    let all = suite.services().map_err(failure)?;
    for name in names {
        find_service(&all, name)?;
    }
    let wanted = |service: &Service| names.iter().any(|name| name == service.name());
    Ok(all
        .into_iter()
        .filter(|service| names.is_empty() || wanted(service))
        .collect())
}

pub(crate) fn find_service<'s>(services: &'s [Service], name: &str) -> PyResult<&'s Service> {
    services
        .iter()
        .find(|service| service.name() == name)
        .ok_or_else(|| {
            let known: Vec<&str> = services.iter().map(Service::name).collect();
            failure(format!(
                "unknown service '{name}'; known are {}",
                known.join(", ")
            ))
        })
}

/// The service of any workload called `name` as JSON: its method, path, traces, accelerators and
/// sequences, found by walking its traces. Raises AccelflowError for an unknown service.
#[pyfunction]
pub(crate) fn service_walk(name: &str) -> PyResult<String> {
    let mut services = Vec::new();
    for suite in Suite::ALL {
        services.extend(suite.services().map_err(failure)?);
    }
    let service = find_service(&services, name)?;
    let image = memory()?;
    let counts = invocations(service, &image).map_err(failure)?;
    let conditionals: Vec<u32> = sequences(service, &image)
        .map_err(failure)?
        .iter()
        .map(|sequence| sequence.conditionals)
        .collect();
    let by_accelerator: BTreeMap<&str, u32> = Accel::ALL
        .iter()
        .map(|accel| (accel.name(), counts.of(*accel)))
        .collect();
    Ok(json!({
        "service": service.name(),
        "method": service.method(),
        "accelerators": counts.total,
        "path": counts.path,
        "traces": counts.traces,
        "by_accelerator": by_accelerator,
        "max_parallel_chains": service.max_parallel_chains(),
        "conditionals_by_sequence": conditionals,
    })
    .to_string())
}

/// The workloads: (name, share of its sequences that branch, the share that the paper prints).
#[pyfunction]
pub(crate) fn workload_names() -> PyResult<Vec<(&'static str, f64, Option<f64>)>> {
    let image = memory()?;
    let row = |suite: Suite| {
        let services = suite.services().map_err(failure)?;
        let share = branching_share(&services, &image).map_err(failure)?;
        Ok((suite.name(), share, suite.printed_branching_share()))
    };
    Suite::ALL.into_iter().map(row).collect()
}

/// The names of the services of `workload`; for socialnetwork, in the paper's order. Raises
/// AccelflowError for an unknown workload.
#[pyfunction]
pub(crate) fn service_names(workload: &str) -> PyResult<Vec<String>> {
    let suite: Suite = workload.parse().map_err(failure)?;
    let services = suite.services().map_err(failure)?;
    Ok(services
        .iter()
        .map(|service| service.name().to_owned())
        .collect())
}

/// By service of `workload`, how many messages of a request are awaited for longer than
/// `timeout_us` on average, with the waits called `remote`. Raises AccelflowError for unknown names.
#[pyfunction]
pub(crate) fn timeouts_by_service(
    workload: &str,
    remote: &str,
    timeout_us: f64,
) -> PyResult<Vec<(String, f64)>> {
    let suite: Suite = workload.parse().map_err(failure)?;
    let (image, waits) = (memory()?, remote_waits(remote)?);
    let timeout = Time::from_ns_f64(timeout_us * 1e3);
    let row = |service: &Service| {
        let mean = timeouts_per_request(service, &image, &waits, timeout).map_err(failure)?;
        Ok((service.name().to_owned(), mean))
    };
    let services = suite.services().map_err(failure)?;
    services.iter().map(row).collect()
}
