//! Reads storage messages.

use std::sync::{Arc, LazyLock};

use accelflow_trace::Format;
use serde::Deserialize;

use super::call::{Operation, StorageCall};
use super::message::{StorageRequest, Stored};
use crate::codec::Codec;
use crate::envelope;
use crate::error::AccelError;
use crate::limits::Limits;
use crate::protocols::thrift::{
    CompactReader, Decoded, Reader, Schema, StructId, WireType, one_struct, read_frame,
};
use crate::role::Role;

/// A message that has been read.
pub(crate) struct Received<'a> {
    pub(crate) role: Role,
    /// The message as JSON, and its numbers.
    pub(crate) decoded: Decoded<'a>,
    /// The compression of its data.
    pub(crate) codec: Option<Codec>,
    /// The format of its data after decompression.
    pub(crate) format: Format,
}

impl Received<'_> {
    /// The number in the field called `name`.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        find(&self.decoded, name)
    }

    /// Whether the message has data.
    pub(crate) fn has_data(&self) -> bool {
        let data_field = match self.role {
            Role::Request => REQUEST_DATA,
            Role::Response => RESPONSE_DATA,
        };
        self.decoded.present >> data_field & 1 == 1
    }
}

/// Reads a message about the operation of `call`.
///
/// # Errors
/// Every error of bytes that are not one such message.
pub(crate) fn read<'a>(
    call: &StorageCall,
    message: &'a [u8],
    limits: &Limits,
) -> Result<Received<'a>, AccelError> {
    let (role, decoded) = decode(message, limits)?;
    let operation = Operation::from_code(find(&decoded, "operation").unwrap_or(-1))?;
    if operation != call.operation {
        let why = format!(
            "operation = {} ({}): must be {} ({}), as in the request",
            operation as u8,
            operation.words(),
            call.operation as u8,
            call.operation.words()
        );
        return Err(AccelError::BadFrame {
            what: "storage message",
            at: 0,
            why,
        });
    }
    let (codec, format) = data_labels(&decoded)?;
    Ok(Received {
        role,
        decoded,
        codec,
        format,
    })
}

/// Reads a storage request from its frame, as the cache or the database does. Does not check that a
/// write has data.
///
/// # Errors
/// An [`AccelError`] if the bytes are not one storage request within the limits.
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
        let why = "the message is a response: must be a request".to_owned();
        return Err(AccelError::BadFrame {
            what: "storage message",
            at: 4,
            why,
        });
    }
    let (codec, format) = data_labels(&decoded)?;
    let fields: Fields = serde_json::from_slice(&decoded.json).map_err(AccelError::from_json)?;
    let data = match fields.data {
        None => None,
        Some(text) => Some(Stored {
            bytes: envelope::decode(text.as_bytes())?,
            codec,
            format,
        }),
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

/// Reads a frame. Returns which of the two structs it has, and the struct.
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
                None => {
                    "the message is empty: must have a request (field 1) or a response (field 2)"
                        .to_owned()
                }
                Some((ty, id)) => format!(
                    "field {id} of type {}: must be field 1 or 2 of type struct",
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
        let why = format!(
            "second field = {id} of type {}: must be left out, since the message has one field",
            ty.name()
        );
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

/// The compression and the format of the data in a message.
fn data_labels(decoded: &Decoded<'_>) -> Result<(Option<Codec>, Format), AccelError> {
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
    Ok((Some(codec), format))
}
