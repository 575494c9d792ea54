//! Ser: converts application data into the wire form of the message that `job.call` describes.

use std::sync::Arc;

use accelflow_trace::{Accel, Format};

use crate::accelerator::Accelerator;
use crate::call::Call;
use crate::error::AccelError;
use crate::job::{Direction, Job};
use crate::limits::Limits;
use crate::protocols::grpc::GrpcCall;
use crate::protocols::http::{self, HttpCall};
use crate::protocols::protobuf;
use crate::protocols::storage::{self, StorageCall};
use crate::protocols::thrift::{Schema, ThriftCall, encode_struct, write_envelope};
use crate::record::Record;

/// The serialization accelerator. Converts the application data of a job (a message) into the
/// message that `job.call` describes, and sets `job.direction` to `Send`.
///
/// The payload may be JSON or a *record*: the message's body in its wire form.
///
/// - Thrift: converts the JSON of the arguments or the result into one struct. A compressed payload
///   becomes a struct of two fields, the codec's number and the payload. A record of this message
///   is left unchanged.
/// - gRPC: converts the JSON of the request or the response into one message. A record of this
///   message is left unchanged.
/// - Storage: writes the request that `job.call` describes. If `job.call` describes a response, Ser
///   writes the request that follows from this response, such as the database read after a cache
///   miss ([`crate::storage`]).
/// - HTTP: writes head and body.
#[derive(Debug)]
pub struct Ser {
    schema: Arc<Schema>,
    limits: Limits,
}

impl Ser {
    /// Creates the serialization accelerator for the functions of the Thrift interface `schema`,
    /// and for gRPC, storage and HTTP messages.
    pub fn new(schema: Arc<Schema>, limits: Limits) -> Ser {
        Ser { schema, limits }
    }

    fn thrift(&self, call: &ThriftCall, job: &Job) -> Result<Vec<u8>, AccelError> {
        let (schema, id) = call.body(&self.schema)?;
        let mut out = Vec::with_capacity(job.bytes.len());
        if let Some(packed) = job.packed {
            let (data, _) = job.data()?;
            write_envelope(call.protocol, packed.codec.number() as i8, &data, &mut out);
        } else {
            expect_json(job)?;
            let (json, _) = job.data()?;
            encode_struct(schema, id, call.protocol, &json, &self.limits, &mut out)?;
        }
        Ok(out)
    }

    fn grpc(&self, call: &GrpcCall, job: &Job) -> Result<Vec<u8>, AccelError> {
        expect_json(job)?;
        let (_, method) = call.find()?;
        let (json, _) = job.data()?;
        protobuf::from_json(method.message(call.role), &json, &self.limits)
    }

    /// Returns the request to send and its call. After a response it is the request that follows
    /// from the response.
    fn storage(&self, call: &StorageCall, job: &Job) -> Result<(Vec<u8>, StorageCall), AccelError> {
        let call = call.to_write()?;
        let (data, format) = job.data()?;
        let (codec, format) = match job.packed {
            Some(packed) => (Some(packed.codec), packed.format),
            None => (None, format),
        };
        let frame = storage::write_request(&call, &data, codec, format, &self.limits)?;
        Ok((frame, call))
    }

    fn http(&self, call: &HttpCall, job: &Job) -> Result<Vec<u8>, AccelError> {
        call.check()?;
        let (body, _) = job.data()?;
        let codec = job.packed.map(|packed| packed.codec);
        http::write(call, &body, codec, &self.limits)
    }
}

impl Accelerator for Ser {
    fn kind(&self) -> Accel {
        Accel::Ser
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        self.limits
            .check_size("bytes of the payload to serialize", job.bytes.len())?;
        let mut follow_up = None;
        let bytes = match &job.call {
            call if is_body(call, job, &self.schema)? => std::mem::take(&mut job.bytes),
            Call::None => {
                let why = "the kind of the message is not known: set job.call";
                return Err(AccelError::NoCall { step: "Ser", why });
            }
            Call::Thrift(call) => self.thrift(call, job)?,
            Call::Grpc(call) => self.grpc(call, job)?,
            Call::Storage(call) => {
                let (bytes, written) = self.storage(call, job)?;
                follow_up = Some(Call::Storage(written));
                bytes
            }
            Call::Http(call) => self.http(call, job)?,
        };
        job.bytes = bytes;
        job.format = Format::Str;
        job.packed = None;
        job.envelope = None;
        job.record = None;
        job.direction = Direction::Send;
        if let Some(call) = follow_up {
            job.call = call;
        }
        Ok(())
    }
}

/// Whether the payload is a record in the exact form of the message's body.
fn is_body(call: &Call, job: &Job, schema: &Schema) -> Result<bool, AccelError> {
    let is_body = match (call, &job.record) {
        (Call::Thrift(call), Some(Record::Thrift(record))) => {
            let (schema, id) = call.body(schema)?;
            record.is_body(schema, id, call.protocol)
        }
        (Call::Grpc(call), Some(Record::Protobuf(record))) => call.is_message(record)?,
        _ => false,
    };
    Ok(is_body && job.packed.is_none())
}

fn expect_json(job: &Job) -> Result<(), AccelError> {
    if job.format == Format::Json {
        return Ok(());
    }
    let (found, hint) = (job.format, "; transform the payload to JSON first");
    Err(AccelError::WrongFormat {
        step: "Ser",
        found,
        expected: "JSON",
        hint,
    })
}
