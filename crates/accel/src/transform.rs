//! Transformations between string, JSON and BSON (AccelFlow, section V.2).
//!
//! - A *string* is the text of a value. JSON to string keeps the text, string to JSON checks that
//!   it is JSON: both ways leave the bytes as they are.
//! - BSON to JSON (or string) writes relaxed MongoDB Extended JSON version 2; JSON to BSON reads
//!   it, so that dates, object identifiers and binary data survive the way there and back.
//!   Integers become 32-bit where they fit, as that format prescribes.
//! - A JSON *envelope* (`docs/message-conventions.md`) gives up the bytes in its member `data`
//!   when it becomes a string: that is the transformation before Dcmp in the paper's Listing 1.

use std::borrow::Cow;

use accelflow_trace::{Format, Transform};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bson::raw::{RawArray, RawBsonRef, RawDocument};
use bson::{Bson, Document};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::error::AccelError;
use crate::job::Job;
use crate::json::string_end;
use crate::limits::{Budget, Limits};

/// Transforms the payload of a job. A payload that already is in the format asked for stays as
/// it is, so that one trace serves messages with and without an envelope.
///
/// # Errors
/// `wrong_format` if the payload is not in `transform.src`; `bad_json`, `bad_bson`, `bad_base64`,
/// `bad_utf8`, `too_deep`, `too_large`. The job is then unchanged.
pub fn run(job: &mut Job, transform: Transform, limits: &Limits) -> Result<(), AccelError> {
    if job.format == transform.dst && job.envelope.is_none() {
        return Ok(());
    }
    if job.format != transform.src {
        let (found, expected) = (job.format, transform.src.name());
        return Err(AccelError::WrongFormat {
            step: "transformation",
            found,
            expected,
            hint: "",
        });
    }
    let text = job.record.as_ref().map(|it| it.to_json(&job.bytes));
    let text = text.transpose()?;
    let payload = text.as_ref().unwrap_or(&job.bytes);
    let bytes = match (job.envelope, transform.dst) {
        (Some(_), Format::Str) => envelope_data(payload)?,
        // The envelope itself is of use to nobody in another format: transform what it holds.
        (Some(inner), dst) => {
            let data = envelope_data(payload)?;
            match Transform::from_nibble((Transform { src: inner, dst }).nibble()) {
                Some(step) => convert(&data, step, limits)?,
                None => data,
            }
        }
        (None, _) => convert(payload, transform, limits)?,
    };
    job.bytes = bytes;
    job.format = transform.dst;
    job.envelope = None;
    job.record = None;
    Ok(())
}

/// Transforms bytes that are not an envelope.
///
/// # Errors
/// `bad_json`, `bad_bson`, `bad_utf8`, `too_deep`, `too_large`.
pub fn convert(bytes: &[u8], transform: Transform, limits: &Limits) -> Result<Vec<u8>, AccelError> {
    AccelError::check_size("payload to transform", bytes.len(), limits)?;
    let out = match (transform.src, transform.dst) {
        (Format::Json | Format::Str, Format::Json | Format::Str) => {
            check_json(bytes, limits)?;
            bytes.to_vec()
        }
        (Format::Json | Format::Str, Format::Bson) => json_to_bson(bytes, limits)?,
        (Format::Bson, Format::Json | Format::Str) => bson_to_json(bytes, limits)?,
        (Format::Bson, Format::Bson) => bytes.to_vec(),
    };
    AccelError::check_size("transformed payload", out.len(), limits)?;
    Ok(out)
}

/// The payload proper and its format: the data of an envelope, else the bytes as they are.
pub(crate) fn payload(job: &Job) -> Result<(Cow<'_, [u8]>, Format), AccelError> {
    if let Some(record) = &job.record {
        return Ok((Cow::Owned(record.to_json(&job.bytes)?), job.format));
    }
    match job.envelope {
        Some(inner) => Ok((Cow::Owned(envelope_data(&job.bytes)?), inner)),
        None => Ok((Cow::Borrowed(&job.bytes), job.format)),
    }
}

#[derive(serde::Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    data: Cow<'a, str>,
}

fn envelope_data(json: &[u8]) -> Result<Vec<u8>, AccelError> {
    let envelope: Envelope<'_> = serde_json::from_slice(json).map_err(AccelError::from_json)?;
    STANDARD
        .decode(envelope.data.as_bytes())
        .map_err(|error| AccelError::BadBase64 {
            field: "data".to_owned(),
            why: error.to_string(),
        })
}

/// Checks that `bytes` are one JSON text within the depth limit.
fn check_json(bytes: &[u8], limits: &Limits) -> Result<(), AccelError> {
    check_json_bounds(bytes, limits)?;
    serde_json::from_slice::<IgnoredAny>(bytes).map_err(AccelError::from_json)?;
    // The parser need not look inside the strings it ignores.
    std::str::from_utf8(bytes)
        .map(drop)
        .map_err(|error| AccelError::BadUtf8 {
            what: "JSON text".to_owned(),
            at: error.valid_up_to(),
        })
}

/// Checks how deeply JSON text is nested and how many members and elements it has, before a tree is
/// made of it.
pub(crate) fn check_json_bounds(bytes: &[u8], limits: &Limits) -> Result<(), AccelError> {
    let (mut depth, mut at, mut budget) = (0usize, 0, Budget::new(limits));
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at + 1);
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > limits.max_depth {
                    let limit = limits.max_depth;
                    return Err(AccelError::TooDeep { at, limit });
                }
                let is_empty = matches!(after_space(bytes, at + 1), Some(b'}' | b']'));
                budget.elements(usize::from(!is_empty))?;
            }
            b',' => budget.elements(1)?,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The first byte from `at` on that is no space.
fn after_space(bytes: &[u8], at: usize) -> Option<u8> {
    let rest = bytes.get(at..)?.iter();
    rest.copied()
        .find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

fn json_to_bson(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, AccelError> {
    check_json_bounds(bytes, limits)?;
    let value: Value = serde_json::from_slice(bytes).map_err(AccelError::from_json)?;
    match Bson::try_from(value).map_err(bad_bson)? {
        Bson::Document(document) => document.to_vec().map_err(bad_bson),
        other => {
            let why = format!(
                "the top of a BSON document is an object, not {:?}",
                other.element_type()
            );
            Err(AccelError::BadBson { why })
        }
    }
}

fn bson_to_json(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, AccelError> {
    let raw = RawDocument::from_bytes(bytes).map_err(bad_bson)?;
    check_document(raw, 1, limits, &mut Budget::new(limits))?;
    let document = Document::try_from(raw).map_err(bad_bson)?;
    serde_json::to_vec(&relaxed(Bson::Document(document))).map_err(AccelError::from_json)
}

/// The last millisecond of the year 9999, in milliseconds since 1970. Relaxed Extended JSON has no
/// text for dates after it.
const LAST_TEXT_DATE_MS: i64 = 253_402_300_799_999;

/// Relaxed Extended JSON. The library takes dates beyond its own calendar for the end of the year
/// 9999, which would change them.
fn relaxed(value: Bson) -> Value {
    match value {
        Bson::Document(document) => {
            let members = document.into_iter();
            Value::Object(members.map(|(name, it)| (name, relaxed(it))).collect())
        }
        Bson::Array(items) => Value::Array(items.into_iter().map(relaxed).collect()),
        Bson::DateTime(date) if date.timestamp_millis() > LAST_TEXT_DATE_MS => {
            json!({"$date": {"$numberLong": date.timestamp_millis().to_string()}})
        }
        Bson::JavaScriptCodeWithScope(code) => {
            json!({"$code": code.code, "$scope": relaxed(Bson::Document(code.scope))})
        }
        other => other.into_relaxed_extjson(),
    }
}

/// Walks a document before anything recursive does: depth, number of elements, and every element
/// readable.
fn check_document(
    raw: &RawDocument,
    depth: usize,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<(), AccelError> {
    check_depth(depth, limits)?;
    for element in raw {
        let (_, value) = element.map_err(bad_bson)?;
        check_value(value, depth, limits, budget)?;
    }
    Ok(())
}

fn check_array(
    raw: &RawArray,
    depth: usize,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<(), AccelError> {
    check_depth(depth, limits)?;
    for value in raw {
        check_value(value.map_err(bad_bson)?, depth, limits, budget)?;
    }
    Ok(())
}

fn check_value(
    value: RawBsonRef<'_>,
    depth: usize,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<(), AccelError> {
    budget.elements(1)?;
    match value {
        RawBsonRef::Document(inner) => check_document(inner, depth + 1, limits, budget),
        RawBsonRef::Array(inner) => check_array(inner, depth + 1, limits, budget),
        RawBsonRef::JavaScriptCodeWithScope(code) => {
            check_document(code.scope, depth + 1, limits, budget)
        }
        _ => Ok(()),
    }
}

fn check_depth(depth: usize, limits: &Limits) -> Result<(), AccelError> {
    let limit = limits.max_depth;
    if depth <= limit {
        Ok(())
    } else {
        Err(AccelError::TooDeep { at: 0, limit })
    }
}

fn bad_bson(error: impl std::fmt::Display) -> AccelError {
    AccelError::BadBson {
        why: error.to_string(),
    }
}
