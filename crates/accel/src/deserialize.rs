//! Dser: the wire form of a message into application data, and the facts that branches read.

use std::sync::Arc;

use accelflow_trace::{Accel, Format};

use crate::compress::Codec;
use crate::error::AccelError;
use crate::job::{Accelerator, Call, Job, Packed};
use crate::limits::Limits;
use crate::rpc::{MessageType, ThriftCall};
use crate::thrift::{Decoded, Schema, Struct, decode_struct, write_base64};
use crate::{grpc, http, storage};

/// The deserialization accelerator. Reads `job.call`, which RPC or the caller has set.
///
/// - Thrift: one struct into JSON. The facts are the struct's integers, enums and bools,
///   `compressed` and `exception`; a compression envelope becomes
///   `{"compressed":1,"codec":"zstd","data":"<base64>"}`.
/// - gRPC: one message into JSON; the facts are its integers, enums and bools, `compressed` and
///   `exception`.
/// - Storage: a response (or, for a store, a request) into JSON; the facts are its numbers.
/// - HTTP: the body; facts `status` and `compressed`.
#[derive(Debug)]
pub struct Dser {
    schema: Arc<Schema>,
    limits: Limits,
}

impl Dser {
    /// A deserialization body for the functions of `schema`.
    pub fn new(schema: Arc<Schema>, limits: Limits) -> Dser {
        Dser { schema, limits }
    }

    fn thrift(&self, call: &ThriftCall, job: &mut Job) -> Result<(), AccelError> {
        let (schema, id) = call.body(&self.schema)?;
        let decoded = decode_struct(schema, id, call.protocol, &job.bytes, &self.limits)?;
        let exception = match call.message_type {
            MessageType::Exception => true,
            MessageType::Reply => is_exception(schema.get(id), &decoded)?,
            MessageType::Call | MessageType::Oneway => false,
        };
        let (json, packed) = match decoded.envelope {
            None => (decoded.json, None),
            Some((number, data)) => {
                let codec = Codec::from_number(number.into())?;
                (
                    envelope(codec, data),
                    Some(Packed {
                        codec,
                        format: Format::Json,
                    }),
                )
            }
        };
        for (name, value) in decoded.numbers {
            job.facts.set(name, value);
        }
        job.facts.set("compressed", packed.is_some().into());
        job.facts.set("exception", exception.into());
        job.bytes = json;
        job.format = Format::Json;
        job.envelope = packed.map(|packed| packed.format);
        job.packed = packed;
        Ok(())
    }
}

impl Accelerator for Dser {
    fn kind(&self) -> Accel {
        Accel::Dser
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        AccelError::check_size("message to deserialize", job.bytes.len(), &self.limits)?;
        // The call is taken out while the job is worked on, and put back unless it was replaced.
        let call = std::mem::take(&mut job.call);
        let outcome = match &call {
            Call::None => {
                let why = "RPC or the caller must set the job's call";
                Err(AccelError::NoCall { step: "Dser", why })
            }
            Call::Thrift(thrift) => self.thrift(thrift, job),
            Call::Grpc(grpc) => grpc::deserialize(grpc, job, &self.limits),
            Call::Storage(storage) => storage::deserialize(storage, job, &self.limits),
            Call::Http(http) => http::deserialize(http, job, &self.limits),
        };
        if matches!(job.call, Call::None) {
            job.call = call;
        }
        outcome
    }
}

/// Whether a result holds one of the declared exceptions; refuses one that holds nothing though
/// the function returns something.
fn is_exception(result: &Struct, decoded: &Decoded<'_>) -> Result<bool, AccelError> {
    let returns = result.fields.first().is_some_and(|field| field.id == 0);
    if returns && decoded.present == 0 && decoded.envelope.is_none() {
        let (container, field) = (result.name.to_string(), "success".to_owned());
        return Err(AccelError::MissingField { container, field });
    }
    let exceptions = if returns { !1 } else { !0 };
    Ok(decoded.present & exceptions != 0)
}

fn envelope(codec: Codec, data: &[u8]) -> Vec<u8> {
    let mut json = Vec::with_capacity(data.len() / 3 * 4 + 64);
    json.extend_from_slice(b"{\"compressed\":1,\"codec\":\"");
    json.extend_from_slice(codec.name().as_bytes());
    json.extend_from_slice(b"\",\"data\":");
    write_base64(&mut json, data);
    json.push(b'}');
    json
}
