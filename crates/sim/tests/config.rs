//! The table of parameters: what it says, and what it refuses.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use accelflow_sim::Config;
use accelflow_sim::config::{ConfigError, PARAMETERS, Parameter, Provenance};
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
    for parameter in PARAMETERS {
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
fn every_row_reads_and_writes_a_field_of_its_own() {
    for parameter in PARAMETERS {
        for value in [parameter.min, parameter.max] {
            let mut config = Config::default();
            config.set(parameter.key, value).unwrap();
            let found = config.get(parameter.key).unwrap();
            assert!(
                kept(parameter, value, found),
                "{} = {value}: {found}",
                parameter.key
            );
            for other in PARAMETERS.iter().filter(|it| it.key != parameter.key) {
                let untouched = config.get(other.key).unwrap();
                assert_eq!(
                    untouched, other.default,
                    "{} by {}",
                    other.key, parameter.key
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_allowed_value_is_read_back(row in 0..PARAMETERS.len(), place in 0.0..=1.0_f64) {
        let parameter = &PARAMETERS[row];
        // Evenly over the orders of magnitude, as ranges span many.
        let low = parameter.min.max(1e-3);
        let mut value = low * (parameter.max / low).powf(place);
        if parameter.whole {
            value = value.round();
        }
        let mut value = value.clamp(parameter.min, parameter.max);
        if let Some(choices) = parameter.choices() {
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
fn what_no_server_has_is_refused_with_key_value_and_range() {
    for parameter in PARAMETERS {
        let mut wrong = vec![
            parameter.min - 1.0,
            parameter.max * 1.001 + 1.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        if parameter.whole {
            wrong.push(parameter.min + 0.5);
        }
        for value in wrong {
            let mut config = Config::default();
            let error = config.set(parameter.key, value).unwrap_err();
            assert!(
                matches!(&error, ConfigError::Range { key, .. } if *key == parameter.key),
                "{error:?}"
            );
            let text = error.to_string();
            for part in [
                parameter.key.to_owned(),
                value.to_string(),
                parameter.min.to_string(),
                parameter.max.to_string(),
                parameter.unit.to_owned(),
            ] {
                assert!(text.contains(&part), "'{text}' lacks '{part}'");
            }
            assert_eq!(config, Config::default(), "{text}");
        }
    }
    let mut config = Config::default();
    assert_eq!(
        config.set("accelerator.pes", 2.5).unwrap_err().to_string(),
        "accelerator.pes = 2.5: allowed is a whole number from 1 to 1024 PEs"
    );
    assert_eq!(
        config.set("speedup.TCP", 0.0).unwrap_err().to_string(),
        "speedup.TCP = 0: allowed is a number from 0.01 to 10000"
    );
}

#[test]
fn choices_are_the_whole_range_and_their_names_are_unique() {
    for parameter in PARAMETERS {
        let Some(choices) = parameter.choices() else {
            continue;
        };
        let values: Vec<f64> = choices.iter().map(|it| it.value).collect();
        assert_eq!(values[0], parameter.min, "{}", parameter.key);
        assert_eq!(values[values.len() - 1], parameter.max, "{}", parameter.key);
        assert!(values.contains(&parameter.default), "{}", parameter.key);
        let names: BTreeSet<&str> = choices.iter().map(|it| it.name).collect();
        if !names.contains("") {
            // A name for each: what has one has no number that stands for nothing.
            let range = (parameter.max - parameter.min) as usize + 1;
            assert_eq!(
                (names.len(), choices.len()),
                (range, range),
                "{}",
                parameter.key
            );
        }
    }
    let error = Config::default().set("core.balancing", 5.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "core.balancing = 5: allowed is least_loaded (0), random (1), round_robin (2), \
         two_choices (3) or join_idle_queue (4)"
    );
}

#[test]
fn what_figure_18_does_not_have_is_refused() {
    let mut config = Config::default();
    for chiplets in [5.0, 7.0] {
        assert_eq!(
            config
                .set("network.chiplets", chiplets)
                .unwrap_err()
                .to_string(),
            format!("network.chiplets = {chiplets}: allowed is 1, 2, 3, 4 or 6 chiplets")
        );
    }
    config.network.chiplets = 5;
    assert!(matches!(
        config.check(),
        Err(ConfigError::Range {
            key: "network.chiplets",
            value: 5.0,
            ..
        })
    ));
}

#[test]
fn values_that_do_not_go_together_are_refused() {
    let mut config = Config::default();
    config.set("tlb.entries", 100.0).unwrap();
    config.set("tlb.ways", 8.0).unwrap();
    assert_eq!(
        config.check().unwrap_err().to_string(),
        "tlb.entries = 100 with tlb.ways = 8: tlb.entries must be a multiple of 8"
    );
    config.set("tlb.ways", 10.0).unwrap();
    assert_eq!(config.check(), Ok(()));
    config.set("memory.llc_slice_kib", 100.0).unwrap();
    assert_eq!(
        config.check().unwrap_err().to_string(),
        "memory.llc_slice_kib = 100 with memory.llc_ways = 16: \
         memory.llc_slice_kib must be a multiple of 32"
    );
}

#[test]
fn unknown_keys_are_refused_with_a_hint() {
    let mut config = Config::default();
    let mut text = |key: &str| config.set(key, 1.0).unwrap_err().to_string();
    assert_eq!(
        text("cores.count"),
        "unknown parameter 'cores.count'; did you mean core.count?"
    );
    assert_eq!(
        text("relief"),
        "unknown parameter 'relief'; did you mean relief.latency_ns, relief.occupancy_ns, \
         relief.queue_entries, relief.deadline_ratio, relief.fallback?"
    );
    assert_eq!(
        text("warp"),
        "unknown parameter 'warp'; 'accelflow explain' lists them"
    );
    assert!(Config::default().get("warp").is_err());
    assert!(Parameter::find("core.count").is_ok());
}

#[test]
fn every_row_says_where_its_default_comes_from() {
    let mut keys = BTreeSet::new();
    for parameter in PARAMETERS {
        let key = parameter.key;
        assert!(keys.insert(key), "{key} is there twice");
        assert!(!parameter.source.is_empty(), "{key}");
        match parameter.provenance {
            Provenance::Paper => assert!(parameter.source.contains("AccelFlow"), "{key}"),
            _ => assert!(!parameter.why.is_empty(), "{key} has no reason"),
        }
        assert!(parameter.min <= parameter.default, "{key}");
        assert!(parameter.default <= parameter.max, "{key}");
        if parameter.whole {
            let bounds = [parameter.min, parameter.default, parameter.max];
            assert!(bounds.iter().all(|value| value.fract() == 0.0), "{key}");
        }
        // A key ends with its unit, unless it counts something.
        let suffix = match parameter.unit {
            "ns" => "_ns",
            "GB/s" => "_gb_per_s",
            "GHz" => "_ghz",
            "cycles" => "_cycles",
            _ => "",
        };
        assert!(key.ends_with(suffix), "{key} in {}", parameter.unit);
    }
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
