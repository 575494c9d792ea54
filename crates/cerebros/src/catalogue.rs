//! Descriptions of the paper's five services: their functions, messages, schemata and working sets.

use serde::Serialize;

use crate::Platform;
use crate::program::breakdown;
use crate::schema::{Message, TypeSchema, header_wire};
use crate::services::{Call, Function, KB, Service};
use crate::summary::{SIZED_MESSAGES, SchemaBytes};

/// A core's cycles for each module of the RPC layer, if the core does the layer in software. Cycles
/// are of one request with all its messages, those of nested calls included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Modules {
    /// The cycles for reading and writing the headers of messages.
    pub header: f64,
    /// The cycles for dispatch: for finding and calling the function that a message names.
    pub dispatch: f64,
    /// The cycles for transforming payloads between their form on the wire and their form in
    /// memory.
    pub payload: f64,
    /// The cycles that nested calls (calls to other services) cause. They are included in `header`,
    /// `dispatch` and `payload`.
    pub nested: f64,
}

/// A description of one function of a service: its popularity, cycles, code and messages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionDescription {
    /// The function's name, as in the headers of calls to the function.
    pub function: String,
    /// The function's share of the service's requests, from 0 to 1.
    pub popularity_ratio: f64,
    /// The number of calls to other services that one request makes.
    pub nested_calls: usize,
    /// The cycles of the function's business logic per request if all instructions are in the
    /// instruction cache.
    pub execute_cycles: f64,
    /// The size of the function's instructions in kilobytes.
    pub code_kb: f64,
    /// The cycles of each module of the RPC layer per request if a core does the layer in software.
    pub software_cycles: Modules,
    /// The size of a request on the wire in bytes, header included.
    pub request_wire_bytes: u64,
    /// The size of a request's data in memory in bytes, after deserialization.
    pub request_application_bytes: u64,
    /// The size in bytes of a request's address schema: its pointers to the fields of the
    /// deserialized payload.
    pub request_address_schema_bytes: u64,
    /// The size of a response on the wire in bytes, header included.
    pub response_wire_bytes: u64,
    /// The size on the wire, in bytes with the header, of the largest message that one request
    /// causes (see `messages`).
    pub largest_message_wire_bytes: u64,
    /// The size on the wire, in bytes without a header, of the largest payload of the messages that
    /// one request causes (see `messages`).
    pub largest_payload_wire_bytes: u64,
    /// The number of messages that one request causes: the request, its response, and the messages
    /// of nested calls.
    pub messages: usize,
    /// The number of those `incoming_messages` whose deserialized payload and address schema fit in
    /// the memory that the NIC reserves for the message.
    pub incoming_messages_that_fit: usize,
    /// The number of incoming messages of a request: the request, and the responses of nested
    /// calls.
    pub incoming_messages: usize,
    /// The mean size of a field after deserialization, in bytes, over all messages of a request.
    /// Containers and their elements count as fields.
    pub field_bytes: f64,
    /// The size in bytes of the schemata of 16 concurrent requests to the function. Schemata of
    /// responses are not included.
    pub schemata_of_16_messages_bytes: SchemaBytes,
}

/// A description of one of the paper's five services: its cores, its working set and its functions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceDescription {
    /// The paper's abbreviation of the service's name.
    pub service: String,
    /// The number of cores that the service uses on the described platform.
    pub cores: usize,
    /// The size of the service's instructions in kilobytes, including the RPC layer.
    pub working_set_kb: f64,
    /// The size of the service's instructions in kilobytes, without the RPC layer.
    pub working_set_without_rpc_kb: f64,
    /// The descriptions of the service's functions.
    pub functions: Vec<FunctionDescription>,
}

/// Returns descriptions of the paper's five services on `platform`.
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
        code_kb: blocks as f64 / f64::from(KB),
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
