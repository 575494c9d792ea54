//! What spans become: paths, traces, odds, waits and rates, with answers that are known.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_import::{Imported, Kind};
use serde_json::json;

use crate::common::{
    count, delimited, elastic, framed, import, imported, jaeger, lines, otlp_lines, path, protobuf,
};

/// A checkout: two calls at once, one after them, and a cache; 1,000 us apart.
const SHOP: &str = "
    1 1 - front Checkout server 0 500 rpc.system=grpc
    1 2 1 front getStock client 50 150 rpc.system=grpc
    1 3 2 stock Stock server 60 140 rpc.system=grpc
    1 4 1 front getPrice client 60 200 http.method=GET
    1 5 1 front charge client 250 400 rpc.system=grpc
    1 6 3 stock get client 70 90 db.system=redis db.operation=GET
    2 1 - front Checkout server 1000 1500 rpc.system=grpc
    2 2 1 front getStock client 1050 1150 rpc.system=grpc
    2 3 2 stock Stock server 1060 1140 rpc.system=grpc
    2 4 1 front getPrice client 1060 1200 http.method=GET
    2 5 1 front charge client 1250 1400 rpc.system=grpc
    2 6 3 stock get client 1070 1090 db.system=redis db.operation=GET
";

#[test]
fn calls_become_chains_in_sequence_and_at_once() {
    let shop = imported(SHOP);
    // The calls at once start 10 us apart, and the later one ends last.
    let expected = "T1 60.0 T9>Stock|T11 50.0 T9 100.0 T2";
    assert_eq!(path(&shop, "Checkout"), expected);
    assert_eq!(path(&shop, "Stock"), "T1 10.0 T4 50.0 T2");
    assert_eq!(count(&shop, "understood", "requests"), 4);
    assert_eq!(shop.report["guessed"], json!([]));
    assert_eq!(shop.report["dropped"], json!([]));
    let charge = &shop.workload["services"][0]["path"][4];
    assert_eq!(charge["waits"], json!({"T10": {"constant_us": 150.0}}));
    let coverage = &shop.report["coverage"][0];
    assert_eq!(coverage["share_of_time"], 1.0);
}

#[test]
fn all_formats_give_the_same_workload() {
    let lines = lines(SHOP);
    let expected = imported(SHOP).workload;
    let others = [
        (Kind::Jaeger, elastic(&lines).into_bytes()),
        (Kind::Otlp, otlp_lines(&lines).into_bytes()),
        (Kind::Otlp, protobuf(&lines)),
        (Kind::Otlp, framed(&lines)),
        (Kind::Otlp, delimited(&lines)),
    ];
    for (kind, bytes) in others {
        let other = import(kind, &bytes, "{}").unwrap().workload;
        assert_eq!(other["services"], expected["services"]);
    }
}

#[test]
fn rates_are_those_of_requests_that_no_request_makes() {
    let mut text = String::new();
    for number in 0..101 {
        let at = number * 10_000;
        text += &format!(
            "{number:x} 1 - front Ask server {at} {} rpc.system=x\n\
             {number:x} 2 1 front ask client {at} {} rpc.system=x\n\
             {number:x} 3 2 back Answer server {at} {} rpc.system=x\n",
            at + 100,
            at + 90,
            at + 80
        );
    }
    let bytes = jaeger(&lines(&text));
    let all = import(Kind::Jaeger, bytes.as_bytes(), "{}").unwrap();
    // 100 times of 10 ms between 101 requests.
    assert_eq!(all.workload["services"][0]["name"], "Ask");
    assert_eq!(all.workload["services"][0]["rate_rps"], 100.0);
    assert_eq!(all.workload["services"][1].get("rate_rps"), None);
    let tenth = import(Kind::Jaeger, bytes.as_bytes(), r#"{"sampling": 0.1}"#).unwrap();
    assert_eq!(tenth.workload["services"][0]["rate_rps"], 1000.0);
    let fitted = import(Kind::Jaeger, bytes.as_bytes(), r#"{"calls": "fit"}"#).unwrap();
    assert_eq!(path(&fitted, "Ask"), "T1 0.0 T9 10.0 T2");
    assert!(fitted.workload["services"][1]["rate_rps"].as_f64().unwrap() > 99.0);
}

#[test]
fn a_share_of_application_time_can_be_given() {
    let bytes = jaeger(&lines(SHOP));
    let half = import(Kind::Jaeger, bytes.as_bytes(), r#"{"app_share": 0.5}"#).unwrap();
    let expected = "T1 30.0 T9>Stock|T11 25.0 T9 50.0 T2";
    assert_eq!(path(&half, "Checkout"), expected);
}

/// Requests that read a cache; of `misses` of ten the database is read, and perhaps the cache
/// refilled.
fn reads(misses: usize, refill: bool) -> String {
    let mut text = String::new();
    for number in 0..10 {
        text += &format!(
            "{number:x} 1 - shop Read server 0 400 rpc.system=x
             {number:x} 2 1 shop find client 10 30 db.system=memcached db.operation=get\n"
        );
        if number < misses {
            text += &format!(
                "{number:x} 3 1 shop find client 50 150 db.system=mongodb db.operation=find\n"
            );
        }
        if number < misses && refill {
            text += &format!(
                "{number:x} 4 1 shop set client 160 180 db.system=memcached db.operation=set\n"
            );
        }
    }
    text
}

#[test]
fn misses_of_a_cache_are_a_branch_and_not_another_shape() {
    let refilled = imported(&reads(3, true));
    assert_eq!(refilled.report["coverage"][0]["shapes"], 1);
    let chain = &refilled.workload["services"][0]["path"][2];
    assert_eq!(chain["trace"], "T4");
    assert_eq!(chain["odds"], json!({"T5": {"hit": 0.7}}));
    assert_eq!(chain["waits"]["T6"], json!({"constant_us": 100.0}));
    assert_eq!(chain["waits"]["T5"], json!({"constant_us": 20.0}));
    // The paper's trace refills the cache: where nothing does, the trace is another one.
    let plain = imported(&reads(3, false));
    let chain = &plain.workload["services"][0]["path"][2];
    assert_eq!(chain["trace"], "ReadThrough");
    assert_eq!(chain["odds"], json!({"ReadThroughCache": {"hit": 0.7}}));
    let source = plain.workload["traces"][0]["source"].as_str().unwrap();
    assert!(source.contains("trace ReadThroughData:"), "{source}");
}

#[test]
fn a_hit_that_attributes_show_needs_no_database() {
    let text = "
        1 1 - shop Read server 0 100 rpc.system=x
        1 2 1 shop get client 10 30 db.system=redis db.operation=GET cache.hit=true
        2 1 - shop Read server 0 100 rpc.system=x
        2 2 1 shop get client 10 30 db.system=redis db.operation=GET cache.hit=false
    ";
    let found = imported(text);
    let chain = &found.workload["services"][0]["path"][2];
    assert_eq!(chain["trace"], "CacheOnly");
    assert_eq!(chain["odds"], json!({"CacheOnlyAnswer": {"hit": 0.5}}));
}

#[test]
fn statements_are_reads_and_writes() {
    let text = "
        1 1 - shop Work server 0 900 rpc.system=x
        1 2 1 shop a client 10 20 db.system=postgresql db.statement=SELECT
        1 3 1 shop b client 30 40 db.system=postgresql db.statement=INSERT
        1 4 1 shop c client 50 60 db.system=redis db.operation=SET
        1 5 1 shop d producer 70 80 messaging.system=kafka
    ";
    let found = imported(text);
    let expected = "T1 10.0 DatabaseRead 10.0 T8 10.0 T8 10.0 T8 820.0 T2";
    assert_eq!(path(&found, "Work"), expected);
}

#[test]
fn an_error_that_ends_a_request_is_an_exception_of_its_call() {
    let mut text = String::new();
    for number in 0..10 {
        let fails = if number == 0 { "error=true" } else { "" };
        text += &format!(
            "{number:x} 1 - shop Buy server 0 300 rpc.system=x {fails}
             {number:x} 2 1 shop pay client 10 100 rpc.system=x {fails}\n"
        );
        if number > 0 {
            text += &format!("{number:x} 3 1 shop send client 150 200 rpc.system=x\n");
        }
    }
    let found = imported(&text);
    assert_eq!(found.report["coverage"][0]["shapes"], 1);
    let chain = &found.workload["services"][0]["path"][2];
    assert_eq!(
        chain["facts"]["T10"],
        json!({"exception": 0, "compressed": 0})
    );
    assert_eq!(chain["odds"], json!({"T10": {"exception": 0.1}}));
}

#[test]
fn a_call_again_after_an_error_is_a_retry() {
    let mut text = String::new();
    for number in 0..4 {
        text += &format!("{number:x} 1 - shop Buy server 0 500 rpc.system=x\n");
        if number == 0 {
            text += "0 2 1 shop pay client 10 100 rpc.system=x error=true\n";
        }
        text += &format!("{number:x} 3 1 shop pay client 150 200 rpc.system=x\n");
    }
    let found = imported(&text);
    let chain = &found.workload["services"][0]["path"][2];
    let expected = json!({"odds": 0.2, "attempts": 9, "backoff_us": 90.0});
    assert_eq!(chain["retry"], expected);
    assert_eq!(found.report["coverage"][0]["shapes"], 1);
}

#[test]
fn rare_shapes_are_services_of_their_own_or_are_counted() {
    let mut text = String::new();
    for number in 0..10 {
        text += &format!("{number:x} 1 - shop Buy server {number}000 {number}500 rpc.system=x\n");
        for call in 0..[1, 1, 1, 1, 1, 1, 2, 2, 3, 4][number] {
            let at = number * 1000 + call * 100 + 10;
            text += &format!(
                "{number:x} {} 1 shop pay client {at} {} rpc.system=x\n",
                call + 2,
                at + 50
            );
        }
    }
    let bytes = jaeger(&lines(&text));
    let two = import(Kind::Jaeger, bytes.as_bytes(), r#"{"shapes": 2}"#).unwrap();
    let names: Vec<_> = two.workload["services"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    assert_eq!(names.len(), 2);
    assert_eq!(names[1]["name"], "Buy.2");
    assert_eq!(count(&two, "dropped", "requests from outside"), 2);
    let coverage = &two.report["coverage"][0];
    assert_eq!(coverage["shapes"], 4);
    assert_eq!(coverage["share_of_requests"], 0.8);
    assert_eq!(coverage["share_of_rate"], 0.8);
    let rates = |found: &Imported| -> Vec<f64> {
        let services = found.workload["services"].as_array().unwrap();
        services
            .iter()
            .map(|s| s["rate_rps"].as_f64().unwrap())
            .collect()
    };
    // Ten starts in 9 ms: 1,000 a second, of which 600 and 200 are of the kept shapes.
    assert_eq!(rates(&two), [600.0, 200.0]);
    let whole = r#"{"shapes": 2, "rates": "operation"}"#;
    let whole = import(Kind::Jaeger, bytes.as_bytes(), whole).unwrap();
    assert_eq!(rates(&whole), [750.0, 250.0]);
    assert_eq!(count(&whole, "guessed", "requests from outside"), 2);
    assert_eq!(whole.report["dropped"], json!([]));
    let coverage = &whole.report["coverage"][0];
    assert_eq!(coverage["share_of_requests"], 0.8);
    assert_eq!(coverage["share_of_rate"], 1.0);
}

/// Two requests that call Pay, and one that calls Ship, which calls Box.
const RARELY_CALLED: &str = "
    1 1 - shop Buy server 0 100 rpc.system=x
    1 2 1 shop pay client 10 50 rpc.system=x
    1 3 2 bank Pay server 20 40 rpc.system=x
    2 1 - shop Buy server 1000 1100 rpc.system=x
    2 2 1 shop pay client 1010 1050 rpc.system=x
    2 3 2 bank Pay server 1020 1040 rpc.system=x
    3 1 - shop Buy server 2000 2100 rpc.system=x
    3 2 1 shop ship client 2010 2050 rpc.system=x
    3 3 2 post Ship server 2020 2040 rpc.system=x
    3 4 3 post box client 2025 2035 rpc.system=x
    3 5 4 wood Box server 2026 2034 rpc.system=x
";

#[test]
fn operations_that_only_left_out_requests_call_are_left_out() {
    let bytes = jaeger(&lines(RARELY_CALLED));
    let import = |options| import(Kind::Jaeger, bytes.as_bytes(), options).unwrap();
    let services = |found: &Imported| -> Vec<String> {
        let services = found.workload["services"].as_array().unwrap().iter();
        services
            .map(|service| service["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let topic = "requests of called operations whose callers are left out";
    let most = import(r#"{"shapes": 1}"#);
    assert_eq!(services(&most), ["Buy", "Pay"]);
    assert_eq!(count(&most, "dropped", topic), 2);
    let coverage = most.report["coverage"].as_array().unwrap();
    let row = |operation: &str| {
        let found = coverage.iter().find(|row| row["operation"] == operation);
        let row = found.unwrap();
        (row["service"].clone(), row["share_of_requests"].clone())
    };
    assert_eq!(row("Ship"), (json!(null), json!(0.0)));
    assert_eq!(row("Pay"), (json!("Pay"), json!(1.0)));
    let all = import("{}");
    assert_eq!(services(&all), ["Buy", "Buy.2", "Pay", "Ship", "Box"]);
    assert_eq!(count(&all, "dropped", topic), 0);
}

#[test]
fn a_shape_from_outside_stays_if_nothing_calls_the_most_common_one() {
    let begin = |trace: u32| {
        let (from, to) = (trace * 1000, trace * 1000 + 100);
        format!("{trace} 1 - shop Buy server {from} {to} rpc.system=x\n")
    };
    let call = |trace: u32, number: u32, at: u32, name: &str| {
        let (span, from, to) = (number * 10, trace * 1000 + at, trace * 1000 + at + 20);
        format!("{trace} {span} 1 shop {name} client {from} {to} rpc.system=x\n")
    };
    let mut text = String::new();
    for trace in 1..4 {
        text += &(begin(trace) + &call(trace, 1, 10, "pay"));
    }
    for trace in 4..7 {
        text += &(begin(trace) + &call(trace, 1, 10, "pay") + &call(trace, 2, 40, "pay"));
    }
    text += &begin(7);
    for (number, at) in [(1, 10), (2, 40)] {
        text += &call(7, number, at, "ship");
        let (from, to) = (7000 + at, 7000 + at + 20);
        text += &format!(
            "7 {number}1 {number}0 post Ship server {from} {to} rpc.system=x
             7 {number}2 {number}1 post box client {from} {to} rpc.system=x\n"
        );
    }
    text += "8 1 - post Ship server 8000 8100 rpc.system=x\n";
    let bytes = jaeger(&lines(&text));
    let found = import(Kind::Jaeger, bytes.as_bytes(), r#"{"shapes": 2}"#).unwrap();
    let services = found.workload["services"].as_array().unwrap().iter();
    let names: Vec<&str> = services.map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Buy", "Buy.2", "Ship"]);
    // The two requests of the most common shape are left out, as are those that call them.
    assert_eq!(path(&found, "Ship"), "T1 100.0 T2");
    let topic = "requests of called operations whose callers are left out";
    assert_eq!(count(&found, "dropped", topic), 2);
}

#[test]
fn a_service_that_another_of_its_operation_calls_is_simulated() {
    let found = imported(
        "1 1 - a A server 0 100 rpc.system=x
         1 2 1 a b client 10 90 rpc.system=x
         1 3 2 b B server 10 90 rpc.system=x
         1 4 3 b a client 20 40 rpc.system=x
         1 5 4 a A server 20 40 rpc.system=x
         1 6 3 b a client 50 70 rpc.system=x
         1 7 6 a A server 50 70 rpc.system=x
         2 1 - a A server 1000 1100 rpc.system=x
         2 2 1 a b client 1010 1090 rpc.system=x
         2 3 2 b B server 1010 1090 rpc.system=x
         2 4 3 b a client 1020 1040 rpc.system=x
         2 5 4 a A server 1020 1040 rpc.system=x
         2 6 3 b a client 1050 1070 rpc.system=x
         2 7 6 a A server 1050 1070 rpc.system=x",
    );
    assert_eq!(path(&found, "A.2"), "T1 10.0 T9>B 10.0 T2");
    assert_eq!(path(&found, "B"), "T1 10.0 T9>A 10.0 T9>A 20.0 T2");
    assert_eq!(path(&found, "A"), "T1 20.0 T2");
}

#[test]
fn requests_by_http_have_traces_of_their_own() {
    let text = "
        1 1 - web GET_/home server 0 100 http.method=GET http.response.header.content-encoding=gzip
        1 2 1 web up client 10 50 http.method=GET http.status_code=503
    ";
    let found = imported(text);
    let home = "GET_-home";
    assert_eq!(
        path(&found, home),
        "HttpReceive 10.0 T11 50.0 HttpRespond+Cmp"
    );
    assert_eq!(found.workload["services"][0]["method"], "GET_/home");
    // The server span has no error: the caller has coped with that of the call.
    assert_eq!(count(&found, "guessed", "errors of calls"), 1);
}

#[test]
fn messages_without_an_encoding_are_not_compressed() {
    let mut text = String::new();
    for number in 1..9 {
        let (at, to) = (number * 1000, number * 1000 + 100);
        let encoding = "rpc.grpc.response.metadata.grpc-encoding=gzip";
        let encoding = if number < 3 { encoding } else { "rpc.system=x" };
        text += &format!(
            "{number} 1 - shop Buy server {at} {to} {encoding}
             {number} 2 1 shop pay client {at} {to} {encoding}\n"
        );
    }
    let found = imported(&text);
    assert_eq!(path(&found, "Buy"), "T1 0.0 T9 0.0 T2");
    let call = &found.workload["services"][0]["path"][2];
    assert_eq!(call["odds"], json!({"T10": {"compressed": 0.25}}));
}

#[test]
fn sizes_of_messages_are_kept() {
    let sizes = "rpc.system=x rpc.request.size=100 rpc.response.size=900";
    let text = format!(
        "1 1 - shop Buy server 0 300 {sizes}
         1 2 1 shop pay client 10 100 {sizes}"
    );
    let found = imported(&text);
    let path = &found.workload["services"][0]["path"];
    assert_eq!(path[0]["sizes"], json!({"fixed_bytes": 100}));
    assert_eq!(path[4]["sizes"], json!({"fixed_bytes": 900}));
    let both = json!([{"fixed_bytes": 100}, {"fixed_bytes": 900}]);
    assert_eq!(path[2]["sizes"], both);
}

#[test]
fn waits_are_quantiles_or_what_the_option_says() {
    let mut text = String::new();
    for number in 0..101 {
        text += &format!(
            "{number:x} 1 - shop Buy server 0 300 rpc.system=x
             {number:x} 2 1 shop pay client 10 {} rpc.system=x\n",
            10 + number
        );
    }
    let bytes = jaeger(&lines(&text));
    let wait = |options: &str| {
        let found = import(Kind::Jaeger, bytes.as_bytes(), options).unwrap();
        found.workload["services"][0]["path"][2]["waits"]["T10"].clone()
    };
    let quantiles = wait("{}");
    let points = quantiles["quantiles_us"].as_array().unwrap();
    assert_eq!(points[0], json!([0.0, 0.0]));
    assert_eq!(points[7], json!([0.5, 50.0]));
    assert_eq!(points[16], json!([1.0, 100.0]));
    assert_eq!(
        wait(r#"{"waits": "constant"}"#),
        json!({"constant_us": 50.0})
    );
    let fitted = wait(r#"{"waits": "log-normal"}"#);
    assert!(fitted["log_normal"]["sigma"].as_f64().unwrap() > 0.1);
}
