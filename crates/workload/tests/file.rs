//! Workloads' files: reading and refusals.

#![allow(clippy::unwrap_used)]

use accelflow_workload::file::{Cpu, CpuTime, Phase, Rate, Timed, json_schema, read, write};
use proptest::prelude::*;

const SHOP: &str = r#"schema = "accelflow.workload/1"
name = "shop"
description = "Checkout of a web shop."

[[traces]]
source = """
trace front
    TCP Decr
"""

[defaults]
rate_rps = 2000
slo_us = 800.0
arrivals = { process = "poisson" }
sizes = { preset = "fleet" }
waits = { other = { constant_us = 5 }, T5 = { constant_us = 72 } }

[[services]]
name = "Checkout"
rate_rps = 500.0
rate_share = 1.3
app_us = 120.0
path = [
  { trace = "T1", facts = { T1 = { compressed = 1 } } },
  { cpu_us = 30.0 },
  { trace = "T9+Cmp", times = 4, facts = { T10 = { exception = 0, compressed = 1 } } },
  { cpu = true },
  { parallel = [ { trace = "T4", odds = { T5 = { hit = 0.93 } } }, { trace = "T9", calls = "Stock" } ] },
  { trace = "T2" },
]

[[services]]
name = "Stock"
costs = { source = "operations", TCP = { ns = 1200, ns_per_byte = 0.3 } }
path = [{ trace = "T1" }, { trace = "T2" }]
"#;

fn refusal(text: &str) -> String {
    let document = match read(text, "shop.toml") {
        Ok(document) => document,
        Err(error) => return error.to_string(),
    };
    document.check().unwrap_err().to_string()
}

/// What is said of the shop with `new` in the place of `old`.
fn changed(old: &str, new: &str) -> String {
    assert_eq!(SHOP.matches(old).count(), 1, "{old}");
    refusal(&SHOP.replace(old, new))
}

#[test]
fn a_file_is_read_with_what_it_says_and_nothing_else() {
    let document = read(SHOP, "shop.toml").unwrap();
    document.check().unwrap();
    let shop = &document.workload;
    assert_eq!(shop.defaults.rate_rps, Some(Rate(2000.0)));
    let [checkout, stock] = shop.services.as_slice() else {
        panic!("{shop:?}");
    };
    assert_eq!((checkout.path.len(), stock.path.len()), (6, 2));
    assert_eq!(checkout.path[1], Phase::Timed(Timed { cpu_us: 30.0 }));
    assert_eq!(
        checkout.path[3],
        Phase::Cpu(Cpu {
            cpu: CpuTime::Elsewhere(true)
        })
    );
    assert_eq!(checkout.path[2].chains()[0].count(), 4);
    assert_eq!(checkout.path[4].chains()[1].calls.as_deref(), Some("Stock"));
    assert_eq!((checkout.method.as_ref(), stock.rate_rps), (None, None));
}

#[test]
fn the_same_tree_may_be_json() {
    let document = read(SHOP, "shop.toml").unwrap();
    let json = serde_json::to_string_pretty(&document.workload).unwrap();
    assert_eq!(
        read(&json, "shop.json").unwrap().workload,
        document.workload
    );
}

#[test]
fn canonical_toml_reads_as_people_write_it() {
    let document = read(SHOP, "shop.toml").unwrap();
    let text = write(&document.workload).unwrap();
    let expected = r#"[[services]]
name = "Checkout"
rate_rps = 500.0
rate_share = 1.3
app_us = 120.0
path = [
    { trace = "T1", facts = { T1 = { compressed = 1 } } },
    { cpu_us = 30.0 },
    { trace = "T9+Cmp", times = 4, facts = { T10 = { compressed = 1, exception = 0 } } },
    { cpu = true },
    { parallel = [
        { trace = "T4", odds = { T5 = { hit = 0.93 } } },
        { trace = "T9", calls = "Stock" },
    ] },
    { trace = "T2" },
]
"#;
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("source = \"\"\"\ntrace front\n"), "{text}");
}

/// What is changed in the shop, and what is said of it.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "rate_share",
        "rate_shar",
        "shop.toml:21:1: services[0].field = 'rate_shar': must be ",
    ),
    (
        "rate_rps = 500.0",
        "rate_rps = -3",
        "shop.toml:20:12: services[0].rate_rps = -3: must be a number from 0.001 to 1e9",
    ),
    (
        "[[services]]\nname = \"Stock\"",
        "[rates.\"peak: day\"]\nMial = 5\n[[services]]\nname = \"Stock\"",
        "shop.toml:33:8: rates.peak: day.Mial = 'Mial': must be Checkout or Stock",
    ),
    (
        "times = 4",
        "times = 80",
        "shop.toml:26:31: services[0].path[2].times = 80: must be a whole number from 1 to 64",
    ),
    (
        "hit = 0.93",
        "hit = 1.5",
        "shop.toml:28:56: services[0].path[4].parallel[0].odds.T5.hit = 1.5: must be a number \
             from 0 to 1",
    ),
    (
        "\"poisson\"",
        "\"poison\"",
        "shop.toml:14:24: defaults.arrivals.process = 'poison': must be poisson, modulated, \
             preset, times or rates, did you mean poisson?",
    ),
    (
        "{ process = \"poisson\" }",
        "{ process = \"rates\", rates = [[0, 10], [1000, 0.0005]] }",
        "shop.toml:14:58: defaults.arrivals.rates[1][1] = 0.0005: must be at least 0.001 requests per \
             second",
    ),
    (
        "{ preset = \"fleet\" }",
        "{ fixed_bytes = 0 }",
        "shop.toml:15:25: defaults.sizes.fixed_bytes = 0: must be a whole number from 1 to ",
    ),
    (
        "{ preset = \"fleet\" }",
        "{ fixed_byte = 9 }",
        "shop.toml:15:9: defaults.sizes = {\"fixed_byte\":9}: must be a table with fixed_bytes, \
             log_normal, quantiles, histogram_file, histogram or preset, did you mean fixed_bytes?",
    ),
    (
        "{ preset = \"fleet\" }",
        "{ preset = \"fleets\" }",
        "shop.toml:15:20: defaults.sizes.preset = 'fleets': must be socialnetwork, fleet, \
             fleet_whole or hypercompressbench, did you mean fleet",
    ),
    (
        "name = \"Stock\"",
        "name = \"Checkout\"",
        "shop.toml:33:8: services[1].name = 'Checkout': must be unique, but services[0] \
         has the same name",
    ),
    (
        "calls = \"Stock\"",
        "calls = \"Stok\"",
        "shop.toml:28:92: services[0].path[4].parallel[1].calls = 'Stok': must be Stock",
    ),
    (
        "calls = \"Stock\"",
        "calls = \"Checkout\"",
        "shop.toml:28:92: services[0].path[4].parallel[1].calls = 'Checkout': must be another \
             service: a service that calls itself never answers",
    ),
    (
        "{ cpu_us = 30.0 }",
        "{ cpu = false }",
        "shop.toml:25:11: services[0].path[1].cpu = false: must be true",
    ),
    (
        "{ cpu_us = 30.0 }",
        "{ cpu = { log_norml = { median_us = 3, sigma = 1 } } }",
        "shop.toml:25:11: services[0].path[1].cpu = {\"log_norml\":{\"median_us\":3,\"sigma\":1}}: must \
             be a table with constant_us, log_normal, quantiles_us, histogram_file or histogram_us, \
             did you mean log_normal?",
    ),
    (
        "{ cpu_us = 30.0 }",
        "{ cpu = { quantiles_us = [[0.0, 3], [0.9, 5]] } }",
        "shop.toml:25:28: services[0].path[1].cpu.quantiles_us = from 0 to 0.9: must go from \
             probability 0 to probability 1",
    ),
    (
        "{ cpu_us = 30.0 }",
        "{ cpu = { histogram_us = [[3, 1], [3, 2]] } }",
        "shop.toml:25:37: services[0].path[1].cpu.histogram_us[1] = 3: must be longer than the \
             time before it",
    ),
    (
        "{ cpu_us = 30.0 }",
        "{ cpu = { histogram_us = [[3, 0]] } }",
        "shop.toml:25:28: services[0].path[1].cpu.histogram_us = [...]: must have at least one count above 0",
    ),
    (
        "{ cpu_us = 30.0 }",
        "{ trace = \"T9\", network = { constant_us = 9 } }",
        "shop.toml:25:29: services[0].path[1].network is given: must be left out without calls",
    ),
    (
        "slo_us = 800.0",
        "slo_us = 800.0\nnetwork = { quantiles_us = [[0.0, 3], [1.0, 2]] }",
        "shop.toml:14:39: defaults.network.quantiles_us[1] = [1, 2]: must not have a smaller probability or value than the pair before it",
    ),
    (
        "  { trace = \"T2\" },",
        "  { trace = \"T2\", detached = true },",
        "shop.toml:29:30: services[0].path[5].detached = true: must be left out of the first and \
             the last phase",
    ),
    (
        "  { trace = \"T2\" },",
        "  { trace = \"T2\", retry = { odds = 0.1, attempts = 2, backoff_us = 9 } },",
        "shop.toml:29:27: services[0].path[5].retry is given: must be left out of the first and \
             the last phase",
    ),
    (
        "  { trace = \"T2\" },",
        "  { parallel = [{ trace = \"T2\" }, { trace = \"T2\", sizes = { preset = \"socialnetwork\" } }] },",
        "shop.toml:29:59: services[0].path[5].parallel[1].sizes = 'socialnetwork': must be other",
    ),
    (
        "name = \"shop\"",
        "name = \"my shop\"",
        "shop.toml:2:8: name = 'my shop': must be 1 to 64 letters, digits, - and _",
    ),
    (
        "{ cpu_us = 30.0 }",
        "{ cpu_us = nan }",
        "shop.toml:25:14: services[0].path[1].cpu_us = NaN: must be a finite number",
    ),
    (
        "{ cpu_us = 30.0 }",
        "{ cpus = 30.0 }",
        "shop.toml:25:3: services[0].path[1] = {\"cpus\":30.0}: must be a table with trace, \
             parallel, cpu_us or cpu, did you mean ",
    ),
    (
        "slo_us = 800.0",
        "slo_us = 800.0\nslo_factor = 5",
        "shop.toml:14:14: defaults.slo_factor = 5: must be left out if slo_us is given",
    ),
    (
        "name = \"Stock\"",
        "method = \"Stock\"",
        "shop.toml:32:1: services[1].name is left out: must be a string",
    ),
    (
        "accelflow.workload/1",
        "accelflow.workload/2",
        "shop.toml:1:10: schema = 'accelflow.workload/2': must be accelflow.workload/1",
    ),
];

#[test]
fn refusals_name_file_line_column_path_value_and_what_is_allowed() {
    let said = REFUSED
        .iter()
        .map(|(old, new, expected)| (changed(old, new), *expected));
    let differ: Vec<_> = said
        .filter(|(said, expected)| !said.starts_with(expected))
        .collect();
    assert!(differ.is_empty(), "{differ:#?}");
}

#[test]
fn a_key_that_a_retry_lacks_is_named() {
    let said = changed("calls = \"Stock\"", "retry = { odds = 0.1, attempts = 2 }");
    let lack = "parallel[1].retry.backoff_us is left out: must be a number from 0 to ";
    assert!(said.contains(lack), "{said}");
}

#[test]
fn facts_beyond_64_bits_with_a_sign_are_refused_with_their_range() {
    let json = |fact: &str| {
        format!(
            r#"{{"schema": "accelflow.workload/1", "name": "shop", "services": [{{"name": "Cart",
                "path": [{{"trace": "T1", "facts": {{"T1": {{"compressed": {fact}}}}}}}]}}]}}"#
        )
    };
    for fact in [
        "9223372036854775808",
        "18446744073709551616",
        "-9223372036854775809",
        "1.5",
    ] {
        let said = refusal(&json(fact));
        assert!(
            said.contains("services[0].path[0].facts.T1.compressed = "),
            "{said}"
        );
        let allowed = "must be a whole number from -9223372036854775808 to 9223372036854775807";
        assert!(said.ends_with(allowed), "{said}");
    }
}

#[test]
fn texts_that_are_neither_toml_nor_json_are_refused() {
    let cases = [
        (
            "",
            "shop.toml: schema is left out: must be accelflow.workload/1",
        ),
        ("\0\u{1}\u{2}", "shop.toml:1:4: must be TOML: "),
        ("schema = \n", "shop.toml:1:10: must be TOML: "),
        ("{\"schema\": ", "shop.toml:1:11: must be JSON: "),
        (
            "{}",
            "shop.toml: schema is left out: must be accelflow.workload/1",
        ),
        (
            "[services]\n",
            "shop.toml:1:1: services = {}: must be a list of 1 to 1000 values",
        ),
    ];
    for (text, expected) in cases {
        let said = refusal(text);
        assert!(said.starts_with(expected), "{said}");
    }
    let deep = format!("x = {}1", "[".repeat(100_000));
    assert!(refusal(&deep).contains("must be TOML"));
    assert!(refusal("when = 2026-01-01\n").contains("not a date"));
}

#[test]
fn a_circle_of_calls_and_a_path_without_receiver_or_answer_are_refused() {
    let calls = |other: &str| {
        changed(
            "path = [{ trace = \"T1\" }, { trace = \"T2\" }]",
            &format!("path = [{{ trace = \"T1\" }}, {other}]"),
        )
    };
    assert!(
        calls("{ trace = \"T9\", calls = \"Checkout\" }, { trace = \"T2\" }").ends_with(
            "services[1].path[1].calls = 'Checkout': must be a service that does not call \
             'Stock', directly or through others: calls in a circle are never answered"
        )
    );
    assert!(calls("{ cpu = true }").contains("services[1].path[1] = application time: must be"));
    let first = changed("path = [{ trace = \"T1\" }", "path = [{ cpu = true }");
    assert!(
        first.ends_with(
            "services[1].path[0] = application time: must be one chain, which receives the request"
        ),
        "{first}"
    );
}

#[test]
fn the_json_schema_for_editors_is_the_committed_one() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/schemas/workload.schema.json"
    );
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(path, json_schema()).unwrap();
    }
    assert_eq!(json_schema(), std::fs::read_to_string(path).unwrap());
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(at in 0..SHOP.len(), new in "[ -~\n\u{0}ä]{0,4}", cut in 0..8_usize) {
        if SHOP.is_char_boundary(at) {
            let rest = SHOP.get((at + cut).min(SHOP.len())..).unwrap_or("");
            let text = format!("{}{new}{rest}", &SHOP[..at]);
            if let Ok(document) = read(&text, "any.toml") {
                let _ = document.check();
            }
        }
    }
}
