//! Recordings: what survives a file, and what profiles make of them.

#![allow(clippy::unwrap_used)]

use accelflow_parameters::Provenance;
use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};
use accelflow_workload::profile::{
    Calibration, PhaseProfile, Profile, RecordedPhase, Recording, RecordingOptions,
};
use accelflow_workload::suites::social_network;

use crate::common::{image, measured, recording};

#[test]
fn a_recording_survives_its_file() {
    let path = std::env::temp_dir().join(format!("recording-{}.json", std::process::id()));
    std::fs::write(&path, recording().to_json().unwrap()).unwrap();
    let read = Recording::load(&path);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read.unwrap(), recording());
    let error = Recording::load(&path).unwrap_err().to_string();
    assert!(error.starts_with(&path.display().to_string()), "{error}");
}

#[test]
fn calibrations_are_kept_checked_and_of_version_3() {
    let mut recording = recording();
    let calibration = Calibration {
        round_costs_ns: vec![20_000.0, 21_000.0, 20_500.0],
        waited_ratio: Some(0.01),
    };
    recording.services[6].calibration = Some(calibration.clone());
    let text = recording.to_json().unwrap();
    assert_eq!(Recording::from_json(&text).unwrap(), recording);
    assert!(measured(&recording).is_ok());
    let older = text.replace("\"version\": 5", "\"version\": 2");
    assert_eq!(
        Recording::from_json(&older).unwrap_err().to_string(),
        "service UniqId: 'calibration': must be left out of a recording of version 2; versions from 3 on have it"
    );
    let at = "service UniqId, calibration:";
    for (change, says) in [
        (
            Calibration {
                round_costs_ns: vec![],
                ..calibration.clone()
            },
            format!("{at} rounds of round_costs_ns = 0: must be from 1 to 1000"),
        ),
        (
            Calibration {
                round_costs_ns: vec![1.0, -1.0],
                ..calibration.clone()
            },
            format!("{at} round_costs_ns = -1: must be from 0.001 to 1000000000000"),
        ),
        (
            Calibration {
                waited_ratio: Some(1.5),
                ..calibration
            },
            format!("{at} waited_ratio = 1.5: must be from 0 to 1"),
        ),
    ] {
        recording.services[6].calibration = Some(change);
        assert_eq!(measured(&recording).unwrap_err(), says);
    }
}

#[test]
fn a_recordings_numbers_are_read_to_the_bit() {
    // The first is one unit in the last place off where a reader takes a short cut.
    let mut recording = recording();
    let numbers = [188_169.535_782_248_01, 0.1 + 0.2, 1e12_f64.next_down()];
    for number in numbers {
        let RecordedPhase::Chains(chains) = &mut recording.services[0].phases[0] else {
            panic!("a service begins with a chain");
        };
        chains[0].steps[0].cost_ns = number;
        let text = recording.to_json().unwrap();
        assert_eq!(Recording::from_json(&text).unwrap(), recording);
    }
}

#[test]
fn a_recording_gives_each_operation_its_own_cost_and_sizes() {
    let profile = measured(&recording()).unwrap();
    let unique_id = profile.service("UniqId").unwrap();
    // Five steps of 1 to 5 us, 30 us of application logic, four steps of 1 to 4 us.
    assert_eq!(unique_id.core_time(), Time::from_us(15 + 30 + 10));
    assert_eq!(unique_id.app_time(), Time::from_us(30));
    let rpc = unique_id.operation(0, 0, "T1", Accel::Rpc, false).unwrap();
    assert_eq!(rpc.cost.mean(), Time::from_us(3));
    let payload = rpc.payload.unwrap();
    assert_eq!((payload.input, payload.output), (Bytes(102), Bytes(202)));
}

#[test]
fn a_recording_of_more_services_than_asked_for_gives_those_asked_for() {
    let all = social_network().unwrap();
    let whole = measured(&recording()).unwrap();
    for service in &all {
        let asked = std::slice::from_ref(service);
        let options = RecordingOptions::default();
        let part = Profile::from_recording(&recording(), asked, &image(), &options).unwrap();
        assert_eq!(part.services().len(), 1);
        let core_time = |profile: &Profile| profile.service(service.name()).unwrap().core_time();
        assert_eq!(core_time(&part), core_time(&whole));
    }
}

#[test]
fn application_logic_that_was_not_measured_has_the_papers_share() {
    let mut recording = recording();
    recording.services[6].phases[1] = RecordedPhase::Cpu {
        app_ns: None,
        app_quantiles_ns: Vec::new(),
        samples: 0,
    };
    let profile = measured(&recording).unwrap();
    let unique_id = profile.service("UniqId").unwrap();
    let share = unique_id.app_time().as_ns_f64() / unique_id.core_time().as_ns_f64();
    assert!((share - 0.207).abs() < 0.001, "{share}");
    assert!(matches!(unique_id.phases()[1], PhaseProfile::Cpu(_)));
    let origin = |name: &str| {
        profile
            .parameters()
            .iter()
            .find(|parameter| parameter.key == name)
            .unwrap()
            .provenance
    };
    assert_eq!(origin("UniqId.phase_1.app_ns"), Provenance::Derived);
    assert_eq!(origin("RegUsr.phase_1.app_ns"), Provenance::Measured);
}

#[test]
fn the_documented_example_is_a_recording() {
    let document = include_str!("../../../docs/recording-format.md");
    let example = document
        .split("```json\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let recording = Recording::from_json(example).unwrap();
    let unique_id = &social_network().unwrap()[6..7];
    let options = RecordingOptions::default();
    let profile = Profile::from_recording(&recording, unique_id, &image(), &options).unwrap();
    assert_eq!(profile.services()[0].operations().count(), 9);
}
