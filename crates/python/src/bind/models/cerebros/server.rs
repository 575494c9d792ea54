//! The simulated server with and without Cerebros.

use std::collections::BTreeMap;

use accelflow_cerebros::platform::PARAMETERS;
use accelflow_cerebros::schema::{TypeSchema, header_wire};
use accelflow_cerebros::services::{Function, Service};
use accelflow_cerebros::{
    Arrivals, Design, Group, Load, Outcome, Platform, Steering, analytic, breakdown, simulate,
};
use accelflow_parameters::{Parameter, Refusal};
use accelflow_units::Time;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::AccelflowError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    service: String,
    design: String,
    affinity: bool,
    arrivals: ArrivalsRequest,
    requests: usize,
    warmup: usize,
    seed: u64,
    unknown_ratio: f64,
    malformed_ratio: f64,
    parameters: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ArrivalsRequest {
    Senders(usize),
    RateRps(f64),
    LoadRatio(f64),
}

/// Serves requests of one service under one design, as JSON; `request` is JSON. Raises
/// AccelflowError for an unknown name and for what cannot be simulated.
#[pyfunction]
pub(crate) fn cerebros_simulate(py: Python<'_>, request: &str) -> PyResult<String> {
    let request: Request = serde_json::from_str(request).map_err(error)?;
    py.detach(|| run(&request).map_err(error))
}

/// Parameters of the simulated server with their origins, as JSON.
#[pyfunction]
pub(crate) fn cerebros_parameters() -> String {
    let row = |parameter: &Parameter| {
        json!({
            "name": parameter.key,
            "default": parameter.default,
            "least": parameter.kind.range(parameter.default).0,
            "whole": parameter.kind.is_whole(),
            "provenance": parameter.provenance.name(),
            "source": parameter.source,
        })
    };
    Value::from_iter(PARAMETERS.parameters().map(row)).to_string()
}

/// The services: functions, messages, schemata and working sets, as JSON.
#[pyfunction]
pub(crate) fn cerebros_services() -> String {
    let service = |service: &Service| {
        let (with_rpc, without) = service.working_sets_kb();
        let all: f64 = service.functions.iter().map(|f| f.popularity).sum();
        let functions = service.functions.iter().map(|f| function(f, all));
        json!({
            "service": service.name,
            "working_set_kb": with_rpc,
            "working_set_without_rpc_kb": without,
            "functions": functions.collect::<Vec<Value>>(),
        })
    };
    Value::from_iter(Service::all().iter().map(service)).to_string()
}

fn function(function: &Function, all: f64) -> Value {
    let schema = TypeSchema::of(&function.call.request);
    let (split, whole) = schema.storage(16);
    let request = &function.call.request;
    let software = breakdown(&Platform::default(), function);
    json!({
        "software_cycles": {
            "header": software.header_cycles,
            "dispatch": software.dispatch_cycles,
            "payload": software.payload_cycles,
            "nested": software.nested_cycles,
        },
        "function": function.call.name,
        "popularity_ratio": function.popularity / all,
        "nested_calls": function.nested.len(),
        "execute_cycles": function.execute_cycles,
        "request_wire_bytes": header_wire(function.call.name).get() + request.wire().get(),
        "request_application_bytes": request.application().get(),
        "response_wire_bytes":
            header_wire(function.call.name).get() + function.call.response.wire().get(),
        "schemata_of_16_messages_bytes": { "split": split.get(), "whole": whole.get() },
    })
}

fn error(error: impl ToString) -> PyErr {
    AccelflowError::new_err(error.to_string())
}

fn run(request: &Request) -> Result<String, Refusal> {
    let service = Service::named(&request.service)?;
    let mut platform = Platform::default();
    for (name, value) in &request.parameters {
        platform.set(name, *value)?;
    }
    let found = Design::ALL.into_iter().find(|d| d.name() == request.design);
    let design = found.ok_or_else(|| {
        Refusal::unknown("design", &request.design, Design::ALL.map(Design::name))
    })?;
    let steering = if request.affinity {
        Steering::Affinity
    } else {
        Steering::LeastLoaded
    };
    let load = Load {
        arrivals: match request.arrivals {
            ArrivalsRequest::Senders(senders) => Arrivals::Closed(senders),
            ArrivalsRequest::RateRps(rate) => Arrivals::Rate(rate),
            ArrivalsRequest::LoadRatio(share) => Arrivals::Share(share),
        },
        requests: request.requests,
        warmup: request.warmup,
        seed: request.seed,
        unknown: request.unknown_ratio,
        malformed: request.malformed_ratio,
    };
    let outcome = simulate(&service, &platform, design, steering, &load)?;
    Ok(told(&service, &platform, design, outcome).to_string())
}

fn told(service: &Service, platform: &Platform, design: Design, mut outcome: Outcome) -> Value {
    let exact: f64 = service
        .functions
        .iter()
        .zip(&outcome.functions)
        .map(|(f, g)| analytic(platform, f).total_cycles(design) * g.requests as f64)
        .sum();
    let functions = service.functions.iter().zip(&mut outcome.functions);
    let functions: Vec<Value> = functions
        .map(|(f, g)| json!({ "function": f.call.name, "results": group(platform, g) }))
        .collect();
    let requests = outcome.all.requests.max(1) as f64;
    json!({
        "all": group(platform, &mut outcome.all),
        "functions": functions,
        "analytic_rpc_cycles": exact / requests,
        "answered": outcome.answered,
        "refused": outcome.refused,
        "nacks": outcome.nacks,
        "fallbacks": outcome.fallbacks,
        "throughput_rps": outcome.throughput_rps,
        "offered_rps": outcome.offered_rps,
        "saturated": outcome
            .saturated
            .map(|saturation| json!({ "queue": saturation.queue.name(), "waiting": saturation.waiting })),
        "pipeline_utilisation_ratio": outcome.pipeline_utilisation,
        "core_utilisation_ratio": outcome.core_utilisation,
        "buffer_peak_bytes": outcome.buffer_peak.get(),
    })
}

fn group(platform: &Platform, group: &mut Group) -> Value {
    let count = group.requests.max(1) as f64;
    let mean = |time: Time| platform.cycles(time) / count;
    let spent = group.spent;
    let us = |time: Option<Time>| time.map(Time::as_us_f64);
    json!({
        "requests": group.requests,
        "software_cycles": mean(spent.software),
        "offload_cycles": mean(spent.offload),
        "accelerator_cycles": mean(spent.accelerator),
        "rpc_cycles": mean(spent.rpc()),
        "queued_cycles": mean(spent.queued),
        "refused_cycles": mean(spent.refused),
        "rpc_on_core_cycles": mean(spent.on_core),
        "execute_cycles": mean(spent.execute),
        "stall_cycles": mean(spent.stall),
        "function_cycles": mean(spent.function()),
        "total_cycles": mean(spent.rpc()) + mean(spent.function()),
        "core_median_cycles": group.core.percentile(50.0).map(|time| platform.cycles(time)),
        "misses": group.misses as f64 / count,
        "miss_free_ratio": group.miss_free as f64 / count,
        "steered_ratio": group.steered as f64 / count,
        "latency_mean_us": us(group.latency.mean()),
        "latency_p50_us": us(group.latency.percentile(50.0)),
        "latency_p99_us": us(group.latency.percentile(99.0)),
    })
}
