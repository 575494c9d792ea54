//! Workloads' files: reading, writing and refusals.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use accelflow_workload::file::{
    Arrivals, ArrivalsPreset, Chain, Costs, Cpu, CpuTime, Defaults, Document, Duration,
    LogNormalBytes, LogNormalTime, MessageSizes, OperationCost, Origin, OriginFile, Parallel,
    Phase, Printed, Probability, Rate, Retry, SchemaName, Service, Size, Sizes, SizesPreset, Timed,
    Traces, Wait, Workload, json_schema, read, write,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
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
        "shop.toml:33:8: services[1].name = 'Checkout': must be a name of its own, services[0] \
             has it",
    ),
    (
        "calls = \"Stock\"",
        "calls = \"Stok\"",
        "shop.toml:28:92: services[0].path[4].parallel[1].calls = 'Stok': must be Checkout or \
             Stock, did you mean Stock?",
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
        "shop.toml:25:28: services[0].path[1].cpu.histogram_us = [...]: must have a count above 0",
    ),
    (
        "{ cpu_us = 30.0 }",
        "{ trace = \"T9\", network = { constant_us = 9 } }",
        "shop.toml:25:29: services[0].path[1].network = given: must stand beside calls",
    ),
    (
        "slo_us = 800.0",
        "slo_us = 800.0\nnetwork = { quantiles_us = [[0.0, 3], [1.0, 2]] }",
        "shop.toml:14:39: defaults.network.quantiles_us[1] = [1, 2]: must not decrease",
    ),
    (
        "  { trace = \"T2\" },",
        "  { trace = \"T2\", detached = true },",
        "shop.toml:29:30: services[0].path[5].detached = true: must be left out of the first and \
             the last phase",
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
        "shop.toml:14:14: defaults.slo_factor = 5: must be left out beside slo_us",
    ),
    (
        "name = \"Stock\"",
        "method = \"Stock\"",
        "shop.toml:32:1: services[1].name = left out: must be a text",
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
fn texts_that_are_neither_toml_nor_json_are_refused() {
    let cases = [
        (
            "",
            "shop.toml: schema = left out: must be accelflow.workload/1",
        ),
        ("\0\u{1}\u{2}", "shop.toml:1:4: must be TOML: "),
        ("schema = \n", "shop.toml:1:10: must be TOML: "),
        ("{\"schema\": ", "shop.toml:1:11: must be JSON: "),
        (
            "{}",
            "shop.toml: schema = left out: must be accelflow.workload/1",
        ),
        (
            "[services]\n",
            "shop.toml:1:1: services = {}: must be a list of 1 to 1000",
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
            "services[1].path[1].calls = 'Checkout': must not lead back to the service: it would \
             never answer"
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

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z][A-Za-z0-9_]{0,8}"
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![name(), "[ -~\n\t\"'\\\\äµ😀]{0,20}"]
}

fn number(least: f64, most: f64) -> impl Strategy<Value = f64> {
    prop_oneof![least..most, Just(least), Just(most), Just(least + 1.0)]
}

fn sizes() -> impl Strategy<Value = Sizes> {
    let size = || (1_u64..1 << 40).prop_map(Size);
    prop_oneof![
        size().prop_map(Sizes::FixedBytes),
        (number(1.0, 1e9), number(0.0, 4.0)).prop_map(|(median_bytes, sigma)| Sizes::LogNormal(
            LogNormalBytes {
                median_bytes,
                sigma
            }
        )),
        (size(), size())
            .prop_map(|(a, b)| Sizes::Quantiles(vec![(0.0, a.min(b)), (1.0, a.max(b))])),
        name().prop_map(Sizes::HistogramFile),
        (1_u64..1000).prop_map(|count| Sizes::Histogram(vec![(Size(1), count), (Size(7), 0)])),
        Just(Sizes::Preset(SizesPreset::FleetWhole)),
    ]
}

fn wait() -> impl Strategy<Value = Wait> {
    let time = || number(0.0, 1e9).prop_map(Duration);
    prop_oneof![
        time().prop_map(Wait::ConstantUs),
        (number(0.0, 1e9), number(0.0, 4.0))
            .prop_map(|(median_us, sigma)| Wait::LogNormal(LogNormalTime { median_us, sigma })),
        time().prop_map(|time| Wait::QuantilesUs(vec![(0.0, Duration(0.0)), (1.0, time)])),
        name().prop_map(Wait::HistogramFile),
        (1_u64..1000).prop_map(|count| {
            Wait::HistogramUs(vec![(Duration(0.5), count), (Duration(7.0), 0)])
        }),
    ]
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        Just(Arrivals::Poisson {}),
        number(100.0, 1e9).prop_map(|dwell_us| {
            let states = vec![(0.5, 3.0), (2.5, 1.0)];
            Arrivals::Modulated { states, dwell_us }
        }),
        Just(Arrivals::Preset {
            preset: ArrivalsPreset::ShortBursts
        }),
        name().prop_map(|file| Arrivals::Times {
            file: Some(file),
            times_us: None
        }),
        number(0.0, 1e6).prop_map(|last| Arrivals::Times {
            file: None,
            times_us: Some(vec![0.0, last])
        }),
        number(1.0, 1e6).prop_map(|rate| Arrivals::Rates {
            file: None,
            rates: Some(vec![(0.0, rate)])
        }),
    ]
}

fn costs() -> impl Strategy<Value = Costs> {
    let cost = || (number(0.0, 1e12), number(0.0, 1e9), of(number(0.0, 100.0)));
    prop_oneof![
        of(number(1.0, 1e9)).prop_map(|tcp_cost_ns| Costs::Paper { tcp_cost_ns }),
        text().prop_map(|text| Costs::Recording {
            file: None,
            text: Some(text)
        }),
        cost().prop_map(|(ns, ns_per_byte, relative_error)| {
            let cost = OperationCost {
                ns,
                ns_per_byte,
                relative_error,
            };
            let (tcp, ldb) = (Some(cost), Some(cost));
            let none = None;
            Costs::Operations {
                tcp,
                encr: none,
                decr: none,
                rpc: none,
                ser: none,
                dser: none,
                cmp: none,
                dcmp: none,
                ldb,
            }
        }),
        Just(Costs::Measured {}),
    ]
}

fn chain() -> impl Strategy<Value = Chain> {
    let retry =
        (number(0.0, 1.0), 1_u8..100, number(0.0, 1e9)).prop_map(|(odds, attempts, us)| Retry {
            odds: Probability(odds),
            attempts,
            backoff_us: Duration(us),
        });
    let message_sizes = prop_oneof![
        sizes().prop_map(MessageSizes::All),
        vec(sizes(), 1..4).prop_map(MessageSizes::Each)
    ];
    let odds = btree_map(
        name(),
        btree_map(name(), number(0.0, 1.0).prop_map(Probability), 1..3),
        0..3,
    );
    (
        text(),
        of(1_u8..2),
        btree_map(text(), btree_map(text(), any::<i64>(), 1..3), 0..3),
        odds,
        of(message_sizes),
        btree_map(name(), wait(), 0..3),
        (of(retry), of(any::<bool>())),
    )
        .prop_map(|(trace, times, facts, odds, sizes, waits, rest)| Chain {
            trace,
            times,
            facts,
            odds,
            sizes,
            waits,
            calls: None,
            retry: rest.0,
            network: None,
            detached: rest.1,
        })
}

fn path() -> impl Strategy<Value = Vec<Phase>> {
    let middle = prop_oneof![
        chain().prop_map(Phase::Chain),
        vec(chain(), 1..4).prop_map(|parallel| Phase::Parallel(Parallel { parallel })),
        number(0.0, 1e9).prop_map(|cpu_us| Phase::Timed(Timed { cpu_us })),
        Just(Phase::Cpu(Cpu {
            cpu: CpuTime::Elsewhere(true)
        })),
        wait().prop_map(|times| Phase::Cpu(Cpu {
            cpu: CpuTime::Drawn(times)
        })),
    ];
    (chain(), vec(middle, 0..4), chain()).prop_map(|(mut first, middle, mut last)| {
        (first.detached, last.detached) = (None, Some(false));
        let mut path = vec![Phase::Chain(first)];
        path.extend(middle);
        path.push(Phase::Chain(last));
        path
    })
}

fn service() -> impl Strategy<Value = Service> {
    let path = path();
    let numbers = (
        of(any::<u16>()),
        of(any::<u8>()),
        of(number(0.001, 1e9)),
        of(number(1e-3, 1e6)),
    );
    let values = (
        of(arrivals()),
        of(sizes()),
        of(costs()),
        btree_map(name(), wait(), 0..3),
    );
    (
        of(text()),
        of(text()),
        numbers,
        of(number(1e-3, 1e9)),
        of(number(0.0, 1e9)),
        values,
        path,
    )
        .prop_map(
            |(
                method,
                server,
                (tenant, priority, rate, rate_share),
                slo_us,
                app_us,
                values,
                path,
            )| {
                let (arrivals, sizes, costs, waits) = values;
                Service {
                    name: String::new(),
                    method,
                    tenant,
                    priority,
                    server,
                    rate_rps: rate.map(Rate),
                    rate_share,
                    slo_us,
                    slo_factor: None,
                    app_us,
                    arrivals,
                    sizes,
                    costs,
                    waits,
                    path,
                }
            },
        )
}

fn defaults() -> impl Strategy<Value = Defaults> {
    (
        of(number(0.001, 1e9)),
        of(arrivals()),
        of(sizes()),
        of(costs()),
        of(wait()),
    )
        .prop_map(|(rate, arrivals, sizes, costs, network)| Defaults {
            rate_rps: rate.map(Rate),
            arrivals,
            sizes,
            costs,
            network,
            ..Defaults::default()
        })
}

fn origin() -> impl Strategy<Value = Origin> {
    let counts = || btree_map(text(), 0..1_u64 << 60, 0..3);
    (text(), vec((text(), text()), 0..3), counts(), counts()).prop_map(
        |(kind, files, understood, dropped)| Origin {
            kind,
            files: files
                .into_iter()
                .map(|(name, sha256)| OriginFile { name, sha256 })
                .collect(),
            understood,
            guessed: BTreeMap::new(),
            dropped,
        },
    )
}

fn workload() -> impl Strategy<Value = Workload> {
    let traces = prop_oneof![
        text().prop_map(Traces::Source),
        text().prop_map(Traces::File),
        name().prop_map(Traces::Module)
    ];
    let (defaults, origin) = (defaults(), origin());
    let printed = number(0.0, 1.0).prop_map(|branching_share| Printed { branching_share });
    let rates = of(number(0.001, 1e9));
    (
        name(),
        of(text()),
        of(printed),
        of(origin),
        vec(traces, 0..3),
        defaults,
        rates,
        vec(service(), 1..4),
    )
        .prop_map(
            |(name, description, printed, origin, traces, defaults, rate, mut services)| {
                for (index, service) in services.iter_mut().enumerate() {
                    service.name = format!("S.{index}");
                }
                let all = |rate| {
                    services
                        .iter()
                        .map(|it| (it.name.clone(), Rate(rate)))
                        .collect()
                };
                let rates = rate
                    .map(|rate| ("measured".to_owned(), all(rate)))
                    .into_iter()
                    .collect();
                Workload {
                    schema: SchemaName::V1,
                    name,
                    description,
                    printed,
                    origin,
                    traces,
                    kinds: BTreeMap::new(),
                    defaults,
                    rates,
                    services,
                }
            },
        )
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same_and_is_written_the_same(workload in workload()) {
        let text = write(&workload).unwrap();
        let document = read(&text, "any.toml").map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        document.check().map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&document.workload, &workload);
        prop_assert_eq!(write(&document.workload).unwrap(), text);
        prop_assert!(Document::of(workload, "any").check().is_ok());
    }

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
