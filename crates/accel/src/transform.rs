//! Transformations between string, JSON and BSON (AccelFlow, section V.2).
//!
//! - JSON and *string* have the same bytes. A transformation from one to the other checks that the
//!   bytes are JSON text, and changes only the format that the job states.
//! - BSON to JSON (or string) writes relaxed MongoDB Extended JSON version 2; JSON to BSON reads
//!   the same format, so that dates, object identifiers and binary data survive a round trip.
//!   Integers become 32-bit where they fit, as the format prescribes.
//! - A JSON *envelope* (`docs/message-conventions.md`) becomes the bytes in its member `data` when
//!   it is transformed to a string: the transformation before Dcmp in the paper's Listing 1.

use accelflow_trace::{Format, Transform};
use bson::raw::{RawArray, RawBsonRef, RawDocument};
use bson::{Bson, Document};
use serde_json::{Value, json};

use crate::budget::Budget;
use crate::envelope;
use crate::error::AccelError;
use crate::job::Job;
use crate::json::{check_bounds, check_syntax};
use crate::limits::Limits;

/// Converts a job's payload from the format `transform.src` to `transform.dst`. The formats are
/// text (`Str`), JSON and BSON.
///
/// The payload may be a JSON envelope: an object whose member `data` has the actual data in base64.
/// The result is then these data, without the envelope. They stay in their own format if
/// `transform.dst` is `Str`, and are otherwise converted to `transform.dst`.
///
/// A payload without an envelope that is already in the format `transform.dst` stays unchanged. So
/// one trace (a program of accelerator calls) can process messages with and without an envelope.
///
/// # Errors
/// `wrong_format` if the payload is not in `transform.src`; `bad_json`, `bad_bson`, `bad_base64`,
/// `bad_utf8`, `too_deep`, `too_large`; the errors of [`Record::to_json`](crate::Record::to_json).
/// The job is then unchanged.
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
    let text = job.record.as_ref().map(|record| record.to_json(&job.bytes));
    let text = text.transpose()?;
    let payload = text.as_ref().unwrap_or(&job.bytes);
    let bytes = match (job.envelope, transform.dst) {
        (Some(_), Format::Str) => envelope::read(payload)?,
        // An envelope exists only in JSON: transform its data instead.
        (Some(inner), dst) => {
            let data = envelope::read(payload)?;
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

/// Converts `bytes` from the format `transform.src` to `transform.dst`, and returns the result.
/// Unlike [`run`], this function does not extract the data of a JSON envelope.
///
/// # Errors
/// `bad_json`, `bad_bson`, `bad_utf8`, `too_deep`, `too_large`.
pub fn convert(bytes: &[u8], transform: Transform, limits: &Limits) -> Result<Vec<u8>, AccelError> {
    limits.check_size("bytes of the payload to transform", bytes.len())?;
    let out = match (transform.src, transform.dst) {
        (Format::Json | Format::Str, Format::Json | Format::Str) => {
            check_json(bytes, limits)?;
            bytes.to_vec()
        }
        (Format::Json | Format::Str, Format::Bson) => json_to_bson(bytes, limits)?,
        (Format::Bson, Format::Json | Format::Str) => bson_to_json(bytes, limits)?,
        (Format::Bson, Format::Bson) => bytes.to_vec(),
    };
    limits.check_size("bytes of the transformed payload", out.len())?;
    Ok(out)
}

/// Checks that `bytes` are one JSON text within the limits.
fn check_json(bytes: &[u8], limits: &Limits) -> Result<(), AccelError> {
    check_bounds(bytes, limits)?;
    check_syntax(bytes)
}

fn json_to_bson(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, AccelError> {
    check_bounds(bytes, limits)?;
    let value: Value = serde_json::from_slice(bytes).map_err(AccelError::from_json)?;
    match Bson::try_from(value).map_err(bad_bson)? {
        Bson::Document(document) => document.to_vec().map_err(bad_bson),
        other => {
            let why = format!(
                "type of the JSON text = {:?}: must be an object",
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

/// Converts to relaxed Extended JSON. The library replaces dates after the year 9999 with its last
/// date, so this function writes them itself.
fn relaxed(value: Bson) -> Value {
    match value {
        Bson::Document(document) => {
            let members = document.into_iter();
            Value::Object(
                members
                    .map(|(name, value)| (name, relaxed(value)))
                    .collect(),
            )
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

/// Checks depth, number of elements and readability of every element, before any recursive code
/// sees the document.
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
