//! Code that the readers of Jaeger's JSON and OTLP's JSON share: for sequences of documents, and
//! for values of attributes.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::source::{Progress, Source};
use crate::attributes::Value;
use crate::error::ImportError;

/// Reads all documents of `source` with `document`, which is asked again while there are more.
///
/// # Errors
/// [`ImportError::Kind`] for a file that is not JSON; [`ImportError::Syntax`] for JSON that ends
/// too early or is malformed; errors of reading; and what `document` left in `failure`.
pub(crate) fn documents(
    mut source: Source,
    file: &str,
    mut document: impl FnMut(&mut Json, &Progress) -> Result<(), Failure>,
) -> Result<(), ImportError> {
    check_first(&mut source, file)?;
    let progress = source.progress();
    let mut json = Json::from_reader(source);
    loop {
        // Nothing but spaces is left when `end` is content; it takes nothing else.
        match json.end() {
            Ok(()) => return Ok(()),
            Err(error) if error.is_syntax() => {}
            Err(error) => return Err(syntax(file, &error, &progress)),
        }
        match document(&mut json, &progress) {
            Ok(()) => {}
            Err(Failure::Refused(error)) => return Err(error),
            Err(Failure::Json(error)) => return Err(syntax(file, &error, &progress)),
        }
    }
}

/// A reader of JSON from a file.
pub(crate) type Json = serde_json::Deserializer<serde_json::de::IoRead<Source>>;

/// The reason why a document was not read to its end.
pub(crate) enum Failure {
    /// The content was refused.
    Refused(ImportError),
    /// It is not JSON, or not of the right shape.
    Json(serde_json::Error),
}

impl Failure {
    /// The refusal that a visitor has left in `stopped`, or else `error`.
    pub(crate) fn of(stopped: Option<ImportError>, error: serde_json::Error) -> Failure {
        match stopped {
            Some(refusal) => Failure::Refused(refusal),
            None => Failure::Json(error),
        }
    }
}

fn check_first(source: &mut Source, file: &str) -> Result<(), ImportError> {
    let failed = |error| ImportError::Read {
        file: file.to_owned(),
        error,
    };
    let bytes = source.peek().map_err(failed)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let why = match first {
        Some(b'{' | b'[') => return Ok(()),
        None => "must be JSON: the file begins with nothing but spaces and line breaks".to_owned(),
        Some(byte) if byte.is_ascii_graphic() => {
            let shown = char::from(*byte);
            format!("must be JSON, which begins with '{{' or '[': the file begins with '{shown}'")
        }
        Some(byte) => {
            format!("must be JSON: the file is binary, and begins with the byte 0x{byte:02x}")
        }
    };
    Err(ImportError::Kind {
        file: file.to_owned(),
        why,
    })
}

fn syntax(file: &str, error: &serde_json::Error, progress: &Progress) -> ImportError {
    // The message ends with the place, which this error has fields for.
    let text = error.to_string();
    let text = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(text, _)| text);
    let why = match error.classify() {
        Category::Eof => "the file ends in the middle of a JSON document".to_owned(),
        Category::Syntax => format!("must be valid JSON: {text}"),
        Category::Data | Category::Io => plain(text),
    };
    ImportError::Syntax {
        file: file.to_owned(),
        line: error.line(),
        column: error.column(),
        offset: progress.offset(),
        why,
    }
}

/// The longest text of a file that a message repeats, in characters.
const SHOWN: usize = 60;

/// The message of serde that something has another type than it must have, in users' words. Other
/// messages are returned unchanged.
fn plain(text: &str) -> String {
    let types = text.strip_prefix("invalid type: ");
    let Some((found, wanted)) = types.and_then(|types| types.rsplit_once(", expected ")) else {
        return text.to_owned();
    };
    let wanted = match wanted {
        "a sequence" => "a list",
        "a map" => "an object",
        wanted if wanted.starts_with("struct ") => "an object",
        wanted => wanted,
    };
    let found = match found.split_once(' ') {
        Some(("integer", number)) => format!("the number {}", number.trim_matches('`')),
        Some(("floating", number)) => {
            let number = number.trim_start_matches("point ");
            format!("the number {}", number.trim_matches('`'))
        }
        Some(("boolean", truth)) => truth.trim_matches('`').to_owned(),
        Some(("string", text)) => match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("the text {}...\"", &text[..end]),
            None => format!("the text {text}"),
        },
        _ => match found {
            "map" => "an object".to_owned(),
            "sequence" => "a list".to_owned(),
            found => found.to_owned(),
        },
    };
    format!("must be {wanted}, not {found}")
}

/// Values as Jaeger writes them (`3`, `"GET"`), and as OTLP does (`{"intValue": "3"}`).
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Value, D::Error> {
        source.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value of an attribute")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        // Longer texts of statements and addresses are cut: their meaning is at the beginning.
        let text = value.chars().take(256).collect();
        Ok(Value::Text(text))
    }

    /// Of several values, the first is used for all.
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let first = items.next_element::<Value>()?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(first.unwrap_or_default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut found = Value::None;
        while let Some(key) = members.next_key::<ValueKey>()? {
            match key {
                ValueKey::Other => {
                    members.next_value::<IgnoredAny>()?;
                }
                ValueKey::Int => {
                    let value = members.next_value::<Value>()?;
                    found = value.int().map_or(Value::None, Value::Int);
                }
                _ => found = members.next_value::<Value>()?,
            }
        }
        Ok(found)
    }
}

/// Protobuf's JSON has names of fields in lowerCamelCase or as in the schema.
#[derive(serde::Deserialize)]
enum ValueKey {
    #[serde(rename = "stringValue", alias = "string_value")]
    Text,
    #[serde(rename = "intValue", alias = "int_value")]
    Int,
    #[serde(rename = "doubleValue", alias = "double_value")]
    Float,
    #[serde(rename = "boolValue", alias = "bool_value")]
    Bool,
    #[serde(rename = "arrayValue", alias = "array_value")]
    Array,
    #[serde(rename = "values")]
    Values,
    #[serde(other)]
    Other,
}
