//! User-defined services. Message types come from an interface file, `.thrift` or `.proto`; message
//! sizes, costs and nested calls come from a recording of a server (docs/recording-format.md).
//!
//! Each service of the recording is a function of the interface. The interface gives the types of a
//! message, and the recording its size. If the message has strings, each list or map has one
//! element, and the strings share the bytes that the numbers leave. Without strings, all lists and
//! maps that are not inside another one have the same number of elements, which makes the message
//! about as large as the recorded one. A message is larger than the recorded one if even its
//! smallest form is. Fields nested more than four levels deep are left out, and of the alternatives
//! of a union or `oneof`, all but the first. For nested calls, the recording has only sizes, so
//! each of their messages is modelled as a 64-bit integer and a string.

use std::path::{Path, PathBuf};

use accelflow_accel::protobuf;
use accelflow_accel::thrift;
use accelflow_parameters::Refusal;
use accelflow_workload::profile::{RecordedPhase, RecordedService, RecordedStep, Recording};
use serde::Deserialize;

use crate::platform::Platform;
use crate::schema::Message;
use crate::services::{Call, Function, Service};
use crate::shape::{Shape, filled, opaque, proto_shape, thrift_arguments, thrift_result};

/// The clock frequency of the cores, and the code sizes of a user-defined service. Neither the
/// interface file nor the recording states these values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Code {
    /// The clock frequency of the cores in hertz, with which the recording's times are converted to
    /// cycles.
    pub clock_hz: f64,
    /// The size of the RPC layer's instructions, in blocks of the instruction cache.
    pub rpc_blocks: u32,
    /// The size of the instructions that all functions share, in blocks of the instruction cache.
    pub shared_blocks: u32,
    /// The size of the instructions that each function has for itself, in blocks of the instruction
    /// cache.
    pub own_blocks: u32,
}

/// The largest number of blocks in each part of the code.
const MOST_BLOCKS: f64 = 1e6;

impl Code {
    /// Returns the cores' clock frequency and the three code sizes from the parameters of
    /// `platform`. Code sizes are rounded down to whole blocks; each is at most a million blocks.
    pub fn of(platform: &Platform) -> Code {
        let blocks = |bytes: f64| (bytes / platform.l1i_block_bytes).min(MOST_BLOCKS) as u32;
        Code {
            clock_hz: platform.clock_hz,
            rpc_blocks: blocks(platform.own_rpc_code_bytes),
            shared_blocks: blocks(platform.own_shared_code_bytes),
            own_blocks: blocks(platform.own_function_code_bytes),
        }
    }
}

/// The files that describe a user-defined service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// The `.thrift` or `.proto` file with the service's functions and message types.
    pub interface: PathBuf,
    /// The recording of the service's server: costs and sizes measured on real messages.
    pub recording: PathBuf,
    /// The folders to search for the files that the interface file includes.
    pub include_dirs: Vec<PathBuf>,
}

impl Files {
    /// Creates the user-defined service `name` and the platform on which it runs. The result is
    /// `platform`, except that the cost of message headers is that of the recording, unless the
    /// user has set this cost (`header_is_set`).
    ///
    /// # Errors
    /// The messages of [`own`], or the message for a parameter of `platform` that is not allowed.
    pub fn served(
        &self,
        name: &str,
        mut platform: Platform,
        header_is_set: bool,
    ) -> Result<(Service, Platform), String> {
        platform.check().map_err(|refusal| refusal.to_string())?;
        let code = Code::of(&platform);
        let found = own(
            name,
            &self.interface,
            &self.include_dirs,
            &self.recording,
            &code,
        )?;
        if let (Some(cycles), false) = (found.header_cycles, header_is_set) {
            platform.software_header_cycles = cycles;
            platform.check().map_err(|refusal| refusal.to_string())?;
        }
        Ok((found.service, platform))
    }
}

/// A user-defined service, and the recorded cost of message headers.
#[derive(Clone, Debug)]
pub struct Own {
    /// The user-defined service, ready to be simulated.
    pub service: Service,
    /// The cycles that a core takes for a message header: the mean over the recorded RPC steps.
    /// `None` if there are no such steps.
    pub header_cycles: Option<f64>,
}

/// The functions of an interface.
enum Interface {
    Thrift(thrift::Schema),
    Proto(protobuf::Schema),
}

impl Interface {
    fn read(path: &Path, search: &[PathBuf]) -> Result<Interface, String> {
        if path.extension().is_some_and(|ending| ending == "proto") {
            let schema = protobuf::Schema::read(path, search);
            return schema
                .map(Interface::Proto)
                .map_err(|error| format!("{}: {error}", path.display()));
        }
        let schema = thrift::Schema::load(path, search);
        schema.map(Interface::Thrift).map_err(|e| e.to_string())
    }

    /// The shapes of the arguments and the result of the function `name`.
    fn function(&self, name: &str) -> Result<[Vec<Shape>; 2], String> {
        match self {
            Interface::Thrift(schema) => {
                let found = match name.rsplit_once('.') {
                    Some((service, method)) => schema.find_in(service, method),
                    None => schema.find(name),
                };
                let id = found.map_err(|error| error.to_string())?;
                let function = &schema.functions()[id.0];
                let arguments = thrift_arguments(schema, function.arguments);
                Ok([arguments, thrift_result(schema, function.result)])
            }
            Interface::Proto(schema) => {
                let id = schema.find(name).map_err(|error| error.to_string())?;
                let method = &schema.methods()[id.0];
                Ok(method.messages().map(proto_shape))
            }
        }
    }
}

/// Creates the user-defined service `name` from the files `interface` and `recording`. `search`
/// lists the folders to search for files that `interface` includes; `code` has the clock frequency
/// and the code sizes.
///
/// # Errors
/// A message in words, which names the file, or the invalid service and field of the recording, if
///
/// * a file cannot be read;
/// * the recording has no services;
/// * a recorded service is not a function of the interface;
/// * a recorded service does not begin with a request and end with a response, or lacks measured
///   times of its application logic;
/// * a payload without strings is so large that its lists would have more than a million elements.
pub fn own(
    name: &str,
    interface: &Path,
    search: &[PathBuf],
    recording: &Path,
    code: &Code,
) -> Result<Own, String> {
    let schema = Interface::read(interface, search)?;
    let recording = Recording::load(recording).map_err(|error| error.to_string())?;
    if recording.services.is_empty() {
        return Err(Refusal::new("recording: services", 0, "must be at least 1").to_string());
    }
    let mut functions = Vec::with_capacity(recording.services.len());
    for (number, service) in (0_u32..).zip(&recording.services) {
        let shapes = schema
            .function(&service.service)
            .map_err(|error| format!("recording, service {}: {error}", service.service))?;
        functions.push(function(service, &shapes, code, number)?);
    }
    let service = Service {
        name: name.to_owned().into(),
        most_cores: usize::MAX,
        rpc_blocks: code.rpc_blocks,
        functions,
    };
    service.check().map_err(|error| error.to_string())?;
    Ok(Own {
        service,
        header_cycles: header_cycles(&recording, code),
    })
}

/// The steps of a service in the order of its path.
fn steps(service: &RecordedService) -> impl Iterator<Item = &RecordedStep> {
    let chains = service.phases.iter().filter_map(|phase| match phase {
        RecordedPhase::Chains(chains) => Some(chains),
        RecordedPhase::Cpu { .. } => None,
    });
    chains.flatten().flat_map(|chain| &chain.steps)
}

/// The mean cycles of the RPC steps, each of which processes a header.
fn header_cycles(recording: &Recording, code: &Code) -> Option<f64> {
    let all = recording.services.iter().flat_map(steps);
    let costs: Vec<f64> = all
        .filter(|step| step.accelerator == "RPC")
        .map(|step| cycles(step, code))
        .collect();
    (!costs.is_empty()).then(|| costs.iter().sum::<f64>() / costs.len() as f64)
}

fn cycles(step: &RecordedStep, code: &Code) -> f64 {
    step.cost_ns * code.clock_hz / 1e9
}

/// A payload of the recording: its size in wire format, and its cycles on a core.
#[derive(Clone, Copy)]
struct Payload {
    incoming: bool,
    bytes: u64,
    cycles: f64,
}

/// The payloads of a service: those that Dser reads and Ser writes, in the order of the path.
fn payloads(service: &RecordedService, code: &Code) -> Vec<Payload> {
    let payload = |step: &RecordedStep| {
        // The direction of the step is that of its connection, which gRPC's streams share.
        let incoming = match step.accelerator.as_str() {
            "Dser" => true,
            "Ser" => false,
            _ => return None,
        };
        let bytes = if incoming {
            step.input_bytes
        } else {
            step.output_bytes
        };
        Some(Payload {
            incoming,
            bytes,
            cycles: cycles(step, code),
        })
    };
    steps(service).filter_map(payload).collect()
}

fn function(
    service: &RecordedService,
    [arguments, result]: &[Vec<Shape>; 2],
    code: &Code,
    number: u32,
) -> Result<Function, String> {
    let place = format!("recording, service {}", service.service);
    let all = payloads(service, code);
    let (first, last) = match &all[..] {
        [first, .., last] if first.incoming && !last.incoming => (first, last),
        _ => return Err(no_call(&place, &all)),
    };
    let message = |shapes: &[Shape], payload: &Payload| -> Result<Message, String> {
        let message = filled(shapes, payload.bytes).map_err(|most| {
            let allowed = format!("must be at most {most}, since lists and maps must fill it");
            let place = format!("{place}: bytes of a payload");
            Refusal::new(place, payload.bytes, allowed).to_string()
        })?;
        Ok(Message {
            software_cycles: Some(payload.cycles),
            ..message
        })
    };
    let (shared, own) = (code.shared_blocks, code.own_blocks);
    let start = code.rpc_blocks + shared + number * own;
    Ok(Function {
        call: Call {
            name: service.service.clone().into(),
            request: message(arguments, first)?,
            response: message(result, last)?,
        },
        popularity: popularity(service),
        execute_cycles: app_ns(service, &place)? * code.clock_hz / 1e9,
        footprint: vec![
            code.rpc_blocks..code.rpc_blocks + shared,
            start..start + own,
        ],
        passes: 1,
        nested: nested(&all[1..all.len() - 1]),
    })
}

/// The refusal of a path without a request at its beginning and a response at its end.
fn no_call(place: &str, payloads: &[Payload]) -> String {
    let name = |payload: &Payload| if payload.incoming { "Dser" } else { "Ser" };
    let found: Vec<&str> = payloads.iter().map(name).collect();
    let value = if found.is_empty() {
        "none".to_owned()
    } else {
        found.join(" ")
    };
    let allowed = "must begin with a request that is deserialized (Dser) and end with a response that is serialized (Ser)";
    Refusal::new(format!("{place}: payloads"), value, allowed).to_string()
}

/// The nested calls: each outgoing message is a call, and the next incoming message answers it.
fn nested(payloads: &[Payload]) -> Vec<Call> {
    let message = |payload: Option<&Payload>| {
        let (bytes, cycles) = payload.map_or((0, 0.0), |found| (found.bytes, found.cycles));
        Message {
            software_cycles: Some(cycles),
            ..opaque(bytes)
        }
    };
    let mut calls: Vec<(Option<&Payload>, Option<&Payload>)> = Vec::new();
    for payload in payloads {
        let open = calls.iter_mut().find(|(_, response)| response.is_none());
        match (payload.incoming, open) {
            (false, _) => calls.push((Some(payload), None)),
            (true, Some((_, response))) => *response = Some(payload),
            (true, None) => calls.push((None, Some(payload))),
        }
    }
    let call = |(number, (request, response)): (usize, (_, _))| Call {
        name: format!("nested{}", number + 1).into(),
        request: message(request),
        response: message(response),
    };
    calls.into_iter().enumerate().map(call).collect()
}

/// The application logic of all phases, in nanoseconds.
fn app_ns(service: &RecordedService, place: &str) -> Result<f64, String> {
    let mut sum = 0.0;
    for (n, phase) in service.phases.iter().enumerate() {
        match phase {
            RecordedPhase::Cpu {
                app_ns: Some(time), ..
            } => sum += time,
            RecordedPhase::Cpu { app_ns: None, .. } => {
                let allowed =
                    "must be the measured time of the application logic: record a live server";
                let place = format!("{place}, phase {n}: app_ns");
                return Err(Refusal::new(place, "null", allowed).to_string());
            }
            RecordedPhase::Chains(_) => {}
        }
    }
    Ok(sum)
}

/// The number of recorded requests of a function or, if none was counted, the number of samples of
/// its steps.
fn popularity(service: &RecordedService) -> f64 {
    let counted: u64 = service.requests.iter().map(|request| request.count).sum();
    let samples = steps(service).map(|step| step.samples).max().unwrap_or(0);
    if counted > 0 {
        counted as f64
    } else {
        samples as f64
    }
}
