//! Reader of OTLP as protocol buffers: a single message `TracesData`, or several, each preceded by
//! its length.
//!
//! A length has four bytes, the most significant first, as the OpenTelemetry collector's file
//! exporter writes it, or is a varint, as the libraries of protocol buffers write it. The messages
//! that contain spans are read field by field, so only one span is decoded at a time.

use std::io::{self, Read};

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span as OtlpSpan;
use prost::Message;

use super::otlp_json::kind_of_number;
use super::source::{LONGEST_PIECE, Source};
use crate::attributes::{Said, Sampled, Value};
use crate::collect::Collector;
use crate::error::ImportError;
use crate::names::{Name, Names};
use crate::span::{Draft, Span, TraceId};

/// The first byte of `TracesData`: field 1, with a length.
pub(crate) const FIRST_BYTE: u8 = 0x0a;

/// Reads `source`, the file called `file`.
///
/// # Errors
/// [`ImportError::Binary`] for a file that ends too early or does not follow the format,
/// [`ImportError::Kind`] for one that is not OTLP, and those of `collector`.
pub(crate) fn read(
    source: Source,
    file: &str,
    collector: &mut Collector,
) -> Result<(), ImportError> {
    let mut wire = Wire {
        source,
        file,
        collector,
        service: Name::NONE,
        early: None,
    };
    match wire.framing()? {
        Framing::None => wire.fields(u64::MAX, Depth::Traces),
        framing => {
            while let Some(length) = wire.frame(framing)? {
                wire.fields(length, Depth::Traces)?;
            }
            Ok(())
        }
    }
}

/// The framing of messages in a file.
#[derive(Clone, Copy)]
enum Framing {
    /// There is one message.
    None,
    /// Four bytes of length, the most significant first.
    Four,
    /// A length of variable size.
    Variable,
}

#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Traces,
    Resource,
    Scope,
}

struct Wire<'w, 'c> {
    source: Source,
    file: &'w str,
    collector: &'w mut Collector<'c>,
    service: Name,
    /// Spans that stand before their resource; none if that has been read.
    early: Option<Vec<Draft>>,
}

impl Wire<'_, '_> {
    fn wrong(&self, why: impl Into<String>) -> ImportError {
        ImportError::Binary {
            file: self.file.to_owned(),
            offset: self.source.progress().offset(),
            why: why.into(),
        }
    }

    fn failed(&self, error: &io::Error) -> ImportError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.wrong("the file ends in the middle of a message"),
            _ => self.wrong(error.to_string()),
        }
    }

    fn framing(&mut self) -> Result<Framing, ImportError> {
        let peeked = self.source.peek().map(|bytes| {
            let mut first = [0; 5];
            let count = bytes.len().min(5);
            first[..count].copy_from_slice(&bytes[..count]);
            first
        });
        let first = peeked.map_err(|error| self.failed(&error))?;
        let length = u32::from_be_bytes([first[0], first[1], first[2], first[3]]);
        // A length of variable size continues while the top bit is set.
        let after = first.iter().position(|byte| byte & 0x80 == 0);
        let next = after.and_then(|at| first.get(at + 1));
        if first[0] == FIRST_BYTE && first[1] != FIRST_BYTE {
            Ok(Framing::None)
        } else if first[4] == FIRST_BYTE && u64::from(length) <= LONGEST_PIECE {
            Ok(Framing::Four)
        } else if next == Some(&FIRST_BYTE) {
            Ok(Framing::Variable)
        } else if first[0] == FIRST_BYTE {
            Ok(Framing::None)
        } else {
            Err(ImportError::Kind {
                file: self.file.to_owned(),
                why: format!(
                    "must be OTLP, as JSON or as protocol buffers (TracesData, with or without a \
                     length before each message): the file begins with the byte 0x{:02x}",
                    first[0]
                ),
            })
        }
    }

    /// The length of the next message; none at the end of the file.
    fn frame(&mut self, framing: Framing) -> Result<Option<u64>, ImportError> {
        if matches!(framing, Framing::Variable) {
            return self.varint();
        }
        let ended = self.source.peek().map(<[u8]>::is_empty);
        if ended.map_err(|error| self.failed(&error))? {
            return Ok(None);
        }
        let mut bytes = [0; 4];
        let done = self.source.read_exact(&mut bytes);
        done.map_err(|error| self.failed(&error))?;
        Ok(Some(u64::from(u32::from_be_bytes(bytes))))
    }

    /// A number of variable size; none at the end of the file.
    fn varint(&mut self) -> Result<Option<u64>, ImportError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            match self.source.read(&mut byte) {
                Ok(0) if shift == 0 => return Ok(None),
                Ok(0) => return Err(self.wrong("the file ends in the middle of a number")),
                Ok(_) => {}
                Err(error) => return Err(self.failed(&error)),
            }
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Ok(Some(number));
            }
        }
        Err(self.wrong("a number has more than 10 bytes, the most in protocol buffers"))
    }

    /// The fields of a message of `length` bytes, or up to the end of the file.
    fn fields(&mut self, length: u64, depth: Depth) -> Result<(), ImportError> {
        let progress = self.source.progress();
        let whole_file = length == u64::MAX;
        let end = progress.offset().saturating_add(length);
        if depth == Depth::Resource {
            (self.service, self.early) = (Name::NONE, Some(Vec::new()));
        }
        while progress.offset() < end {
            let Some(tag) = self.varint()? else {
                match whole_file {
                    true => break,
                    false => return Err(self.wrong("the file ends in the middle of a message")),
                }
            };
            self.field(tag, end, depth)?;
        }
        if progress.offset() > end && !whole_file {
            return Err(self.wrong("a field is longer than its message"));
        }
        if depth == Depth::Resource {
            self.flush()?;
        }
        Ok(())
    }

    fn field(&mut self, tag: u64, end: u64, depth: Depth) -> Result<(), ImportError> {
        let (number, kind) = (tag >> 3, tag & 7);
        let length = match kind {
            0 => {
                let found = self.varint()?;
                return found
                    .map(drop)
                    .ok_or_else(|| self.wrong("the file ends in the middle of a message"));
            }
            1 => 8,
            5 => 4,
            2 => {
                let length = self.varint()?;
                length.ok_or_else(|| self.wrong("the file ends in the middle of a message"))?
            }
            _ => {
                return Err(self.wrong(format!(
                    "a field has the wire type {kind}: must be 0, 1, 2 or 5"
                )));
            }
        };
        let left = end.saturating_sub(self.source.progress().offset());
        if length > left {
            return Err(self.wrong("a field is longer than its message"));
        }
        match (depth, number, kind) {
            (Depth::Traces, 1, 2) => self.fields(length, Depth::Resource),
            (Depth::Resource, 1, 2) => self.resource(length),
            (Depth::Resource, 2, 2) => self.fields(length, Depth::Scope),
            (Depth::Scope, 2, 2) => self.span(length),
            _ => self.leaf(length).map(drop),
        }
    }

    /// The bytes of a message that is decoded as a whole.
    fn leaf(&mut self, length: u64) -> Result<Vec<u8>, ImportError> {
        if length > LONGEST_PIECE {
            return Err(self.wrong(format!(
                "a field has {length} bytes: must be at most 64 MiB"
            )));
        }
        let mut bytes = Vec::new();
        let done = (&mut self.source).take(length).read_to_end(&mut bytes);
        done.map_err(|error| self.failed(&error))?;
        match bytes.len() as u64 == length {
            true => Ok(bytes),
            false => Err(self.wrong("the file ends in the middle of a message")),
        }
    }

    fn resource(&mut self, length: u64) -> Result<(), ImportError> {
        let bytes = self.leaf(length)?;
        let resource = Resource::decode(bytes.as_slice());
        let resource = resource
            .map_err(|error| self.wrong(format!("a resource cannot be decoded: {error}")))?;
        let mut attributes = resource.attributes.iter();
        let name = attributes.find(|attribute| attribute.key == "service.name");
        let name = name.map(|attribute| value(attribute.value.as_ref()));
        let name = name.as_ref().and_then(Value::text).unwrap_or_default();
        self.service = self.collector.names.of(name);
        self.flush()
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        for mut draft in self.early.take().into_iter().flatten() {
            draft.span.service = self.service;
            self.collector.add(draft)?;
        }
        Ok(())
    }

    fn span(&mut self, length: u64) -> Result<(), ImportError> {
        let bytes = self.leaf(length)?;
        let span = OtlpSpan::decode(bytes.as_slice());
        let span =
            span.map_err(|error| self.wrong(format!("a span cannot be decoded: {error}")))?;
        self.source.progress().piece();
        let (mut draft, sampled) = draft_of(&span, &mut self.collector.names);
        self.collector.sampled(sampled);
        let most = self.collector.window_spans();
        match &mut self.early {
            None => {
                draft.span.service = self.service;
                self.collector.add(draft)
            }
            Some(early) if early.len() < most => {
                early.push(draft);
                Ok(())
            }
            Some(_) => Err(self.wrong(
                "more spans come before their resource than allowed: increase `window_spans`",
            )),
        }
    }
}

fn draft_of(span: &OtlpSpan, names: &mut Names) -> (Draft, Option<Sampled>) {
    let mut said = Said::default();
    for KeyValue { key, value: v, .. } in &span.attributes {
        said.add(key, &value(v.as_ref()), names);
    }
    said.facts.error |= span.status.as_ref().is_some_and(|status| status.code == 2);
    let (start, end) = (span.start_time_unix_nano, span.end_time_unix_nano);
    let duration = i128::from(end) - i128::from(start);
    let sampled = said.sampled();
    let draft = Draft {
        trace: TraceId(number(&span.trace_id)),
        span: Span {
            id: number(&span.span_id) as u64,
            parent: number(&span.parent_span_id) as u64,
            operation: names.of(&span.name),
            kind: kind_of_number(i64::from(span.kind)),
            start_ns: start,
            facts: said.facts,
            ..Span::default()
        },
        duration_ns: i64::try_from(duration).unwrap_or(i64::MAX),
        complete: start > 0 && end > 0 && !span.trace_id.is_empty(),
    };
    (draft, sampled)
}

/// The big-endian number in the last 16 of `bytes`.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |n, byte| n << 8 | u128::from(*byte))
}

fn value(value: Option<&AnyValue>) -> Value {
    match value.and_then(|value| value.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => Value::Text(text.clone()),
        Some(any_value::Value::BoolValue(truth)) => Value::Bool(*truth),
        Some(any_value::Value::IntValue(number)) => Value::Int(*number),
        Some(any_value::Value::DoubleValue(number)) => Value::Float(*number),
        // Of several values, the first is used for all.
        Some(any_value::Value::ArrayValue(list)) => self::value(list.values.first()),
        _ => Value::None,
    }
}
