//! The simulated server with and without Cerebros.

use std::collections::BTreeMap;
use std::path::PathBuf;

use accelflow_cerebros::interface::{Code, own};
use accelflow_cerebros::platform::PARAMETERS;
use accelflow_cerebros::registration::Registration;
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

use crate::errors::{AccelflowError, failure};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    service: String,
    own: Option<OwnRequest>,
    design: String,
    affinity: bool,
    functions: Option<Vec<String>>,
    arrivals: ArrivalsRequest,
    requests: usize,
    warmup: usize,
    seed: u64,
    unknown_ratio: f64,
    malformed_ratio: f64,
    parameters: BTreeMap<String, f64>,
}

/// The files of a service that the user defines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnRequest {
    interface: PathBuf,
    recording: PathBuf,
    include_dirs: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ArrivalsRequest {
    Senders(usize),
    RateRps(f64),
    LoadRatio(f64),
}

/// Serves requests of one service under one design, as JSON; `request` is JSON. Raises
/// AccelflowError for an unknown name or a request that cannot be simulated.
#[pyfunction]
pub(crate) fn cerebros_simulate(py: Python<'_>, request: &str) -> PyResult<String> {
    let request: Request = serde_json::from_str(request).map_err(error)?;
    py.detach(|| run(&request).map_err(AccelflowError::new_err))
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
            "cores": Platform::default().workers().min(service.most_cores),
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
        "request_wire_bytes": header_wire(&function.call.name).get() + request.wire().get(),
        "request_application_bytes": request.application().get(),
        "request_address_schema_bytes": request.address_schema().get(),
        "response_wire_bytes":
            header_wire(&function.call.name).get() + function.call.response.wire().get(),
        "schemata_of_16_messages_bytes": { "split": split.get(), "whole": whole.get() },
    })
}

fn error(error: impl std::fmt::Display) -> PyErr {
    failure(error)
}

fn run(request: &Request) -> Result<String, String> {
    let (service, platform) = asked(request)?;
    simulated(request, service, &platform).map_err(|refusal| refusal.to_string())
}

/// The service and the server. For a user's service the cost of headers is the recorded one, unless
/// the request sets it.
fn asked(request: &Request) -> Result<(Service, Platform), String> {
    let refused = |refusal: Refusal| refusal.to_string();
    let mut platform = Platform::default();
    for (name, value) in &request.parameters {
        platform.set(name, *value).map_err(refused)?;
    }
    let Some(files) = &request.own else {
        return Ok((Service::named(&request.service).map_err(refused)?, platform));
    };
    platform.check().map_err(refused)?;
    let blocks = |bytes: f64| (bytes / platform.l1i_block_bytes).min(1e6) as u32;
    let code = Code {
        clock_hz: platform.clock_hz,
        rpc_blocks: blocks(platform.own_rpc_code_bytes),
        shared_blocks: blocks(platform.own_shared_code_bytes),
        own_blocks: blocks(platform.own_function_code_bytes),
    };
    let (interface, recording) = (&files.interface, &files.recording);
    let found = own(
        &request.service,
        interface,
        &files.include_dirs,
        recording,
        &code,
    )?;
    let header = "software_header_cycles";
    if let (Some(cycles), false) = (found.header_cycles, request.parameters.contains_key(header)) {
        platform.set(header, cycles).map_err(refused)?;
    }
    Ok((found.service, platform))
}

fn simulated(
    request: &Request,
    mut service: Service,
    platform: &Platform,
) -> Result<String, Refusal> {
    if let Some(names) = &request.functions {
        service.keep(names)?;
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
    let outcome = simulate(&service, platform, design, steering, &load)?;
    let registered = Registration::new(platform, &service)?;
    let mut result = results(&service, platform, design, outcome);
    result["registration"] = registration(&service, &registered);
    Ok(result.to_string())
}

fn results(service: &Service, platform: &Platform, design: Design, mut outcome: Outcome) -> Value {
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
        "accelerator_headroom_ratio": headroom(service, platform, &outcome),
        "buffer_peak_bytes": outcome.buffer_peak.get(),
    })
}

/// The functions that the service has registered, and the size of the schemata of 16 concurrent
/// messages of each function.
fn registration(service: &Service, registered: &Registration) -> Value {
    let (taken, capacity) = registered.occupancy();
    let (split, whole) = registered.storage(16);
    let functions = service.functions.iter().enumerate();
    let left_out: Vec<&str> = functions
        .filter(|(n, _)| !registered.knows(*n))
        .map(|(_, function)| &*function.call.name)
        .collect();
    json!({
        "functions": taken,
        "schema_map_entries": capacity,
        "left_out": left_out,
        "type_schemata_bytes": registered.type_bytes().get(),
        "schemata_of_16_messages_bytes": { "split": split.get(), "whole": whole.get() },
    })
}

/// The throughput of the shared pipelines over the most that the cores can demand; `None` if the
/// pipelines have no task.
fn headroom(service: &Service, platform: &Platform, outcome: &Outcome) -> Option<f64> {
    let spent = outcome.all.spent;
    let work = spent.accelerator.as_s_f64();
    let core = (spent.on_core + spent.function()).as_s_f64() - spent.queued.as_s_f64();
    let cores = platform.workers().min(service.most_cores) as f64;
    (work > 0.0).then(|| (platform.pipelines / work) / (cores / core))
}

fn group(platform: &Platform, group: &mut Group) -> Value {
    let count = group.requests.max(1) as f64;
    let mean = |time: Time| platform.cycles(time) / count;
    let spent = group.spent;
    let executed = spent.software + spent.execute;
    let instructions = platform.instructions_per_cycle * mean(executed);
    let misses = (group.misses + group.layer_misses) as f64 / count;
    let us = |time: Option<Time>| time.map(Time::as_us_f64);
    json!({
        "requests": group.requests,
        "software_cycles": mean(spent.software),
        "offload_cycles": mean(spent.offload),
        "accelerator_cycles": mean(spent.accelerator),
        "rpc_cycles": mean(spent.rpc()),
        "queued_cycles": mean(spent.queued),
        "refused_cycles": mean(spent.refused),
        "away_cycles": mean(spent.away),
        "switched_cycles": mean(spent.switched),
        "rpc_on_core_cycles": mean(spent.on_core),
        "execute_cycles": mean(spent.execute),
        "stall_cycles": mean(spent.stall),
        "function_cycles": mean(spent.function()),
        "total_cycles": mean(spent.rpc()) + mean(spent.function()),
        "core_median_cycles": group.core.percentile(50.0).map(|time| platform.cycles(time)),
        "misses": group.misses as f64 / count,
        "layer_misses": group.layer_misses as f64 / count,
        "instructions": instructions,
        "mpki": (instructions > 0.0).then(|| 1e3 * misses / instructions),
        "miss_free_ratio": group.miss_free as f64 / count,
        "steered_ratio": group.steered as f64 / count,
        "latency_mean_us": us(group.latency.mean()),
        "latency_p50_us": us(group.latency.percentile(50.0)),
        "latency_p99_us": us(group.latency.percentile(99.0)),
    })
}
