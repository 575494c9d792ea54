//! gRPC: length-prefixed messages, and which method they belong to.
//!
//! HTTP/2 carries a call as headers and data; what is in the data is, for a unary call, one
//! *length-prefixed message*: a byte that says whether it is compressed, four bytes of length
//! (big-endian), and the message (gRPC over HTTP/2, "Length-Prefixed-Message"). RPC takes the prefix
//! off and puts it on, and finds the method of a request by the path that its headers gave.

use std::fmt;
use std::sync::Arc;

use accelflow_trace::Format;

use crate::compress::Codec;
use crate::error::AccelError;
use crate::job::{Call, Job, Packed};
use crate::limits::Limits;
use crate::protobuf::{self, Method, MethodId, Schema};
use crate::record::Record;
use crate::thrift::{FunctionId, FunctionSet};

/// The bytes before a message.
pub const PREFIX: usize = 5;

/// Whether a message asks or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A request.
    Request,
    /// A response.
    Response,
}

/// Which way a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// What a gRPC message is.
#[derive(Clone)]
pub struct GrpcCall {
    schema: Arc<Schema>,
    /// What the request asks for: `/package.Service/Method`.
    pub path: Arc<str>,
    /// The method, once RPC has found it.
    pub method: Option<MethodId>,
    /// Request or response.
    pub role: Role,
    /// What the call's messages may be compressed with; that one is, its prefix says.
    pub codec: Option<Codec>,
    way: Way,
}

impl fmt::Debug for GrpcCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcCall")
            .field("path", &self.path)
            .field("role", &self.role)
            .field("codec", &self.codec)
            .finish_non_exhaustive()
    }
}

impl PartialEq for GrpcCall {
    fn eq(&self, other: &GrpcCall) -> bool {
        let parts = |it: &GrpcCall| (it.path.clone(), it.method, it.role, it.codec, it.way);
        Arc::ptr_eq(&self.schema, &other.schema) && parts(self) == parts(other)
    }
}

impl GrpcCall {
    /// A request that has come, to `path` with messages in `codec`.
    pub fn received(schema: Arc<Schema>, path: &str, codec: Option<Codec>) -> GrpcCall {
        GrpcCall {
            schema,
            path: path.into(),
            method: None,
            role: Role::Request,
            codec,
            way: Way::In,
        }
    }

    /// A request to be sent to the method of a name ([`Schema::find`]).
    ///
    /// # Errors
    /// `unknown_method`.
    pub fn request(
        schema: Arc<Schema>,
        name: &str,
        codec: Option<Codec>,
    ) -> Result<GrpcCall, AccelError> {
        let id = schema.find(name)?;
        let path = schema.method(id).map(|method| method.path.clone());
        Ok(GrpcCall {
            schema,
            path: path.unwrap_or_default(),
            method: Some(id),
            role: Role::Request,
            codec,
            way: Way::Out,
        })
    }

    /// The answer to this request, on the other way, with messages in `codec`.
    pub fn response(&self, codec: Option<Codec>) -> GrpcCall {
        GrpcCall {
            role: Role::Response,
            codec,
            way: match self.way {
                Way::In => Way::Out,
                Way::Out => Way::In,
            },
            ..self.clone()
        }
    }

    /// Whether the message goes out.
    pub fn is_sent(&self) -> bool {
        self.way == Way::Out
    }

    /// The full name of the service, as the path gives it.
    pub fn service(&self) -> &str {
        let path = self.path.strip_prefix('/').unwrap_or(&self.path);
        path.split('/').next().unwrap_or_default()
    }

    /// The method, found or to be found by the path.
    ///
    /// # Errors
    /// `unknown_method`.
    pub fn find(&self) -> Result<(MethodId, &Method), AccelError> {
        let id = match self.method {
            Some(id) => id,
            None => self.schema.find_path(&self.path)?,
        };
        match self.schema.method(id) {
            Some(method) => Ok((id, method)),
            None => Err(AccelError::UnknownMethod {
                name: format!("method {}", id.0),
                known: "those of another schema".to_owned(),
            }),
        }
    }
}

impl GrpcCall {
    /// Whether a record is the call's message as it is.
    pub(crate) fn is_message(&self, record: &protobuf::Record) -> Result<bool, AccelError> {
        let (id, _) = self.find()?;
        Ok(record.is_message(&self.schema, id, self.role))
    }
}

/// RPC's part: the prefix, and the method of what is received.
pub(crate) fn frame(job: &mut Job, limits: &Limits) -> Result<(), AccelError> {
    let Call::Grpc(call) = &mut job.call else {
        let why = "gRPC needs a gRPC call";
        return Err(AccelError::NoCall { step: "RPC", why });
    };
    let (id, method) = call.find()?;
    if call.way == Way::Out {
        let prefix = prefix(job.bytes.len(), job.packed.is_some(), limits)?;
        job.put_before(&prefix);
        job.packed = None;
        return Ok(());
    }
    let compressed = read_prefix(&job.bytes, limits)?;
    let packed = match (compressed, call.codec) {
        (false, _) => None,
        (true, Some(codec)) => Some(Packed {
            codec,
            format: Format::Str,
        }),
        (true, None) => {
            let why = "a compressed message in a call without grpc-encoding".to_owned();
            return Err(malformed(0, why));
        }
    };
    let (service, name) = (method.service.clone(), method.name.clone());
    call.method = Some(id);
    job.bytes.drain(..PREFIX);
    job.packed = packed;
    job.format = Format::Str;
    job.facts.set("compressed", compressed.into());
    job.facts.set("exception", 0);
    job.facts.set_text("service", service);
    job.facts.set_text("method", name);
    Ok(())
}

/// Dser's part: a message into JSON; the facts are its integers, enums and bools.
pub(crate) fn deserialize(
    call: &GrpcCall,
    job: &mut Job,
    records: &FunctionSet,
    limits: &Limits,
) -> Result<(), AccelError> {
    if job.packed.is_some() {
        let (found, hint) = (job.format, "; decompress it first");
        return Err(AccelError::WrongFormat {
            step: "Dser",
            found,
            expected: "a message as it is",
            hint,
        });
    }
    let (id, method) = call.find()?;
    let kind = method.message(call.role);
    let in_place =
        call.role == Role::Request && records.contains(FunctionId(id.0)) && method.takes_records();
    // A field of the message does not change what RPC has found out.
    let found = ["compressed", "exception"].map(|name| (name, job.facts.get(name)));
    let facts = &mut job.facts;
    let fact = |name: &Arc<str>, value| facts.set(name.clone(), value);
    let json = match in_place {
        true => protobuf::check(kind, &job.bytes, limits, fact).map(|()| None),
        false => protobuf::message_with_facts(kind, &job.bytes, limits, fact).map(Some),
    };
    let json = json?;
    for (name, value) in found {
        facts.set(name, value.unwrap_or(0));
    }
    job.record = match json {
        Some(json) => {
            job.bytes = json;
            None
        }
        None => {
            let record = protobuf::Record::new(call.schema.clone(), id, call.role, *limits);
            Some(Record::Protobuf(record))
        }
    };
    job.format = Format::Json;
    Ok(())
}

/// Ser's part: JSON into a message.
pub(crate) fn serialize(
    call: &GrpcCall,
    job: &Job,
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    let (_, method) = call.find()?;
    let (json, _) = job.data()?;
    protobuf::from_json(method.message(call.role), &json, limits)
}

/// The length in the prefix at the beginning of `bytes`, once it is there.
///
/// # Errors
/// `bad_frame` for a first byte that is neither 0 nor 1; `too_large`.
pub fn message_length(bytes: &[u8], limits: &Limits) -> Result<Option<usize>, AccelError> {
    let Some([flag, length @ ..]) = bytes.first_chunk::<PREFIX>() else {
        return Ok(None);
    };
    if *flag > 1 {
        let why = format!("the flag is {flag}; allowed are 0 (as it is) and 1 (compressed)");
        return Err(malformed(0, why));
    }
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    AccelError::check_size("message", length, limits)?;
    Ok(Some(length))
}

/// Checks that `bytes` are exactly one message with its prefix; whether it is compressed.
fn read_prefix(bytes: &[u8], limits: &Limits) -> Result<bool, AccelError> {
    let have = bytes.len();
    let Some(length) = message_length(bytes, limits)? else {
        let (what, need) = ("message prefix", PREFIX);
        return Err(AccelError::Truncated {
            what,
            at: 0,
            need,
            have,
        });
    };
    let have = have - PREFIX;
    if have < length {
        return Err(AccelError::Truncated {
            what: "message",
            at: PREFIX,
            need: length,
            have,
        });
    }
    if have > length {
        return Err(AccelError::TrailingBytes {
            what: "message",
            at: PREFIX + length,
            extra: have - length,
        });
    }
    Ok(bytes[0] == 1)
}

/// Puts the prefix before a message.
///
/// # Errors
/// `too_large`.
pub fn write_message(
    message: &[u8],
    compressed: bool,
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    let prefix = prefix(message.len(), compressed, limits)?;
    Ok([prefix.as_slice(), message].concat())
}

fn prefix(size: usize, compressed: bool, limits: &Limits) -> Result<[u8; PREFIX], AccelError> {
    AccelError::check_size("message", size, limits)?;
    let Ok(length) = u32::try_from(size) else {
        let (what, limit) = ("message", u32::MAX as usize);
        return Err(AccelError::TooLarge { what, size, limit });
    };
    let [a, b, c, d] = length.to_be_bytes();
    Ok([compressed.into(), a, b, c, d])
}

fn malformed(at: usize, why: String) -> AccelError {
    AccelError::BadFrame {
        what: "gRPC message",
        at,
        why,
    }
}
