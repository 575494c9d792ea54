//! The custom metadata of gRPC calls.

use std::fmt;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// The largest size of the custom metadata that can be added to a gRPC request, to the initial
/// metadata of a response, or to its trailing metadata, in bytes. The size is counted as HTTP/2
/// counts headers: the sizes of names and values, plus 32 bytes for each field (RFC 9113, section
/// 6.5.2). gRPC suggests this limit to servers (gRPC over HTTP2, "Requests").
pub const MAX_METADATA_BYTES: usize = 8 << 10;

/// The bytes that HTTP/2 counts for each field in addition.
pub(crate) const FIELD: usize = 32;

/// The suffix of names whose values are bytes.
const BINARY: &str = "-bin";

/// Written without padding, read with or without.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The custom metadata of a gRPC call: headers other than those of the protocol itself. Names are
/// in lower case. A name may have several values, which keep the order in which they were added. A
/// value is printable ASCII text, or bytes if the name ends in `-bin`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    entries: Vec<(HeaderName, HeaderValue)>,
}

/// A value of a gRPC call's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataValue<'m> {
    /// A text value, of a name without the suffix `-bin`.
    Text(&'m str),
    /// A value of bytes, of a name that ends in `-bin`.
    Bytes(Vec<u8>),
}

/// The error of metadata that a gRPC call cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// This name is empty or has characters that are not allowed.
    #[error("metadata = '{0}': must be a name of the characters 0 to 9, a to z, '_', '-' and '.'")]
    Name(String),
    /// This name is reserved for a header of HTTP or gRPC.
    #[error("metadata '{0}': must be another name, since HTTP or gRPC uses this one")]
    Reserved(String),
    /// A text value of this name has characters that are not printable ASCII.
    #[error(
        "metadata '{0}': text must be printable ASCII; for other bytes, use a name that ends in -bin"
    )]
    Text(String),
    /// A text was given for this name, which ends in `-bin` and so needs bytes.
    #[error("metadata '{0}': must be bytes, since the name ends in -bin")]
    NotText(String),
    /// Bytes were given for this name, which does not end in `-bin` and so needs text.
    #[error("metadata '{0}': must be text, since the name does not end in -bin")]
    NotBytes(String),
    /// A received value of this name, which ends in `-bin`, is not valid base64.
    #[error("metadata '{0}': must be base64")]
    Base64(String),
    /// The protocol of the request, such as Thrift, has no metadata for this name.
    #[error("metadata '{0}': only responses of gRPC have metadata")]
    NoMetadata(String),
    /// The metadata would have this size in bytes, which is above [`MAX_METADATA_BYTES`].
    #[error(
        "metadata = {0} bytes, including 32 for each field: must be at most {MAX_METADATA_BYTES}"
    )]
    TooLarge(usize),
}

impl Metadata {
    /// Creates empty metadata.
    pub const fn new() -> Metadata {
        Metadata {
            entries: Vec::new(),
        }
    }

    /// Adds the text value `text` under `name`.
    ///
    /// # Errors
    /// [`MetadataError`] if the name or the text is not allowed, or the metadata would be too
    /// large. Nothing is then added.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), MetadataError> {
        let header = own_name(name)?;
        if is_binary(&header) {
            return Err(MetadataError::NotText(name.to_owned()));
        }
        let refused = || MetadataError::Text(name.to_owned());
        let mut value = HeaderValue::from_str(text).map_err(|_| refused())?;
        readable(&value).ok_or_else(refused)?;
        // Keeps the value out of header compression, where its size could reveal it.
        value.set_sensitive(header == header::AUTHORIZATION);
        self.push(header, value)
    }

    /// Adds the value `bytes` under `name`, which must end in `-bin`.
    ///
    /// # Errors
    /// [`MetadataError`] if the name is not allowed, or the metadata would be too large. Nothing is
    /// then added.
    pub fn add_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), MetadataError> {
        let header = own_name(name)?;
        if !is_binary(&header) {
            return Err(MetadataError::NotBytes(name.to_owned()));
        }
        let value = HeaderValue::try_from(BASE64.encode(bytes));
        let value = value.map_err(|_| MetadataError::Base64(name.to_owned()))?;
        self.push(header, value)
    }

    /// Returns the first text value of `name`; `None` if `name` has no value, or ends in `-bin` and
    /// so has bytes.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).find_map(|value| match value {
            MetadataValue::Text(text) => Some(text),
            MetadataValue::Bytes(_) => None,
        })
    }

    /// Returns the first value of `name` as bytes; `None` if `name` has no value, or does not end
    /// in `-bin` and so has text.
    pub fn get_bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.get_all(name).find_map(|value| match value {
            MetadataValue::Bytes(bytes) => Some(bytes),
            MetadataValue::Text(_) => None,
        })
    }

    /// Returns all values of `name`, in the order in which they were added.
    pub fn get_all(&self, name: &str) -> impl Iterator<Item = MetadataValue<'_>> {
        let named = move |(own, _): &&(HeaderName, HeaderValue)| own.as_str() == name;
        let entries = self.entries.iter().filter(named);
        entries.flat_map(|(name, value)| meanings(name, value))
    }

    /// Returns all pairs of name and value in the metadata, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&str, MetadataValue<'_>)> {
        let values =
            |(name, value)| meanings(name, value).map(|value| (HeaderName::as_str(name), value));
        self.entries
            .iter()
            .map(|(name, value)| (name, value))
            .flat_map(values)
    }

    /// Returns whether the metadata has no names.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The metadata in the headers of a request.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Metadata, MetadataError> {
        let mut metadata = Metadata::new();
        for (name, value) in headers {
            if is_reserved(name) {
                continue;
            }
            let owned = || name.as_str().to_owned();
            if !is_binary(name) {
                readable(value).ok_or_else(|| MetadataError::Text(owned()))?;
            } else if !parts(value).all(|part| BASE64.decode(part).is_ok()) {
                return Err(MetadataError::Base64(owned()));
            }
            metadata.entries.push((name.clone(), value.clone()));
        }
        Ok(metadata)
    }

    /// The metadata in the headers of a response, without values that are not valid.
    pub(crate) fn readable(headers: &HeaderMap) -> Metadata {
        let own = |(name, _): &(&HeaderName, &HeaderValue)| !is_reserved(name);
        let valid = |(name, value): &(&HeaderName, &HeaderValue)| match is_binary(name) {
            true => parts(value).all(|part| BASE64.decode(part).is_ok()),
            false => readable(value).is_some(),
        };
        let entries = headers.iter().filter(own).filter(valid);
        let entries = entries.map(|(name, value)| (name.clone(), value.clone()));
        Metadata {
            entries: entries.collect(),
        }
    }

    /// As headers of a request.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.entries.iter().map(|(name, value)| (name, value))
    }

    fn push(&mut self, name: HeaderName, value: HeaderValue) -> Result<(), MetadataError> {
        let lengths = self.headers().map(|(name, value)| length(name, value));
        let bytes = lengths.sum::<usize>() + length(&name, &value);
        if bytes > MAX_METADATA_BYTES {
            return Err(MetadataError::TooLarge(bytes));
        }
        self.entries.push((name, value));
        Ok(())
    }
}

/// Shows names only, since values may be secrets.
impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.entries.iter().map(|(name, _)| name);
        f.debug_set().entries(names).finish()
    }
}

fn length(name: &HeaderName, value: &HeaderValue) -> usize {
    name.as_str().len() + value.len() + FIELD
}

/// The bytes of headers, as HTTP/2 counts them.
pub(crate) fn size_of(headers: &HeaderMap) -> usize {
    headers
        .iter()
        .map(|(name, value)| length(name, value))
        .sum()
}

/// Checks a name that a caller adds.
fn own_name(name: &str) -> Result<HeaderName, MetadataError> {
    let allowed = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'_' | b'-' | b'.');
    let bad = || MetadataError::Name(name.escape_default().to_string());
    if name.is_empty() || !name.bytes().all(allowed) {
        return Err(bad());
    }
    let header = HeaderName::try_from(name).map_err(|_| bad())?;
    match is_reserved(&header) {
        true => Err(MetadataError::Reserved(name.to_owned())),
        false => Ok(header),
    }
}

/// Whether a header is HTTP/2's or gRPC's own.
fn is_reserved(name: &HeaderName) -> bool {
    let name = name.as_str();
    let of_http = matches!(
        name,
        "connection"
            | "content-length"
            | "content-type"
            | "host"
            | "keep-alive"
            | "proxy-connection"
            | "te"
            | "transfer-encoding"
            | "upgrade"
            | "user-agent"
    );
    of_http || name.starts_with("grpc-")
}

fn is_binary(name: &HeaderName) -> bool {
    name.as_str().ends_with(BINARY)
}

fn readable(value: &HeaderValue) -> Option<&str> {
    let bytes = value.as_bytes();
    let printable = bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    printable.then(|| value.to_str().ok()).flatten()
}

/// Values of bytes may be joined by commas.
fn parts(value: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    let parts = value.as_bytes().split(|byte| *byte == b',');
    parts.map(<[u8]>::trim_ascii)
}

fn meanings<'m>(
    name: &HeaderName,
    value: &'m HeaderValue,
) -> impl Iterator<Item = MetadataValue<'m>> {
    let binary = is_binary(name);
    let text = (!binary).then(|| readable(value)).flatten();
    let bytes = binary.then(|| parts(value).filter_map(|part| BASE64.decode(part).ok()));
    let bytes = bytes.into_iter().flatten().map(MetadataValue::Bytes);
    text.into_iter().map(MetadataValue::Text).chain(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(name: &'static str, value: &[u8]) -> Result<Metadata, MetadataError> {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_bytes(value).expect("a header's value");
        headers.append(name, value);
        Metadata::of(&headers)
    }

    #[test]
    fn what_is_added_is_what_arrives() {
        let mut sent = Metadata::new();
        sent.add("authorization", "Bearer one").expect("text");
        sent.add("x-step", " a ~ b ").expect("text");
        sent.add("x-step", "").expect("text");
        for length in 0..6 {
            let bytes: Vec<u8> = (250..).take(length).collect();
            sent.add_bytes("x-key-bin", &bytes).expect("bytes");
        }
        let headers = sent.headers().map(|(n, v)| (n.clone(), v.clone()));
        let came = Metadata::of(&headers.collect()).expect("it was accepted");
        assert_eq!(came.get("authorization"), Some("Bearer one"));
        let steps = came.get_all("x-step").collect::<Vec<_>>();
        assert_eq!(
            steps,
            [MetadataValue::Text(" a ~ b "), MetadataValue::Text("")]
        );
        let keys = came.get_all("x-key-bin").collect::<Vec<_>>();
        assert_eq!(keys.len(), 6);
        assert_eq!(keys[2], MetadataValue::Bytes(vec![250, 251]));
        assert_eq!(came.get_bytes("x-key-bin"), Some(vec![]));
        assert_eq!((came.get("x-key-bin"), came.get("none")), (None, None));
        assert_eq!(came.get_bytes("x-step"), None);
        assert_eq!(came.iter().count(), 9);
    }

    #[test]
    fn bytes_are_read_with_padding_and_several_at_once() {
        let came = received("x-bin", b"AQ==,AQI, AQID").expect("base64");
        let values: Vec<_> = came.get_all("x-bin").collect();
        let bytes = |bytes: &[u8]| MetadataValue::Bytes(bytes.to_vec());
        assert_eq!(values, [bytes(&[1]), bytes(&[1, 2]), bytes(&[1, 2, 3])]);
        assert_eq!(
            received("x-bin", b"A"),
            Err(MetadataError::Base64("x-bin".to_owned()))
        );
    }

    #[test]
    fn what_is_no_metadata_is_refused_or_left_out() {
        let mut metadata = Metadata::new();
        let name = |name: &str| Err(MetadataError::Name(name.to_owned()));
        assert_eq!(metadata.add("", "x"), name(""));
        assert_eq!(metadata.add("X-Step", "x"), name("X-Step"));
        assert_eq!(metadata.add(":path", "x"), name(":path"));
        assert_eq!(metadata.add("a b", "x"), name("a b"));
        let name = "x".to_owned();
        assert_eq!(
            metadata.add("x", "é"),
            Err(MetadataError::Text(name.clone()))
        );
        assert_eq!(
            metadata.add("x", "a\tb"),
            Err(MetadataError::Text(name.clone()))
        );
        assert_eq!(
            metadata.add_bytes("x", b""),
            Err(MetadataError::NotBytes(name))
        );
        let bytes = MetadataError::NotText("x-bin".to_owned());
        assert_eq!(metadata.add("x-bin", "AQ"), Err(bytes));
        for reserved in ["te", "host", "grpc-timeout", "content-type", "user-agent"] {
            let error = MetadataError::Reserved(reserved.to_owned());
            assert_eq!(metadata.add(reserved, "x"), Err(error));
            assert_eq!(received(reserved, b"x"), Ok(Metadata::new()));
        }
        let error = received("x", "é".as_bytes());
        assert_eq!(error, Err(MetadataError::Text("x".to_owned())));
        let large = metadata.add("x", &"y".repeat(MAX_METADATA_BYTES));
        assert_eq!(large, Err(MetadataError::TooLarge(MAX_METADATA_BYTES + 33)));
        assert!(metadata.is_empty());
    }

    #[test]
    fn secrets_are_not_printed() {
        let mut metadata = Metadata::new();
        metadata.add("authorization", "Bearer one").expect("text");
        assert_eq!(format!("{metadata:?}"), r#"{"authorization"}"#);
    }
}
