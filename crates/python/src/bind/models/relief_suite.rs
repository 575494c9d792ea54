//! RELIEF's suite of coarse-grained applications: AccelFlow's Fig. 15.

use accelflow_parameters::Refusal;
use std::collections::BTreeMap;

use accelflow_relief_suite::parameters::PARAMETERS;
use accelflow_relief_suite::suite::{self, Release};
use accelflow_relief_suite::throughput::{self, Length, Pattern};
use accelflow_relief_suite::{
    Dag, Load, Manager, Orchestrator, Order, Payload, Platform, simulate,
};
use accelflow_units::Time;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::AccelflowError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    applications: Vec<String>,
    graphs: usize,
    warmup: usize,
    seed: u64,
    manager: ManagerRequest,
    payload: PayloadRequest,
    order: OrderRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ManagerRequest {
    PerInterruptUs(f64),
    PerTaskUs(f64),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum PayloadRequest {
    InQueue,
    ByPointer,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OrderRequest {
    Fifo,
    Deadline,
}

/// Maximum throughput of RELIEF's applications under FCFS, RELIEF and AccelFlow, as JSON; `request`
/// is JSON. Raises AccelflowError for an unknown application or a request that cannot be simulated.
#[pyfunction]
pub(crate) fn relief_suite(py: Python<'_>, request: &str) -> PyResult<String> {
    let request: Request =
        serde_json::from_str(request).map_err(|e| AccelflowError::new_err(e.to_string()))?;
    py.detach(|| run(&request))
}

fn run(request: &Request) -> PyResult<String> {
    let platform = platform(request)?;
    let length = Length {
        graphs: request.graphs,
        warmup: request.warmup,
    };
    let wanted = |name: &str| {
        request.applications.is_empty() || request.applications.iter().any(|n| n == name)
    };
    for name in &request.applications {
        if suite::find(name).is_none() {
            let known = suite::RELEASE.map(|release| release.name);
            return Err(failure(Refusal::unknown("application", name, known)));
        }
    }
    let applications = suite::all()
        .iter()
        .zip(suite::RELEASE)
        .filter(|(dag, _)| wanted(dag.name()))
        .map(|(dag, release)| application(dag, &release, &platform, length, request.seed))
        .collect::<Result<Vec<Value>, Refusal>>()
        .map_err(failure)?;
    let parameters = PARAMETERS.parameters().map(|parameter| {
        json!({
            "name": parameter.key,
            "value": parameter.text(parameter.default),
            "provenance": parameter.provenance.name(),
            "source": parameter.source,
        })
    });
    Ok(json!({
        "applications": applications,
        "parameters": parameters.collect::<Vec<_>>(),
    })
    .to_string())
}

fn platform(request: &Request) -> PyResult<Platform> {
    let time = |us: f64| {
        if (0.0..=1e6).contains(&us) {
            Ok(Time::from_ns_f64(us * 1e3))
        } else {
            Err(AccelflowError::new_err(format!(
                "manager_us = {us}: must be from 0 to 1000000"
            )))
        }
    };
    Ok(Platform {
        manager: match request.manager {
            ManagerRequest::PerInterruptUs(us) => Manager::PerInterrupt(time(us)?),
            ManagerRequest::PerTaskUs(us) => Manager::PerTask(time(us)?),
        },
        payload: match request.payload {
            PayloadRequest::InQueue => Payload::InQueue,
            PayloadRequest::ByPointer => Payload::ByPointer,
        },
        order: match request.order {
            OrderRequest::Fifo => Order::Fifo,
            OrderRequest::Deadline => Order::Deadline,
        },
        ..Platform::default()
    })
}

fn application(
    dag: &Dag,
    release: &Release,
    platform: &Platform,
    length: Length,
    seed: u64,
) -> Result<Value, Refusal> {
    let mut systems = BTreeMap::new();
    for orchestrator in Orchestrator::ALL {
        let alone = simulate(dag, platform, orchestrator, &Load::closed(1, 1))?;
        let (closed, in_flight) = throughput::closed_loop(dag, platform, orchestrator, length)?;
        let deadline =
            |pattern| throughput::within_deadline(dag, platform, orchestrator, pattern, length);
        systems.insert(
            orchestrator.name(),
            json!({
                "solo_us": alone.makespan.as_us_f64(),
                "manager_us": alone.manager.as_us_f64(),
                "interrupts": alone.interrupts,
                "forwards": alone.forwards,
                "one_at_a_time_per_s": 1.0 / alone.makespan.as_s_f64(),
                "closed_loop_per_s": closed,
                "in_flight": in_flight,
                "periodic_per_s": deadline(Pattern::Periodic)?,
                "poisson_per_s": deadline(Pattern::Poisson(seed))?,
            }),
        );
    }
    Ok(json!({
        "application": dag.name(),
        "tasks": dag.tasks().len(),
        "edges": dag.edges(),
        "deadline_us": dag.deadline().as_us_f64(),
        "bottleneck": dag.bottleneck().name(),
        "bottleneck_us": dag.compute_of(dag.bottleneck()).as_us_f64(),
        "bound_per_s": throughput::bound_per_s(dag, platform),
        "systems": systems,
        "release": {
            "tasks": release.tasks,
            "relief_us": release.relief_us,
            "fcfs_us": release.fcfs_us,
            "bottleneck_us": release.bottleneck_us,
            "manager_us": release.manager_us,
            "forwards": release.forwards,
        },
    }))
}

fn failure(error: Refusal) -> PyErr {
    AccelflowError::new_err(error.to_string())
}
