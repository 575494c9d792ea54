//! Descriptions of the five services: functions, messages, schemata and working sets.

use serde::Serialize;

use crate::Platform;
use crate::program::breakdown;
use crate::schema::{Message, TypeSchema, header_wire};
use crate::services::{Call, Function, Service};
use crate::summary::{SIZED_MESSAGES, SchemaBytes};

/// The cycles of the RPC layer on a core for one request, by module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Modules {
    /// Headers.
    pub header: f64,
    /// Dispatch.
    pub dispatch: f64,
    /// Payloads.
    pub payload: f64,
    /// The part of the three values above that nested calls cause.
    pub nested: f64,
}

/// A function of a service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionDescription {
    /// The name in the header.
    pub function: String,
    /// Its share of the service's requests.
    pub popularity_ratio: f64,
    /// The number of calls that it nests.
    pub nested_calls: usize,
    /// Cycles of its business logic with all instructions in the cache.
    pub execute_cycles: f64,
    /// Its instructions, in kilobytes.
    pub code_kb: f64,
    /// The RPC layer on a core.
    pub software_cycles: Modules,
    /// Bytes of a request on the wire, header included.
    pub request_wire_bytes: u64,
    /// Bytes of a request's data after deserialization.
    pub request_application_bytes: u64,
    /// Bytes of a request's address schema.
    pub request_address_schema_bytes: u64,
    /// Bytes of a response on the wire, header included.
    pub response_wire_bytes: u64,
    /// The largest message of a request, nested calls included, in bytes on the wire.
    pub largest_message_wire_bytes: u64,
    /// The largest payload of these messages, without the header.
    pub largest_payload_wire_bytes: u64,
    /// Messages of a request, nested calls included.
    pub messages: usize,
    /// Incoming messages whose payload and address schema fit the memory reserved for them.
    pub incoming_messages_that_fit: usize,
    /// Incoming messages: the request, and the responses of nested calls.
    pub incoming_messages: usize,
    /// The mean bytes of a field after deserialization, over the messages of a request.
    pub field_bytes: f64,
    /// Bytes of the request's schemata for 16 concurrent messages.
    pub schemata_of_16_messages_bytes: SchemaBytes,
}

/// One of the paper's five services: its cores, its working set and its functions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceDescription {
    /// The paper's abbreviation.
    pub service: String,
    /// The cores that it uses.
    pub cores: usize,
    /// Its instructions with the RPC layer, in kilobytes.
    pub working_set_kb: f64,
    /// Its instructions without the RPC layer, in kilobytes.
    pub working_set_without_rpc_kb: f64,
    /// Its functions.
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
