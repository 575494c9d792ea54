//! Data in other forms: several files, names of fields as in protocol buffers, and times in wrong units.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_import::Kind;

use crate::common::{import, lines, otlp_lines};

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
