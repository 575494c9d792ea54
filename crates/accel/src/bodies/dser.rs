//! Dser: converts a message's wire form into application data, and extracts the facts that branches
//! of traces test.

use std::sync::Arc;

use accelflow_trace::{Accel, Format};

use crate::accelerator::Accelerator;
use crate::call::Call;
use crate::codec::Codec;
use crate::envelope;
use crate::error::AccelError;
use crate::job::{Job, Packed};
use crate::limits::Limits;
use crate::protocols::grpc::GrpcCall;
use crate::protocols::http::{self, HttpCall};
use crate::protocols::protobuf;
use crate::protocols::storage::{self, StorageCall};
use crate::protocols::thrift::{
    self, Decoded, FunctionId, FunctionSet, MessageType, Schema, Struct, ThriftCall,
    address_struct, check_struct, decode_struct,
};
use crate::record::Record;
use crate::role::Role;

/// The deserialization accelerator. Converts the message that `job.call` describes into application
/// data, and sets facts: the values that branches of the trace test. The accelerator RPC, or the
/// code that runs the accelerators, has set `job.call` before.
///
/// - Thrift: converts one struct to JSON. Uncompressed arguments become a [`Record`] (the checked
///   wire form) instead, for the functions given to [`Dser::with_records`]. The facts are the
///   struct's integers, enums and bools, `compressed` and `exception`. A struct with compressed
///   data becomes the JSON envelope `{"compressed":1,"codec":"zstd","data":"<base64>"}`.
/// - gRPC: converts one message to JSON. Requests become a [`Record`] instead, for the methods
///   given to [`Dser::with_records`], unless the method's request or response can contain an
///   extension, a group, or a type with a special JSON form, such as `Timestamp`. The facts are the
///   message's integers, enums and bools, `compressed` and `exception`.
/// - Storage: converts a response to JSON, or a request in a program that is itself the cache or
///   the database. The facts are the message's integers, and `hit`, `found`, `compressed`,
///   `c_compressed` (whether the cache keeps the collection compressed) and `exception`, which are
///   0 if the message lacks them.
/// - HTTP: extracts the body, and does not check that it is JSON. The facts are `compressed`, and
///   `status` of a response or the text `method` of a request.
#[derive(Debug)]
pub struct Dser {
    schema: Arc<Schema>,
    limits: Limits,
    records: FunctionSet,
    split_schema: bool,
}

impl Dser {
    /// Creates the deserialization accelerator for the functions of the Thrift interface `schema`,
    /// and for gRPC, storage and HTTP messages.
    pub fn new(schema: Arc<Schema>, limits: Limits) -> Dser {
        Dser {
            schema,
            limits,
            records: FunctionSet::default(),
            split_schema: false,
        }
    }

    /// Sets the functions whose arguments Dser delivers as records (checked messages in their wire
    /// form) instead of JSON text. By default, Dser delivers all arguments as JSON text.
    #[must_use]
    pub fn with_records(self, functions: FunctionSet) -> Dser {
        Dser {
            records: functions,
            ..self
        }
    }

    /// Sets whether a Thrift record (a checked message in its wire form) comes with the byte
    /// offsets of its containers and structs. An application can then skip those that it does not
    /// read. Default false.
    #[must_use]
    pub fn with_split_schema(self, split_schema: bool) -> Dser {
        Dser {
            split_schema,
            ..self
        }
    }

    fn thrift(&self, call: &ThriftCall, job: &mut Job) -> Result<(), AccelError> {
        let (schema, id) = call.body(&self.schema)?;
        let is_request = matches!(call.message_type, MessageType::Call | MessageType::Oneway);
        let in_place = is_request && self.records.contains(call.function);
        let (protocol, bytes, limits) = (call.protocol, &job.bytes, &self.limits);
        let (decoded, addresses) = match (in_place, self.split_schema) {
            (false, _) => (decode_struct(schema, id, protocol, bytes, limits)?, None),
            (true, false) => (check_struct(schema, id, protocol, bytes, limits)?, None),
            (true, true) => {
                let (decoded, addresses) = address_struct(schema, id, protocol, bytes, limits)?;
                (decoded, Some(addresses))
            }
        };
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
                (
                    Some(envelope::write_compressed(codec, data)),
                    Some(Packed { codec, format }),
                )
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
                Some(Record::Thrift(match addresses {
                    Some(addresses) => record.with_addresses(addresses),
                    None => record,
                }))
            }
        };
        job.format = Format::Json;
        job.envelope = packed.map(|packed| packed.format);
        job.packed = packed;
        Ok(())
    }

    fn grpc(&self, call: &GrpcCall, job: &mut Job) -> Result<(), AccelError> {
        let limits = &self.limits;
        if job.packed.is_some() {
            let (found, hint) = (
                job.format,
                "; the payload is compressed: decompress it first",
            );
            return Err(AccelError::WrongFormat {
                step: "Dser",
                found,
                expected: "an uncompressed message",
                hint,
            });
        }
        let (id, method) = call.find()?;
        let kind = method.message(call.role);
        let in_place = call.role == Role::Request
            && self.records.contains(FunctionId(id.0))
            && method.takes_records();
        // Fields of the message do not replace the facts that RPC has set.
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
                let record = call.record(id, limits);
                Some(Record::Protobuf(record))
            }
        };
        job.format = Format::Json;
        Ok(())
    }

    fn storage(&self, call: &StorageCall, job: &mut Job) -> Result<(), AccelError> {
        let received = storage::read(call, &job.bytes, &self.limits)?;
        for (name, value) in &received.decoded.numbers {
            job.facts.set(name.clone(), *value);
        }
        for name in ["hit", "found", "compressed", "c_compressed", "exception"] {
            job.facts.set(name, received.number(name).unwrap_or(0));
        }
        let format = received.format;
        job.envelope = received.has_data().then_some(format);
        job.packed = received.codec.map(|codec| Packed { codec, format });
        job.call = Call::Storage(StorageCall {
            role: received.role,
            ..call.clone()
        });
        job.bytes = received.decoded.json;
        job.format = Format::Json;
        Ok(())
    }

    fn http(&self, call: &HttpCall, job: &mut Job) -> Result<(), AccelError> {
        let received = http::read(call, &job.bytes, &self.limits)?;
        received.body.put_into(&mut job.bytes);
        job.packed = received.codec.map(|codec| Packed {
            codec,
            format: Format::Json,
        });
        job.format = match received.codec {
            Some(_) => Format::Str,
            None => Format::Json,
        };
        job.envelope = None;
        job.facts.set("compressed", received.codec.is_some().into());
        let call = received.call;
        match call.role {
            Role::Response => job.facts.set("status", call.status.into()),
            Role::Request => job.facts.set_text("method", call.method.clone()),
        }
        job.call = Call::Http(call);
        Ok(())
    }
}

impl Accelerator for Dser {
    fn kind(&self) -> Accel {
        Accel::Dser
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        self.limits
            .check_size("bytes of the message to deserialize", job.bytes.len())?;
        // The call is taken out to borrow the job, and put back unless it was replaced.
        let call = std::mem::take(&mut job.call);
        let outcome = match &call {
            Call::None => {
                let why =
                    "the kind of the message is not known: run RPC before Dser, or set job.call";
                Err(AccelError::NoCall { step: "Dser", why })
            }
            Call::Thrift(thrift) => self.thrift(thrift, job),
            Call::Grpc(grpc) => self.grpc(grpc, job),
            Call::Storage(storage) => self.storage(storage, job),
            Call::Http(http) => self.http(http, job),
        };
        if matches!(job.call, Call::None) {
            job.call = call;
        }
        outcome
    }
}

/// Whether a result is one of the declared exceptions.
///
/// # Errors
/// `missing_field` for an empty result of a function that returns a value.
fn is_exception(result: &Struct, decoded: &Decoded<'_>) -> Result<bool, AccelError> {
    let returns = result.fields.first().is_some_and(|field| field.id == 0);
    if returns && decoded.present == 0 && decoded.envelope.is_none() {
        let (container, field) = (result.name.to_string(), "success".to_owned());
        return Err(AccelError::MissingField { container, field });
    }
    let exceptions = if returns { !1 } else { !0 };
    Ok(decoded.present & exceptions != 0)
}
