//! Fast handling of JSON text without a parser: writing strings, computing sizes, and checks before
//! a tree is built.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::IgnoredAny;

use crate::budget::Budget;
use crate::error::AccelError;
use crate::limits::Limits;

/// The number of bytes that are searched for escapes at a time.
const BLOCK: usize = 32;

/// Whether JSON must escape this byte of a string (RFC 8259, section 7).
fn needs_escape(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// The number of bytes at the start of `bytes` that need no escape in a JSON string.
pub(crate) fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    for block in bytes.chunks_exact(BLOCK) {
        // No early exit within a block, so that it becomes a few vector instructions.
        let found = block
            .iter()
            .fold(false, |found, byte| found | needs_escape(*byte));
        if found {
            break;
        }
        at += BLOCK;
    }
    let rest = bytes[at..].iter().position(|byte| needs_escape(*byte));
    rest.map_or(bytes.len(), |more| at + more)
}

/// An upper bound on the bytes that [`write_string`] appends, from the length of the text alone.
pub(crate) fn most_string_len(text: &str) -> usize {
    text.len().saturating_mul(6).saturating_add(2)
}

/// The number of bytes that [`write_string`] appends.
pub(crate) fn string_len(text: &str) -> usize {
    let (mut rest, mut escaped) = (text.as_bytes(), 0);
    loop {
        rest = &rest[plain_prefix(rest)..];
        let Some((byte, tail)) = rest.split_first() else {
            return text.len() + escaped + 2;
        };
        escaped += match byte {
            b'"' | b'\\' | 0x08 | 0x09 | 0x0a | 0x0c | 0x0d => 1,
            _ => 5,
        };
        rest = tail;
    }
}

/// An upper bound on the fields and elements in JSON text, without the outermost value. An empty
/// list or object counts as one. The count is meaningless for text that is not JSON.
pub(crate) fn elements(json: &[u8]) -> usize {
    let (mut found, mut at) = (0, 0);
    while let Some(byte) = json.get(at) {
        at = match byte {
            b'"' => string_end(json, at + 1),
            _ => at + 1,
        };
        found += usize::from(matches!(byte, b'{' | b'[' | b','));
    }
    found
}

/// The position after the closing quote of the string whose content begins at `at`.
pub(crate) fn string_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at += bytes.get(at..).map_or(0, plain_prefix);
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return at,
        }
    }
}

/// Appends `text` to `out` as a JSON string, including quotes, with the escapes of `serde_json`.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    loop {
        let (plain, tail) = rest.split_at(plain_prefix(rest));
        out.extend_from_slice(plain);
        let Some((byte, tail)) = tail.split_first() else {
            break;
        };
        write_escape(out, *byte);
        rest = tail;
    }
    out.push(b'"');
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 0xf));
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[high], HEX[low]]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Appends a JSON string with the padded base64 of `bytes`.
pub(crate) fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD
        .encode_slice(bytes, &mut out[start..])
        .unwrap_or_default();
    out.truncate(start + written);
    out.push(b'"');
}

/// The text that stands in JSON for a floating-point number that JSON cannot express, as in
/// ProtoJSON; `None` for a finite number.
pub(crate) fn text_of_float(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_finite() => None,
        _ if value.is_nan() => Some("NaN"),
        _ if value > 0.0 => Some("Infinity"),
        _ => Some("-Infinity"),
    }
}

/// The number that such a text stands for.
pub(crate) fn float_of_text(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Whether JSON text has a string that may stand for a NaN or an infinity.
pub fn may_have_float_texts(json: &[u8]) -> bool {
    let ends_in = |end: &[u8]| json.windows(end.len()).any(|found| found == end);
    ends_in(b"\"NaN\"") || ends_in(b"Infinity\"")
}

/// Checks that `bytes` are one JSON text within the limits, including that on bytes of text.
///
/// The limits are those of the message that the JSON stands for, and JSON may be larger: a map with
/// keys that are not text is a list of pairs. It nests twice as deep as the map, and has three
/// elements for each entry instead of two.
///
/// # Errors
/// `too_deep`, `too_large`, `bad_json`, `bad_utf8`.
pub(crate) fn check_received(bytes: &[u8], limits: &Limits) -> Result<(), AccelError> {
    let widened = Limits {
        max_depth: limits.max_depth.saturating_mul(2),
        max_elements: limits.max_elements.saturating_add(limits.max_elements / 2),
        ..*limits
    };
    check(bytes, &widened, Budget::bytes)?;
    check_syntax(bytes)
}

/// Checks that `bytes` are one JSON text. Its depth must have been checked.
///
/// # Errors
/// `bad_json`, `bad_utf8`.
pub(crate) fn check_syntax(bytes: &[u8]) -> Result<(), AccelError> {
    serde_json::from_slice::<IgnoredAny>(bytes).map_err(AccelError::from_json)?;
    // The parser does not check UTF-8 in strings that it ignores.
    let text = std::str::from_utf8(bytes).map(drop);
    text.map_err(|error| AccelError::BadUtf8 {
        what: "JSON text".to_owned(),
        at: error.valid_up_to(),
    })
}

/// Checks the depth of JSON text and its number of members and elements, before a tree is built
/// from it.
///
/// # Errors
/// `too_deep`, `too_large`.
pub(crate) fn check_bounds(bytes: &[u8], limits: &Limits) -> Result<(), AccelError> {
    check(bytes, limits, |_, _| Ok(()))
}

/// Like [`check_bounds`], and calls `charge` with the length of each string that is a value.
fn check(
    bytes: &[u8],
    limits: &Limits,
    charge: impl Fn(&mut Budget, usize) -> Result<(), AccelError>,
) -> Result<(), AccelError> {
    let (mut depth, mut at, mut budget) = (0usize, 0, Budget::new(limits));
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at + 1);
                if after_space(bytes, end) != Some(b':') {
                    let written = bytes.get(at + 1..end).unwrap_or_default();
                    charge(&mut budget, text_len(written))?;
                }
                at = end;
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

/// The length in bytes of a JSON string. `written` is the string after its opening quote, up to and
/// including the closing one. Each escape counts as one byte, the shortest that it may stand for.
fn text_len(written: &[u8]) -> usize {
    let (mut length, mut at) = (0, 0);
    while let Some(byte) = written.get(at) {
        at += match (byte, written.get(at + 1)) {
            (b'\\', Some(b'u')) => 6,
            (b'\\', _) => 2,
            _ => 1,
        };
        length += 1;
    }
    length - usize::from(length > 0)
}

/// The first byte at or after `at` that is not white space.
fn after_space(bytes: &[u8], at: usize) -> Option<u8> {
    let rest = bytes.get(at..)?.iter();
    rest.copied()
        .find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        write_string(&mut out, text);
        out
    }

    #[test]
    fn every_character_of_one_byte_is_written_as_serde_json_does() {
        for byte in 0..0x80u8 {
            // At each position of a block, and behind it.
            for before in [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 5] {
                let text = format!("{}{}y", "x".repeat(before), char::from(byte));
                assert_eq!(written(&text), serde_json::to_vec(&text).expect("a string"));
                assert_eq!(written(&text).len(), string_len(&text));
            }
        }
    }

    proptest! {
        #[test]
        fn strings_are_written_as_serde_json_does(text in "(?s)[\\x00-\\x7f]{0,80}|.{0,200}") {
            prop_assert_eq!(written(&text), serde_json::to_vec(&text).expect("a string"));
        }
    }
}
