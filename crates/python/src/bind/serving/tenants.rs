//! Conversion of the tenants in `accelflow.tenants` to settings of the server.

use accelflow_serve::{Control, Priority, SHAPING_CLOCK_HZ, Shaping, Tenant, TenantSlo};
use accelflow_shaping::control::LatencySlo;
use accelflow_shaping::{Clock, Registers, ShapingError};
use accelflow_units::{Bytes, Time};
use pyo3::prelude::*;

use crate::errors::{failure, seconds};

/// `accelflow.tenants.Shaping`.
#[derive(FromPyObject)]
pub(crate) struct PyShaping {
    requests_per_s: Option<f64>,
    burst_requests: Option<u64>,
    bytes_per_s: Option<f64>,
    burst_bytes: Option<u64>,
    accelerator_s_per_s: Option<f64>,
    burst_accelerator_s: Option<f64>,
}

/// `accelflow.tenants.Control`.
#[derive(FromPyObject)]
pub(crate) struct PyControl {
    capacity_s_per_s: Option<f64>,
    most: f64,
    period_s: f64,
}

/// `accelflow.tenants.Slo`.
#[derive(FromPyObject)]
pub(crate) struct PySlo {
    requests_per_s: f64,
    request_us: Option<f64>,
    request_bytes: Option<u64>,
    percent_of_periods: f64,
    latency_percentile: Option<f64>,
    latency_us: Option<f64>,
}

/// `accelflow.tenants.Tenant`.
#[derive(FromPyObject)]
pub(crate) struct PyTenant {
    name: String,
    networks: Vec<String>,
    identities: Vec<String>,
    shaping: PyShaping,
    slo: Option<PySlo>,
    max_traces: Option<usize>,
    max_connections: Option<usize>,
    priority: String,
    due_within_s: Option<f64>,
}

fn refused(place: &str, why: impl std::fmt::Display) -> PyErr {
    failure(format!("{place}: {why}"))
}

/// The shaping of the tenant called `name`.
pub(crate) fn shaping(name: &str, given: &PyShaping) -> PyResult<Shaping> {
    let registers = |what: &str, per_s: Option<f64>, burst: Option<u64>| {
        let place = format!("tenant '{name}': {what}");
        match (per_s, burst) {
            (None, None) => Ok(None),
            (None, Some(burst)) => {
                let place = format!("tenant '{name}': burst_{what} = {burst}");
                let why = format!("must be given together with {what}_per_s");
                Err(refused(&place, why))
            }
            (Some(per_s), burst) => {
                let made = registers(per_s, burst).map_err(|error| refused(&place, error))?;
                Ok(Some(made))
            }
        }
    };
    Ok(Shaping {
        requests: registers("requests", given.requests_per_s, given.burst_requests)?,
        bytes: registers("bytes", given.bytes_per_s, given.burst_bytes)?,
        time: time(name, given)?,
    })
}

/// Registers whose tokens are nanoseconds of accelerator time.
fn time(name: &str, given: &PyShaping) -> PyResult<Option<Registers>> {
    let check = |setting: &str, value: Option<f64>, most: f64| match value {
        Some(value) if !(Registers::MIN_ACCELERATOR_S..=most).contains(&value) => {
            let place = format!("tenant '{name}': {setting} = {value}");
            Err(refused(&place, format!("must be from 1e-9 to {most}")))
        }
        value => Ok(value),
    };
    let per_s = check(
        "accelerator_s_per_s",
        given.accelerator_s_per_s,
        Registers::MAX_ACCELERATOR_S_PER_S,
    )?;
    let burst = check(
        "burst_accelerator_s",
        given.burst_accelerator_s,
        Registers::MAX_BURST_ACCELERATOR_S,
    )?;
    let place = format!("tenant '{name}': accelerator time");
    match (per_s, burst) {
        (None, None) => Ok(None),
        (None, Some(burst)) => {
            let place = format!("tenant '{name}': burst_accelerator_s = {burst}");
            let why = "must be given together with accelerator_s_per_s";
            Err(refused(&place, why))
        }
        (Some(per_s), burst) => {
            let clock = Clock::from_hz(SHAPING_CLOCK_HZ);
            let made = clock.and_then(|clock| Registers::for_accelerator_time(per_s, burst, clock));
            Ok(Some(made.map_err(|error| refused(&place, error))?))
        }
    }
}

fn registers(per_s: f64, burst: Option<u64>) -> Result<Registers, ShapingError> {
    let clock = Clock::from_hz(SHAPING_CLOCK_HZ)?;
    // The default bucket holds at least the refill of a cycle: a hundredth of a second is 10,000
    // cycles.
    let burst = burst.unwrap_or_else(|| (per_s * Registers::BURST_S).max(1.0) as u64);
    Registers::for_rate(per_s, burst, clock)
}

/// The settings of a control plane.
pub(crate) fn control(given: &PyControl) -> PyResult<Control> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let period = seconds("control: period_s", given.period_s)?;
    Ok(Control {
        most: given.most,
        period: Time::from_ns_f64(period.as_secs_f64() * 1e9),
        ..Control::new(given.capacity_s_per_s.unwrap_or(cores as f64))
    })
}

/// The requested SLO of the tenant `name`.
pub(crate) fn slo(name: &str, given: &PySlo) -> PyResult<TenantSlo> {
    let us = |what: &str, value: f64| {
        if !(0.001..=1e7).contains(&value) {
            let place = format!("tenant '{name}': {what} = {value}");
            return Err(refused(&place, "must be from 0.001 to 10000000"));
        }
        Ok(Time::from_ns_f64(value * 1e3))
    };
    let latency = match (given.latency_percentile, given.latency_us) {
        (None, None) => None,
        (Some(percentile), Some(within)) => Some(LatencySlo {
            quantile: percentile / 100.0,
            within: us("latency_us", within)?,
        }),
        _ => {
            let why = "latency_percentile and latency_us: must be given together";
            return Err(refused(&format!("tenant '{name}'"), why));
        }
    };
    let time = given.request_us.map(|time| us("request_us", time));
    Ok(TenantSlo {
        time: time.transpose()?,
        size: given.request_bytes.map(Bytes),
        periods: given.percent_of_periods / 100.0,
        latency,
        ..TenantSlo::new(given.requests_per_s)
    })
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
            || format!("network = '{text}': must be an IP address, or a prefix such as 10.0.0.0/8");
        found.ok_or_else(|| refused(&place, why()))
    };
    let networks = given.networks.iter().map(network);
    let priority = match &*given.priority {
        "low" => Priority::Low,
        "normal" => Priority::Normal,
        "high" => Priority::High,
        other => {
            let why = format!("priority = '{other}': must be low, normal or high");
            return Err(refused(&place, why));
        }
    };
    let due_within = given.due_within_s;
    let due_within = due_within.map(|due| seconds(&format!("{place}: due_within_s"), due));
    Ok(Tenant {
        identities: given.identities.clone(),
        shaping: shaping(&given.name, &given.shaping)?,
        slo: given
            .slo
            .as_ref()
            .map(|asked| slo(&given.name, asked))
            .transpose()?,
        max_traces: given.max_traces.unwrap_or(0),
        max_connections: given.max_connections.unwrap_or(0),
        priority,
        due_within: due_within.transpose()?,
        ..Tenant::new(&given.name, networks.collect::<PyResult<_>>()?)
    })
}
