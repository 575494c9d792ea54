//! Executors and calls that the tests share.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses its part, and fails by panicking"
)]

pub(crate) mod waits;

use accelflow_accel::http::HttpCall;
use accelflow_accel::messages::document;
use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::storage::{Operation, StorageCall};
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_accel::{Call, Job};
use accelflow_runtime::{Executor, Outcome};
use accelflow_trace::templates;
use serde_json::Value;

pub(crate) fn executor() -> Executor {
    Executor::with_cores(templates().unwrap().link().unwrap(), 4).unwrap()
}

pub(crate) fn thrift(method: &str) -> ThriftCall {
    ThriftCall::request(&Schema::social_network(), method, Protocol::Binary, 7).unwrap()
}

pub(crate) fn rpc(method: &str) -> Call {
    Call::Thrift(thrift(method))
}

pub(crate) fn reply(method: &str) -> Call {
    Call::Thrift(thrift(method).reply())
}

/// A call about the document of `service` with seed 1 and index 2.
pub(crate) fn storage(operation: Operation, service: &str) -> Call {
    let document = document(service, 1, 2).unwrap();
    Call::Storage(StorageCall::request(
        operation,
        document.collection,
        &document.key,
    ))
}

pub(crate) fn document_bytes(service: &str) -> Vec<u8> {
    document(service, 1, 2)
        .unwrap()
        .value
        .to_string()
        .into_bytes()
}

pub(crate) fn http() -> Call {
    Call::Http(HttpCall::post("media.example", "/v1/compose"))
}

pub(crate) fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// The application data that a core finds.
pub(crate) fn data(job: &Job) -> Value {
    json(&job.data().unwrap().0)
}

pub(crate) fn names(outcome: &Outcome) -> String {
    let names: Vec<&str> = outcome.accelerators().map(|accel| accel.name()).collect();
    names.join(" ")
}
