//! Dser: the wire form of a message into application data, and the facts that branches read.

use std::sync::Arc;

use accelflow_trace::{Accel, Format};

use crate::compress::Codec;
use crate::error::AccelError;
use crate::job::{Accelerator, Call, Job, Packed};
use crate::limits::Limits;
use crate::record::Record;
use crate::rpc::{MessageType, ThriftCall};
use crate::thrift::{
    Decoded, FunctionSet, Schema, Struct, check_struct, decode_struct, write_base64,
};
use crate::{grpc, http, storage, thrift};

/// The deserialization accelerator. Reads `job.call`, which RPC or the caller has set.
///
/// - Thrift: one struct into JSON; the arguments of functions that take records are checked and stay
///   where they lie ([`Record`]), unless they are compressed. The facts are the struct's integers, enums and bools,
///   `compressed` and `exception`; a compression envelope becomes
///   `{"compressed":1,"codec":"zstd","data":"<base64>"}`.
/// - gRPC: one message into JSON; the request of a method that takes records stays where it lies,
///   too, where its JSON is no more than its fields. The facts are its integers, enums and bools,
///   `compressed` and `exception`.
/// - Storage: a response (or, for a store, a request) into JSON; the facts are its numbers.
/// - HTTP: the body; facts `status` and `compressed`.
#[derive(Debug)]
pub struct Dser {
    schema: Arc<Schema>,
    limits: Limits,
    records: FunctionSet,
}

impl Dser {
    /// A deserialization body for the functions of `schema`.
    pub fn new(schema: Arc<Schema>, limits: Limits) -> Dser {
        Dser {
            schema,
            limits,
            records: FunctionSet::default(),
        }
    }

    /// Delivers the arguments of `functions` as records.
    #[must_use]
    pub fn with_records(self, functions: FunctionSet) -> Dser {
        Dser {
            records: functions,
            ..self
        }
    }

    fn thrift(&self, call: &ThriftCall, job: &mut Job) -> Result<(), AccelError> {
        let (schema, id) = call.body(&self.schema)?;
        let is_request = matches!(call.message_type, MessageType::Call | MessageType::Oneway);
        let in_place = is_request && self.records.contains(call.function);
        let decode = if in_place {
            check_struct
        } else {
            decode_struct
        };
        let decoded = decode(schema, id, call.protocol, &job.bytes, &self.limits)?;
        let exception = match call.message_type {
            MessageType::Exception => true,
            MessageType::Reply => is_exception(schema.get(id), &decoded)?,
            MessageType::Call | MessageType::Oneway => false,
        };
        let (json, packed) = match decoded.envelope {
            None => ((!in_place).then_some(decoded.json), None),
            Some((number, data)) => {
                let codec = Codec::from_number(number.into())?;
                let format = Format::Json;
                (Some(envelope(codec, data)), Some(Packed { codec, format }))
            }
        };
        for (name, value) in decoded.numbers {
            job.facts.set(name, value);
        }
        job.facts.set("compressed", packed.is_some().into());
        job.facts.set("exception", exception.into());
        job.record = match json {
            Some(json) => {
                job.bytes = json;
                None
            }
            None => {
                let schema = self.schema.clone();
                let record = thrift::Record::new(schema, id, call.protocol, self.limits);
                Some(Record::Thrift(record))
            }
        };
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
            Call::Grpc(grpc) => grpc::deserialize(grpc, job, &self.records, &self.limits),
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
