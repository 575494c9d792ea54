//! `accelflow.tenants` for the server.

use accelflow_serve::{Priority, SHAPING_CLOCK_HZ, Shaping, Tenant};
use accelflow_shaping::{Clock, Registers, ShapingError};
use pyo3::prelude::*;

use crate::errors::{AccelflowError, seconds};

/// The default burst, as a share of a second's traffic.
const BURST_S: f64 = 0.01;

/// `accelflow.tenants.Shaping`.
#[derive(FromPyObject)]
pub(crate) struct PyShaping {
    requests_per_s: Option<f64>,
    burst_requests: Option<u64>,
    bytes_per_s: Option<f64>,
    burst_bytes: Option<u64>,
}

/// `accelflow.tenants.Tenant`.
#[derive(FromPyObject)]
pub(crate) struct PyTenant {
    name: String,
    networks: Vec<String>,
    identities: Vec<String>,
    shaping: PyShaping,
    max_traces: Option<usize>,
    max_connections: Option<usize>,
    priority: String,
    due_within_s: Option<f64>,
}

fn refused(place: &str, why: impl std::fmt::Display) -> PyErr {
    AccelflowError::new_err(format!("{place}: {why}"))
}

/// The shaping of the tenant called `name`.
pub(crate) fn shaping(name: &str, given: &PyShaping) -> PyResult<Shaping> {
    let registers = |what: &str, per_s: Option<f64>, burst: Option<u64>| {
        let place = format!("tenant '{name}': {what}");
        match (per_s, burst) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(refused(&place, "a burst needs a rate")),
            (Some(per_s), burst) => {
                let made = registers(per_s, burst).map_err(|error| refused(&place, error))?;
                Ok(Some(made))
            }
        }
    };
    Ok(Shaping {
        requests: registers("requests", given.requests_per_s, given.burst_requests)?,
        bytes: registers("bytes", given.bytes_per_s, given.burst_bytes)?,
    })
}

fn registers(per_s: f64, burst: Option<u64>) -> Result<Registers, ShapingError> {
    let clock = Clock::from_hz(SHAPING_CLOCK_HZ)?;
    // The default bucket holds at least the refill of a cycle: a hundredth of a second is 10,000
    // cycles.
    let burst = burst.unwrap_or_else(|| (per_s * BURST_S).max(1.0) as u64);
    Registers::for_rate(per_s, burst, clock)
}

/// Converts tenants for the server.
pub(crate) fn tenants(given: &[PyTenant]) -> PyResult<Vec<Tenant>> {
    given.iter().map(tenant).collect()
}

fn tenant(given: &PyTenant) -> PyResult<Tenant> {
    let place = format!("tenant '{}'", given.name);
    let network = |text: &String| {
        let address = || text.parse().map(std::net::IpAddr::into).ok();
        let found = text.parse().ok().or_else(address);
        let why =
            || format!("network '{text}': must be an IP address, or a prefix such as 10.0.0.0/8");
        found.ok_or_else(|| refused(&place, why()))
    };
    let networks = given.networks.iter().map(network);
    let priority = match &*given.priority {
        "low" => Priority::Low,
        "normal" => Priority::Normal,
        "high" => Priority::High,
        other => {
            let why = format!("priority '{other}': must be low, normal or high");
            return Err(refused(&place, why));
        }
    };
    let due_within = given.due_within_s;
    let due_within = due_within.map(|due| seconds(&format!("{place}: due_within_s"), due));
    Ok(Tenant {
        identities: given.identities.clone(),
        shaping: shaping(&given.name, &given.shaping)?,
        max_traces: given.max_traces.unwrap_or(0),
        max_connections: given.max_connections.unwrap_or(0),
        priority,
        due_within: due_within.transpose()?,
        ..Tenant::new(&given.name, networks.collect::<PyResult<_>>()?)
    })
}
