//! Distributions of times in recordings: tables of quantiles, and what profiles make of them.

#![allow(clippy::unwrap_used)]

use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::profile::{
    MAX_QUANTILES, Profile, RecordedOutside, RecordedPhase, RecordedTimes, Recording,
    RecordingOptions, quantiles,
};
use accelflow_workload::suites::social_network;
use proptest::prelude::*;

use crate::common::{image, measured, recording};

/// The recording after `change` to the first step of UniqId.
fn with_table(table: &[(f64, f64)]) -> Recording {
    let mut recording = recording();
    let RecordedPhase::Chains(chains) = &mut recording.services[6].phases[0] else {
        panic!("a service begins with a chain");
    };
    chains[0].steps[0].cost_quantiles_ns = table.to_vec();
    recording
}

fn drawn(recording: &Recording) -> Profile {
    let options = RecordingOptions {
        times: RecordedTimes::Distribution,
        ..RecordingOptions::default()
    };
    let services = social_network().unwrap();
    Profile::from_recording(recording, &services, &image(), &options).unwrap()
}

proptest! {
    #[test]
    fn a_table_is_bounded_rises_and_has_the_mean_of_its_samples(
        samples in prop::collection::vec(1.0..1e7_f64, 1..600)
    ) {
        let table = quantiles(&samples);
        prop_assert!(table.len() <= MAX_QUANTILES);
        prop_assert_eq!((table[0].0, table[table.len() - 1].0), (0.0, 1.0));
        for pair in table.windows(2) {
            prop_assert!(pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        }
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let recording = with_table(&table);
        let text = recording.to_json().unwrap();
        prop_assert_eq!(&Recording::from_json(&text).unwrap(), &recording);
        let profile = drawn(&recording);
        let unique_id = profile.service("UniqId").unwrap();
        let first = unique_id.operation(0, 0, "T1", Accel::Tcp, true).unwrap();
        let found = first.spread.as_ref().unwrap().mean().as_ns_f64();
        prop_assert!((found / mean - 1.0).abs() < 1e-6, "{} {}", found, mean);
        prop_assert_eq!(first.cost.mean(), first.spread.as_ref().unwrap().mean());
    }
}

#[test]
fn long_samples_do_not_move_the_others() {
    let mut samples = vec![1_000.0; 2_557];
    samples.extend([4e6; 3]);
    let table = quantiles(&samples);
    let body = table.iter().filter(|point| point.0 < 0.998);
    for (probability, time) in body {
        assert!((time / 1_000.0 - 1.0).abs() < 0.15, "{probability}: {time}");
    }
    assert!(table[table.len() - 1].1 > 4e6, "{table:?}");
}

#[test]
fn medians_are_the_default_and_stand_where_there_is_no_distribution() {
    let recording = with_table(&[(0.0, 500.0), (1.0, 4_500.0)]);
    let plain = measured(&recording).unwrap();
    assert_eq!(
        plain.services(),
        measured(&crate::common::recording()).unwrap().services()
    );
    let drawn = drawn(&recording);
    let unique_id = drawn.service("UniqId").unwrap();
    let of = |accel| {
        unique_id
            .operation(0, 0, "T1", accel, accel == Accel::Tcp)
            .unwrap()
    };
    assert_eq!(of(Accel::Tcp).cost.mean(), Time::from_ns_f64(2_500.0));
    assert_eq!(
        (of(Accel::Rpc).cost.mean(), &of(Accel::Rpc).spread),
        (Time::from_us(3), &None)
    );
}

#[test]
fn quantiles_and_times_outside_are_of_version_4() {
    let mut with_outside = recording();
    with_outside.services[6].outside = Some(RecordedOutside {
        core_quantiles_ns: vec![(0.0, 0.0), (1.0, 2_000.0)],
        client_quantiles_ns: Vec::new(),
        samples: 9,
    });
    let outside = drawn(&with_outside)
        .service("UniqId")
        .unwrap()
        .outside()
        .clone();
    assert_eq!(outside.core.unwrap().mean(), Time::from_us(1));
    assert_eq!(outside.client, None);
    for (recording, member) in [
        (with_outside, "outside"),
        (with_table(&[(0.0, 1.0), (1.0, 2.0)]), "cost_quantiles_ns"),
    ] {
        let text = recording.to_json().unwrap();
        let older = text.replace("\"version\": 5", "\"version\": 3");
        assert_eq!(
            Recording::from_json(&older).unwrap_err().to_string(),
            format!(
                "service UniqId: '{member}': must be left out of a recording of version 3; versions from 4 on have it"
            )
        );
    }
}

#[test]
fn a_recording_says_what_it_lacks() {
    let mut recording = recording();
    recording.services.truncate(2);
    let lacks = recording.lacks();
    assert_eq!(lacks.len(), 4);
    assert!(
        lacks[0].starts_with("CPost, ReadH: the recording lacks distributions"),
        "{lacks:?}"
    );
    for service in &mut recording.services {
        service.outside = Some(RecordedOutside {
            core_quantiles_ns: vec![(0.0, 1.0), (1.0, 1.0)],
            client_quantiles_ns: vec![(0.0, 1.0), (1.0, 1.0)],
            samples: 1,
        });
    }
    assert_eq!(recording.lacks().len(), 2);
}

#[test]
fn a_service_without_application_logic_does_not_lack_its_distribution() {
    let mut recording = recording();
    recording.services.truncate(2);
    let of_application = |recording: &Recording| {
        let lacks = recording.lacks();
        let found = lacks.iter().find(|text| text.contains("application logic"));
        found.cloned()
    };
    let lacking = "the recording lacks distributions of application logic; its medians are used";
    let both = of_application(&recording).expect("neither has one");
    assert!(
        both.starts_with(&format!("CPost, ReadH: {lacking}")),
        "{both}"
    );
    let first = &mut recording.services[0].phases;
    first.retain(|phase| matches!(phase, RecordedPhase::Chains(_)));
    let one = of_application(&recording).expect("the second has none");
    assert!(one.starts_with(&format!("ReadH: {lacking}")), "{one}");
    for service in &mut recording.services {
        service
            .phases
            .retain(|phase| matches!(phase, RecordedPhase::Chains(_)));
    }
    assert_eq!(of_application(&recording), None);
    // Likewise a service that calls no accelerator.
    for service in &mut recording.services {
        service.phases.clear();
    }
    let lacks = recording.lacks();
    assert!(
        lacks.iter().all(|text| !text.contains("costs")),
        "{lacks:?}"
    );
}

#[test]
fn wrong_tables_are_named() {
    let at = "service UniqId, phase 0, chain 0, step 0: cost_quantiles_ns";
    let allowed = "the table must have 2 to 64 pairs [probability, time in ns], with probabilities \
                   from 0 (the first) to 1 (the last) and times from 0.001 to 1e12; neither may \
                   decrease";
    let many: Vec<(f64, f64)> = (0..=64).map(|n| (f64::from(n) / 64.0, 1.0)).collect();
    for (table, point) in [
        (vec![(0.0, 1.0)], "[0] = [0, 1]"),
        (vec![(0.1, 1.0), (1.0, 2.0)], "[0] = [0.1, 1]"),
        (vec![(0.0, 1.0), (0.9, 2.0)], "[1] = [0.9, 2]"),
        (vec![(0.0, 2.0), (1.0, 1.0)], "[1] = [1, 1]"),
        (vec![(0.0, 0.0), (1.0, 1.0)], "[0] = [0, 0]"),
        (vec![(0.0, 1.0), (1.0, 1e13)], "[1] = [1, 10000000000000]"),
        (many, "[64] = [1, 1]"),
    ] {
        let refused = measured(&with_table(&table)).unwrap_err();
        assert_eq!(refused, format!("{at}{point}: {allowed}"));
    }
    let mut recording = recording();
    recording.services[6].outside = Some(RecordedOutside::default());
    assert_eq!(
        measured(&recording).unwrap_err(),
        "service UniqId, outside: must have core_quantiles_ns, client_quantiles_ns or both, and \
         samples of at least 1"
    );
}
