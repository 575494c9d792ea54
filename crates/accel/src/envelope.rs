//! The JSON envelope of non-JSON data: `{..., "data": "<base64>"}` (`docs/message-conventions.md`).

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::codec::Codec;
use crate::error::AccelError;
use crate::json::write_base64;

#[derive(serde::Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    data: Cow<'a, str>,
}

/// The data in an envelope.
///
/// # Errors
/// `bad_json`, `bad_base64`.
pub(crate) fn read(json: &[u8]) -> Result<Vec<u8>, AccelError> {
    let envelope: Envelope<'_> = serde_json::from_slice(json).map_err(AccelError::from_json)?;
    decode(envelope.data.as_bytes())
}

/// The data in the member `data`, which is base64.
///
/// # Errors
/// `bad_base64`.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, AccelError> {
    STANDARD
        .decode(text)
        .map_err(|error| AccelError::BadBase64 {
            field: "data".to_owned(),
            why: error.to_string(),
        })
}

/// Writes the envelope of a Thrift message's compressed body.
pub(crate) fn write_compressed(codec: Codec, data: &[u8]) -> Vec<u8> {
    let mut json = Vec::with_capacity(data.len() / 3 * 4 + 64);
    json.extend_from_slice(b"{\"compressed\":1,\"codec\":\"");
    json.extend_from_slice(codec.name().as_bytes());
    json.extend_from_slice(b"\",\"data\":");
    write_base64(&mut json, data);
    json.push(b'}');
    json
}
