//! Messages to and from the database cache and the database (traces T4 to T8).
//!
//! Those traces have no RPC accelerator, so Ser and Dser make and read whole messages: a 4-byte
//! big-endian length and one `Message` of `idl/storage.thrift` in Thrift's compact protocol.
//!
//! Dser turns a response into JSON and Ser, told to serialize after it, writes the request that
//! follows from it: the find after a cache miss (T5), the cache write after a find (T6). So both
//! traces run to their end without a core.

use std::sync::{Arc, LazyLock};

use accelflow_trace::Format;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::compress::Codec;
use crate::error::AccelError;
use crate::job::{Call, Job, Packed};
use crate::limits::Limits;
use crate::rpc::read_frame;
use crate::thrift::{
    CompactReader, CompactWriter, Decoded, Reader, Schema, StructId, WireType, Writer, one_struct,
};
use crate::transform::payload;

/// What a storage message asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Read a key from the cache.
    CacheGet = 0,
    /// Write a key to the cache.
    CacheSet = 1,
    /// Find a document by its key in the database.
    DbFind = 2,
    /// Insert a document into the database.
    DbInsert = 3,
}

impl Operation {
    /// All operations in order of their codes.
    pub const ALL: [Operation; 4] = [
        Operation::CacheGet,
        Operation::CacheSet,
        Operation::DbFind,
        Operation::DbInsert,
    ];

    /// Whether the request carries data.
    pub const fn writes(self) -> bool {
        matches!(self, Operation::CacheSet | Operation::DbInsert)
    }

    fn from_code(code: i64) -> Result<Operation, AccelError> {
        let known = usize::try_from(code)
            .ok()
            .and_then(|code| Operation::ALL.get(code));
        known.copied().ok_or_else(|| {
            let (field, found) = ("operation".to_owned(), code.to_string());
            AccelError::OutOfRange {
                field,
                found,
                allowed: "0 to 3",
            }
        })
    }
}

/// Which of the two a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// From the service to the store.
    Request,
    /// From the store to the service.
    Response,
}

/// What storage message a job is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageCall {
    /// The operation.
    pub operation: Operation,
    /// Request, or response once Dser has read one.
    pub role: Role,
    /// The collection or key space.
    pub collection: Arc<str>,
    /// The key.
    pub key: Arc<str>,
}

impl StorageCall {
    /// A request.
    pub fn request(operation: Operation, collection: &str, key: &str) -> StorageCall {
        let (collection, key) = (collection.into(), key.into());
        StorageCall {
            operation,
            role: Role::Request,
            collection,
            key,
        }
    }

    /// The request that Ser writes: this one, or the one that follows from a response.
    fn to_write(&self) -> Result<StorageCall, AccelError> {
        let operation = match (self.role, self.operation) {
            (Role::Request, operation) => operation,
            (Role::Response, Operation::CacheGet) => Operation::DbFind,
            (Role::Response, Operation::DbFind) => Operation::CacheSet,
            (Role::Response, Operation::CacheSet | Operation::DbInsert) => {
                let why = "nothing follows from the response to a write";
                return Err(AccelError::NoCall { step: "Ser", why });
            }
        };
        Ok(StorageCall {
            operation,
            role: Role::Request,
            ..self.clone()
        })
    }
}

/// Data as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How they are compressed, if they are.
    pub codec: Option<Codec>,
    /// Their format, once decompressed.
    pub format: Format,
}

/// A request, as a store reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageRequest {
    /// What is asked for.
    pub operation: Operation,
    /// The collection or key space.
    pub collection: String,
    /// The key.
    pub key: String,
    /// The data of a write.
    pub data: Option<Stored>,
}

/// A response, as a store writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageResponse {
    /// What was asked for.
    pub operation: Operation,
    /// Whether the cache has the key.
    pub hit: bool,
    /// Whether the database has the document.
    pub found: bool,
    /// Whether the cache keeps this collection compressed.
    pub cache_compressed: bool,
    /// Why the operation failed, if it did.
    pub exception: Option<String>,
    /// The data of a successful read.
    pub data: Option<Stored>,
}

impl StorageResponse {
    /// The response to a successful write.
    pub fn done(operation: Operation) -> StorageResponse {
        StorageResponse {
            operation,
            hit: false,
            found: false,
            cache_compressed: false,
            exception: None,
            data: None,
        }
    }

    /// The frame that a store sends.
    ///
    /// # Errors
    /// `too_large`.
    pub fn encode(&self, limits: &Limits) -> Result<Vec<u8>, AccelError> {
        frame(limits, |writer| {
            writer.field(WireType::Struct, 2);
            let outer = writer.struct_begin();
            write_i32(writer, 1, self.operation as i32);
            if self.operation == Operation::CacheGet {
                write_i32(writer, 2, self.hit.into());
            }
            if self.operation == Operation::DbFind {
                write_i32(writer, 3, self.found.into());
            }
            if let Some(data) = &self.data {
                write_i32(writer, 4, data.codec.is_some().into());
            }
            if self.operation == Operation::DbFind {
                write_i32(writer, 5, self.cache_compressed.into());
            }
            write_i32(writer, 6, self.exception.is_some().into());
            if let Some(data) = &self.data {
                write_data(writer, 7, data.codec, data.format, &data.bytes);
            }
            if let Some(message) = &self.exception {
                writer.field(WireType::Bytes, 10);
                writer.bytes(message.as_bytes());
            }
            writer.struct_end(outer);
        })
    }
}

/// Serializes the request that `job.call` names, with the payload as data if it is a write.
pub(crate) fn serialize(
    call: &StorageCall,
    job: &Job,
    limits: &Limits,
) -> Result<(Vec<u8>, StorageCall), AccelError> {
    let call = call.to_write()?;
    let (data, format) = payload(job)?;
    let (codec, format) = match job.packed {
        Some(packed) => (Some(packed.codec), packed.format),
        None => (None, format),
    };
    let frame = frame(limits, |writer| {
        writer.field(WireType::Struct, 1);
        let outer = writer.struct_begin();
        write_i32(writer, 1, call.operation as i32);
        for (id, text) in [(2, &call.collection), (3, &call.key)] {
            writer.field(WireType::Bytes, id);
            writer.bytes(text.as_bytes());
        }
        if call.operation.writes() {
            write_i32(writer, 4, codec.is_some().into());
            write_data(writer, 5, codec, format, &data);
        }
        writer.struct_end(outer);
    })?;
    Ok((frame, call))
}

/// What Dser makes of a frame: JSON, facts, and what the call becomes.
pub(crate) fn deserialize(
    call: &StorageCall,
    job: &mut Job,
    limits: &Limits,
) -> Result<(), AccelError> {
    let (role, decoded) = decode(&job.bytes, limits)?;
    let number = |name| find(&decoded, name);
    let operation = Operation::from_code(number("operation").unwrap_or(-1))?;
    if operation != call.operation {
        let why = format!("is about {operation:?}, but {:?} was asked", call.operation);
        return Err(AccelError::BadFrame {
            what: "storage message",
            at: 0,
            why,
        });
    }
    let (packed, inner) = data_labels(&decoded)?;
    for (name, value) in &decoded.numbers {
        job.facts.set(name.clone(), *value);
    }
    for name in ["hit", "found", "compressed", "c_compressed", "exception"] {
        job.facts.set(name, number(name).unwrap_or(0));
    }
    let data_field = if role == Role::Response {
        RESPONSE_DATA
    } else {
        REQUEST_DATA
    };
    job.envelope = (decoded.present >> data_field & 1 == 1).then_some(inner);
    job.packed = packed;
    job.call = Call::Storage(StorageCall {
        role,
        ..call.clone()
    });
    job.bytes = decoded.json;
    job.format = Format::Json;
    Ok(())
}

/// Reads a request, for whoever plays the store.
///
/// # Errors
/// Those of Dser, and `bad_frame` for a response.
pub fn read_request(message: &[u8], limits: &Limits) -> Result<StorageRequest, AccelError> {
    #[derive(Deserialize)]
    struct Fields {
        operation: i64,
        collection: String,
        key: String,
        data: Option<String>,
    }
    let (role, decoded) = decode(message, limits)?;
    if role != Role::Request {
        let why = "a response where a request belongs".to_owned();
        return Err(AccelError::BadFrame {
            what: "storage message",
            at: 4,
            why,
        });
    }
    let (packed, format) = data_labels(&decoded)?;
    let fields: Fields = serde_json::from_slice(&decoded.json).map_err(AccelError::from_json)?;
    let data = match fields.data {
        None => None,
        Some(text) => {
            let bytes = STANDARD
                .decode(text)
                .map_err(|error| AccelError::BadBase64 {
                    field: "data".to_owned(),
                    why: error.to_string(),
                })?;
            Some(Stored {
                bytes,
                codec: packed.map(|packed| packed.codec),
                format,
            })
        }
    };
    let operation = Operation::from_code(fields.operation)?;
    Ok(StorageRequest {
        operation,
        collection: fields.collection,
        key: fields.key,
        data,
    })
}

/// The structs of `idl/storage.thrift` that this module handles.
static STRUCTS: LazyLock<(Arc<Schema>, StructId, StructId)> = LazyLock::new(|| {
    let schema = Schema::storage();
    let id = |name| {
        schema
            .struct_id(name)
            .expect("declared in the embedded interface")
    };
    let (request, response) = (id("Request"), id("Response"));
    (schema, request, response)
});

/// The places of the field `data` in `Request` and `Response`.
const REQUEST_DATA: usize = 6;
const RESPONSE_DATA: usize = 8;

fn decode<'a>(message: &'a [u8], limits: &Limits) -> Result<(Role, Decoded<'a>), AccelError> {
    let body = read_frame(message, limits)?.at();
    let (schema, request, response) = &*STRUCTS;
    let mut reader = CompactReader::new(&message[body..], limits);
    let outer = reader.struct_begin();
    let (role, id) = match reader.field()? {
        Some((WireType::Struct, 1)) => (Role::Request, *request),
        Some((WireType::Struct, 2)) => (Role::Response, *response),
        other => {
            let why = match other {
                None => "holds neither request (1) nor response (2)".to_owned(),
                Some((ty, id)) => format!(
                    "field {id} of type {}, not 1 or 2 of type struct",
                    ty.name()
                ),
            };
            return Err(AccelError::BadFrame {
                what: "storage message",
                at: body,
                why,
            });
        }
    };
    let decoded = one_struct(schema, id, &mut reader, limits)?;
    if let Some((ty, id)) = reader.field()? {
        let why = format!("field {id} of type {} follows the only one", ty.name());
        return Err(AccelError::BadFrame {
            what: "storage message",
            at: body + reader.at(),
            why,
        });
    }
    reader.struct_end(outer);
    reader.finish("storage message")?;
    Ok((role, decoded))
}

fn find(decoded: &Decoded<'_>, name: &str) -> Option<i64> {
    decoded
        .numbers
        .iter()
        .find(|(known, _)| &**known == name)
        .map(|(_, value)| *value)
}

fn data_labels(decoded: &Decoded<'_>) -> Result<(Option<Packed>, Format), AccelError> {
    let code = find(decoded, "format").unwrap_or(0);
    let format = usize::try_from(code)
        .ok()
        .and_then(|code| Format::ALL.get(code))
        .copied();
    let format = format.ok_or_else(|| {
        let (field, found) = ("format".to_owned(), code.to_string());
        AccelError::OutOfRange {
            field,
            found,
            allowed: "0 to 2",
        }
    })?;
    if find(decoded, "compressed").unwrap_or(0) == 0 {
        return Ok((None, format));
    }
    let codec = Codec::from_number(find(decoded, "codec").unwrap_or(0))?;
    Ok((Some(Packed { codec, format }), format))
}

fn frame(
    limits: &Limits,
    write: impl FnOnce(&mut CompactWriter<'_>),
) -> Result<Vec<u8>, AccelError> {
    let mut out = vec![0; 4];
    let mut writer = CompactWriter::new(&mut out);
    let outer = writer.struct_begin();
    write(&mut writer);
    writer.struct_end(outer);
    let length = out.len() - 4;
    AccelError::check_size("storage message", length, limits)?;
    out[..4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(out)
}

fn write_i32(writer: &mut CompactWriter<'_>, id: i16, value: i32) {
    writer.field(WireType::I32, id);
    writer.i32(value);
}

/// Writes codec, format and data as three consecutive fields from number `id`.
fn write_data(
    writer: &mut CompactWriter<'_>,
    id: i16,
    codec: Option<Codec>,
    format: Format,
    data: &[u8],
) {
    if let Some(codec) = codec {
        write_i32(writer, id, codec.number().into());
    }
    write_i32(writer, id + 1, format as i32);
    writer.field(WireType::Bytes, id + 2);
    writer.bytes(data);
}
