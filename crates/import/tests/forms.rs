//! Data in other forms: several files, names of fields as in protocol buffers, and times in wrong
//! units.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Cursor;

use accelflow_import::{Kind, Options, import_streams};
use prost::Message;
use serde_json::json;

use crate::common::{
    DAY_US, count, import, jaeger, jaeger_span, lines, messages, otlp_lines, path,
};

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
    let why = "2 spans with times of 2^63 ns (in the year 2262) or later: left out; Jaeger's times \
               must be in microseconds, OTLP's in nanoseconds";
    assert!(text.ends_with(why), "{text}");
}

#[test]
fn times_of_otlp_from_2_to_the_63_on_are_left_out() {
    let text = "1 1 - shop Buy server 0 100 rpc.system=x
                1 2 1 shop pay client 20 80 rpc.system=x
                2 1 - shop Buy server 500 600 rpc.system=x";
    let lines = lines(text);
    let what = "spans with times of 2^63 ns (in the year 2262) or later";
    let pay = ((DAY_US + 20) * 1000, (DAY_US + 80) * 1000);
    for far in ["9223372036854775808", "18446744073709551615"] {
        // Both times, the end, or the start; in JSON as text and as a number.
        for (start, end) in [(true, true), (false, true), (true, false)] {
            for quote in ["\"", ""] {
                let mut json = otlp_lines(&lines);
                for (is_far, ns) in [(start, pay.0), (end, pay.1)] {
                    if is_far {
                        json = json.replace(&format!("\"{ns}\""), &format!("{quote}{far}{quote}"));
                    }
                }
                let found = import(Kind::Otlp, json.as_bytes(), "{}").unwrap();
                assert_eq!(count(&found, "dropped", what), 1, "{far} {start} {end}");
                assert_eq!(path(&found, "Buy"), "T1 100.0 T2");
            }
            let mut all = messages(&lines);
            let span = &mut all[1].resource_spans[0].scope_spans[0].spans[0];
            let far: u64 = far.parse().unwrap();
            span.start_time_unix_nano = if start { far } else { pay.0 as u64 };
            span.end_time_unix_nano = if end { far } else { pay.1 as u64 };
            let bytes: Vec<u8> = all.iter().flat_map(Message::encode_to_vec).collect();
            let found = import(Kind::Otlp, &bytes, "{}").unwrap();
            assert_eq!(count(&found, "dropped", what), 1, "{far} {start} {end}");
        }
    }
    // Far beyond every number of 128 bits.
    let beyond = otlp_lines(&lines).replace(&pay.1.to_string(), &"9".repeat(50));
    let found = import(Kind::Otlp, beyond.as_bytes(), "{}").unwrap();
    assert_eq!(count(&found, "dropped", what), 1);
    let old = in_other_units(1.0).replace(&DAY_US.to_string(), "9223372036854775808");
    let found = import(Kind::Jaeger, old.as_bytes(), "{}").unwrap();
    assert_eq!(count(&found, "dropped", what), 1);
}

#[test]
fn the_order_of_files_changes_nothing() {
    // The second trace shows which operation answers the calls of the first, and a failed attempt
    // that reached no server; and names are met in another order.
    let traces = [
        "1 1 - shop Buy server 0 1000 rpc.system=x
         1 2 1 shop pay client 100 200 rpc.system=x
         1 3 1 shop tell client 100 900 rpc.system=x
         1 4 1 shop ask client 100 800 rpc.system=x",
        "2 1 - shop Buy server 5000 6000 rpc.system=x
         2 2 1 shop pay client 5100 5200 rpc.system=x
         2 3 2 bank Pay server 5110 5190 rpc.system=x
         2 4 1 shop ask client 5100 5800 rpc.system=x
         2 5 1 shop tell client 5100 5900 rpc.system=x",
        "3 1 - shop Try server 9000 9900 rpc.system=x
         3 2 1 shop pay client 9100 9200 rpc.system=x error=true
         3 3 1 shop pay client 9300 9600 rpc.system=x
         3 4 3 bank Pay server 9310 9590 rpc.system=x",
        "4 1 - shop Sell server 12000 12500 rpc.system=x",
        "5 1 - shop Give server 15000 15500 rpc.system=x",
    ];
    let orders = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]];
    let found = orders.map(|order| {
        let files = order.map(|file| {
            let bytes = jaeger(&lines(traces[file])).into_bytes();
            Ok((format!("file{file}"), Cursor::new(bytes)))
        });
        import_streams(Kind::Jaeger, files, &Options::default()).unwrap()
    });
    for other in &found[1..] {
        assert_eq!(other.workload["services"], found[0].workload["services"]);
        for list in ["coverage", "traces"] {
            assert_eq!(other.report[list], found[0].report[list]);
        }
    }
    assert_eq!(path(&found[0], "Buy"), "T1 100.0 T9>Pay|T9|T9 100.0 T2");
    let what = "calls whose server span is missing";
    assert_eq!(count(&found[0], "guessed", what), 1);
    let tried = found[0].workload["services"].as_array().unwrap();
    let tried = tried
        .iter()
        .find(|service| service["name"] == "Try")
        .unwrap();
    assert_eq!(tried["path"][2]["calls"], "Pay");
    assert_eq!(tried["path"][2]["retry"]["odds"], json!(0.5));
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
