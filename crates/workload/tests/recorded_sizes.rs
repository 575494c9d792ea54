//! Calls grouped by size: how a recording groups them, and which groups it may have.

#![allow(clippy::unwrap_used)]

use accelflow_parameters::Provenance;
use accelflow_trace::Accel;
use accelflow_workload::profile::{
    MAX_SIZES, Profile, RecordedPhase, RecordedSize, Recording, RecordingOptions, by_size,
};
use accelflow_workload::suites::social_network;
use proptest::prelude::*;

use crate::common::{image, measured, recording};

fn group(input_bytes: u64, calls: u64, cost_ns: f64) -> RecordedSize {
    RecordedSize {
        input_bytes,
        calls,
        cost_ns,
    }
}

/// The recording with `groups` in the first step of UniqId, whose 50 calls have 100 bytes.
fn with_groups(groups: &[RecordedSize]) -> Recording {
    let mut recording = recording();
    let RecordedPhase::Chains(chains) = &mut recording.services[6].phases[0] else {
        panic!("a service begins with a chain");
    };
    chains[0].steps[0].by_size = groups.to_vec();
    recording
}

#[test]
fn each_of_a_few_sizes_is_a_group_with_its_median_cost() {
    let calls = [(300, 7.0), (100, 1.0), (300, 9.0), (100, 3.0), (300, 50.0)];
    assert_eq!(by_size(&calls), [group(100, 2, 1.0), group(300, 3, 9.0)]);
    assert_eq!(by_size(&[]), []);
    assert_eq!(by_size(&[(0, 2.0)]), [group(0, 1, 2.0)]);
}

#[test]
fn many_sizes_become_groups_of_as_many_calls() {
    let calls: Vec<(u64, f64)> = (0..640).map(|i| (1_000 + i, 10.0 + i as f64)).collect();
    let groups = by_size(&calls);
    assert_eq!(groups.len(), 32);
    assert!(groups.iter().all(|group| group.calls == 20));
    // Sizes 1,000 to 1,019 have the mean 1,009.5.
    assert_eq!(groups[0], group(1_010, 20, 19.0));
}

proptest! {
    #[test]
    fn groups_have_all_calls_their_mean_size_and_are_valid(
        calls in prop::collection::vec((0_u64..5_000, 1.0..1e6_f64), 1..700)
    ) {
        let groups = by_size(&calls);
        prop_assert!(groups.len() <= 32 && groups.len() <= MAX_SIZES);
        let count: u64 = groups.iter().map(|group| group.calls).sum();
        prop_assert_eq!(count, calls.len() as u64);
        let total: u64 = calls.iter().map(|(bytes, _)| bytes).sum();
        let grouped: u64 = groups.iter().map(|group| group.input_bytes * group.calls).sum();
        // A group's size is off by half a byte at most.
        prop_assert!(total.abs_diff(grouped) as f64 <= 0.5 * count as f64);
        for group in &groups {
            prop_assert!(calls.iter().any(|&(_, cost)| cost == group.cost_ns));
        }
        let mut with = with_groups(&groups);
        let RecordedPhase::Chains(chains) = &mut with.services[6].phases[0] else {
            panic!("a service begins with a chain");
        };
        chains[0].steps[0].samples = count;
        prop_assert!(with.check().is_ok());
        prop_assert_eq!(&Recording::from_json(&with.to_json().unwrap()).unwrap(), &with);
        let mut reversed = calls.clone();
        reversed.reverse();
        prop_assert_eq!(by_size(&reversed), groups);
    }
}

#[test]
fn wrong_groups_are_named() {
    let at = "service UniqId, phase 0, chain 0, step 0: by_size";
    let refusal = |groups: &[RecordedSize]| {
        let recording = with_groups(groups);
        let message = recording.check().unwrap_err().to_string();
        assert_eq!(measured(&recording).unwrap_err(), message);
        message
    };
    let allowed = "must have input_bytes larger than the group before, up to 1e12, calls of at least 1, and \
                   cost_ns from 0.001 to 1e12";
    let value = "input_bytes = 100, calls = 25, cost_ns = 5";
    assert_eq!(
        refusal(&[group(100, 25, 4.0), group(100, 25, 5.0)]),
        format!("{at}[1] = {{{value}}}: {allowed}")
    );
    for wrong in [
        group(100, 0, 5.0),
        group(100, 50, 0.0),
        group(100, 50, f64::NAN),
        group(2_000_000_000_000, 50, 5.0),
    ] {
        let message = refusal(&[wrong]);
        assert!(message.starts_with(&format!("{at}[0] = {{")), "{message}");
    }
    assert_eq!(
        refusal(&[group(100, 20, 4.0), group(200, 20, 5.0)]),
        format!("{at}: sum of calls = 40: must be 50, the number of samples")
    );
    let many: Vec<RecordedSize> = (0..65).map(|size| group(size, 1, 5.0)).collect();
    assert_eq!(
        refusal(&many),
        format!("{at}: groups = 65: must be at most 64")
    );
}

#[test]
fn groups_are_of_version_5() {
    let text = with_groups(&[group(100, 50, 4.0)]).to_json().unwrap();
    let older = text.replace("\"version\": 5", "\"version\": 4");
    assert_eq!(
        Recording::from_json(&older).unwrap_err().to_string(),
        "service UniqId: 'by_size': must be left out of a recording of version 4; versions from 5 on have it"
    );
}

/// The profile's parameter `size_share.TCP`, if the first TCP of UniqId has calls of several sizes:
/// `fixed_ns` and `per_byte` a byte, `noise_ns` more or less in turn.
fn tcp_share(fixed_ns: f64, per_byte: f64, noise_ns: f64) -> (f64, Provenance) {
    let groups: Vec<RecordedSize> = (0..25)
        .map(|size| {
            let bytes = 40 + 5 * size;
            let noise = noise_ns * if size % 2 == 0 { 1.0 } else { -1.0 };
            group(bytes, 2, fixed_ns + per_byte * bytes as f64 + noise)
        })
        .collect();
    let mut recording = with_groups(&groups);
    recording.services.swap(0, 6);
    recording.services.truncate(1);
    let services = social_network().unwrap();
    let profile = Profile::from_recording(
        &recording,
        &services[6..7],
        &image(),
        &RecordingOptions::default(),
    );
    let profile = profile.unwrap();
    let mut found = profile.parameters().iter();
    let found = found
        .find(|parameter| parameter.key == "size_share.TCP")
        .unwrap();
    let first = profile.service("UniqId").unwrap();
    let first = first.operation(0, 0, "T1", Accel::Tcp, true).unwrap();
    // 100 bytes are recorded for the first step, whose cost is 1,000 ns.
    match found.provenance {
        Provenance::Measured => {
            let expected = (per_byte.max(0.0) * 100.0 / 1_000.0).min(1.0);
            assert!(
                (first.cost.size_share() - expected).abs() < 0.02,
                "{first:?}"
            );
            let typical = profile.typical_cost(Accel::Tcp).unwrap().size_share();
            assert!((typical - found.default).abs() < 1e-6, "{typical}");
        }
        _ => assert_eq!(first.cost.size_share(), 0.5),
    }
    (found.default, found.provenance)
}

#[test]
fn the_share_of_a_cost_by_size_is_measured_where_calls_have_several_sizes() {
    // The steps of TCP, T1's and T2's, have 100 and 103 bytes and cost 1 and 4 us.
    let (share, origin) = tcp_share(600.0, 4.0, 0.0);
    assert_eq!(origin, Provenance::Measured);
    assert!((share - 4.0 * 203.0 / 5_000.0).abs() < 1e-9, "{share}");
    let (share, origin) = tcp_share(600.0, 4.0, 20.0);
    assert_eq!(origin, Provenance::Measured);
    assert!((share - 4.0 * 203.0 / 5_000.0).abs() < 0.01, "{share}");
    // Costs that do not rise have no part by size.
    assert_eq!(tcp_share(900.0, -2.0, 0.0), (0.0, Provenance::Measured));
    // Noise that hides the slope leaves the share as assumed.
    assert_eq!(tcp_share(5_000.0, 4.0, 4_500.0), (0.5, Provenance::Assumed));
}

#[test]
fn few_sizes_measure_no_share() {
    let share = |count: u64| {
        let groups: Vec<RecordedSize> = (0..count)
            .map(|size| group(100 * (size + 1), 50 / count, 500.0 + 100.0 * size as f64))
            .collect();
        let mut recording = with_groups(&groups);
        let RecordedPhase::Chains(chains) = &mut recording.services[6].phases[0] else {
            panic!("a service begins with a chain");
        };
        chains[0].steps[0].samples = groups.iter().map(|group| group.calls).sum();
        let profile = measured(&recording).unwrap();
        let mut found = profile.parameters().iter();
        found
            .find(|parameter| parameter.key == "size_share.TCP")
            .unwrap()
            .provenance
    };
    assert_eq!(
        (share(9), share(10)),
        (Provenance::Assumed, Provenance::Measured)
    );
}
