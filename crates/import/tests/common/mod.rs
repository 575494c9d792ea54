//! Spans of tests: written a line each, in any of the formats.
//!
//! A line is `TRACE SPAN PARENT SERVICE OPERATION KIND START END [KEY=VALUE...]`; times are in us
//! after a fixed day, `-` stands for no parent and for no kind, and `>PARENT` follows from its
//! parent.

#![allow(clippy::unwrap_used, dead_code, reason = "each test uses a part")]

use std::io::Cursor;

use accelflow_import::{ImportError, Imported, Kind, Options, import_streams};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, TracesData};
use prost::Message;
use serde_json::{Value, json};

/// 2023-11-14, in us.
pub(crate) const DAY_US: i64 = 1_700_000_000_000_000;

pub(crate) struct Line {
    pub(crate) trace: String,
    pub(crate) span: String,
    pub(crate) parent: Option<String>,
    pub(crate) follows: bool,
    pub(crate) service: String,
    pub(crate) operation: String,
    pub(crate) kind: Option<String>,
    pub(crate) start_us: i64,
    pub(crate) end_us: i64,
    pub(crate) attributes: Vec<(String, String)>,
}

pub(crate) fn lines(text: &str) -> Vec<Line> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(line).collect()
}

fn line(text: &str) -> Line {
    let words: Vec<&str> = text.split_whitespace().collect();
    let given = |word: &str| (word != "-").then(|| word.trim_start_matches('>').to_owned());
    let attributes = words[8..].iter().map(|word| word.split_once('=').unwrap());
    Line {
        trace: words[0].to_owned(),
        span: words[1].to_owned(),
        parent: given(words[2]),
        follows: words[2].starts_with('>'),
        service: words[3].to_owned(),
        operation: words[4].to_owned(),
        kind: given(words[5]),
        start_us: DAY_US + words[6].parse::<i64>().unwrap(),
        end_us: DAY_US + words[7].parse::<i64>().unwrap(),
        attributes: attributes
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect(),
    }
}

/// An answer of Jaeger's API.
pub(crate) fn jaeger(lines: &[Line]) -> String {
    let mut traces: Vec<(String, Vec<Value>)> = Vec::new();
    for line in lines {
        if traces.iter().all(|(trace, _)| *trace != line.trace) {
            traces.push((line.trace.clone(), Vec::new()));
        }
        let (_, spans) = traces.iter_mut().find(|(t, _)| *t == line.trace).unwrap();
        spans.push(jaeger_span(line));
    }
    let traces = traces.into_iter().map(|(trace, spans)| {
        let services = lines.iter().map(|line| &line.service);
        let processes: serde_json::Map<String, Value> = services
            .map(|service| (format!("p-{service}"), json!({"serviceName": service})))
            .collect();
        json!({"traceID": trace, "spans": spans, "processes": processes})
    });
    json!({"data": traces.collect::<Vec<_>>()}).to_string()
}

pub(crate) fn jaeger_span(line: &Line) -> Value {
    let mut tags: Vec<Value> = line
        .attributes
        .iter()
        .map(|(key, value)| json!({"key": key, "type": "string", "value": value}))
        .collect();
    if let Some(kind) = &line.kind {
        tags.push(json!({"key": "span.kind", "value": kind}));
    }
    let kind = if line.follows {
        "FOLLOWS_FROM"
    } else {
        "CHILD_OF"
    };
    let references: Vec<Value> = line
        .parent
        .iter()
        .map(|parent| json!({"refType": kind, "traceID": line.trace, "spanID": parent}))
        .collect();
    json!({
        "traceID": line.trace, "spanID": line.span, "operationName": line.operation,
        "references": references, "startTime": line.start_us, "duration": line.end_us - line.start_us,
        "tags": tags, "processID": format!("p-{}", line.service),
    })
}

/// A line for each span, as Elasticsearch exports them.
pub(crate) fn elastic(lines: &[Line]) -> String {
    let line = |line: &Line| {
        let mut span = jaeger_span(line);
        span["process"] = json!({"serviceName": line.service});
        json!({"_index": "jaeger-span", "_source": span}).to_string() + "\n"
    };
    lines.iter().map(line).collect()
}

/// OTLP: a message for each span.
pub(crate) fn messages(lines: &[Line]) -> Vec<TracesData> {
    let text = |text: &str| {
        let value = Some(any_value::Value::StringValue(text.to_owned()));
        Some(AnyValue { value })
    };
    let pair = |key: &str, value: &str| KeyValue {
        key: key.to_owned(),
        value: text(value),
        ..KeyValue::default()
    };
    let message = |line: &Line| {
        let id = |text: &str, bytes: usize| {
            let number = u128::from_str_radix(text, 16).unwrap().to_be_bytes();
            number[16 - bytes..].to_vec()
        };
        let span = Span {
            trace_id: id(&line.trace, 16),
            span_id: id(&line.span, 8),
            parent_span_id: line.parent.as_deref().map(|p| id(p, 8)).unwrap_or_default(),
            name: line.operation.clone(),
            kind: number_of_kind(line.kind.as_deref()),
            start_time_unix_nano: (line.start_us * 1000) as u64,
            end_time_unix_nano: (line.end_us * 1000) as u64,
            attributes: line.attributes.iter().map(|(k, v)| pair(k, v)).collect(),
            ..Span::default()
        };
        TracesData {
            resource_spans: vec![ResourceSpans {
                resource: Some(Resource {
                    attributes: vec![pair("service.name", &line.service)],
                    ..Resource::default()
                }),
                scope_spans: vec![ScopeSpans {
                    spans: vec![span],
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        }
    };
    lines.iter().map(message).collect()
}

fn number_of_kind(kind: Option<&str>) -> i32 {
    let kinds = ["internal", "server", "client", "producer", "consumer"];
    let found = kind.and_then(|kind| kinds.iter().position(|known| *known == kind));
    found.map_or(0, |position| position as i32 + 1)
}

/// OTLP as lines of JSON.
pub(crate) fn otlp_lines(lines: &[Line]) -> String {
    let line = |line: &Line| {
        let pair = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let attributes = line.attributes.iter().map(|(k, v)| pair(k, v));
        let span = json!({
            "traceId": format!("{:0>32}", line.trace), "spanId": format!("{:0>16}", line.span),
            "parentSpanId": line.parent.as_ref().map_or(String::new(), |p| format!("{p:0>16}")),
            "name": line.operation, "kind": number_of_kind(line.kind.as_deref()),
            "startTimeUnixNano": (line.start_us * 1000).to_string(),
            "endTimeUnixNano": (line.end_us * 1000).to_string(),
            "attributes": attributes.collect::<Vec<_>>(),
        });
        let resource = json!({"attributes": [pair("service.name", &line.service)]});
        let spans = json!({"resource": resource, "scopeSpans": [{"spans": [span]}]});
        json!({"resourceSpans": [spans]}).to_string() + "\n"
    };
    lines.iter().map(line).collect()
}

/// One message.
pub(crate) fn protobuf(lines: &[Line]) -> Vec<u8> {
    let all = messages(lines).into_iter().flat_map(|m| m.resource_spans);
    let whole = TracesData {
        resource_spans: all.collect(),
    };
    whole.encode_to_vec()
}

/// Messages with four bytes of length before each.
pub(crate) fn framed(lines: &[Line]) -> Vec<u8> {
    let frame = |message: TracesData| {
        let bytes = message.encode_to_vec();
        let mut framed = (bytes.len() as u32).to_be_bytes().to_vec();
        framed.extend(bytes);
        framed
    };
    messages(lines).into_iter().flat_map(frame).collect()
}

/// Messages with a length of variable size before each.
pub(crate) fn delimited(lines: &[Line]) -> Vec<u8> {
    let messages = messages(lines).into_iter();
    messages
        .flat_map(|m| m.encode_length_delimited_to_vec())
        .collect()
}

pub(crate) fn import(kind: Kind, bytes: &[u8], options: &str) -> Result<Imported, ImportError> {
    let file = Ok(("spans".to_owned(), Cursor::new(bytes.to_vec())));
    import_streams(kind, [file], &Options::from_json(options)?)
}

/// The workload of spans in Jaeger's format, without options.
pub(crate) fn imported(text: &str) -> Imported {
    import(Kind::Jaeger, jaeger(&lines(text)).as_bytes(), "{}").unwrap()
}

/// How often the report counts `what` in a list, by the beginning of its text; 0 if it does not.
pub(crate) fn count(imported: &Imported, list: &str, what: &str) -> u64 {
    let rows = imported.report[list].as_array().unwrap();
    let found = rows
        .iter()
        .find(|row| row["what"].as_str().unwrap().starts_with(what));
    found.map_or(0, |row| row["count"].as_u64().unwrap())
}

/// A service's path as text: traces joined by spaces, `|` between those at once, numbers for times.
pub(crate) fn path(imported: &Imported, service: &str) -> String {
    let services = imported.workload["services"].as_array().unwrap();
    let found = services.iter().find(|s| s["name"] == service);
    let found = found.unwrap_or_else(|| panic!("no {service} in {:#}", imported.workload));
    let phases = found["path"].as_array().unwrap().iter().map(|phase| {
        if let Some(time) = phase.get("cpu_us") {
            return time.to_string();
        }
        let one = std::slice::from_ref(phase);
        let chains = phase.get("parallel").map_or(one, |p| p.as_array().unwrap());
        chains.iter().map(chain).collect::<Vec<_>>().join("|")
    });
    phases.collect::<Vec<_>>().join(" ")
}

fn chain(chain: &Value) -> String {
    let mut text = chain["trace"].as_str().unwrap().to_owned();
    if let Some(calls) = chain.get("calls") {
        text += &format!(">{}", calls.as_str().unwrap());
    }
    if chain.get("detached").is_some() {
        text += "~";
    }
    if let Some(times) = chain.get("times") {
        text += &format!("*{times}");
    }
    text
}
