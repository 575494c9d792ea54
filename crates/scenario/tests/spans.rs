//! Round trip: a scenario is simulated, its requests are written as spans, the spans are imported,
//! and the workload is the one that was simulated.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::io::Cursor;

use accelflow_import::{Imported, Kind, Options, import_streams};
use accelflow_scenario::{ASSUMED_TCP_COST_NS, Scenario};
use accelflow_trace::templates;
use accelflow_units::Time;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::services::{Chain, Phase, Service};
use accelflow_workload::suites::{Suite, social_network};
use serde_json::{Value, json};

fn round_trip(scenario: Value, options: &str) -> Imported {
    import(spans(scenario), options)
}

/// The lines of the spans of a scenario.
fn spans(scenario: Value) -> Vec<u8> {
    let checked = Scenario::from_json(&scenario.to_string())
        .unwrap()
        .check()
        .unwrap();
    let mut spans = Vec::new();
    let written = checked
        .write_spans(&mut spans, &|_, _| true)
        .unwrap()
        .unwrap();
    let lines = spans.iter().filter(|&&byte| byte == b'\n').count();
    assert!(written > 0 && written == lines as u64, "{written}, {lines}");
    spans
}

fn import(spans: Vec<u8>, options: &str) -> Imported {
    let file = Ok(("spans".to_owned(), Cursor::new(spans)));
    import_streams(Kind::Otlp, [file], &Options::from_json(options).unwrap()).unwrap()
}

/// A chain of a file, without times that are not of the path: the first trace and its facts.
fn chain(chain: &Value) -> Chain {
    let mut made = Chain::new(chain["trace"].as_str().unwrap());
    let facts = chain.get("facts").and_then(Value::as_object);
    for (trace, fields) in facts.into_iter().flatten() {
        for (field, value) in fields.as_object().unwrap() {
            made = made.with(trace, field, value.as_i64().unwrap());
        }
    }
    made
}

/// The phases of a service of a file.
fn phases(service: &Value) -> Vec<Phase> {
    let phase = |phase: &Value| {
        if phase.get("cpu_us").is_some() {
            return Phase::Cpu;
        }
        let times = |chain: &Value| chain.get("times").map_or(1, |n| n.as_u64().unwrap());
        let chains = chains(phase)
            .iter()
            .flat_map(|c| vec![chain(c); times(c) as usize]);
        Phase::Traces(chains.collect())
    };
    service["path"]
        .as_array()
        .unwrap()
        .iter()
        .map(phase)
        .collect()
}

/// The first trace of a chain, and its facts in order.
type Facts = (String, Vec<(String, String, i64)>);

fn sorted_facts(phase: &Phase) -> Vec<Facts> {
    let chains = phase.chains().iter().map(|chain| {
        let facts = chain.facts();
        let mut facts: Vec<_> = facts
            .map(|(t, f, v)| (t.to_owned(), f.to_owned(), v))
            .collect();
        facts.sort();
        (chain.entry().to_owned(), facts)
    });
    chains.collect()
}

fn service<'w>(imported: &'w Imported, name: &str) -> &'w Value {
    let services = imported.workload["services"].as_array().unwrap();
    services.iter().find(|s| s["name"] == name).unwrap()
}

fn same_paths(imported: &Imported, services: &[Service]) {
    for expected in services {
        let found = phases(service(imported, expected.name()));
        assert_eq!(found.len(), expected.path().len(), "{}", expected.name());
        for (found, expected_phase) in found.iter().zip(expected.path()) {
            let name = expected.name();
            assert_eq!(sorted_facts(found), sorted_facts(expected_phase), "{name}");
        }
    }
}

/// The times that the simulator has for `services`.
fn profile(services: &[Service]) -> Profile {
    let image = templates().unwrap().link().unwrap();
    let options = PaperOptions {
        tcp_cost: Time::from_ns_f64(ASSUMED_TCP_COST_NS),
        ..PaperOptions::default()
    };
    Profile::paper_like(services, services, &image, &options).unwrap()
}

/// The chains of a phase of a file.
fn chains(phase: &Value) -> &[Value] {
    let one = std::slice::from_ref(phase);
    phase.get("parallel").map_or(one, |p| p.as_array().unwrap())
}

/// The relative error of `found` against `expected`.
fn error(found: &Value, expected: f64) -> f64 {
    (found.as_f64().unwrap() / expected - 1.0).abs()
}

/// Times come back to the nanosecond, whatever the system makes of the rest of a request.
fn same_times(imported: &Imported, services: &[Service]) {
    let profile = profile(services);
    for of in profile.services() {
        let service_profile = of.service();
        let found = service(imported, service_profile.name());
        let cpu_us = of.app_time().as_ns_f64() / 1e3 / service_profile.cpu_phases() as f64;
        for phase in found["path"].as_array().unwrap() {
            if let Some(time) = phase.get("cpu_us") {
                assert!(error(time, cpu_us) < 1e-3, "{time} for {cpu_us}");
            }
            for chain in chains(phase) {
                let waits = chain.get("waits").and_then(Value::as_object);
                for (trace, wait) in waits.into_iter().flatten() {
                    let expected = profile.waits().of(trace).as_ns_f64() / 1e3;
                    let wait = &wait["constant_us"];
                    assert!(
                        error(wait, expected) < 1e-3,
                        "{trace}: {wait} for {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn social_network_comes_back_with_its_paths_times_and_rates() {
    let services = social_network().unwrap();
    for system in ["accelflow", "non_acc", "relief"] {
        let imported = round_trip(
            json!({
                "workload": "socialnetwork", "profile": "paper", "orchestrators": [system], "requests": 400, "rate_rps": 2000.0,
            }),
            r#"{"strict": true}"#,
        );
        same_paths(&imported, &services);
        same_times(&imported, &services);
        for expected in &services {
            // Of 400 requests the standard error is 5 %.
            let rate = &service(&imported, expected.name())["rate_rps"];
            assert!(error(rate, 2000.0) < 0.15, "{rate}");
        }
        let coverage = imported.report["coverage"].as_array().unwrap();
        assert!(coverage.iter().all(|row| row["share_of_requests"] == 1.0));
    }
}

#[test]
fn calls_by_http_and_statements_come_back() {
    let imported = round_trip(
        json!({
            "workload": "trainticket", "orchestrators": ["accelflow"], "requests": 200,
            "rate_rps": 500.0,
        }),
        "{}",
    );
    same_paths(&imported, &Suite::TrainTicket.services().unwrap());
}

#[test]
fn drawn_facts_come_back_as_odds() {
    let config = json!({
        "facts.cache_miss": 0.2, "facts.rpc_exception": 0.05,
    });
    let imported = round_trip(
        json!({
            "workload": "socialnetwork", "profile": "paper", "orchestrators": ["accelflow"], "requests": 2000,
            "facts": "drawn", "config": config,
        }),
        "{}",
    );
    same_paths(&imported, &social_network().unwrap());
    let read = &service(&imported, "ReadH")["path"][2];
    let hit = read["odds"]["T5"]["hit"].as_f64().unwrap();
    assert!((hit - 0.8).abs() < 0.03, "{read:#}");
    let call = &service(&imported, "ReadH")["path"][4];
    let exception = call["odds"]["T10"]["exception"].as_f64().unwrap();
    assert!((exception - 0.05).abs() < 0.015, "{call:#}");
}

#[test]
fn a_call_that_nobody_waits_for_comes_back_as_one() {
    let facts = "facts = { T10 = { exception = 0, compressed = 0 } }";
    let text = format!(
        "schema = 'accelflow.workload/1'\nname = 'mail'\n[defaults]\nrate_rps = 300\n[[services]]\n\
         name = 'Front'\npath = [{{ trace = 'T1', facts = {{ T1 = {{ compressed = 0 }} }} }},\n\
         {{ cpu_us = 30 }}, {{ trace = 'T9', detached = true, {facts}, waits = {{ T10 = {{ constant_us = 4000 }} }} }},\n\
         {{ cpu_us = 20 }}, {{ trace = 'T9', {facts}, waits = {{ T10 = {{ constant_us = 40 }} }} }},\n\
         {{ cpu_us = 10 }}, {{ trace = 'T2' }}]\n"
    );
    let workload = accelflow_workload::file::read(&text, "mail")
        .unwrap()
        .workload;
    let scenario = json!({
        "workload": workload, "orchestrators": ["accelflow"], "requests": 300, "profile": "paper",
    });
    let imported = round_trip(scenario, "{\"name\": \"mail\"}");
    let path = &service(&imported, "Front")["path"];
    let close = |found: &Value, expected: f64| error(found, expected) < 1e-3;
    assert!(close(&path[1]["cpu_us"], 30.0), "{path}");
    assert_eq!(path[2]["detached"], json!(true), "{path}");
    assert!(
        close(&path[2]["waits"]["T10"]["constant_us"], 4_000.0),
        "{path}"
    );
    assert!(close(&path[3]["cpu_us"], 20.0), "{path}");
    assert_eq!(path[4].get("detached"), None, "{path}");
    assert!(
        close(&path[4]["waits"]["T10"]["constant_us"], 40.0),
        "{path}"
    );
    assert!(close(&path[5]["cpu_us"], 10.0), "{path}");
    assert_eq!(imported.report["dropped"], json!([]));
}

#[test]
fn a_call_beside_one_of_a_simulated_service_comes_back_as_a_wait() {
    let facts = "facts = { T10 = { exception = 0, compressed = 0 } }";
    let begin = "{ trace = 'T1', facts = { T1 = { compressed = 0 } } }";
    let text = format!(
        "schema = 'accelflow.workload/1'\nname = 'mixed'\n[[services]]\nname = 'Front'\nrate_rps = 300\n\
         path = [{begin}, {{ cpu_us = 30 }}, {{ trace = 'T9', calls = 'Stock', {facts} }},\n\
         {{ cpu_us = 20 }}, {{ trace = 'T9', {facts}, waits = {{ T10 = {{ constant_us = 70 }} }} }},\n\
         {{ cpu_us = 10 }}, {{ trace = 'T2' }}]\n\
         [[services]]\nname = 'Stock'\npath = [{begin}, {{ cpu_us = 40 }}, {{ trace = 'T2' }}]\n"
    );
    let read = accelflow_workload::file::read(&text, "mixed").unwrap();
    let scenario = json!({
        "workload": read.workload, "orchestrators": ["accelflow"], "requests": 300, "profile": "paper",
    });
    let imported = import(
        spans(scenario),
        r#"{"name": "mixed", "strict": true, "waits": "constant"}"#,
    );
    let services = imported.workload["services"].as_array().unwrap();
    assert_eq!(services.len(), 2, "{services:#?}");
    let path = &service(&imported, "Front")["path"];
    assert_eq!(path[2]["calls"], json!("Stock"), "{path:#}");
    assert_eq!(path[4].get("calls"), None, "{path:#}");
    assert!(
        error(&path[4]["waits"]["T10"]["constant_us"], 70.0) < 1e-3,
        "{path:#}"
    );
}

/// A front that calls Stock with and without waiting; Stock, on another server, calls Price.
fn shop() -> Value {
    let facts = "facts = { T10 = { exception = 0, compressed = 0 } }";
    let begin = "{ trace = 'T1', facts = { T1 = { compressed = 0 } } }";
    let text = format!(
        "schema = 'accelflow.workload/1'\nname = 'shop'\n\
         [defaults]\nnetwork = {{ constant_us = 12 }}\n\
         [[services]]\nname = 'Front'\nserver = 'web'\nrate_rps = 300\n\
         path = [{begin}, {{ cpu_us = 30 }}, {{ trace = 'T9', calls = 'Stock', {facts} }},\n\
         {{ cpu_us = 20 }}, {{ trace = 'T9', calls = 'Price', detached = true, {facts} }},\n\
         {{ cpu_us = 80 }}, {{ trace = 'T2' }}]\n\
         [[services]]\nname = 'Stock'\nserver = 'back'\n\
         path = [{begin}, {{ cpu_us = 40 }}, {{ trace = 'T9', calls = 'Price', {facts} }},\n\
         {{ cpu_us = 50 }}, {{ trace = 'T2' }}]\n\
         [[services]]\nname = 'Price'\nserver = 'back'\n\
         path = [{begin}, {{ cpu_us = 60 }}, {{ trace = 'T2' }}]\n"
    );
    let read = accelflow_workload::file::read(&text, "shop").unwrap();
    json!({
        "workload": read.workload, "orchestrators": ["accelflow"], "requests": 300, "profile": "paper",
    })
}

#[test]
fn services_that_services_call_come_back() {
    let imported = import(spans(shop()), r#"{"name": "shop", "strict": true}"#);
    assert_eq!(imported.report["dropped"], json!([]));
    let services = imported.workload["services"].as_array().unwrap();
    assert_eq!(services.len(), 3, "{services:#?}");
    let front = service(&imported, "Front");
    assert!(error(&front["rate_rps"], 300.0) < 0.15, "{front:#}");
    let path = &front["path"];
    assert_eq!(path[2]["calls"], json!("Stock"), "{path:#}");
    assert_eq!(path[4]["calls"], json!("Price"), "{path:#}");
    assert_eq!(path[4]["detached"], json!(true), "{path:#}");
    let stock = service(&imported, "Stock");
    assert_eq!(
        stock.get("rate_rps"),
        None,
        "only Front calls it: {stock:#}"
    );
    assert_eq!(stock["path"][2]["calls"], json!("Price"), "{stock:#}");
    for (phase, cpu_us) in [
        (&path[1], 30.0),
        (&path[3], 20.0),
        (&path[5], 80.0),
        (&stock["path"][1], 40.0),
        (&stock["path"][3], 50.0),
        (&service(&imported, "Price")["path"][1], 60.0),
    ] {
        assert!(
            error(&phase["cpu_us"], cpu_us) < 1e-3,
            "{phase} for {cpu_us}"
        );
    }
}

#[test]
fn a_called_request_lies_within_the_call_in_the_same_trace() {
    let lines = String::from_utf8(spans(shop())).unwrap();
    let mut all = HashMap::new();
    let mut servers = Vec::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        for span in line["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .as_array()
            .unwrap()
        {
            let text = |key: &str| span[key].as_str().unwrap().to_owned();
            let time = |key: &str| text(key).parse::<u64>().unwrap();
            let times = (time("startTimeUnixNano"), time("endTimeUnixNano"));
            let key = (text("traceId"), text("spanId"));
            assert!(all.insert(key, times).is_none(), "an ID of its own: {span}");
            if span["kind"] == 2 {
                servers.push((text("traceId"), text("parentSpanId"), text("name"), times));
            }
        }
    }
    let mut called = HashMap::from([("Stock", 0), ("Price", 0)]);
    for (trace, parent, name, (from, to)) in &servers {
        if name == "Front" {
            assert_eq!(parent, "");
            continue;
        }
        let (sent, answered) = all[&(trace.clone(), parent.clone())];
        let network = if name == "Stock" { 12_000 } else { 0 };
        assert!(
            *from >= sent + network,
            "{name} begins at {from}, sent at {sent}"
        );
        if answered > sent {
            assert!(
                answered >= to + network,
                "{name} ends at {to}, answered at {answered}"
            );
        }
        *called.get_mut(name.as_str()).unwrap() += 1;
    }
    let front = servers.iter().filter(|server| server.2 == "Front").count();
    assert!(
        front > 200 && called["Stock"] >= front,
        "{front}, {called:?}"
    );
    assert!(called["Price"] > called["Stock"] * 3 / 2, "{called:?}");
}
