//! The table of parameters: what it says, and what it refuses.

#![allow(clippy::unwrap_used)]

use accelflow_parameters::{Kind, Parameter, Provenance};
use accelflow_shaping::dispatch::DispatchPolicy;
use accelflow_sim::Config;
use accelflow_sim::config::PARAMETERS;
use accelflow_trace::Accel;
use accelflow_units::{Bandwidth, Bytes, Cycles, Frequency, Time};
use proptest::prelude::*;

/// A picosecond in nanoseconds, a byte per second in GB/s, a hertz in GHz: the steps in which
/// quantities are kept. Ratios are kept as they are.
fn resolution(parameter: &Parameter) -> f64 {
    match parameter.unit {
        "ns" | "ns/KiB" => 1e-3,
        "GB/s" | "GHz" => 1e-9,
        _ => 0.0,
    }
}

/// Whether `found` is `value` to half a step (and the last bits of a float).
fn kept(parameter: &Parameter, value: f64, found: f64) -> bool {
    (found - value).abs() <= resolution(parameter) / 2.0 + value.abs() * 1e-12
}

#[test]
fn the_base_server_is_the_column_of_defaults() {
    let config = Config::default();
    for parameter in PARAMETERS.parameters() {
        let value = config.get(parameter.key).unwrap();
        assert_eq!(value, parameter.default, "{}", parameter.key);
    }
    assert_eq!(config.core.count, 36);
    assert_eq!(
        config.core.clock,
        Frequency::from_hz(2_400_000_000).unwrap()
    );
    assert_eq!(config.accelerator.inline, Bytes::from_kib(2));
    assert_eq!(config.accelerator.speedup[Accel::Rpc.index()], 20.5);
    assert_eq!(config.accelerator.scratchpad_latency, Time::from_ns(10));
    assert_eq!(config.network.notification, Cycles(80));
    assert_eq!(
        config.memory.dram_bandwidth,
        Bandwidth::from_bytes_per_s(102_400_000_000).unwrap()
    );
    assert_eq!(config.relief.latency, Time::from_ns(1_500));
}

#[test]
fn the_table_of_parameters_is_sound() {
    assert_eq!(PARAMETERS.faults(Config::default), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_allowed_value_is_read_back(
        row in 0..PARAMETERS.parameters().count(),
        place in 0.0..=1.0_f64,
    ) {
        let parameter = PARAMETERS.parameters().nth(row).unwrap();
        let (min, max) = parameter.kind.range(parameter.default);
        // Evenly over the orders of magnitude, as ranges span many.
        let low = min.max(1e-3);
        let mut value = low * (max / low).powf(place);
        if parameter.kind.is_whole() {
            value = value.round();
        }
        let mut value = value.clamp(min, max);
        let choices = parameter.kind.choices();
        if !choices.is_empty() {
            value = choices[value as usize % choices.len()].value;
        }
        let mut config = Config::default();
        config.set(parameter.key, value).unwrap();
        let found = config.get(parameter.key).unwrap();
        prop_assert!(kept(parameter, value, found), "{} = {value}: {found}", parameter.key);
        // What was read back is read back exactly.
        config.set(parameter.key, found).unwrap();
        prop_assert_eq!(config.get(parameter.key).unwrap(), found);
    }
}

#[test]
fn impossible_parameters_are_refused_with_key_value_and_range() {
    let refused = |key: &str, value: f64| {
        let mut config = Config::default();
        let text = config.set(key, value).unwrap_err().to_string();
        assert_eq!(config, Config::default(), "{text}");
        text
    };
    for (key, value, expected) in [
        (
            "accelerator.pes",
            2.5,
            "accelerator.pes = 2.5: must be a whole number from 1 to 1024 PEs",
        ),
        (
            "speedup.TCP",
            0.0,
            "speedup.TCP = 0: must be a number from 0.01 to 10000",
        ),
        (
            "core.balancing",
            6.0,
            "core.balancing = 6: must be least_loaded, random, round_robin, two_choices, \
             join_idle_queue or affinity",
        ),
        (
            "network.chiplets",
            5.0,
            "network.chiplets = 5: must be 1, 2, 3, 4 or 6 chiplets",
        ),
    ] {
        assert_eq!(refused(key, value), expected);
    }
    let mut config = Config::default();
    config.network.chiplets = 5;
    assert_eq!(
        config.check().unwrap_err().to_string(),
        "network.chiplets = 5: must be 1, 2, 3, 4 or 6 chiplets"
    );
}

#[test]
fn every_dispatch_policy_is_a_choice_with_its_number() {
    let mut parameters = PARAMETERS.parameters();
    let policy = parameters.find(|parameter| parameter.key == "scheduling.policy");
    let choices = policy.unwrap().kind.choices();
    let names: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
    assert_eq!(names, DispatchPolicy::ALL.map(DispatchPolicy::name));
}

#[test]
fn choices_without_a_number_have_names_for_all_numbers() {
    for parameter in PARAMETERS.parameters() {
        // Names beside a range stand for numbers outside it.
        if matches!(parameter.kind, Kind::WholeOr { .. }) {
            continue;
        }
        let choices = parameter.kind.choices();
        let values: Vec<f64> = choices.iter().map(|choice| choice.value).collect();
        if choices.iter().all(|choice| !choice.name.is_empty()) {
            let numbers: Vec<f64> = (0..choices.len()).map(|number| number as f64).collect();
            assert_eq!(values, numbers, "{}", parameter.key);
        }
    }
}

#[test]
fn values_that_do_not_go_together_are_refused() {
    let mut config = Config::default();
    config.set("tlb.entries", 100.0).unwrap();
    config.set("tlb.ways", 8.0).unwrap();
    assert_eq!(
        config.check().unwrap_err().to_string(),
        "tlb.entries = 100: must be a multiple of 8, since tlb.ways = 8"
    );
    config.set("tlb.ways", 10.0).unwrap();
    assert_eq!(config.check(), Ok(()));
    config.set("memory.llc_slice_kib", 100.0).unwrap();
    assert_eq!(
        config.check().unwrap_err().to_string(),
        "memory.llc_slice_kib = 100: must be a multiple of 32, since memory.llc_ways = 16"
    );
}

#[test]
fn unknown_keys_are_refused_with_a_hint() {
    let mut config = Config::default();
    let mut text = |key: &str| config.set(key, 1.0).unwrap_err().to_string();
    let unknown = "must be the key of a parameter";
    assert_eq!(
        text("cores.count"),
        format!("parameter = 'cores.count': {unknown}, did you mean core.count?")
    );
    assert_eq!(
        text("relief"),
        format!(
            "parameter = 'relief': {unknown}, did you mean relief.latency_ns, \
             relief.occupancy_ns, relief.queue_entries or relief.deadline_ratio?"
        )
    );
    assert_eq!(
        text("warp"),
        format!("parameter = 'warp': {unknown}, such as core.count")
    );
    for key in ["pes.Hash", "accelerator.Hash.pes"] {
        let own = format!("parameter = '{key}': {unknown}, did you mean pes.own?");
        assert_eq!(text(key), own);
    }
    assert!(!text("pes.").contains("own"));
    let typo = text("pes.Encrr");
    assert!(!typo.contains("own"), "{typo}");
    assert!(Config::default().get("warp").is_err());
    assert!(Config::default().get("core.count").is_ok());
}

#[test]
fn every_row_says_why_and_names_its_unit() {
    for parameter in PARAMETERS.parameters() {
        let key = parameter.key;
        match parameter.provenance {
            Provenance::Paper => {
                let papers = ["AccelFlow", "Cerebros"];
                let named = papers.iter().any(|paper| parameter.source.contains(paper));
                assert!(named, "{key}");
            }
            _ => assert!(!parameter.why.is_empty(), "{key} has no reason"),
        }
        // A key ends with its unit, unless it counts something.
        let suffix = match parameter.unit {
            "ns" => "_ns",
            "GB/s" => "_gb_per_s",
            "GHz" => "_ghz",
            "cycles" => "_cycles",
            _ => "",
        };
        // What one accelerator has of its own is named after it: `mean_operation_ns.TCP`.
        let of_one = Accel::ALL
            .into_iter()
            .find_map(|accel| key.strip_suffix(&format!(".{accel}")));
        let of_others = key.strip_suffix(".own");
        let name = of_one.or(of_others).unwrap_or(key);
        assert!(name.ends_with(suffix), "{key} in {}", parameter.unit);
    }
}

#[test]
fn parameters_of_an_accelerator_can_be_spelt_as_in_a_file() {
    for accel in Accel::ALL {
        let what = [
            "instances",
            "pes",
            "input_entries",
            "output_entries",
            "overflow_entries",
            "mean_operation_ns",
            "speedup",
        ];
        for what in what {
            let (key, by_member) = (
                format!("{what}.{accel}"),
                format!("accelerator.{accel}.{what}"),
            );
            assert_eq!(PARAMETERS.parameter(&by_member).unwrap().key, key);
            assert_eq!(PARAMETERS.by_member(&key), Some(by_member));
        }
    }
    assert_eq!(PARAMETERS.by_member("core.count"), None);
    for (wrong, hint) in [
        ("accelerator.TCP.pez", "accelerator.TCP.pes"),
        ("accelerator.tcp.pes", "accelerator.TCP.pes"),
        ("accelerator.TPC.speedup", "accelerator.TCP.speedup"),
    ] {
        let refusal = PARAMETERS.parameter(wrong).unwrap_err();
        assert!(refusal.similar.iter().any(|name| name == hint), "{refusal}");
    }
    assert!(PARAMETERS.parameter("accelerator.count.core").is_err());
}

#[test]
fn dispatchers_and_accelerators_take_their_share() {
    let mut config = Config::default();
    assert_eq!(config.dispatch(12), Time::from_ns(5));
    config.set("dispatcher.ipc", 2.0).unwrap();
    assert_eq!(config.dispatch(12), Time::from_ps(2_500));
    assert_eq!(
        config.accelerated(Accel::Tcp, Time::from_ns(3_500)),
        Time::from_ns(1_000)
    );
}
