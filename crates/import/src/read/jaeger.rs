//! Reader of spans in the JSON that Jaeger's user interface and API write and that Elasticsearch
//! exports.
//!
//! A file consists of one or more documents. Each is one of:
//! * `{"data": [TRACE, ...]}`, the answer of Jaeger's API;
//! * `[TRACE or SPAN, ...]`;
//! * a `TRACE`: `{"traceID": ..., "spans": [SPAN, ...], "processes": {"p1": {"serviceName":
//!   ...}}}`;
//! * a `SPAN` with its process in it, or `{"_source": SPAN}`, as Elasticsearch exports lines.
//!
//! `processes` mostly follow the spans that name them, so the spans of a trace are kept until the
//! trace ends. The user interface repeats the ancestors of a span inside the span's references;
//! these repetitions are skipped.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::json::{Failure, documents};
use super::source::{Progress, Source};
use crate::attributes::{Said, Value};
use crate::collect::Collector;
use crate::error::ImportError;
use crate::names::Name;
use crate::span::{Draft, Kind, Span, SpanId, TraceId, span_id};
use crate::topics;

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
        let mut stopped = None;
        let reader = Reader {
            collector,
            stopped: &mut stopped,
            progress,
        };
        let done = Document(reader).deserialize(json);
        done.map_err(|error| Failure::of(stopped, error))
    })
}

struct Reader<'r, 'c> {
    collector: &'r mut Collector<'c>,
    stopped: &'r mut Option<ImportError>,
    progress: &'r Progress,
}

/// The spans of a trace, which wait for their processes.
#[derive(Default)]
struct Waiting {
    spans: Vec<(Draft, u32)>,
    /// The number of each process, and the service that it is of.
    processes: HashMap<String, u32>,
    services: HashMap<u32, Name>,
    dropped: u64,
}

#[derive(Default, Deserialize)]
struct JaegerSpan {
    #[serde(rename = "traceID", default)]
    trace: String,
    #[serde(rename = "spanID", default)]
    span: String,
    #[serde(rename = "parentSpanID", default)]
    parent: Option<String>,
    #[serde(rename = "operationName", default)]
    operation: String,
    #[serde(default)]
    references: Option<Vec<Reference>>,
    #[serde(rename = "startTime", default)]
    start_us: Value,
    #[serde(rename = "duration", default)]
    duration_us: Value,
    #[serde(default)]
    tags: Option<Tags>,
    #[serde(default)]
    tag: Option<Tags>,
    #[serde(rename = "processID", default)]
    process_id: Option<String>,
    #[serde(default)]
    process: Option<Process>,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "refType", default)]
    kind: String,
    #[serde(rename = "traceID", default)]
    trace: String,
    #[serde(rename = "spanID", default)]
    span: String,
}

#[derive(Deserialize)]
struct Process {
    #[serde(rename = "serviceName", default)]
    service: String,
}

/// Tags as a list of keys and values, or as an object, in which `@` stands for dots.
#[derive(Default)]
struct Tags(Vec<(String, Value)>);

#[derive(Deserialize)]
struct Tag {
    #[serde(default)]
    key: String,
    #[serde(default)]
    value: Value,
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Tags, D::Error> {
        source.deserialize_any(TagsVisitor)
    }
}

struct TagsVisitor;

impl<'de> Visitor<'de> for TagsVisitor {
    type Value = Tags;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tags")
    }

    fn visit_unit<E>(self) -> Result<Tags, E> {
        Ok(Tags::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tags, A::Error> {
        let mut tags = Tags::default();
        while let Some(tag) = items.next_element::<Tag>()? {
            tags.0.push((tag.key, tag.value));
        }
        Ok(tags)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tags, A::Error> {
        let mut tags = Tags::default();
        while let Some((key, value)) = members.next_entry::<String, Value>()? {
            tags.0.push((key.replace('@', "."), value));
        }
        Ok(tags)
    }
}

#[derive(Deserialize)]
enum Key {
    #[serde(rename = "data")]
    Data,
    #[serde(rename = "spans")]
    Spans,
    #[serde(rename = "processes")]
    Processes,
    #[serde(rename = "_source")]
    Source,
    #[serde(rename = "traceID")]
    Trace,
    #[serde(rename = "spanID")]
    Span,
    #[serde(rename = "parentSpanID")]
    Parent,
    #[serde(rename = "operationName")]
    Operation,
    #[serde(rename = "references")]
    References,
    #[serde(rename = "startTime")]
    Start,
    #[serde(rename = "duration")]
    Duration,
    #[serde(rename = "tags")]
    Tags,
    #[serde(rename = "tag")]
    Tag,
    #[serde(rename = "process")]
    Process,
    #[serde(rename = "resourceSpans", alias = "resource_spans")]
    Otlp,
    #[serde(other)]
    Other,
}

/// A document, or a trace or a span inside of one.
struct Document<'r, 'c>(Reader<'r, 'c>);

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer of Jaeger's API, a trace or a span")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Document(self.0.again()))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut trace = Waiting::default();
        let mut span = JaegerSpan::default();
        while let Some(key) = members.next_key::<Key>()? {
            match key {
                Key::Data => members.next_value_seed(Document(self.0.again()))?,
                Key::Spans => members.next_value_seed(Spans(self.0.again(), &mut trace))?,
                Key::Processes => members.next_value_seed(Processes(&mut self.0, &mut trace))?,
                Key::Source => span = members.next_value()?,
                Key::Trace => span.trace = members.next_value()?,
                Key::Span => span.span = members.next_value()?,
                Key::Parent => span.parent = members.next_value()?,
                Key::Operation => span.operation = members.next_value()?,
                Key::References => span.references = members.next_value()?,
                Key::Start => span.start_us = members.next_value()?,
                Key::Duration => span.duration_us = members.next_value()?,
                Key::Tags => span.tags = members.next_value()?,
                Key::Tag => span.tag = members.next_value()?,
                Key::Process => span.process = members.next_value()?,
                Key::Otlp => {
                    let why = "the file is OTLP, not Jaeger's JSON: choose the kind `otlp`";
                    return Err(A::Error::custom(why));
                }
                Key::Other => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        if !trace.spans.is_empty() {
            self.0.trace(trace).map_err(A::Error::custom)
        } else if !span.span.is_empty() {
            self.0.line(&span).map_err(A::Error::custom)
        } else {
            Ok(())
        }
    }
}

/// The spans of a trace.
struct Spans<'r, 'c, 't>(Reader<'r, 'c>, &'t mut Waiting);

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
        let Spans(mut reader, trace) = self;
        while let Some(span) = items.next_element::<JaegerSpan>()? {
            reader.progress.piece();
            if trace.spans.len() >= reader.collector.window_spans() {
                trace.dropped += 1;
                continue;
            }
            let draft = reader.draft(&span).map_err(A::Error::custom)?;
            let next = trace.processes.len() as u32;
            let process = span.process_id.unwrap_or_default();
            let process = *trace.processes.entry(process).or_insert(next);
            trace.spans.push((draft, process));
        }
        Ok(())
    }
}

/// The processes of a trace.
struct Processes<'r, 'p, 'c, 't>(&'p mut Reader<'r, 'c>, &'t mut Waiting);

impl<'de> DeserializeSeed<'de> for Processes<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Processes<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of processes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Processes(reader, trace) = self;
        while let Some((id, process)) = members.next_entry::<String, Process>()? {
            let next = trace.processes.len() as u32;
            let number = *trace.processes.entry(id).or_insert(next);
            let service = reader.collector.names.of(&process.service);
            trace.services.insert(number, service);
        }
        Ok(())
    }
}

/// The error itself is in `stopped`; this text is never shown.
type Stopped = &'static str;

impl<'c> Reader<'_, 'c> {
    fn again(&mut self) -> Reader<'_, 'c> {
        Reader {
            collector: self.collector,
            stopped: self.stopped,
            progress: self.progress,
        }
    }

    fn keep<T>(&mut self, done: Result<T, ImportError>) -> Result<T, Stopped> {
        done.map_err(|error| {
            *self.stopped = Some(error);
            "stopped"
        })
    }

    /// A span whose process is in it.
    fn line(&mut self, span: &JaegerSpan) -> Result<(), Stopped> {
        self.progress.piece();
        let mut draft = self.draft(span)?;
        let service = span.process.as_ref().map_or("", |p| p.service.as_str());
        draft.span.service = self.collector.names.of(service);
        let done = self.collector.add(draft);
        self.keep(done)
    }

    /// A trace, or a part of one: other files may have the rest.
    fn trace(&mut self, trace: Waiting) -> Result<(), Stopped> {
        let mut ids: Vec<TraceId> = trace.spans.iter().map(|(draft, _)| draft.trace).collect();
        ids.dedup();
        for (mut draft, process) in trace.spans {
            if let Some(service) = trace.services.get(&process) {
                draft.span.service = *service;
            }
            let done = self.collector.add(draft);
            self.keep(done)?;
        }
        for id in ids {
            let done = self.collector.count_trace(id, &topics::HUGE, trace.dropped);
            self.keep(done)?;
        }
        Ok(())
    }

    fn draft(&mut self, span: &JaegerSpan) -> Result<Draft, Stopped> {
        let names = &mut self.collector.names;
        let mut said = Said::default();
        for (key, value) in [&span.tags, &span.tag]
            .into_iter()
            .flatten()
            .flat_map(|t| &t.0)
        {
            said.add(key, value, names);
        }
        let trace = TraceId::from_text(&span.trace);
        let (parent, follows) = span.parent_of(trace);
        let service = span.process.as_ref().map_or("", |p| p.service.as_str());
        let ns = |us: i128| us.saturating_mul(1000);
        let start = span.start_us.wide().filter(|us| *us > 0);
        let start_ns = start.and_then(|us| u64::try_from(ns(us)).ok());
        let duration = span.duration_us.wide();
        let draft = Draft {
            trace,
            span: Span {
                id: span_id(&span.span),
                parent,
                follows,
                service: names.of(service),
                operation: names.of(&span.operation),
                kind: said.kind.unwrap_or(Kind::Unknown),
                start_ns: start_ns.unwrap_or(u64::MAX),
                end_ns: 0,
                facts: said.facts,
            },
            duration_ns: duration
                .and_then(|us| i64::try_from(ns(us)).ok())
                .unwrap_or(i64::MAX),
            complete: start.is_some() && duration.is_some() && !span.trace.is_empty(),
        };
        self.collector.sampled(said.sampled());
        Ok(draft)
    }
}

impl JaegerSpan {
    /// The parent in the span's own trace, and whether the span follows from it.
    fn parent_of(&self, trace: TraceId) -> (SpanId, bool) {
        let own = |r: &&Reference| r.trace.is_empty() || TraceId::from_text(&r.trace) == trace;
        let references = || self.references.iter().flatten().filter(own);
        let child = references().find(|r| r.kind != "FOLLOWS_FROM");
        let follows = references().next();
        match (child, &self.parent, follows) {
            (Some(child), ..) => (span_id(&child.span), false),
            (None, Some(parent), _) if !parent.is_empty() => (span_id(parent), false),
            (None, _, Some(follows)) => (span_id(&follows.span), true),
            (None, _, None) => (0, false),
        }
    }
}
