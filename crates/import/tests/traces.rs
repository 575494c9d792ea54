//! The traces that importers write: they compile with the paper's, and services walk them to their
//! ends.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_import::Kind;
use accelflow_trace::source::{Nodes, branch, seq, tail};
use accelflow_trace::{Image, Library, templates};
use accelflow_workload::services::{Chain, Phase, Service};
use serde_json::Value;
use std::path::{Path, PathBuf};

use crate::common::{import, imported};

/// Requests that need every trace that is not the paper's.
const ALL: &str = "
    1 1 - web home server 0 900 http.method=GET
    1 2 1 web get client 10 20 db.system=redis db.operation=GET
    1 3 1 web find client 30 40 db.system=mongodb db.operation=find
    1 4 1 web select client 50 60 db.system=mysql db.operation=SELECT
    1 5 1 web mget client 70 80 db.system=redis db.operation=GET cache.hit=false
    1 6 1 web call client 90 99 http.method=GET
    2 1 - web home server 1000 1900 http.method=GET error=true
    2 2 1 web get client 1010 1020 db.system=redis db.operation=GET
    2 3 1 web find client 1030 1040 db.system=mongodb db.operation=find
    2 4 1 web select client 1050 1060 db.system=mysql db.operation=SELECT
    2 5 1 web mget client 1070 1080 db.system=redis db.operation=GET cache.hit=false
    2 6 1 web call client 1090 1099 http.method=GET http.status_code=500
";

/// The trace memory of the paper's traces and those that `workload` brings.
fn image(workload: &Value) -> Image {
    let mut library: Library = templates().unwrap();
    for traces in workload
        .get("traces")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        for (name, nodes) in read(traces["source"].as_str().unwrap()) {
            library.register(&name, nodes).unwrap();
        }
    }
    library.link().unwrap()
}

/// The traces of a text that an importer has written: what it uses of the language, and no more.
fn read(text: &str) -> Vec<(String, Nodes)> {
    let lines: Vec<(usize, &str)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| (line.len() - line.trim_start().len(), line.trim()))
        .collect();
    let mut traces = Vec::new();
    let mut rest = lines.as_slice();
    while let Some(((_, head), below)) = rest.split_first() {
        let name = head
            .strip_prefix("trace ")
            .unwrap()
            .strip_suffix(':')
            .unwrap();
        let (body, others) = indented(below, 0);
        traces.push((name.to_owned(), nodes(body)));
        rest = others;
    }
    traces
}

type Lines<'l, 't> = &'l [(usize, &'t str)];

fn indented<'l, 't>(lines: Lines<'l, 't>, depth: usize) -> (Lines<'l, 't>, Lines<'l, 't>) {
    let end = lines.iter().position(|(indent, _)| *indent <= depth);
    lines.split_at(end.unwrap_or(lines.len()))
}

fn nodes(mut lines: Lines<'_, '_>) -> Nodes {
    let mut nodes = Nodes::new();
    while let Some(((indent, line), below)) = lines.split_first() {
        let (arms, others) = indented(below, *indent);
        lines = others;
        if let Some(condition) = line.strip_prefix("branch ") {
            let (condition, expected) = match condition.split_once("   (expected: ") {
                Some((condition, expected)) => (condition, Some(expected == "true)")),
                None => (condition, None),
            };
            let mut both = [Nodes::new(), Nodes::new()];
            let mut rest = arms;
            while let Some(((depth, title), below)) = rest.split_first() {
                let (arm, others) = indented(below, *depth);
                both[usize::from(*title == "on false:")] = self::nodes(arm);
                rest = others;
            }
            let [on_true, on_false] = both;
            let made = branch(condition, on_true, on_false).unwrap();
            nodes.push(match expected {
                Some(expected) => made.expecting(expected),
                None => made,
            });
        } else if let Some(next) = line.strip_prefix("tail ") {
            nodes.push(tail(next));
        } else {
            nodes.extend(seq(&[line]).unwrap());
        }
    }
    nodes
}

/// The services of a workload, as far as walking needs them.
fn services(workload: &Value) -> Vec<Service> {
    let services = workload["services"].as_array().unwrap().iter();
    let made = services.map(|service| {
        let path = service["path"].as_array().unwrap().iter().map(phase);
        let name = service["name"].as_str().unwrap();
        Service::new(name, name, path.collect()).unwrap()
    });
    made.collect()
}

fn phase(phase: &Value) -> Phase {
    if phase.get("cpu_us").is_some() {
        return Phase::Cpu;
    }
    let one = std::slice::from_ref(phase);
    let chains = phase.get("parallel").map_or(one, |p| p.as_array().unwrap());
    let chains = chains.iter().flat_map(|chain| {
        let mut made = Chain::new(chain["trace"].as_str().unwrap());
        let facts = chain.get("facts").and_then(Value::as_object);
        for (trace, fields) in facts.into_iter().flatten() {
            for (field, value) in fields.as_object().unwrap() {
                made = made.with(trace, field, value.as_i64().unwrap());
            }
        }
        vec![
            made;
            chain
                .get("times")
                .map_or(1, |times| times.as_u64().unwrap() as usize)
        ]
    });
    Phase::Traces(chains.collect())
}

#[test]
fn all_own_traces_compile_and_are_walked() {
    let found = imported(ALL);
    let source = found.workload["traces"][0]["source"].as_str().unwrap();
    let own = [
        "HttpReceive",
        "HttpCall",
        "DatabaseRead",
        "ReadThrough",
        "CacheOnly",
    ];
    for name in own {
        assert!(source.contains(&format!("trace {name}:\n")), "{source}");
    }
    let image = image(&found.workload);
    for service in services(&found.workload) {
        service.walk(&image).unwrap();
    }
    let used: Vec<_> = found.report["traces"].as_array().unwrap().iter().collect();
    assert!(used.iter().all(|row| row["own"] == true), "{used:?}");
}

/// The capture of twenty requests of DeathStarBench: in the folder that `ACCELFLOW_PUBLISHED` names
/// or in `shared/data` beside the project, if it is there.
#[test]
fn the_capture_of_social_network_has_the_suites_services() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("ACCELFLOW_PUBLISHED").map_or(beside, PathBuf::from);
    let file = folder.join("deathstarbench/jaeger_compose_post.json.gz");
    if !file.exists() {
        return;
    }
    let bytes = std::fs::read(&file).unwrap();
    let found = import(Kind::Jaeger, &bytes, "{}").unwrap();
    assert_eq!(crate::common::count(&found, "understood", "spans"), 660);
    assert_eq!(crate::common::count(&found, "understood", "requests"), 240);
    assert_eq!(found.workload["services"].as_array().unwrap().len(), 12);
    let image = image(&found.workload);
    for service in services(&found.workload) {
        service.walk(&image).unwrap();
    }
    let timeline = crate::common::path(&found, "write_home_timeline_server");
    assert!(timeline.contains("T9>get_followers_server"), "{timeline}");
    let mentions = crate::common::path(&found, "compose_user_mentions_server");
    assert!(mentions.contains("ReadThrough"), "{mentions}");
    let rows = found.report["coverage"].as_array().unwrap();
    assert!(
        rows.iter()
            .all(|row| row["share_of_requests"].as_f64() >= Some(0.7))
    );
}
