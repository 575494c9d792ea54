//! Recordings of the eight services.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use accelflow_accel::messages::MESSAGE_SIZES;
use accelflow_accel::storage::Role;
use accelflow_runtime::record::{RecordError, RecordOptions, machine, record};
use accelflow_trace::{Image, templates};
use accelflow_workload::profile::{
    Direction, Profile, RecordedPhase, RecordedStep, Recording, RecordingOptions,
};
use accelflow_workload::suites::social_network;

fn image() -> Image {
    templates().unwrap().link().unwrap()
}

fn options(samples: u32, repetitions: u32) -> RecordOptions {
    RecordOptions {
        samples,
        repetitions,
        rounds: 1,
        ..RecordOptions::new("test machine", "2026-01-31")
    }
}

fn short() -> Recording {
    let services = social_network().unwrap();
    let go_on = &mut |_: accelflow_runtime::record::Progress<'_>| ControlFlow::Continue(());
    record(&image(), &services, &options(5, 2), go_on).unwrap()
}

fn steps(recording: &Recording, service: &str) -> Vec<RecordedStep> {
    let found = recording
        .services
        .iter()
        .find(|recorded| recorded.service == service);
    let chains = found.unwrap().phases.iter().flat_map(|phase| match phase {
        RecordedPhase::Cpu { app_ns, .. } => {
            assert_eq!(*app_ns, None);
            vec![]
        }
        RecordedPhase::Chains(chains) => chains.clone(),
    });
    chains.flat_map(|chain| chain.steps).collect()
}

#[test]
fn a_recording_becomes_a_profile() {
    let recording = short();
    let again = Recording::from_json(&recording.to_json().unwrap()).unwrap();
    assert_eq!(again, recording);
    let services = social_network().unwrap();
    let options = RecordingOptions::default();
    let profile = Profile::from_recording(&recording, &services, &image(), &options).unwrap();
    let operations: usize = services
        .iter()
        .map(|service| steps(&recording, service.name()).len())
        .sum();
    assert_eq!(operations, 245);
    let total = profile
        .parameters()
        .iter()
        .find(|parameter| parameter.key == "UniqId.operations_ns")
        .unwrap();
    let recorded: f64 = steps(&recording, "UniqId")
        .iter()
        .map(|step| step.cost_ns)
        .sum();
    assert!(
        (total.default - recorded).abs() < 0.01 * recorded,
        "{total:?}, {recorded}"
    );
}

#[test]
fn steps_have_sizes_facts_and_costs() {
    let recording = short();
    let uniq = steps(&recording, "UniqId");
    let published = MESSAGE_SIZES
        .iter()
        .find(|size| (size.method, size.role) == ("ComposeUniqueId", Role::Request))
        .unwrap();
    // TCP, Decr, RPC, Dser, LdB: 40 bytes of headers a segment; 5 of record header, 1 of content
    // type and 16 of tag a record.
    let message = published.p50_bytes as u64;
    assert_eq!(uniq[1].output_bytes, message);
    assert_eq!(uniq[0].output_bytes, message + 22);
    assert_eq!(uniq[0].input_bytes, message + 22 + 40);
    assert_eq!(uniq[3].facts.get("compressed"), Some(&0));
    assert_eq!(uniq[4].input_bytes, uniq[4].output_bytes);
    for step in recording
        .services
        .iter()
        .flat_map(|recorded| steps(&recording, &recorded.service))
    {
        assert!(step.cost_ns >= 1.0 && step.cost_ns.is_finite(), "{step:?}");
        assert_eq!(step.samples, 10);
        assert!(
            step.input_bytes > 0 || step.accelerator == "Ser",
            "{step:?}"
        );
        match step.accelerator.as_str() {
            "Decr" | "Dser" | "Dcmp" => assert_eq!(step.direction, Direction::Receive),
            "Encr" | "Ser" | "Cmp" => assert_eq!(step.direction, Direction::Send),
            _ => {}
        }
    }
}

#[test]
fn calls_are_grouped_by_the_sizes_of_their_inputs() {
    let recording = short();
    let mut several = 0;
    for recorded in &recording.services {
        for step in steps(&recording, &recorded.service) {
            let groups = &step.by_size;
            assert_eq!(groups.iter().map(|group| group.calls).sum::<u64>(), 10);
            // Five messages, each of which is sent twice.
            assert!(groups.iter().all(|group| group.calls % 2 == 0), "{step:?}");
            assert!(
                groups
                    .iter()
                    .any(|group| group.input_bytes == step.input_bytes)
            );
            several += usize::from(groups.len() > 1);
        }
    }
    assert!(
        several > 100,
        "{several} steps have messages of several sizes"
    );
}

#[test]
fn everything_but_the_costs_is_reproducible() {
    let without_costs = || {
        let mut recording = short();
        for phase in recording
            .services
            .iter_mut()
            .flat_map(|service| &mut service.phases)
        {
            if let RecordedPhase::Chains(chains) = phase {
                for step in chains.iter_mut().flat_map(|chain| &mut chain.steps) {
                    step.cost_ns = 1.0;
                    step.cost_quantiles_ns.clear();
                    for group in &mut step.by_size {
                        group.cost_ns = 1.0;
                    }
                }
            }
        }
        for service in &mut recording.services {
            service.calibration = None;
        }
        recording
    };
    assert_eq!(without_costs(), without_costs());
}

#[test]
fn rounds_are_kept_and_costs_are_medians_of_theirs() {
    let services = social_network().unwrap();
    let rounds = RecordOptions {
        rounds: 5,
        ..options(2, 2)
    };
    let mut order = vec![];
    let recording = record(&image(), &services, &rounds, &mut |progress| {
        order.push((progress.service.to_owned(), progress.done));
        assert_eq!(progress.total, 5 * 8 * 2 * 2);
        ControlFlow::Continue(())
    })
    .unwrap();
    // All services in each round, one further on at the beginning of each.
    assert_eq!(order.len(), 5 * 8 * 2);
    assert_eq!(order[0].0, "CPost");
    assert_eq!(order[16].0, "ReadH");
    assert_eq!(order[79].1, 5 * 8 * 2 * 2);
    for service in &recording.services {
        let calibration = service.calibration.as_ref().unwrap();
        assert_eq!(calibration.round_costs_ns.len(), 5);
        assert!((0.0..=1.0).contains(&calibration.waited_ratio.unwrap()));
        let sum: f64 = steps(&recording, &service.service)
            .iter()
            .map(|step| step.cost_ns)
            .sum();
        // Three of the five rounds of a step have at least its median, whatever stops the others.
        let all: f64 = calibration.round_costs_ns.iter().sum();
        assert!(sum > 0.0 && 3.0 * sum <= all * (1.0 + 1e-9), "{sum} {all}");
        assert_eq!(steps(&recording, &service.service)[0].samples, 20);
    }
    let again = Recording::from_json(&recording.to_json().unwrap()).unwrap();
    assert_eq!(again, recording);
}

#[test]
fn progress_counts_up_to_the_total_and_can_stop() {
    let services = social_network().unwrap();
    let mut seen = vec![];
    let done = record(&image(), &services, &options(2, 3), &mut |progress| {
        seen.push((progress.service.to_owned(), progress.done));
        assert_eq!(progress.total, 48);
        ControlFlow::Continue(())
    });
    done.unwrap();
    assert_eq!(seen.len(), 16);
    assert_eq!(seen[0], ("CPost".to_owned(), 3));
    assert_eq!(seen[15], ("RegUsr".to_owned(), 48));

    let stopped = record(&image(), &services, &options(2, 3), &mut |_| {
        ControlFlow::Break(())
    });
    assert!(matches!(stopped, Err(RecordError::Interrupted)));
    let nothing = record(&image(), &services, &options(0, 3), &mut |_| {
        ControlFlow::Break(())
    });
    assert_eq!(
        nothing.unwrap_err().to_string(),
        "samples = 0: must be at least 1"
    );
    assert!(!machine().is_empty());
}
