//! `accelflow.operations` for the server.

use std::time::Duration;

use accelflow_serve::{
    Config, Fault, FaultKind, FaultWhen, Policy, PoolSettings, Steering, SteeringPolicy, Telemetry,
};
use accelflow_trace::Accel;
use pyo3::prelude::*;

use crate::errors::AccelflowError;

/// `accelflow.operations.Pools`.
#[derive(FromPyObject)]
pub(crate) struct PyPools {
    workers: usize,
    instances: usize,
    queue_entries: usize,
    overflow_entries: usize,
    policy: String,
}

/// `accelflow.operations.Steering`.
#[derive(FromPyObject)]
pub(crate) struct PySteering {
    policy: String,
    workers: Option<usize>,
    pinned: bool,
}

/// `accelflow.operations.Telemetry`.
#[derive(FromPyObject)]
pub(crate) struct PyTelemetry {
    endpoint: String,
    service: String,
    sample_ratio: f64,
}

/// `accelflow.operations.Fault`.
#[derive(FromPyObject)]
pub(crate) struct PyFault {
    accelerator: String,
    kind: String,
    nth: Option<u64>,
    share: Option<f64>,
    seed: u64,
    delay_s: f64,
}

fn refused(why: String) -> PyErr {
    AccelflowError::new_err(why)
}

pub(crate) fn pools(given: &PyPools) -> PyResult<PoolSettings> {
    let policy = Policy::named(&given.policy);
    let why = || {
        let known = Policy::ALL.map(Policy::name).join(", ");
        refused(format!("policy '{}': must be one of {known}", given.policy))
    };
    Ok(PoolSettings {
        workers: given.workers,
        instances: given.instances,
        queue_entries: given.queue_entries,
        overflow_entries: given.overflow_entries,
        policy: policy.ok_or_else(why)?,
        ..PoolSettings::default()
    })
}

pub(crate) fn steering(given: &PySteering) -> PyResult<Steering> {
    let policy = SteeringPolicy::named(&given.policy);
    let why = || {
        let known = SteeringPolicy::ALL.map(SteeringPolicy::name).join(", ");
        let given = &given.policy;
        refused(format!("steering '{given}': must be one of {known}"))
    };
    Ok(Steering {
        workers: given.workers.unwrap_or(Config::default().cores),
        policy: policy.ok_or_else(why)?,
        pinned: given.pinned,
    })
}

pub(crate) fn telemetry(given: PyTelemetry) -> Telemetry {
    Telemetry {
        endpoint: given.endpoint,
        service: given.service,
        sample_ratio: given.sample_ratio,
    }
}

pub(crate) fn faults(given: &[PyFault]) -> PyResult<Vec<Fault>> {
    given.iter().map(fault).collect()
}

fn fault(given: &PyFault) -> PyResult<Fault> {
    let name = &given.accelerator;
    let accel = Accel::ALL.into_iter().find(|accel| accel.name() == name);
    let accel = accel.ok_or_else(|| {
        let known = Accel::ALL.map(Accel::name).join(", ");
        refused(format!("fault of '{name}': must be of one of {known}"))
    })?;
    let when = match (given.nth, given.share) {
        (Some(nth), None) => FaultWhen::Nth(nth),
        (None, Some(ratio)) => FaultWhen::Share {
            ratio,
            seed: given.seed,
        },
        _ => {
            let why = "must have either nth or share";
            return Err(refused(format!("fault of {name}: {why}")));
        }
    };
    let kind = match &*given.kind {
        "fail" => FaultKind::Fail,
        "panic" => FaultKind::Panic,
        "delay" => {
            let time = Duration::try_from_secs_f64(given.delay_s);
            let why = "must be 0 seconds or more";
            let why = || {
                refused(format!(
                    "fault of {name}: delay_s = {}: {why}",
                    given.delay_s
                ))
            };
            FaultKind::Delay(time.map_err(|_| why())?)
        }
        other => {
            let why = "must be fail, panic or delay";
            return Err(refused(format!("fault of {name}: kind '{other}': {why}")));
        }
    };
    Ok(Fault { accel, when, kind })
}
