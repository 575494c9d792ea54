//! The custom metadata of gRPC responses: what handlers add, and what clients receive.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use http::{HeaderMap, HeaderValue};

use super::metadata::{BASE64, Metadata, MetadataError, MetadataValue};

/// The header with the details of a status: a message `google.rpc.Status` in base64.
pub(crate) const DETAILS: &str = "grpc-status-details-bin";

/// The most bytes of a message `google.rpc.Status` that a server sends. Clients accept some 8 KiB
/// of headers, in which the details are base64.
pub(crate) const MAX_DETAILS: usize = 4 << 10;

/// The metadata of a response to a gRPC call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedMetadata {
    /// The custom metadata that came before the message of the response.
    pub initial: Metadata,
    /// The custom metadata that came with the status, after the message.
    pub trailing: Metadata,
    /// The message `google.rpc.Status` that came with the status; empty if there was none.
    pub status_details: Vec<u8>,
}

impl ReceivedMetadata {
    /// Adds the headers before a message.
    pub(crate) fn before(&mut self, headers: &HeaderMap) {
        self.initial = Metadata::readable(headers);
    }

    /// Adds the headers with a status. A value that is not valid is left out.
    pub(crate) fn with_status(&mut self, headers: &HeaderMap) {
        self.trailing = Metadata::readable(headers);
        let details = headers.get(DETAILS).map(HeaderValue::as_bytes);
        let details = details.and_then(|text| BASE64.decode(text).ok());
        self.status_details = details.unwrap_or_default();
    }
}

/// The metadata that a handler adds to the response of its request
/// ([`Request::response`](crate::Request::response)). Other threads can add to it until the
/// response is sent; later additions have no effect.
#[derive(Clone, Debug, Default)]
pub struct ResponseMetadata(Option<Arc<Mutex<Added>>>);

#[derive(Debug, Default)]
struct Added {
    initial: Metadata,
    trailing: Metadata,
}

fn lock(added: &Mutex<Added>) -> MutexGuard<'_, Added> {
    added.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ResponseMetadata {
    /// The metadata of a gRPC response.
    pub(crate) fn of_grpc() -> ResponseMetadata {
        ResponseMetadata(Some(Arc::default()))
    }

    /// Adds a value under `name` to the initial metadata, which the client receives before the
    /// response's message or status.
    ///
    /// # Errors
    /// [`MetadataError`] if the name or the value is not allowed, the metadata would be too large,
    /// or the protocol of the request has no metadata.
    pub fn add_initial(&self, name: &str, value: &MetadataValue<'_>) -> Result<(), MetadataError> {
        self.add(|added| &mut added.initial, name, value)
    }

    /// Adds a value under `name` to the trailing metadata, which the client receives with the
    /// status.
    ///
    /// # Errors
    /// Those of [`ResponseMetadata::add_initial`].
    pub fn add_trailing(&self, name: &str, value: &MetadataValue<'_>) -> Result<(), MetadataError> {
        self.add(|added| &mut added.trailing, name, value)
    }

    fn add(
        &self,
        part: impl FnOnce(&mut Added) -> &mut Metadata,
        name: &str,
        value: &MetadataValue<'_>,
    ) -> Result<(), MetadataError> {
        let added = self.0.as_ref();
        let added = added.ok_or_else(|| MetadataError::NoMetadata(name.to_owned()))?;
        let mut added = lock(added);
        let metadata = part(&mut added);
        match value {
            MetadataValue::Text(text) => metadata.add(name, text),
            MetadataValue::Bytes(bytes) => metadata.add_bytes(name, bytes),
        }
    }

    /// Appends the initial metadata to `headers`. Returns whether there was any.
    pub(crate) fn write_initial(&self, headers: &mut HeaderMap) -> bool {
        self.write(|added| &added.initial, headers)
    }

    /// Appends the trailing metadata to `headers`.
    pub(crate) fn write_trailing(&self, headers: &mut HeaderMap) {
        self.write(|added| &added.trailing, headers);
    }

    fn write(&self, part: impl FnOnce(&Added) -> &Metadata, headers: &mut HeaderMap) -> bool {
        let Some(added) = &self.0 else { return false };
        let added = lock(added);
        let metadata = part(&added);
        for (name, value) in metadata.headers() {
            headers.append(name, value.clone());
        }
        !metadata.is_empty()
    }
}

/// The header with the details of a status.
pub(crate) fn details_header(details: &[u8]) -> Option<HeaderValue> {
    let text = (!details.is_empty()).then(|| BASE64.encode(details))?;
    HeaderValue::try_from(text).ok()
}
