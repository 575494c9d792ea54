//! Conversions of data between storage messages, the cache and the database.

use accelflow_accel::compress::{Cmp, DEFAULT_LEVEL, Dcmp};
use accelflow_accel::storage::Stored;
use accelflow_accel::{AccelError, Codec, Limits};
use accelflow_trace::Format;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Data that cannot be stored, or stored data that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayloadError {
    /// Data that cannot be compressed or decompressed.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// Data that are not the expected JSON.
    #[error("malformed JSON of the {what}: {why}")]
    Json {
        what: &'static str,
        why: serde_json::Error,
    },
    /// A document that is not JSON, where several documents are joined.
    #[error("format of a document = {0}: must be JSON to be read together with other documents")]
    Format(Format),
    /// An array with too few or too many documents.
    #[error("documents in the array = {found}: must be {keys}, one for each key")]
    Count { found: usize, keys: usize },
    /// A label that was not written by this module.
    #[error(
        "stored data begin with the bytes {0:?}: must be the numbers of a codec, 0 to 3, and of a \
         format, 0 to 2"
    )]
    Label([u8; 2]),
}

/// The label of data: two bytes for codec and format.
pub(crate) fn label(data: &Stored) -> [u8; 2] {
    let codec = data.codec.map_or(0, Codec::number);
    [codec, data.format as u8]
}

pub(crate) fn stored(label: [u8; 2], bytes: Vec<u8>) -> Result<Stored, PayloadError> {
    let codec = match label[0] {
        0 => None,
        number => Some(Codec::from_number(number.into())?),
    };
    let format = Format::ALL.get(usize::from(label[1])).copied();
    Ok(Stored {
        bytes,
        codec,
        format: format.ok_or(PayloadError::Label(label))?,
    })
}

pub(crate) fn labelled(data: &Stored) -> Vec<u8> {
    [&label(data)[..], &data.bytes].concat()
}

pub(crate) fn from_labelled(mut bytes: Vec<u8>) -> Result<Stored, PayloadError> {
    let Some(label) = bytes.first_chunk::<2>().copied() else {
        return Err(PayloadError::Label([0xff; 2]));
    };
    bytes.drain(..2);
    stored(label, bytes)
}

/// The data, decompressed.
pub(crate) fn plain(data: Stored, limits: &Limits) -> Result<Vec<u8>, PayloadError> {
    match data.codec {
        None => Ok(data.bytes),
        Some(codec) => Ok(Dcmp::new(*limits).decompress(codec, &data.bytes)?),
    }
}

/// JSON text as data to be stored, compressed if `compress`.
pub(crate) fn json(text: Vec<u8>, compress: bool, limits: &Limits) -> Result<Stored, PayloadError> {
    let codec = compress.then_some(Codec::Zstd);
    let bytes = match codec {
        None => text,
        Some(codec) => Cmp::new(codec, DEFAULT_LEVEL, *limits)?.compress(&text)?,
    };
    Ok(Stored {
        bytes,
        codec,
        format: Format::Json,
    })
}

/// Joins several documents into one JSON array. Refuses the document that makes it too large.
pub(crate) struct Joined<'l> {
    text: Vec<u8>,
    limits: &'l Limits,
}

impl<'l> Joined<'l> {
    pub(crate) fn new(limits: &'l Limits) -> Joined<'l> {
        let text = vec![b'['];
        Joined { text, limits }
    }

    pub(crate) fn add(&mut self, document: Stored) -> Result<(), PayloadError> {
        if document.format != Format::Json {
            return Err(PayloadError::Format(document.format));
        }
        if self.text.len() > 1 {
            self.text.push(b',');
        }
        let text = plain(document, self.limits)?;
        check_size(self.text.len() + text.len() + 1, self.limits)?;
        self.text.extend_from_slice(&text);
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.text.push(b']');
        self.text
    }
}

/// The largest size of the data of one response, in bytes.
pub(crate) fn most_bytes(limits: &Limits) -> usize {
    limits.max_decompressed_bytes
}

/// Refuses documents that have `size` bytes together if that is too much for one response.
pub(crate) fn check_size(size: usize, limits: &Limits) -> Result<(), PayloadError> {
    let (what, limit) = ("bytes of the documents", most_bytes(limits));
    match size > limit {
        true => Err(AccelError::TooLarge { what, size, limit }.into()),
        false => Ok(()),
    }
}

/// The documents of a JSON array, of which there must be as many as keys.
pub(crate) fn split(text: &[u8], keys: usize) -> Result<Vec<Vec<u8>>, PayloadError> {
    let what = "array of documents";
    let documents: Vec<&RawValue> =
        serde_json::from_slice(text).map_err(|why| PayloadError::Json { what, why })?;
    if documents.len() != keys {
        let found = documents.len();
        return Err(PayloadError::Count { found, keys });
    }
    let bytes = documents
        .into_iter()
        .map(|document| document.get().as_bytes().to_vec());
    Ok(bytes.collect())
}

/// The JSON text of a list.
pub(crate) fn list<'i>(items: impl Iterator<Item = &'i [u8]>) -> Vec<u8> {
    let mut text = b"{\"items\":[".to_vec();
    for (index, item) in items.enumerate() {
        if index > 0 {
            text.push(b',');
        }
        text.extend_from_slice(item);
    }
    text.extend_from_slice(b"]}");
    text
}

/// The items in the JSON text of a list.
pub(crate) fn items(text: &[u8]) -> Result<Vec<Vec<u8>>, PayloadError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct List<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    let what = "list";
    let list: List<'_> =
        serde_json::from_slice(text).map_err(|why| PayloadError::Json { what, why })?;
    let bytes = list.items.into_iter();
    Ok(bytes.map(|item| item.get().as_bytes().to_vec()).collect())
}

/// Checks an item for lists: one JSON value.
pub(crate) fn item(text: Vec<u8>) -> Result<Vec<u8>, PayloadError> {
    let what = "value";
    let _: &RawValue =
        serde_json::from_slice(&text).map_err(|why| PayloadError::Json { what, why })?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn documents() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let document = prop_oneof![
            Just("{\"a\":[1,\"\\u00fc ,]\"]}".to_owned()),
            any::<i64>().prop_map(|number| number.to_string()),
            "[a-z ]{0,9}".prop_map(|text| format!("\"{text}\"")),
        ];
        proptest::collection::vec(document.prop_map(String::into_bytes), 1..6)
    }

    proptest! {
        #[test]
        fn what_is_kept_comes_back(text in any::<Vec<u8>>(), compress in any::<bool>()) {
            let limits = Limits::default();
            let data = json(text.clone(), compress, &limits).expect("small");
            let again = from_labelled(labelled(&data)).expect("just written");
            prop_assert_eq!((again.codec, again.format), (data.codec, data.format));
            prop_assert_eq!(plain(again, &limits).expect("just written"), text);
        }

        #[test]
        fn whatever_is_kept_is_read_or_refused(bytes in any::<Vec<u8>>()) {
            let limits = Limits::default();
            match from_labelled(bytes).and_then(|data| plain(data, &limits)) {
                Ok(text) => prop_assert!(text.len() <= limits.max_decompressed_bytes),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }

        #[test]
        fn whatever_is_sent_is_split_or_refused(text in "[\\[\\]{}\",:a0-9 ]{0,40}", keys in 0..4_usize) {
            if let Ok(parts) = split(text.as_bytes(), keys) {
                prop_assert_eq!(parts.len(), keys);
                prop_assert!(parts.into_iter().all(|part| item(part).is_ok()));
            }
            if let Ok(parts) = items(text.as_bytes()) {
                prop_assert!(parts.into_iter().all(|part| item(part).is_ok()));
            }
        }

        #[test]
        fn documents_and_lists_are_put_together_and_taken_apart(parts in documents()) {
            let limits = Limits::default();
            let mut joined = Joined::new(&limits);
            for part in &parts {
                let kept = json(part.clone(), true, &limits).expect("small");
                joined.add(kept).expect("JSON");
            }
            let joined = joined.finish();
            prop_assert_eq!(&split(&joined, parts.len()).expect("just joined"), &parts);
            prop_assert!(split(&joined, parts.len() + 1).is_err());
            let listed = list(parts.iter().map(Vec::as_slice));
            prop_assert_eq!(items(&listed).expect("just listed"), parts);
        }
    }
}
