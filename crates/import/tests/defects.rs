//! Defects of spans are named, counted and repaired. Files without spans are refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;

use accelflow_import::{Kind, Options};
use proptest::prelude::*;
use serde_json::json;

use crate::common::{
    count, delimited, elastic, framed, import, imported, jaeger, jaeger_span, lines, otlp_lines,
    path, protobuf,
};

/// A defect: spans, the list of the report it is in, the beginning of its name, how often it
/// occurs, and the path of `Buy` all the same.
type Defect = (&'static str, &'static str, &'static str, u64, &'static str);

const DEFECTS: [Defect; 15] = [
    (
        "1 1 9 shop Buy server 0 100 rpc.system=x",
        "guessed",
        "missing parents of server spans",
        1,
        "T1 100.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 9 shop lost client 10 20 rpc.system=x",
        "dropped",
        "missing parents of spans that serve no call",
        1,
        "T1 100.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 50 20 rpc.system=x",
        "guessed",
        "spans with a negative duration",
        1,
        "T1 50.0 T9 50.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 20 80 rpc.system=x
         1 3 2 bank Pay server 5 45 rpc.system=x",
        "guessed",
        "clock skew: server spans outside of their client spans",
        1,
        "T1 20.0 T9>Pay 20.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 3 1 bank Pay server 80 120 rpc.system=x",
        "guessed",
        "clock skew: calls without a client span",
        1,
        "T1 60.0 T9>Pay 0.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 20 60 rpc.system=x
         1 3 2 bank Pay server 10 90 rpc.system=x",
        "guessed",
        "server spans longer than their client spans",
        1,
        "T1 20.0 T9>Pay 40.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 20 60 rpc.system=x
         1 2 1 shop pay client 20 60 rpc.system=x",
        "dropped",
        "duplicate span ids: equal spans",
        1,
        "T1 20.0 T9 40.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 20 60 rpc.system=x
         1 2 1 shop other client 70 80 rpc.system=x",
        "dropped",
        "duplicate span ids: different spans",
        1,
        "T1 20.0 T9 40.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 3 shop a client 20 60 rpc.system=x
         1 3 2 shop b client 20 60 rpc.system=x
         1 4 3 shop c client 20 60 rpc.system=x
         1 5 5 shop d client 20 60 rpc.system=x",
        "dropped",
        "cycles",
        4,
        "T1 100.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 20 160 rpc.system=x",
        "guessed",
        "async children: calls that end after their parent",
        1,
        "T1 20.0 T9~ 80.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 120 160 rpc.system=x",
        "guessed",
        "async children: calls that begin after their parent's end",
        1,
        "T1 100.0 T9~ 0.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 >1 shop pay client 20 60 rpc.system=x",
        "understood",
        "async children: calls that only follow from their parent (FOLLOWS_FROM)",
        1,
        "T1 20.0 T9~ 80.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 20 60 rpc.system=x
         1 3 >1 mail Send server 30 400 rpc.system=x
         1 4 >1 mail Send server 35 390 rpc.system=x",
        "understood",
        "async children: calls that only follow from their parent (FOLLOWS_FROM)",
        2,
        "T1 20.0 T9>Send~*2|T9 40.0 T2",
    ),
    (
        "1 1 - shop Buy server 10 100 rpc.system=x
         1 2 1 shop pay client 5 60 rpc.system=x",
        "guessed",
        "calls that begin before their parent",
        1,
        "T1 0.0 T9 40.0 T2",
    ),
    (
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 10 50 rpc.system=x
         1 3 1 shop send client 40 90 rpc.system=x
         1 4 1 shop log client 85 95 rpc.system=x",
        "guessed",
        "calls that begin after one of several parallel calls",
        1,
        "T1 40.0 T9|T9 0.0 T9 5.0 T2",
    ),
];

#[test]
fn defects_are_counted_and_settled() {
    for (spans, list, what, times, expected) in DEFECTS {
        let found = imported(spans);
        assert_eq!(
            count(&found, list, what),
            times,
            "{what}: {:#}",
            found.report
        );
        assert_eq!(path(&found, "Buy"), expected, "{what}");
        let rows = found.report[list].as_array().unwrap();
        let row = rows
            .iter()
            .find(|r| r["what"].as_str().unwrap().starts_with(what));
        let places = row.unwrap()["places"].clone();
        assert_eq!(places, json!(["spans, trace 0000000000000001"]), "{what}");
    }
}

#[test]
fn strict_refuses_each_defect() {
    for (spans, list, what, ..) in DEFECTS {
        let bytes = jaeger(&lines(spans));
        if list == "understood" {
            import(Kind::Jaeger, bytes.as_bytes(), r#"{"strict": true}"#).unwrap();
            continue;
        }
        let refused = import(Kind::Jaeger, bytes.as_bytes(), r#"{"strict": true}"#);
        let text = refused.unwrap_err().to_string();
        assert!(
            text.contains(": not allowed with strict (without strict: "),
            "{what}: {text}"
        );
        let place = "spans, trace 0000000000000001: ";
        assert!(text.starts_with(place), "{text}");
    }
    let sound = jaeger(&lines("1 1 - shop Buy server 0 100 rpc.system=x"));
    import(Kind::Jaeger, sound.as_bytes(), r#"{"strict": true}"#).unwrap();
}

#[test]
fn calls_in_a_circle_have_waits() {
    let found = imported(
        "1 1 - a A server 0 100 rpc.system=x
         1 2 1 a b client 10 90 rpc.system=x
         1 3 2 b B server 10 90 rpc.system=x
         1 4 3 b a client 20 80 rpc.system=x
         1 5 4 a A server 20 80 rpc.system=x
         2 1 - a A server 0 100 rpc.system=x
         2 2 1 a b client 10 90 rpc.system=x",
    );
    let guessed = "calls whose server span is missing";
    assert_eq!(count(&found, "guessed", guessed), 1);
    assert_eq!(
        count(
            &found,
            "guessed",
            "calls in a circle: services that would call themselves"
        ),
        1
    );
    let services = found.workload["services"].as_array().unwrap();
    let called = |name: &str| {
        let service = services.iter().find(|service| service["name"] == name);
        service.unwrap()["path"].to_string().contains("calls")
    };
    assert_ne!(called("A"), called("B"));
}

#[test]
fn ids_that_a_client_shares_with_its_server_are_no_duplicates() {
    let found = imported(
        "1 1 - shop Buy server 0 100 rpc.system=x
         1 2 1 shop pay client 10 90 rpc.system=x
         1 2 1 bank Pay server 20 80 rpc.system=x
         1 3 2 bank note client 30 40 rpc.system=x",
    );
    assert_eq!(path(&found, "Buy"), "T1 10.0 T9>Pay 10.0 T2");
    assert_eq!(path(&found, "Pay"), "T1 10.0 T9 40.0 T2");
    assert_eq!(count(&found, "understood", "span ids that a client"), 1);
}

#[test]
fn kinds_that_are_missing_follow_from_services_stores_and_names() {
    let found = imported(
        "1 1 - shop buy - 0 100
         1 2 1 shop work - 5 95
         1 3 2 shop pay - 10 50
         1 4 3 bank pay_handler - 20 40
         1 5 4 bank mongo_insert - 25 30",
    );
    assert_eq!(path(&found, "buy"), "T1 10.0 T9>pay_handler 50.0 T2");
    assert_eq!(path(&found, "pay_handler"), "T1 5.0 T8 10.0 T2");
    // The span in the middle is internal, so it states no kind.
    assert_eq!(count(&found, "guessed", "spans without a kind"), 4);
}

/// Two traces whose spans alternate.
fn interleaved() -> String {
    (0..200)
        .map(|number| {
            let trace = number % 2 + 1;
            let (at, to) = (number * 10, number * 10 + 5);
            match number / 2 {
                0 => format!("{trace} 1 - shop Buy server 0 9000 rpc.system=x\n"),
                n => format!(
                    "{trace} {:x} 1 shop pay client {at} {to} rpc.system=x\n",
                    n + 1
                ),
            }
        })
        .collect()
}

#[test]
fn spans_of_a_trace_may_be_spread_over_a_file() {
    let spread = elastic(&lines(&interleaved()));
    let found = import(Kind::Jaeger, spread.as_bytes(), "{}").unwrap();
    assert_eq!(count(&found, "understood", "requests"), 2);
    assert_eq!(count(&found, "dropped", "spans that came after"), 0);
    assert_eq!(found.report["coverage"][0]["shapes"], 1);
    // A window that is too small for both closes the first, and says what it cost.
    let small = r#"{"window_spans": 100}"#;
    let found = import(Kind::Jaeger, spread.as_bytes(), small).unwrap();
    assert!(count(&found, "dropped", "spans that came after") > 0);
    assert_eq!(count(&found, "understood", "spans"), 200);
}

fn refusal(kind: Kind, bytes: &[u8]) -> String {
    import(kind, bytes, "{}").unwrap_err().to_string()
}

#[test]
fn files_that_are_no_spans_are_refused_by_name() {
    let spans = lines("1 1 - shop Buy server 0 100 rpc.system=x");
    let jaeger = jaeger(&spans);
    let cut = &jaeger.as_bytes()[..jaeger.len() / 2];
    let otlp = otlp_lines(&spans);
    let both = [Kind::Jaeger, Kind::Otlp];
    for kind in both {
        assert_eq!(refusal(kind, b""), "FILE = 'spans': must not be empty");
        assert!(refusal(kind, b"\x00\x01\x02\x03\x04\x05").contains("begins with the byte 0x00"));
        assert!(refusal(kind, b"{}").contains("must have at least one request"));
        assert!(refusal(kind, b"{\"data\": 3}").contains("spans:1:"));
    }
    let text = refusal(Kind::Jaeger, cut);
    let offset = format!("(byte {})", cut.len());
    assert!(
        text.contains("ends in the middle") && text.contains(&offset),
        "{text}"
    );
    // The bytes of a byte-order mark count.
    let marked = [b"\xef\xbb\xbf", cut].concat();
    let text = refusal(Kind::Jaeger, &marked);
    assert!(text.contains(&format!("(byte {})", marked.len())), "{text}");
    let text = refusal(Kind::Otlp, jaeger.as_bytes());
    assert!(
        text.ends_with("the file is Jaeger's JSON, not OTLP: choose the kind `jaeger`"),
        "{text}"
    );
    let text = refusal(Kind::Jaeger, otlp.as_bytes());
    assert!(
        text.ends_with("the file is OTLP, not Jaeger's JSON: choose the kind `otlp`"),
        "{text}"
    );
    let text = refusal(Kind::Otlp, &protobuf(&spans)[..40]);
    assert!(text.contains("longer than its message") || text.contains("ends in the middle"));
    let text = refusal(Kind::Otlp, &framed(&spans)[..40]);
    assert!(text.contains("ends in the middle"), "{text}");
    let text = refusal(Kind::Otlp, br#"{"resourceMetrics": []}"#);
    assert!(text.contains("metrics or logs"), "{text}");
}

#[test]
fn values_of_a_wrong_type_are_refused_in_plain_words() {
    let long = format!("{{\"data\": \"{}\"}}", "long ".repeat(100));
    let cut = format!("not the text \"{}...\"", "long ".repeat(100).split_at(59).0);
    let of_jaeger = "must be an answer of Jaeger's API, a trace or a span";
    for (kind, file, why) in [
        (
            Kind::Otlp,
            r#"{"resourceSpans": 3}"#,
            "must be a list, not the number 3",
        ),
        (
            Kind::Otlp,
            r#"{"resourceSpans": {}}"#,
            "must be a list, not an object",
        ),
        (
            Kind::Otlp,
            r#"{"resourceSpans": [[]]}"#,
            "must be an object of OTLP, not a list",
        ),
        (
            Kind::Otlp,
            r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": true}]}]}]}"#,
            "must be a string, not true",
        ),
        (
            Kind::Otlp,
            r#"{"resourceSpans": [{"resource": {"attributes": "at line 3, expected x"}}]}"#,
            "must be a list, not the text \"at line 3, expected x\"",
        ),
        (
            Kind::Jaeger,
            r#"{"processes": {"p1": 1.5}}"#,
            "must be an object, not the number 1.5",
        ),
        (
            Kind::Jaeger,
            r#"{"data": [7]}"#,
            &format!("{of_jaeger}, not the number 7"),
        ),
        (Kind::Jaeger, &long, &format!("{of_jaeger}, {cut}")),
        (
            Kind::Jaeger,
            r#"{"data": }"#,
            "must be valid JSON: expected value",
        ),
        (
            Kind::Jaeger,
            r#"{"data": ["#,
            "the file ends in the middle of a JSON document",
        ),
    ] {
        let text = refusal(kind, file.as_bytes());
        assert!(text.starts_with("spans:1:"), "{text}");
        assert!(text.ends_with(why), "{text}: {why}");
    }
}

#[test]
fn files_compressed_by_gzip_are_read_and_a_cut_one_is_refused() {
    let json = jaeger(&lines("1 1 - shop Buy server 0 100 rpc.system=x"));
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zip.write_all(json.as_bytes()).unwrap();
    let zipped = zip.finish().unwrap();
    let found = import(Kind::Jaeger, &zipped, "{}").unwrap();
    assert_eq!(path(&found, "Buy"), "T1 100.0 T2");
    import(Kind::Jaeger, &zipped[..zipped.len() / 2], "{}").unwrap_err();
}

#[test]
fn a_file_without_an_end_of_its_spans_is_refused_and_not_kept_in_memory() {
    let mut text = "{\"data\": [{\"traceID\": \"".to_owned();
    text.push_str(&"a".repeat(65 << 20));
    let refused = refusal(Kind::Jaeger, text.as_bytes());
    assert!(
        refused.contains("more than 64 MiB without a span"),
        "{refused}"
    );
}

#[test]
fn options_are_refused_by_name() {
    let refused = |text: &str| Options::from_json(text).unwrap_err().to_string();
    assert!(refused(r#"{"samplign": 1}"#).contains("did you mean sampling?"));
    assert!(refused(r#"{"sampling": 0}"#).contains("sampling = 0: must be above 0"));
    assert!(refused(r#"{"calls": "fitt"}"#).contains("did you mean fit?"));
    assert!(refused(r#"{"strict": 1}"#).contains("must be true or false"));
    assert!(refused(r#"{"name": "a b"}"#).contains("must be 1 to 64 letters"));
    assert!(refused("[]").contains("must be a JSON object"));
}

#[test]
fn references_into_other_traces_are_no_parents() {
    let mut span = jaeger_span(&lines("1 1 9 shop Buy server 0 100 rpc.system=x")[0]);
    span["references"][0]["traceID"] = json!("77");
    span["process"] = json!({"serviceName": "shop"});
    let found = import(Kind::Jaeger, span.to_string().as_bytes(), "{}").unwrap();
    assert_eq!(count(&found, "guessed", "missing parents"), 0);
    assert_eq!(path(&found, "Buy"), "T1 100.0 T2");
}

fn any_spans() -> impl Strategy<Value = String> {
    let kinds = ["-", "server", "client", "internal", "producer"];
    let extras = [
        "",
        "error=true",
        "db.system=redis",
        "db.system=mysql",
        "rpc.system=x",
    ];
    let span = (
        1..4u8,
        1..9u8,
        0..9u8,
        0..3u8,
        0..5usize,
        0..60i32,
        -5..60i32,
        0..5usize,
    );
    let line = move |(trace, id, parent, service, kind, start, length, extra): (
        u8,
        u8,
        u8,
        u8,
        usize,
        i32,
        i32,
        usize,
    )| {
        let parent = if parent == 0 {
            "-".to_owned()
        } else {
            parent.to_string()
        };
        let end = start + length;
        let (kind, extra) = (kinds[kind], extras[extra]);
        format!("{trace} {id} {parent} s{service} op{id} {kind} {start} {end} {extra}\n")
    };
    prop::collection::vec(span.prop_map(line), 1..40).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_spans_become_a_workload_that_all_formats_agree_on(text in any_spans()) {
        let lines = lines(&text);
        let one = import(Kind::Otlp, otlp_lines(&lines).as_bytes(), "{}");
        let two = import(Kind::Otlp, &delimited(&lines), "{}");
        match (one, two) {
            (Ok(one), Ok(two)) => {
                prop_assert_eq!(&one.workload["services"], &two.workload["services"]);
                prop_assert_eq!(&one.report["dropped"], &two.report["dropped"]);
                let spans = count(&one, "understood", "spans");
                prop_assert_eq!(spans, lines.len() as u64);
            }
            (one, two) => {
                let same = one.map(drop).map_err(|e| e.to_string());
                prop_assert_eq!(same, two.map(drop).map_err(|e| e.to_string()));
            }
        }
    }
}
