//! `accelflow.operations` for the server.

use std::collections::BTreeMap;
use std::time::Duration;

use accelflow_serve::{
    ArenaSettings, Fault, FaultKind, FaultWhen, Policy, PoolSettings, RpcProcessor, Steering,
    SteeringPolicy, Telemetry,
};
use accelflow_trace::Accel;
use pyo3::prelude::*;

use crate::bind::trace::ensemble::workers_of;
use crate::errors::{AccelflowError, seconds};

/// `accelflow.operations.Pools`.
#[derive(FromPyObject)]
pub(crate) struct PyPools {
    workers: usize,
    workers_of: BTreeMap<String, usize>,
    instances: usize,
    core_workers: usize,
    queue_entries: usize,
    overflow_entries: usize,
    least_bytes: usize,
    policy: String,
    pinned: bool,
}

/// `accelflow.operations.Steering`.
#[derive(FromPyObject)]
pub(crate) struct PySteering {
    policy: String,
    workers: Option<usize>,
    pinned: bool,
    function_map_depth: usize,
}

/// `accelflow.operations.RpcProcessor`.
#[derive(FromPyObject)]
pub(crate) struct PyRpcProcessor {
    split_schema: bool,
    arena_bytes: Option<usize>,
    reservation_ratio: usize,
    patience_s: f64,
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
        refused(format!(
            "policy = '{}': must be one of {known}",
            given.policy
        ))
    };
    let workers_of = workers_of(&given.workers_of).map_err(refused)?;
    Ok(PoolSettings {
        workers: given.workers,
        workers_of,
        core_workers: given.core_workers,
        pinned: given.pinned,
        instances: given.instances,
        queue_entries: given.queue_entries,
        overflow_entries: given.overflow_entries,
        least_bytes: given.least_bytes,
        policy: policy.ok_or_else(why)?,
        ..PoolSettings::default()
    })
}

pub(crate) fn steering(given: &PySteering) -> PyResult<Steering> {
    let policy = SteeringPolicy::named(&given.policy);
    let why = || {
        let known = SteeringPolicy::ALL.map(SteeringPolicy::name).join(", ");
        let given = &given.policy;
        refused(format!("steering = '{given}': must be one of {known}"))
    };
    Ok(Steering {
        workers: given.workers.unwrap_or(Steering::default().workers),
        policy: policy.ok_or_else(why)?,
        pinned: given.pinned,
        function_map_depth: given.function_map_depth,
    })
}

pub(crate) fn rpc_processor(given: &PyRpcProcessor) -> PyResult<RpcProcessor> {
    let patience = match given.patience_s {
        0.0 => Duration::ZERO,
        some => seconds("patience_s", some)?,
    };
    Ok(RpcProcessor {
        split_schema: given.split_schema,
        arena: given.arena_bytes.map(|bytes| ArenaSettings {
            bytes,
            reservation_ratio: given.reservation_ratio,
            patience,
        }),
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
