//! Conversion of the settings in `accelflow.operations` to settings of the server.

use std::collections::BTreeMap;
use std::time::Duration;

use accelflow_parameters::Refusal;
use accelflow_serve::{
    ArenaSettings, DispatchPolicy, Fault, FaultKind, FaultWhen, PoolSettings, RpcProcessor,
    Steering, SteeringPolicy, Telemetry,
};
use accelflow_trace::Accel;
use pyo3::prelude::*;

use crate::bind::trace::ensemble::workers_of;
use crate::errors::{failure, seconds};

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

pub(crate) fn pools(given: &PyPools) -> PyResult<PoolSettings> {
    let policy = DispatchPolicy::named(&given.policy);
    let why = || {
        let known = DispatchPolicy::ALL.map(DispatchPolicy::name);
        failure(Refusal::unknown("policy", &given.policy, known))
    };
    let workers_of = workers_of(&given.workers_of).map_err(failure)?;
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
        let known = SteeringPolicy::ALL.map(SteeringPolicy::name);
        failure(Refusal::unknown("steering", &given.policy, known))
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
        let known = Accel::ALL.map(Accel::name);
        failure(Refusal::unknown("fault's accelerator", name, known))
    })?;
    let place = |field| format!("{field} of {name}'s fault");
    let when = match (given.nth, given.share) {
        (Some(nth), None) => FaultWhen::Nth(nth),
        (None, Some(ratio)) => FaultWhen::Share {
            ratio,
            seed: given.seed,
        },
        (Some(nth), Some(_)) => {
            let allowed = "must not be given together with share";
            return Err(failure(Refusal::number(place("nth"), nth as f64, allowed)));
        }
        (None, None) => {
            let allowed = "must be a number, unless share is given";
            return Err(failure(Refusal::new(place("nth"), "None", allowed)));
        }
    };
    let kind = match &*given.kind {
        "fail" => FaultKind::Fail,
        "panic" => FaultKind::Panic,
        "delay" => {
            let time = Duration::try_from_secs_f64(given.delay_s);
            let allowed = "must be 0 seconds or more";
            let why = |_| Refusal::number(place("delay_s"), given.delay_s, allowed);
            FaultKind::Delay(time.map_err(why).map_err(failure)?)
        }
        other => {
            let known = ["fail", "panic", "delay"];
            return Err(failure(Refusal::unknown(place("kind"), other, known)));
        }
    };
    Ok(Fault { accel, when, kind })
}
