//! Reader of OTLP as JSON: a single `ExportTraceServiceRequest`, or one per line as the
//! OpenTelemetry collector's file exporter writes. Names of fields are in lowerCamelCase or as in
//! protobuf's schema (`trace_id`): the JSON format of protobuf allows both.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::json::{Failure, documents};
use super::source::{Progress, Source};
use crate::attributes::{Said, Value};
use crate::collect::Collector;
use crate::error::ImportError;
use crate::names::Name;
use crate::span::{Draft, Kind, Span, TraceId, span_id};

/// Reads `source`, the file called `file`.
///
/// # Errors
/// The errors of [`documents`], and those of `collector`.
pub(crate) fn read(
    source: Source,
    file: &str,
    collector: &mut Collector,
) -> Result<(), ImportError> {
    documents(source, file, |json, progress| {
        let mut reader = Reader {
            collector,
            stopped: None,
            progress,
            service: Name::NONE,
            early: Vec::new(),
            named: false,
        };
        let done = Level(&mut reader, Depth::Document).deserialize(json);
        done.map_err(|error| Failure::of(reader.stopped, error))
    })
}

struct Reader<'r, 'c> {
    collector: &'r mut Collector<'c>,
    stopped: Option<ImportError>,
    progress: &'r Progress,
    /// The service of the resource.
    service: Name,
    /// Whether the resource has been read.
    named: bool,
    /// Spans that stand before their resource.
    early: Vec<Draft>,
}

/// The objects and lists above the spans.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Document,
    ResourceSpans,
    ScopeSpans,
}

struct Level<'l, 'r, 'c>(&'l mut Reader<'r, 'c>, Depth);

struct Items<'l, 'r, 'c>(&'l mut Reader<'r, 'c>, Depth);

#[derive(Deserialize)]
enum Key {
    #[serde(rename = "resourceSpans", alias = "resource_spans")]
    ResourceSpans,
    #[serde(rename = "resource")]
    Resource,
    #[serde(
        rename = "scopeSpans",
        alias = "scope_spans",
        alias = "instrumentationLibrarySpans",
        alias = "instrumentation_library_spans"
    )]
    ScopeSpans,
    #[serde(rename = "spans")]
    Spans,
    #[serde(rename = "data")]
    Jaeger,
    #[serde(
        rename = "resourceMetrics",
        alias = "resource_metrics",
        alias = "resourceLogs",
        alias = "resource_logs"
    )]
    NoSpans,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct KeyValue {
    #[serde(default)]
    key: String,
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    attributes: Vec<KeyValue>,
}

#[derive(Deserialize)]
struct OtlpSpan {
    #[serde(rename = "traceId", alias = "trace_id", default)]
    trace: String,
    #[serde(rename = "spanId", alias = "span_id", default)]
    span: String,
    #[serde(rename = "parentSpanId", alias = "parent_span_id", default)]
    parent: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    kind: Value,
    #[serde(rename = "startTimeUnixNano", alias = "start_time_unix_nano", default)]
    start: Value,
    #[serde(rename = "endTimeUnixNano", alias = "end_time_unix_nano", default)]
    end: Value,
    #[serde(default)]
    attributes: Vec<KeyValue>,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: Value,
}

impl<'de> DeserializeSeed<'de> for Items<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Level(self.0, self.1))?.is_some() {}
        Ok(())
    }
}

/// Spans, at the bottom.
struct Spans<'l, 'r, 'c>(&'l mut Reader<'r, 'c>);

impl<'de> DeserializeSeed<'de> for Spans<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Spans<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of spans")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(span) = items.next_element::<OtlpSpan>()? {
            self.0.progress.piece();
            self.0.span(&span).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Level<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of OTLP")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Level(reader, depth) = self;
        if depth == Depth::ResourceSpans {
            (reader.service, reader.named) = (Name::NONE, false);
        }
        while let Some(key) = members.next_key::<Key>()? {
            match (depth, key) {
                (Depth::Document, Key::ResourceSpans) => {
                    members.next_value_seed(Items(reader, Depth::ResourceSpans))?;
                }
                (Depth::ResourceSpans, Key::Resource) => {
                    let resource: Resource = members.next_value()?;
                    reader.resource(&resource);
                }
                (Depth::ResourceSpans, Key::ScopeSpans) => {
                    members.next_value_seed(Items(reader, Depth::ScopeSpans))?;
                }
                (Depth::ScopeSpans, Key::Spans) => members.next_value_seed(Spans(reader))?,
                (Depth::Document, Key::Jaeger) => {
                    let why = "the file is Jaeger's JSON, not OTLP: choose the kind `jaeger`";
                    return Err(A::Error::custom(why));
                }
                (Depth::Document, Key::NoSpans) => {
                    return Err(A::Error::custom(
                        "the file is OTLP without spans: metrics or logs",
                    ));
                }
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        match depth {
            Depth::ResourceSpans => reader.end_of_resource().map_err(A::Error::custom),
            _ => Ok(()),
        }
    }
}

/// The error itself is in `stopped`; this text is never shown.
type Stopped = &'static str;

impl Reader<'_, '_> {
    fn resource(&mut self, resource: &Resource) {
        let mut attributes = resource.attributes.iter();
        let name = attributes.find(|attribute| attribute.key == "service.name");
        let name = name.and_then(|attribute| attribute.value.text());
        self.service = self.collector.names.of(name.unwrap_or_default());
        self.named = true;
    }

    fn end_of_resource(&mut self) -> Result<(), Stopped> {
        for draft in std::mem::take(&mut self.early) {
            self.add(draft)?;
        }
        Ok(())
    }

    fn add(&mut self, mut draft: Draft) -> Result<(), Stopped> {
        draft.span.service = self.service;
        self.collector.add(draft).map_err(|error| {
            self.stopped = Some(error);
            "stopped"
        })
    }

    fn span(&mut self, span: &OtlpSpan) -> Result<(), Stopped> {
        let mut said = Said::default();
        for attribute in &span.attributes {
            let names = &mut self.collector.names;
            said.add(&attribute.key, &attribute.value, names);
        }
        let status = span.status.as_ref().map(|status| &status.code);
        said.facts.error |= status
            .is_some_and(|code| code.int() == Some(2) || code.text() == Some("STATUS_CODE_ERROR"));
        self.collector.sampled(said.sampled());
        let draft = draft_of(span, &said, &mut self.collector.names);
        if self.named {
            return self.add(draft);
        }
        self.early.push(draft);
        if self.early.len() > self.collector.window_spans() {
            return Err(
                "more spans come before their resource than allowed: increase `window_spans`",
            );
        }
        Ok(())
    }
}

fn draft_of(span: &OtlpSpan, said: &Said, names: &mut crate::names::Names) -> Draft {
    let (start, end) = (span.start.wide(), span.end.wide());
    let times = start.filter(|start| *start > 0).zip(end);
    // A duration that is far too long, or far too negative, is out of range as well.
    let duration = times.map_or(0, |(start, end)| end.saturating_sub(start));
    Draft {
        trace: TraceId::from_text(&span.trace),
        span: Span {
            id: span_id(&span.span),
            parent: span_id(&span.parent),
            operation: names.of(&span.name),
            kind: kind_of(&span.kind),
            start_ns: start.map_or(0, |ns| u64::try_from(ns.max(0)).unwrap_or(u64::MAX)),
            facts: said.facts,
            ..Span::default()
        },
        duration_ns: i64::try_from(duration).unwrap_or(i64::MAX),
        complete: times.is_some() && !span.trace.is_empty(),
    }
}

fn kind_of(value: &Value) -> Kind {
    let number = match value.text() {
        Some("SPAN_KIND_INTERNAL") => Some(1),
        Some("SPAN_KIND_SERVER") => Some(2),
        Some("SPAN_KIND_CLIENT") => Some(3),
        Some("SPAN_KIND_PRODUCER") => Some(4),
        Some("SPAN_KIND_CONSUMER") => Some(5),
        _ => value.int(),
    };
    kind_of_number(number.unwrap_or(0))
}

/// The kind with this number in OTLP.
pub(crate) fn kind_of_number(number: i64) -> Kind {
    match number {
        1 => Kind::Internal,
        2 | 5 => Kind::Server,
        3 => Kind::Client,
        4 => Kind::Producer,
        _ => Kind::Unknown,
    }
}
