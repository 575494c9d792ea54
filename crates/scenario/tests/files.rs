//! Scenarios whose workload is a file: simulated as it says, hashed by its content, refused by
//! place.

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

pub(crate) fn shop(text: &str) -> Scenario {
    let document = read(text, "shop.toml").unwrap();
    document.check().unwrap();
    Scenario {
        workload: Source::File(Box::new(document.workload)),
        orchestrators: vec!["accelflow".to_owned()],
        requests: 400,
        ..Scenario::default()
    }
}

pub(crate) fn ran(scenario: &Scenario) -> Value {
    let options = RunOptions::default();
    let checked = scenario.check().unwrap();
    checked
        .run(&options, &|_, _| true)
        .unwrap()
        .unwrap()
        .to_json()
}

/// A service without application logic, with `lines` before the services and `own` in the first.
pub(crate) fn plain(lines: &str, services: &[(&str, &str)]) -> String {
    let costs = "TCP = { ns = 1000 }, Encr = { ns = 1000 }, Decr = { ns = 1000 }, \
                 RPC = { ns = 1000 }, Ser = { ns = 1000 }, Dser = { ns = 1000 }, \
                 LdB = { ns = 1000 }, Cmp = { ns = 1000 }, Dcmp = { ns = 1000 }";
    let mut text = format!(
        "schema = \"accelflow.workload/1\"\nname = \"plain\"\n[defaults]\n\
         sizes = {{ fixed_bytes = 100 }}\ncosts = {{ source = \"operations\", {costs} }}\n{lines}\n"
    );
    for (name, own) in services {
        text += &format!(
            "[[services]]\nname = \"{name}\"\n{own}\npath = [{{ trace = \"T1\", \
             facts = {{ T1 = {{ compressed = 0 }} }} }}, {{ trace = \"T2\" }}]\n"
        );
    }
    text
}

/// The offered rates of the services of a workload.
pub(crate) fn offered(text: &str) -> Vec<f64> {
    let found = ran(&shop(text));
    let services = found["systems"][0]["services"].as_array().unwrap().clone();
    let rates = services.iter().map(|service| &service["offered_rps"]);
    rates.map(|rate| rate.as_f64().unwrap()).collect()
}

pub(crate) const RATES: &str =
    "arrivals = { process = \"rates\", rates = [[0, 1000], [100000, 3000]] }";

#[test]
fn a_table_of_rates_is_scaled_to_a_services_own_rate_whatever_others_have() {
    // 400 requests of A alone: 100 in the first 100 ms, then 300 in as long again.
    let alone = offered(&plain(RATES, &[("A", "")]))[0];
    assert!((alone / 2_000.0 - 1.0).abs() < 0.2, "{alone}");
    // B's rate scales the table of the defaults for B alone.
    let both = offered(&plain(RATES, &[("A", ""), ("B", "rate_rps = 20.0")]));
    assert!(both[0] > 1_500.0, "{both:?}");
    assert!((both[1] / 20.0 - 1.0).abs() < 0.8, "{both:?}");
}

#[test]
fn a_rate_beside_a_table_is_its_mean() {
    for (text, place) in [
        (
            plain("", &[("A", &format!("rate_rps = 100\n{RATES}"))]),
            "services[0]",
        ),
        (
            plain(&format!("rate_rps = 100\n{RATES}"), &[("A", "")]),
            "defaults",
        ),
    ] {
        let refusal = read(&text, "shop.toml")
            .unwrap()
            .check()
            .unwrap_err()
            .to_string();
        let expected = format!(
            "{place}.rate_rps = 100: must be left out, or be the mean of arrivals.rates, 2000"
        );
        assert!(refusal.contains(&expected), "{refusal}");
    }
    // A mean that is rounded is the mean.
    let text = plain("", &[("A", &format!("rate_rps = 1999.5\n{RATES}"))]);
    assert!(read(&text, "shop.toml").unwrap().check().is_ok());
}

#[test]
fn empty_lists_of_arrivals_and_sets_of_rates_are_refused() {
    let times = "arrivals = { process = \"times\", times_us = [] }";
    for (text, expected) in [
        (
            plain("rate_rps = 5", &[("A", times)]),
            "services[0].arrivals.times_us = []: must have at least one time",
        ),
        (
            plain("rates = \"zz\"", &[("A", "rate_rps = 5")]),
            "defaults.rates = 'zz': must be left out, as the file has no section [rates.NAME]",
        ),
    ] {
        let refusal = read(&text, "shop.toml")
            .unwrap()
            .check()
            .unwrap_err()
            .to_string();
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn a_scenarios_cost_of_tcp_overrides_that_of_a_service() {
    let mean = |cost: &str, given: Option<f64>| {
        let text = plain("rate_rps = 100", &[("A", cost)]);
        let text = text.replace(
            "}, { trace = \"T2\" }",
            "}, { cpu = true }, { trace = \"T2\" }",
        );
        let scenario = Scenario {
            tcp_cost_ns: given,
            ..shop(&text)
        };
        ran(&scenario)["systems"][0]["services"][0]["mean_us"]
            .as_f64()
            .unwrap()
    };
    let stated = "costs = { source = \"paper\", tcp_cost_ns = 14000 }";
    let plain_paper = "costs = { source = \"paper\" }";
    assert_eq!(
        mean(stated, Some(28_000.0)),
        mean(plain_paper, Some(28_000.0))
    );
    assert!(mean(stated, Some(28_000.0)) > mean(stated, None));
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
fn fields_of_a_scenario_override_the_file() {
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
        "workload.services[0].path[1].facts.T6.found is left out: must be 0 or 1, or a probability in odds, \
         since trace T6 branches on it; Get also leaves out path[1].facts.T6.compressed (if \
         T6.found = 1), path[1].facts.T6.c_compressed (if T6.found = 1), \
         path[1].facts.T7.exception (if T6.found = 1)"
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

#[test]
fn a_fact_that_branches_compare_may_be_any_number() {
    let text = SHOP.replace("branch out['stale'] == 1 ", "branch out['stale'] > 7 ");
    let text = text.replace(", facts = { looked = { stale = 0 } }", "");
    let error = shop(&text).check().err().unwrap().to_string();
    assert_eq!(
        error,
        "workload.services[0].path[2].facts.looked.stale is left out: must be a whole number, or a \
         probability of 1 in odds, since trace looked branches on it"
    );
}

/// What is changed in the shop, and what is said of it.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "waits = { looked =",
        "waits = { loked =",
        "workload.services[0].waits.loked = 'loked': must be one of 21 known names, did you mean looked?",
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
        "workload.services[0].path[2].facts.looked.stale is left out: must be 0 or 1, or a probability in odds, \
         since trace looked branches on it",
    ),
    (
        "{ stale = 0 }",
        "{ stale = 2 }",
        "workload.services[0].path[2].facts.looked.stale = 2: must be 0 or 1: branches test it",
    ),
    (
        "trace look:",
        "trace T1:",
        "workload.traces[0].source = 'T1': must be another name: a trace of the paper has this name",
    ),
    (
        "TCP Decr Dser",
        "TCP Decr Dsr",
        "workload.traces[0].source = line 5: must be the text of traces: ",
    ),
    (
        "rate_rps = 400.0\n",
        "",
        "workload.services[0].rate_rps is left out: must be given",
    ),
    (
        "trace = \"T1\", facts = { T1 = { compressed = 1 } }",
        "trace = \"T2\"",
        "workload.services[0].path[0].trace = 'T2': must be a trace that begins with TCP",
    ),
];

#[test]
fn invalid_files_are_refused_with_the_place() {
    for (old, new, expected) in REFUSED {
        let said = shop(&SHOP.replacen(old, new, 1))
            .check()
            .err()
            .unwrap()
            .to_string();
        assert!(said.starts_with(expected), "{said}");
    }
    let refused = |old: &str, new: &str| {
        let checked = shop(&SHOP.replacen(old, new, 1)).check();
        checked.err().unwrap().to_string()
    };
    assert_eq!(
        refused(", RPC = { ns = 200 }", ""),
        "workload.services[1].costs.RPC is left out: must be stated, since service Stock uses it"
    );
    assert!(refused("{ cpu_us = 9 }", "{ cpu = true }").starts_with(
        "workload.services[1].path[1].cpu = true: must be cpu_us = TIME or cpu = DISTRIBUTION, or the"
    ));
}

#[test]
fn application_time_that_is_drawn_from_a_constant_is_that_constant() {
    let fixed = shop(SHOP);
    for constant in [
        "{ cpu = { constant_us = 30 } }",
        "{ cpu = { quantiles_us = [[0, 30], [1, 30]] } }",
        "{ cpu = { histogram_us = [[30, 4]] } }",
    ] {
        let drawn = shop(&SHOP.replace("{ cpu_us = 30.0 }", constant));
        let systems = |scenario: &Scenario| ran(scenario)["systems"].clone();
        assert_eq!(systems(&drawn), systems(&fixed), "{constant}");
    }
}

#[test]
fn drawn_application_time_adds_its_mean_and_its_spread() {
    let measured = |phase: &str| {
        let text = SHOP.replace("{ cpu_us = 30.0 }", phase);
        let found = ran(&Scenario {
            requests: 6_000,
            ..shop(&text)
        });
        let number = |key: &str| found["systems"][0]["services"][0][key].as_f64().unwrap();
        (number("mean_us"), number("p99_us"))
    };
    let (mean, p99) = measured("{ cpu_us = 30.0 }");
    // exp(1 / 2) of a median of 60 us; nothing else of the requests changes.
    let (drawn, tail) = measured("{ cpu = { log_normal = { median_us = 60, sigma = 1.0 } } }");
    let expected = 60.0 * 0.5_f64.exp() - 30.0;
    assert!(
        ((drawn - mean) / expected - 1.0).abs() < 0.08,
        "{drawn} {mean}"
    );
    assert!(tail - p99 > 300.0, "{tail} {p99}");
    let (counted, _) = measured("{ cpu = { histogram_us = [[10, 3], [90, 1]] } }");
    assert!((counted - mean).abs() < 2.5, "{counted} {mean}");
}

/// Two services on two servers: Front calls Mail, which computes for 500 us.
pub(crate) const CALLS: &str = r#"
schema = "accelflow.workload/1"
name = "calls"

[defaults]
slo_us = 900.0

[[services]]
name = "Front"
rate_rps = 400.0
server = "front"
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { trace = "T9", calls = "Mail", facts = { T10 = { exception = 0, compressed = 0 } } },
  { cpu_us = 20 },
  { trace = "T2" },
]

[[services]]
name = "Mail"
server = "mail"
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 500 }, { trace = "T2" }]
"#;

#[test]
fn the_network_between_servers_takes_its_time_and_nobody_waits_for_a_detached_call() {
    let mean = |text: &str| {
        let found = ran(&shop(text));
        let services = found["systems"][0]["services"].as_array().unwrap().clone();
        let called = services[1]["called"]["completed"].as_u64().unwrap();
        (services[0]["mean_us"].as_f64().unwrap(), called)
    };
    let (near, called) = mean(CALLS);
    assert_eq!(called, 360);
    let network = |time: &str| {
        CALLS.replace(
            "slo_us = 900.0",
            &format!("slo_us = 900.0\nnetwork = {time}"),
        )
    };
    let far = mean(&network("{ constant_us = 100 }")).0;
    // Arrivals at other times wait for other entries of translation caches.
    assert!((far - near - 200.0).abs() < 0.05, "{far} {near}");
    let of_call = CALLS.replace(
        "calls = \"Mail\",",
        "calls = \"Mail\", network = { constant_us = 100 },",
    );
    assert_eq!(mean(&of_call).0, far);
    let drawn = mean(&network(
        "{ log_normal = { median_us = 100, sigma = 0.5 } }",
    ))
    .0;
    let expected = 200.0 * 0.125_f64.exp();
    assert!(
        ((drawn - near) / expected - 1.0).abs() < 0.1,
        "{drawn} {near}"
    );
    let free = CALLS.replace("calls = \"Mail\",", "calls = \"Mail\", detached = true,");
    let (free, called) = mean(&free);
    assert_eq!(called, 360);
    assert!(free < near - 500.0, "{free} {near}");
}

#[test]
fn services_that_only_others_call_do_not_count_in_the_mean_rate() {
    let scenario = shop(CALLS);
    assert_eq!(scenario.check().unwrap().resolved().rate_rps, 400.0);
    let scaled = Scenario {
        rate_rps: Some(100.0),
        ..shop(CALLS)
    };
    let offered = ran(&scaled)["systems"][0]["services"][0]["offered_rps"].as_f64();
    assert!((offered.unwrap() / 100.0 - 1.0).abs() < 0.2, "{offered:?}");
}

#[test]
fn rates_and_requests_that_leave_a_service_without_any_are_refused_by_what_was_given() {
    let refused = |scenario: Scenario| scenario.check().err().unwrap().to_string();
    let alone = Scenario {
        services: vec!["Mail".to_owned()],
        ..shop(CALLS)
    };
    assert_eq!(
        refused(alone),
        "service = 'Mail': must be simulated together with a service that calls it (Front), or \
         have a rate in rates_rps or, without rates_rps, in the workload: it has no requests of \
         its own"
    );
    let fast = Scenario {
        rate_rps: Some(1e9),
        arrivals: Some(Arrivals::Poisson),
        ..shop(SHOP)
    };
    assert_eq!(
        refused(fast),
        "rate_rps = 1e9: must be at most 666666666.6666666: the rate of Stock is 1.5 times this mean rate"
    );
    let rare = SHOP.replace("name = \"Checkout\"", "name = \"Checkout\"\nrate_rps = 1.0");
    let few = Scenario {
        requests: 100,
        ..shop(&rare)
    };
    let said = refused(few);
    assert!(
        said.starts_with("requests = 100: must be at least "),
        "{said}"
    );
}
