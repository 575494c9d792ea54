//! Scenarios whose workload is a file: simulated as it says, hashed by its content, refused by place.

#![allow(clippy::unwrap_used)]

use accelflow_scenario::{
    Arrivals, CostSource, Costs, FactSource, OrOwn, Remote, RunOptions, Scenario, Source,
};
use accelflow_workload::file::read;
use accelflow_workload::sizes::SizePreset;
use serde_json::{Value, json};

const SHOP: &str = r#"
schema = "accelflow.workload/1"
name = "shop"

[[traces]]
source = """
trace look:
    Ser Encr TCP
    tail looked
trace looked:
    TCP Decr Dser
    branch out['stale'] == 1   (expected: false)
      on true:
        Cmp
    LdB
"""

[defaults]
rate_rps = 400.0
slo_us = 900.0
sizes = { log_normal = { median_bytes = 300, sigma = 1.1 } }
waits = { other = { constant_us = 5 }, looked = { quantiles_us = [[0.0, 3], [1.0, 90]] } }

[[services]]
name = "Checkout"
tenant = 2
priority = 1
app_us = 120.0
waits = { looked = { log_normal = { median_us = 40, sigma = 0.5 } } }
path = [
  { trace = "T1", facts = { T1 = { compressed = 1 } }, sizes = { fixed_bytes = 900 } },
  { cpu_us = 30.0 },
  { trace = "look", times = 4, facts = { looked = { stale = 0 } } },
  { cpu = true },
  { trace = "T2" },
]

[[services]]
name = "Stock"
rate_rps = 1200.0
arrivals = { process = "rates", rates = [[0, 1000], [200000, 1400]] }
costs = { source = "operations", TCP = { ns = 1200, ns_per_byte = 0.3 }, Encr = { ns = 500 }, Decr = { ns = 500 }, RPC = { ns = 200 }, Ser = { ns = 300 }, Dser = { ns = 400 }, LdB = { ns = 100 }, Dcmp = { ns = 900 } }
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 9 }, { trace = "T2" }]
"#;

fn shop(text: &str) -> Scenario {
    let document = read(text, "shop.toml").unwrap();
    document.check().unwrap();
    Scenario {
        workload: Source::File(Box::new(document.workload)),
        orchestrators: vec!["accelflow".to_owned()],
        requests: 400,
        ..Scenario::default()
    }
}

fn ran(scenario: &Scenario) -> Value {
    let options = RunOptions::default();
    let checked = scenario.check().unwrap();
    checked
        .run(&options, &|_, _| true)
        .unwrap()
        .unwrap()
        .to_json()
}

#[test]
fn a_workloads_file_is_simulated_as_it_says() {
    let scenario = shop(SHOP);
    let resolved = scenario.check().unwrap().resolved().clone();
    assert_eq!((&*resolved.workload, &*resolved.rates), ("shop", "own"));
    assert_eq!((resolved.rate_rps, resolved.by_rate), (800.0, true));
    assert_eq!((resolved.costs, resolved.sizes), (Costs::Own, OrOwn::Own));
    assert_eq!(
        (resolved.arrivals, resolved.remote),
        (OrOwn::Own, OrOwn::Own)
    );
    assert_eq!(resolved.tenants, [("Checkout".to_owned(), 2)].into());
    assert_eq!(resolved.slo_us.len(), 2);
    let found = ran(&scenario);
    let [checkout, stock] = found["systems"][0]["services"]
        .as_array()
        .unwrap()
        .as_slice()
    else {
        panic!("{found}");
    };
    let number = |of: &Value| of.as_f64().unwrap();
    // By their rates: 200 and 600 requests, of which the first tenth is not counted.
    assert_eq!(
        (&checkout["completed"], &stock["completed"]),
        (&json!(180), &json!(540))
    );
    assert_eq!(checkout["tenant"]["number"], json!(2));
    assert_eq!(checkout["slo"]["us"], json!(900.0));
    assert!(
        (number(&checkout["offered_rps"]) / 400.0 - 1.0).abs() < 0.3,
        "{checkout}"
    );
    assert!(
        (number(&stock["offered_rps"]) / 1_050.0 - 1.0).abs() < 0.3,
        "{stock}"
    );
    // 30 + 120 us of application logic; 9 us and operations of a few hundred ns.
    assert!(number(&checkout["mean_us"]) > 150.0 + 40.0);
    assert!((9.0..15.0).contains(&number(&stock["mean_us"])), "{stock}");
}

#[test]
fn what_a_scenario_says_goes_before_the_file() {
    let scenario = Scenario {
        rate_rps: Some(100.0),
        arrivals: Some(Arrivals::Poisson),
        profile: Some(CostSource::Paper),
        sizes: Some(SizePreset::Fleet),
        remote: Some(Remote::Short),
        slo_us: [("Stock".to_owned(), 7.0)].into(),
        tenants: [("Checkout".to_owned(), 0)].into(),
        ..shop(SHOP)
    };
    let resolved = scenario.check().unwrap().resolved().clone();
    assert_eq!((resolved.rate_rps, resolved.costs), (100.0, Costs::Paper));
    assert_eq!(resolved.arrivals, OrOwn::Chosen(Arrivals::Poisson));
    assert_eq!(resolved.sizes, OrOwn::Chosen(SizePreset::Fleet));
    assert_eq!(resolved.remote, OrOwn::Chosen(Remote::Short));
    assert_eq!(
        (resolved.slo_us["Stock"], resolved.slo_us["Checkout"]),
        (7.0, 900.0)
    );
    assert!(resolved.tenants.is_empty());
    // A rate from outside is shared as the services' own rates: 1 to 3 of a mean of 100.
    let found = ran(&scenario);
    let rate = |index: usize| {
        found["systems"][0]["services"][index]["offered_rps"]
            .as_f64()
            .unwrap()
    };
    assert!((rate(1) / rate(0) / 3.0 - 1.0).abs() < 0.3, "{found}");
}

#[test]
fn the_hash_covers_the_file_by_content() {
    let hash = |scenario: Scenario| scenario.check().unwrap().hash().unwrap();
    let base = hash(shop(SHOP));
    assert_eq!(
        hash(shop(&SHOP.replace("cpu_us = 30.0", "cpu_us = 30"))),
        base
    );
    for (old, new) in [
        ("cpu_us = 30.0", "cpu_us = 31.0"),
        ("median_us = 40", "median_us = 41"),
        ("ns_per_byte = 0.3", "ns_per_byte = 0.4"),
        ("on true:", "on false:"),
    ] {
        assert_ne!(hash(shop(&SHOP.replace(old, new))), base, "{new}");
    }
}

#[test]
fn a_scenario_with_a_file_is_written_and_read() {
    let scenario = shop(SHOP);
    let text = scenario.to_json().unwrap();
    assert_eq!(Scenario::from_json(&text).unwrap(), scenario);
}

#[test]
fn odds_of_a_file_are_drawn_and_need_the_facts_they_lead_to() {
    let hits = |odds: &str| {
        format!(
            "schema = 'accelflow.workload/1'\nname = 'cache'\n[defaults]\nrate_rps = 100\n\
             [[services]]\nname = 'Get'\npath = [\n{{ trace = 'T1', facts = {{ T1 = {{ compressed = 0 }} }} }},\n\
             {{ trace = 'T4', facts = {{ T5 = {{ hit = 1, compressed = 0 }}{odds} }} }}, odds = {{ T5 = {{ hit = 0.75 }} }} }},\n\
             {{ trace = 'T2' }}]\n"
        )
        .replace(" } } }, odds", " } }, odds")
    };
    let miss = ", T6 = { found = 1, compressed = 0, c_compressed = 0 }, T7 = { exception = 0 }";
    let error = shop(&hits("")).check().err().unwrap().to_string();
    assert_eq!(
        error,
        "workload.services[0].path[1].facts.T6.found = left out: must be stated, as trace T6 \
         branches on it"
    );
    let scenario = Scenario {
        requests: 4_000,
        ..shop(&hits(miss))
    };
    let resolved = scenario.check().unwrap().resolved().clone();
    assert_eq!(resolved.facts, FactSource::Drawn);
    let operations = |scenario: &Scenario| {
        ran(scenario)["systems"][0]["services"][0]["operations_per_request"]
            .as_f64()
            .unwrap()
    };
    let all_hit = Scenario {
        facts: Some(FactSource::Common),
        ..scenario.clone()
    };
    let (drawn, common) = (operations(&scenario), operations(&all_hit));
    assert!(drawn > common + 0.25 * 5.0, "{drawn} {common}");
}

/// What is changed in the shop, and what is said of it.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "waits = { looked =",
        "waits = { loked =",
        "workload.services[0].waits.loked = 'loked': must be T1, ",
    ),
    (
        "trace = \"T2\"",
        "trace = \"T22\"",
        "workload.services[0].path[4].trace = 'T22': must be T1, ",
    ),
    (
        "{ stale = 0 }",
        "{ stael = 0 }",
        "workload.services[0].path[2].facts.looked.stael = 'stael': must be ",
    ),
    (
        "facts = { looked = { stale = 0 } }",
        "facts = {}",
        "workload.services[0].path[2].facts.looked.stale = left out: must be stated, as trace \
             looked branches on it",
    ),
    (
        "trace look:",
        "trace T1:",
        "workload.traces[0].source = 'T1': must be another name: the paper's trace has it",
    ),
    (
        "TCP Decr Dser",
        "TCP Decr Dsr",
        "workload.traces[0].source = line 5: must be the text of traces: ",
    ),
    (
        "rate_rps = 400.0\n",
        "",
        "workload.services[0].rate_rps = left out: must be a rate",
    ),
    (
        "trace = \"T1\", facts = { T1 = { compressed = 1 } }",
        "trace = \"T2\"",
        "workload.services[0].path[0].trace = 'T2': must begin with TCP",
    ),
];

#[test]
fn what_a_file_may_not_be_is_refused_with_its_place() {
    for (old, new, expected) in REFUSED {
        let said = shop(&SHOP.replacen(old, new, 1))
            .check()
            .err()
            .unwrap()
            .to_string();
        assert!(said.starts_with(expected), "{said}");
    }
    let run = |old: &str, new: &str| {
        let options = RunOptions::default();
        let checked = shop(&SHOP.replacen(old, new, 1)).check().unwrap();
        checked
            .run(&options, &|_, _| true)
            .err()
            .unwrap()
            .to_string()
    };
    assert_eq!(
        run(", RPC = { ns = 200 }", ""),
        "workload.services[1].costs.RPC = left out: must be stated, as service Stock uses it"
    );
    assert!(run("{ cpu_us = 9 }", "{ cpu = true }").starts_with(
        "workload.services[1].path[1].cpu = true: must be cpu_us = TIME, or the service must have"
    ));
}
