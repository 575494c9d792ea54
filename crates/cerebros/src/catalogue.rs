//! Descriptions of the paper's five services: their functions, messages, schemata and working sets.

use serde::Serialize;

use crate::Platform;
use crate::program::breakdown;
use crate::schema::{Message, TypeSchema, header_wire};
use crate::services::{Call, Function, Service};
use crate::summary::{SIZED_MESSAGES, SchemaBytes};

/// The cycles that a core needs for the RPC layer of one request in software, by module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Modules {
    /// The cycles to read and write the headers of messages.
    pub header: f64,
    /// The cycles of dispatch: to find and call the function that a message names.
    pub dispatch: f64,
    /// The cycles to transform payloads between their form on the wire and in memory.
    pub payload: f64,
    /// The part of these three that nested calls (calls to other services) cause.
    pub nested: f64,
}

/// A function of a service: its popularity, cycles, code and messages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionDescription {
    /// The function's name, as in the header of its calls.
    pub function: String,
    /// The function's share of the service's requests, from 0 to 1.
    pub popularity_ratio: f64,
    /// The number of calls to other services that a request makes.
    pub nested_calls: usize,
    /// The cycles of the function's business logic per request, if all its instructions are in the
    /// cache.
    pub execute_cycles: f64,
    /// The size of the function's instructions in kilobytes.
    pub code_kb: f64,
    /// The cycles of the RPC layer per request if a core does it in software.
    pub software_cycles: Modules,
    /// Bytes of a request on the wire, header included.
    pub request_wire_bytes: u64,
    /// The bytes of a request's data in memory, after deserialization.
    pub request_application_bytes: u64,
    /// The bytes of a request's address schema, which has a pointer for each field.
    pub request_address_schema_bytes: u64,
    /// Bytes of a response on the wire, header included.
    pub response_wire_bytes: u64,
    /// The largest message of a request, nested calls included, in bytes on the wire.
    pub largest_message_wire_bytes: u64,
    /// The largest payload of these messages in bytes on the wire, without the header.
    pub largest_payload_wire_bytes: u64,
    /// The number of messages of a request: the request, its response, and those of nested calls.
    pub messages: usize,
    /// The number of incoming messages whose payload and address schema fit in the memory reserved
    /// for them.
    pub incoming_messages_that_fit: usize,
    /// The number of incoming messages: the request, and the responses of nested calls.
    pub incoming_messages: usize,
    /// The mean bytes of a field after deserialization, over the messages of a request.
    pub field_bytes: f64,
    /// The bytes of the schemata of 16 concurrent requests.
    pub schemata_of_16_messages_bytes: SchemaBytes,
}

/// One of the paper's five services: its cores, its working set and its functions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceDescription {
    /// The paper's abbreviation of the service's name.
    pub service: String,
    /// The number of cores that the service uses.
    pub cores: usize,
    /// The size of the service's instructions with those of the RPC layer, in kilobytes.
    pub working_set_kb: f64,
    /// The size of the service's instructions without those of the RPC layer, in kilobytes.
    pub working_set_without_rpc_kb: f64,
    /// The functions of the service.
    pub functions: Vec<FunctionDescription>,
}

/// Describes the five services on `platform`.
pub fn describe(platform: &Platform) -> Vec<ServiceDescription> {
    Service::all()
        .iter()
        .map(|service| service_description(platform, service))
        .collect()
}

fn service_description(platform: &Platform, service: &Service) -> ServiceDescription {
    let (working_set_kb, working_set_without_rpc_kb) = service.working_sets_kb();
    let all: f64 = service.functions.iter().map(|f| f.popularity).sum();
    let functions = service.functions.iter();
    ServiceDescription {
        service: service.name.to_string(),
        cores: platform.workers().min(service.most_cores),
        working_set_kb,
        working_set_without_rpc_kb,
        functions: functions
            .map(|function| function_description(platform, function, all))
            .collect(),
    }
}

fn function_description(platform: &Platform, function: &Function, all: f64) -> FunctionDescription {
    let call = &function.call;
    let software = breakdown(platform, function);
    let (split, whole) = TypeSchema::of(&call.request).storage(&call.request, SIZED_MESSAGES);
    let wire = |message: &Message| header_wire(&call.name).get() + message.wire().get();
    let calls = || std::iter::once(call).chain(&function.nested);
    let messages = || calls().flat_map(|call| [(call, &call.request), (call, &call.response)]);
    // The response of a nested call comes in; that of the function goes out.
    let nested = function.nested.iter().map(|call| (call, &call.response));
    let incoming: Vec<(&Call, &Message)> = std::iter::once((call, &call.request))
        .chain(nested)
        .collect();
    let fits = |(call, message): &&(&Call, &Message)| platform.fits(&call.name, message);
    let (fields, bytes) = messages().fold((0, 0), |(fields, bytes), (_, message)| {
        let work = message.work();
        (fields + work.fields, bytes + message.application().get())
    });
    let largest = messages().map(|(call, message)| header_wire(&call.name) + message.wire());
    let payloads = messages().map(|(_, message)| message.wire().get());
    let blocks: usize = function.footprint.iter().map(|range| range.len()).sum();
    FunctionDescription {
        function: call.name.to_string(),
        popularity_ratio: function.popularity / all,
        nested_calls: function.nested.len(),
        execute_cycles: function.execute_cycles,
        code_kb: blocks as f64 * platform.l1i_block_bytes / 1024.0,
        software_cycles: Modules {
            header: software.header_cycles,
            dispatch: software.dispatch_cycles,
            payload: software.payload_cycles,
            nested: software.nested_cycles,
        },
        request_wire_bytes: wire(&call.request),
        request_application_bytes: call.request.application().get(),
        request_address_schema_bytes: call.request.address_schema().get(),
        response_wire_bytes: wire(&call.response),
        largest_message_wire_bytes: largest.map(|bytes| bytes.get()).max().unwrap_or(0),
        largest_payload_wire_bytes: payloads.max().unwrap_or(0),
        messages: messages().count(),
        incoming_messages_that_fit: incoming.iter().filter(fits).count(),
        incoming_messages: incoming.len(),
        field_bytes: bytes as f64 / fields.max(1) as f64,
        schemata_of_16_messages_bytes: SchemaBytes {
            split: split.get(),
            whole: whole.get(),
        },
    }
}
