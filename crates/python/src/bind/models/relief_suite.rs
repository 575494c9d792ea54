//! The simulation of RELIEF's suite of coarse-grained applications, for AccelFlow's Fig. 15.

use accelflow_parameters::Refusal;
use accelflow_relief_suite::comparison::compare;
use accelflow_relief_suite::parameters::PARAMETERS;
use accelflow_relief_suite::throughput::Length;
use accelflow_relief_suite::{Manager, Order, Payload, Platform};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::failure;
use crate::interrupt::interruptible;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    applications: Vec<String>,
    graphs: usize,
    warmup: usize,
    seed: u64,
    manager: ManagerArguments,
    payload: PayloadArguments,
    order: OrderArguments,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ManagerArguments {
    PerInterruptUs(f64),
    PerTaskUs(f64),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum PayloadArguments {
    InQueue,
    ByPointer,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OrderArguments {
    Fifo,
    Deadline,
}

/// Simulates RELIEF's applications and returns their maximum throughput as JSON.
///
/// The applications run under FCFS, RELIEF and AccelFlow. `request` (JSON) has their names, the
/// numbers of task graphs, the seed and the platform's options. Raises AccelflowError for an
/// unknown application, for a value that is not allowed and if the simulation fails.
#[pyfunction]
pub(crate) fn relief_suite(py: Python<'_>, request: &str) -> PyResult<String> {
    let request: Arguments = serde_json::from_str(request).map_err(failure)?;
    interruptible(py, move || run(&request))?
}

fn run(request: &Arguments) -> PyResult<String> {
    let platform = platform(request).map_err(failure)?;
    let length = Length {
        graphs: request.graphs,
        warmup: request.warmup,
    };
    let applications =
        compare(&request.applications, &platform, length, request.seed).map_err(failure)?;
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
        "parameters": parameters.collect::<Vec<Value>>(),
    })
    .to_string())
}

fn platform(request: &Arguments) -> Result<Platform, Refusal> {
    Ok(Platform {
        manager: match request.manager {
            ManagerArguments::PerInterruptUs(us) => Manager::per_interrupt_us(us)?,
            ManagerArguments::PerTaskUs(us) => Manager::per_task_us(us)?,
        },
        payload: match request.payload {
            PayloadArguments::InQueue => Payload::InQueue,
            PayloadArguments::ByPointer => Payload::ByPointer,
        },
        order: match request.order {
            OrderArguments::Fifo => Order::Fifo,
            OrderArguments::Deadline => Order::Deadline,
        },
        ..Platform::default()
    })
}
