//! RELIEF's suite of coarse-grained applications: AccelFlow's Fig. 15.

use accelflow_parameters::Refusal;
use accelflow_relief_suite::comparison::compare;
use accelflow_relief_suite::parameters::PARAMETERS;
use accelflow_relief_suite::throughput::Length;
use accelflow_relief_suite::{Manager, Order, Payload, Platform};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::failure;

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
    let request: Request = serde_json::from_str(request).map_err(failure)?;
    py.detach(|| run(&request))
}

fn run(request: &Request) -> PyResult<String> {
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

fn platform(request: &Request) -> Result<Platform, Refusal> {
    Ok(Platform {
        manager: match request.manager {
            ManagerRequest::PerInterruptUs(us) => Manager::per_interrupt_us(us)?,
            ManagerRequest::PerTaskUs(us) => Manager::per_task_us(us)?,
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
