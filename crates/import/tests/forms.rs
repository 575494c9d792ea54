//! Data in other forms: several files, names of fields as in protocol buffers, and times in wrong units.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Cursor;

use accelflow_import::{Kind, Options, import_streams};
use serde_json::json;

use crate::common::{DAY_US, count, import, jaeger, jaeger_span, lines, otlp_lines};

#[test]
fn files_that_each_have_a_part_of_a_trace_are_one_data_set() {
    let spans = lines(
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 20 80 rpc.system=x
         2 1 - shop Buy server 500 600 rpc.system=x
         2 2 1 shop pay client 520 580 rpc.system=x
         1 3 2 bank Pay server 30 70 rpc.system=x
         2 3 2 bank Pay server 530 570 rpc.system=x",
    );
    let whole = import(Kind::Jaeger, jaeger(&spans).as_bytes(), "{}").unwrap();
    let parts = [jaeger(&spans[..4]), jaeger(&spans[4..])];
    let files = parts.iter().zip(["first", "second"]);
    let files = files.map(|(text, name)| Ok((name.to_owned(), Cursor::new(text.clone()))));
    let found = import_streams(Kind::Jaeger, files, &Options::default()).unwrap();
    assert_eq!(found.workload["services"], whole.workload["services"]);
    assert_eq!(found.report["dropped"], json!([]));
    // The same in one file: documents that follow one another.
    let found = import(Kind::Jaeger, parts.concat().as_bytes(), "{}").unwrap();
    assert_eq!(found.workload["services"], whole.workload["services"]);
}

/// Two requests in Jaeger's format, with times multiplied by `factor`.
fn in_other_units(factor: f64) -> String {
    let spans = lines(
        "1 1 - shop Buy server 0 100 rpc.system=x
         2 1 - shop Buy server 1000 1100 rpc.system=x",
    );
    let spans = spans.iter().map(|line| {
        let mut span = jaeger_span(line);
        span["process"] = json!({"serviceName": line.service});
        for (key, time) in [
            ("startTime", line.start_us),
            ("duration", line.end_us - line.start_us),
        ] {
            span[key] = json!((time as f64 * factor) as i64);
        }
        span.to_string() + "\n"
    });
    spans.collect()
}

#[test]
fn starts_beyond_64_bits_of_nanoseconds_are_left_out() {
    let text = refusal(Kind::Jaeger, in_other_units(1000.0).as_bytes());
    let why = "2 spans whose times do not fit 64 bits of nanoseconds: left out; Jaeger's times must \
               be in microseconds, OTLP's in nanoseconds";
    assert!(text.ends_with(why), "{text}");
}

#[test]
fn dates_before_the_year_2000_are_guesses() {
    let what = "spans that start before the year 2000";
    let found = import(Kind::Jaeger, in_other_units(1e-3).as_bytes(), "{}").unwrap();
    assert_eq!(count(&found, "guessed", what), 2);
    let found = import(Kind::Jaeger, in_other_units(1.0).as_bytes(), "{}").unwrap();
    assert_eq!(count(&found, "guessed", what), 0);
    let line = otlp_lines(&lines("1 1 - shop Buy server 0 100 rpc.system=x"));
    let in_us = line.replace(&format!("{DAY_US}000"), &format!("{DAY_US}"));
    let found = import(Kind::Otlp, in_us.as_bytes(), "{}").unwrap();
    assert_eq!(count(&found, "guessed", what), 1);
}

/// `text` with the original names of fields, as protobuf's JSON also has them.
fn snake_case(text: &str) -> String {
    let names = [
        ("resourceSpans", "resource_spans"),
        ("scopeSpans", "scope_spans"),
        ("traceId", "trace_id"),
        ("parentSpanId", "parent_span_id"),
        ("spanId", "span_id"),
        ("startTimeUnixNano", "start_time_unix_nano"),
        ("endTimeUnixNano", "end_time_unix_nano"),
        ("stringValue", "string_value"),
        ("intValue", "int_value"),
        ("doubleValue", "double_value"),
        ("boolValue", "bool_value"),
        ("arrayValue", "array_value"),
    ];
    names.iter().fold(text.to_owned(), |text, (camel, snake)| {
        text.replace(&format!("\"{camel}\""), &format!("\"{snake}\""))
    })
}

#[test]
fn otlp_may_have_the_original_names_of_fields() {
    let text = otlp_lines(&lines(
        "1 1 - shop Buy server 0 100 http.method=GET
         1 2 1 shop get client 10 20 db.system=redis db.operation=GET
         1 3 1 shop put client 30 40 db.system=redis db.operation=SET
         2 1 - shop Buy server 500 600 http.method=GET",
    ));
    // Values of every type, some of which have a meaning: a miss, sizes, and an encoding.
    let more = r#"{"key": "cache.hit", "value": {"boolValue": false}},
        {"key": "http.request.body.size", "value": {"intValue": "700"}},
        {"key": "http.response.body.size", "value": {"doubleValue": 900}},
        {"key": "http.response.header.content-encoding",
         "value": {"arrayValue": {"values": [{"stringValue": "gzip"}]}}}"#;
    let text = text.replace("\"attributes\":[{\"key\":\"db", &{
        format!("\"attributes\":[{more},{{\"key\":\"db")
    });
    let text = text.replace("\"attributes\":[{\"key\":\"http.method", &{
        format!("\"attributes\":[{more},{{\"key\":\"http.method")
    });
    let options = r#"{"servers": "by-service"}"#;
    let camel = import(Kind::Otlp, text.as_bytes(), options).unwrap();
    let snake = import(Kind::Otlp, snake_case(&text).as_bytes(), options).unwrap();
    assert_eq!(camel.workload["services"][0]["server"], "shop");
    assert_eq!(snake.workload["services"], camel.workload["services"]);
    assert_eq!(snake.report, camel.report);
    let text = refusal(Kind::Otlp, br#"{"resource_metrics": []}"#);
    assert!(text.contains("metrics or logs"), "{text}");
}

fn refusal(kind: Kind, bytes: &[u8]) -> String {
    import(kind, bytes, "{}").unwrap_err().to_string()
}
