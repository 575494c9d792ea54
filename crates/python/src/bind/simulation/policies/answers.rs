//! Converts what policies return (`Decision`, `ManagerVisit` and `Properties` of
//! `accelflow.policies`) between Rust and Python.

use accelflow_parameters::{Refusal, any_of};
use accelflow_sim::config::DispatchPolicy;
use accelflow_sim::orchestrators::{
    CoreRequests, Decision, ManagerVisit, Notification, Properties, Queueing,
};
use accelflow_units::Time;
use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::bind::parameters::refusal_of;
use crate::refused::refused;

/// The longest time that a policy may return: a second, far longer than any decision.
const LONGEST_NS: f64 = 1e9;
/// The most instructions of a dispatcher that a decision may count.
const MOST_INSTRUCTIONS: u64 = 1_000_000;

const QUEUEING: [(&str, Queueing); 2] = [
    ("per_accelerator", Queueing::PerAccelerator),
    ("central", Queueing::Central),
];
const REQUESTS: [(&str, CoreRequests); 3] = [
    ("interrupt", CoreRequests::Interrupt),
    ("run_queue", CoreRequests::RunQueue),
    ("software_queue", CoreRequests::SoftwareQueue),
];
const NOTIFICATION: [(&str, Notification); 3] = [
    ("flag", Notification::Flag),
    ("interrupt", Notification::Interrupt),
    ("found", Notification::Found),
];

/// (occupancy_ns, latency_ns).
type Visit = (f64, f64);
/// (dispatcher_ns, instructions, manager, core_ns, background_ns).
pub(super) type DecisionRow = (f64, u64, Option<Visit>, f64, f64);
/// (accelerated, parks, queueing, policy, start_ns, submission, requests, notification,
/// notified_ns).
pub(super) type PropertiesRow = (
    bool,
    bool,
    &'static str,
    &'static str,
    f64,
    Option<Visit>,
    &'static str,
    &'static str,
    f64,
);

pub(super) fn decision_row(decision: &Decision) -> DecisionRow {
    (
        decision.dispatcher.as_ns_f64(),
        decision.instructions,
        decision.manager.map(visit_row),
        decision.core.as_ns_f64(),
        decision.background.as_ns_f64(),
    )
}

pub(super) fn properties_row(properties: &Properties) -> PropertiesRow {
    (
        properties.accelerated,
        properties.parks,
        name(&QUEUEING, properties.queueing),
        properties.policy.name(),
        properties.start.as_ns_f64(),
        properties.submission.map(visit_row),
        name(&REQUESTS, properties.requests),
        name(&NOTIFICATION, properties.notification),
        properties.notified.as_ns_f64(),
    )
}

/// The decision in `answer`, a `Decision`. Raises AccelflowError, which names the field, and for
/// any other answer.
pub(super) fn decision(answer: &Bound<'_, PyAny>) -> PyResult<Decision> {
    let py = answer.py();
    read_decision(answer).map_err(|error| {
        // An error without a traceback is from here, and not from a property of the answer.
        let lacks = error.is_instance_of::<PyAttributeError>(py) && error.traceback(py).is_none();
        match lacks {
            true => refused_value("decide()", answer, "must be an accelflow.policies.Decision"),
            false => error,
        }
    })
}

fn read_decision(answer: &Bound<'_, PyAny>) -> PyResult<Decision> {
    let py = answer.py();
    Ok(Decision {
        dispatcher: time(answer, "dispatcher_ns")?,
        instructions: instructions(&answer.getattr(intern!(py, "instructions"))?)?,
        manager: visit(answer, "manager")?,
        core: time(answer, "core_ns")?,
        background: time(answer, "background_ns")?,
    })
}

/// The properties in `answer`, a `Properties`. Raises AccelflowError, which names the field.
pub(super) fn properties(answer: &Bound<'_, PyAny>) -> PyResult<Properties> {
    let policies = DispatchPolicy::ALL.map(|policy| (policy.name(), policy));
    Ok(Properties {
        accelerated: flag(answer, "accelerated")?,
        parks: flag(answer, "parks")?,
        queueing: chosen(answer, "queueing", &QUEUEING)?,
        policy: chosen(answer, "policy", &policies)?,
        start: time(answer, "start_ns")?,
        submission: visit(answer, "submission")?,
        requests: chosen(answer, "requests", &REQUESTS)?,
        notification: chosen(answer, "notification", &NOTIFICATION)?,
        notified: time(answer, "notified_ns")?,
    })
}

fn visit_row(visit: ManagerVisit) -> Visit {
    (visit.occupancy.as_ns_f64(), visit.latency.as_ns_f64())
}

fn name<T: Copy + PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    let found = names.iter().find(|(_, named)| *named == value);
    found.map_or("", |(name, _)| name)
}

fn visit(answer: &Bound<'_, PyAny>, field: &str) -> PyResult<Option<ManagerVisit>> {
    let value = answer.getattr(field)?;
    if value.is_none() {
        return Ok(None);
    }
    if !value.hasattr("occupancy_ns")? || !value.hasattr("latency_ns")? {
        return Err(refused_value(
            field,
            &value,
            "must be a ManagerVisit or None",
        ));
    }
    Ok(Some(ManagerVisit {
        occupancy: time(&value, "occupancy_ns")?,
        latency: time(&value, "latency_ns")?,
    }))
}

fn time(answer: &Bound<'_, PyAny>, field: &str) -> PyResult<Time> {
    let value = answer.getattr(field)?;
    let number = match value.is_instance_of::<PyBool>() {
        true => None,
        false => value.extract::<f64>().ok(),
    };
    match number.filter(|number| (0.0..=LONGEST_NS).contains(number)) {
        Some(number) => Ok(Time::from_ns_f64(number)),
        None => Err(refused_value(
            field,
            &value,
            "must be a number from 0 to 1e9 (a second)",
        )),
    }
}

fn instructions(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let number = match value.is_instance_of::<PyBool>() {
        true => None,
        false => value.extract::<u64>().ok(),
    };
    number
        .filter(|number| *number <= MOST_INSTRUCTIONS)
        .ok_or_else(|| {
            let allowed = format!("must be a whole number from 0 to {MOST_INSTRUCTIONS}");
            refused_value("instructions", value, &allowed)
        })
}

fn flag(answer: &Bound<'_, PyAny>, field: &str) -> PyResult<bool> {
    let value = answer.getattr(field)?;
    let found = value.extract();
    found.map_err(|_| refused_value(field, &value, "must be True or False"))
}

fn chosen<T: Copy>(
    answer: &Bound<'_, PyAny>,
    field: &str,
    names: &[(&'static str, T)],
) -> PyResult<T> {
    let value = answer.getattr(field)?;
    let known = names.iter().map(|(name, _)| *name);
    let Ok(text) = value.extract::<String>() else {
        let allowed = format!("must be {}", any_of(known));
        return Err(refused(refusal_of(field, &value, allowed)));
    };
    let found = names.iter().find(|(name, _)| *name == text);
    match found {
        Some((_, value)) => Ok(*value),
        None => Err(refused(Refusal::unknown(field, &text, known))),
    }
}

fn refused_value(field: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    refused(refusal_of(field, value, allowed.to_owned()))
}
