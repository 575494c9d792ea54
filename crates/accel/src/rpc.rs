//! RPC: Apache Thrift's framed transport and message headers, and dispatch by method name.
//!
//! A message is a 4-byte big-endian length, a header (strict binary `0x8001`, or compact `0x82`
//! version 1) and one struct. Receiving strips frame and header, finds the method in the
//! function table and describes the message in `job.call`; sending writes them from `job.call`.

use std::sync::{Arc, LazyLock};

use accelflow_trace::Accel;

use crate::error::AccelError;
use crate::grpc;
use crate::job::{Accelerator, Call, Direction, Job};
use crate::limits::Limits;
use crate::thrift::{Cursor, FunctionId, MAX_VARINT32, Protocol, Schema, StructId, write_varint};

const FRAME_HEADER: usize = 4;
const BINARY_VERSION: u16 = 0x8001;
const COMPACT_MAGIC: u8 = 0x82;
const COMPACT_VERSION: u8 = 1;

/// The type of a Thrift message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MessageType {
    /// A request that is answered.
    Call = 1,
    /// An answer: a result, or an exception that the interface declares.
    Reply = 2,
    /// An answer that is a `TApplicationException`.
    Exception = 3,
    /// A request without answer.
    Oneway = 4,
}

impl MessageType {
    fn from_code(code: u8, at: usize) -> Result<MessageType, AccelError> {
        Ok(match code {
            1 => MessageType::Call,
            2 => MessageType::Reply,
            3 => MessageType::Exception,
            4 => MessageType::Oneway,
            found => return Err(AccelError::BadMessageType { at, found }),
        })
    }
}

/// What a Thrift message's header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThriftCall {
    /// The function: its index in the schema, which is also its handler's.
    pub function: FunctionId,
    /// The service that declares it.
    pub service: Arc<str>,
    /// Its name.
    pub method: Arc<str>,
    /// The wire encoding.
    pub protocol: Protocol,
    /// Request, reply or exception.
    pub message_type: MessageType,
    /// Ties a reply to its request.
    pub sequence: i32,
    /// Whether requests name the method as `service:method`.
    pub multiplexed: bool,
}

impl ThriftCall {
    /// A request to `method` (or `service:method`) of `schema`.
    ///
    /// # Errors
    /// `unknown_service`, `unknown_method`.
    pub fn request(
        schema: &Schema,
        method: &str,
        protocol: Protocol,
        sequence: i32,
    ) -> Result<ThriftCall, AccelError> {
        let id = schema.find(method)?;
        ThriftCall::new(schema, id, protocol, MessageType::Call, sequence)
    }

    fn new(
        schema: &Schema,
        function: FunctionId,
        protocol: Protocol,
        message_type: MessageType,
        sequence: i32,
    ) -> Result<ThriftCall, AccelError> {
        let found = schema.function(function).ok_or_else(|| foreign(function))?;
        let message_type = match message_type {
            MessageType::Call if found.oneway => MessageType::Oneway,
            other => other,
        };
        let (service, method) = (found.service.clone(), found.name.clone());
        let multiplexed = false;
        Ok(ThriftCall {
            function,
            service,
            method,
            protocol,
            message_type,
            sequence,
            multiplexed,
        })
    }

    /// The header of the reply to this request.
    pub fn reply(&self) -> ThriftCall {
        ThriftCall {
            message_type: MessageType::Reply,
            ..self.clone()
        }
    }

    /// The header of a reply that reports a failure of the RPC layer: its body is a
    /// `TApplicationException`, in JSON `{"message": text, "type": number}`.
    pub fn exception(&self) -> ThriftCall {
        ThriftCall {
            message_type: MessageType::Exception,
            ..self.clone()
        }
    }

    /// The schema and the struct in it that describe the message's body.
    ///
    /// # Errors
    /// `unknown_method` if `schema` is not the one that the call was made with.
    pub(crate) fn body<'s>(
        &self,
        schema: &'s Schema,
    ) -> Result<(&'s Schema, StructId), AccelError> {
        if self.message_type == MessageType::Exception {
            return Ok((&APPLICATION_EXCEPTION.0, APPLICATION_EXCEPTION.1));
        }
        let function = schema
            .function(self.function)
            .ok_or_else(|| foreign(self.function))?;
        Ok(match self.message_type {
            MessageType::Reply => (schema, function.result),
            _ => (schema, function.arguments),
        })
    }
}

fn foreign(function: FunctionId) -> AccelError {
    let name = format!("function {}", function.0);
    AccelError::UnknownMethod {
        name,
        known: "those of another schema".to_owned(),
    }
}

/// The exception of the RPC layer itself, as the Thrift specification gives it.
static APPLICATION_EXCEPTION: LazyLock<(Schema, StructId)> = LazyLock::new(|| {
    let text = "exception TApplicationException { 1: string message, 2: i32 type }";
    let schema = Schema::parse(text).expect("a constant that tests use");
    let id = schema
        .struct_id("TApplicationException")
        .expect("declared in the line above");
    (schema, id)
});

/// The RPC accelerator. Obeys `job.direction`.
///
/// Receiving sets the facts `message_type`, `seqid` and the texts `service`, `method`.
#[derive(Debug)]
pub struct Rpc {
    schema: Arc<Schema>,
    limits: Limits,
}

impl Rpc {
    /// An RPC body that dispatches to the functions of `schema`.
    pub fn new(schema: Arc<Schema>, limits: Limits) -> Rpc {
        Rpc { schema, limits }
    }
}

impl Accelerator for Rpc {
    fn kind(&self) -> Accel {
        Accel::Rpc
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        if matches!(job.call, Call::Grpc(_)) {
            return grpc::frame(job, &self.limits);
        }
        match job.direction {
            Direction::Receive => {
                let (call, body) = read_message(&self.schema, &job.bytes, &self.limits)?;
                job.bytes.drain(..body);
                job.facts.set("message_type", call.message_type as i64);
                job.facts.set("seqid", call.sequence.into());
                job.facts.set_text("service", call.service.clone());
                job.facts.set_text("method", call.method.clone());
                job.call = Call::Thrift(call);
            }
            Direction::Send => {
                let Call::Thrift(call) = &job.call else {
                    let why = "sending needs a Thrift call";
                    return Err(AccelError::NoCall { step: "RPC", why });
                };
                let header = write_header(call, job.bytes.len(), &self.limits)?;
                job.put_before(&header);
            }
        }
        Ok(())
    }
}

/// What the header of a Thrift message says, whether or not an interface has its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader<'a> {
    /// The wire encoding.
    pub protocol: Protocol,
    /// Request, reply or exception.
    pub message_type: MessageType,
    /// Ties a reply to its request.
    pub sequence: i32,
    /// The method, or `service:method` as Thrift's multiplexed protocol writes it.
    pub name: &'a str,
    /// Where the body begins.
    pub body: usize,
}

impl MessageHeader<'_> {
    /// The header of the reply that says why a request to an unknown method, or one that cannot be
    /// read, is refused. As for [`ThriftCall::exception`], its body is a `TApplicationException`.
    pub fn exception(&self) -> ThriftCall {
        let (service, method) = self.name.split_once(':').unwrap_or(("", self.name));
        ThriftCall {
            // An exception's body is that of no function.
            function: FunctionId(usize::MAX),
            service: service.into(),
            method: method.into(),
            protocol: self.protocol,
            message_type: MessageType::Exception,
            sequence: self.sequence,
            multiplexed: false,
        }
    }
}

/// Reads frame and header of a message; returns the call and where its body begins.
///
/// # Errors
/// Those of [`read_header`]; `unknown_service`, `unknown_method`.
pub fn read_message(
    schema: &Schema,
    message: &[u8],
    limits: &Limits,
) -> Result<(ThriftCall, usize), AccelError> {
    let header = read_header(message, limits)?;
    let function = schema.find(header.name)?;
    let (protocol, sequence) = (header.protocol, header.sequence);
    let mut call = ThriftCall::new(schema, function, protocol, header.message_type, sequence)?;
    call.message_type = header.message_type;
    call.multiplexed = header.name.contains(':');
    Ok((call, header.body))
}

/// Reads frame and header of a message of any interface.
///
/// # Errors
/// `truncated`, `trailing_bytes`, `negative_length`, `too_large`, `bad_magic_or_version`,
/// `bad_message_type`, `bad_utf8`, `bad_varint`.
pub fn read_header<'a>(
    message: &'a [u8],
    limits: &Limits,
) -> Result<MessageHeader<'a>, AccelError> {
    let mut cursor = read_frame(message, limits)?;
    let start = cursor.at();
    let [first, second] = cursor.array("message header")?;
    let (protocol, message_type, sequence, name);
    if u16::from_be_bytes([first, second]) == BINARY_VERSION {
        let [_, code] = cursor.array("message header")?;
        message_type = MessageType::from_code(code, start + 3)?;
        let at = cursor.at();
        let length = i32::from_be_bytes(cursor.array("method name length")?);
        name = read_name(&mut cursor, at, length.into(), limits)?;
        sequence = i32::from_be_bytes(cursor.array("sequence identifier")?);
        protocol = Protocol::Binary;
    } else if first == COMPACT_MAGIC && second & 0x1f == COMPACT_VERSION {
        message_type = MessageType::from_code(second >> 5, start + 1)?;
        // An i32 as its 32 bits: a varint longer than that has no meaning here.
        sequence = cursor.varint(MAX_VARINT32)? as u32 as i32;
        let at = cursor.at();
        let length = cursor.length("method name length")?;
        name = read_name(&mut cursor, at, length, limits)?;
        protocol = Protocol::Compact;
    } else {
        let mut found = [first, second, 0, 0];
        let rest = &message[cursor.at()..];
        found[2..2 + rest.len().min(2)].copy_from_slice(&rest[..rest.len().min(2)]);
        let found = u32::from_be_bytes(found);
        return Err(AccelError::BadMagicOrVersion { at: start, found });
    }
    let body = cursor.at();
    Ok(MessageHeader {
        protocol,
        message_type,
        sequence,
        name,
        body,
    })
}

/// Checks that `message` is exactly one frame and returns a cursor behind the length.
pub(crate) fn read_frame<'a>(message: &'a [u8], limits: &Limits) -> Result<Cursor<'a>, AccelError> {
    let mut cursor = Cursor::new(message, limits);
    let length = i32::from_be_bytes(cursor.array("frame length")?);
    let found = i64::from(length);
    let length = usize::try_from(length).map_err(|_| AccelError::NegativeLength {
        what: "frame length",
        at: 0,
        found,
    })?;
    AccelError::check_size("frame", length, limits)?;
    let have = cursor.remaining();
    if length > have {
        return Err(AccelError::Truncated {
            what: "frame",
            at: FRAME_HEADER,
            need: length,
            have,
        });
    }
    if length < have {
        let (at, extra) = (FRAME_HEADER + length, have - length);
        return Err(AccelError::TrailingBytes {
            what: "frame",
            at,
            extra,
        });
    }
    Ok(cursor)
}

fn read_name<'a>(
    cursor: &mut Cursor<'a>,
    at: usize,
    length: i64,
    limits: &Limits,
) -> Result<&'a str, AccelError> {
    let what = "method name length";
    let size = usize::try_from(length).map_err(|_| AccelError::NegativeLength {
        what,
        at,
        found: length,
    })?;
    let limit = limits.max_name_bytes;
    if size > limit {
        return Err(AccelError::TooLarge {
            what: "method name",
            size,
            limit,
        });
    }
    let start = cursor.at();
    let bytes = cursor.take("method name", size)?;
    std::str::from_utf8(bytes).map_err(|error| AccelError::BadUtf8 {
        what: "the method name".to_owned(),
        at: start + error.valid_up_to(),
    })
}

/// Puts header and frame before a body.
///
/// # Errors
/// `too_large`.
pub fn write_message(
    call: &ThriftCall,
    body: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    let header = write_header(call, body.len(), limits)?;
    Ok([header.as_slice(), body].concat())
}

/// Frame and header of a message whose body has `body_bytes`.
fn write_header(
    call: &ThriftCall,
    body_bytes: usize,
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    let is_request = matches!(call.message_type, MessageType::Call | MessageType::Oneway);
    let prefix = if call.multiplexed && is_request {
        Some(&*call.service)
    } else {
        None
    };
    let name_bytes = call.method.len() + prefix.map_or(0, |service| service.len() + 1);
    let mut out = Vec::with_capacity(FRAME_HEADER + 12 + name_bytes);
    out.extend_from_slice(&[0; FRAME_HEADER]);
    let code = call.message_type as u8;
    let write_name = |out: &mut Vec<u8>| {
        if let Some(service) = prefix {
            out.extend_from_slice(service.as_bytes());
            out.push(b':');
        }
        out.extend_from_slice(call.method.as_bytes());
    };
    match call.protocol {
        Protocol::Binary => {
            out.extend_from_slice(&BINARY_VERSION.to_be_bytes());
            out.extend_from_slice(&[0, code]);
            out.extend_from_slice(&(name_bytes as u32).to_be_bytes());
            write_name(&mut out);
            out.extend_from_slice(&call.sequence.to_be_bytes());
        }
        Protocol::Compact => {
            out.extend_from_slice(&[COMPACT_MAGIC, code << 5 | COMPACT_VERSION]);
            write_varint(&mut out, u64::from(call.sequence as u32));
            write_varint(&mut out, name_bytes as u64);
            write_name(&mut out);
        }
    }
    let length = out.len() - FRAME_HEADER + body_bytes;
    AccelError::check_size("frame", length, limits)?;
    out[..FRAME_HEADER].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(out)
}
