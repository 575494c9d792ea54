//! Messages about wrong recordings.

#![allow(clippy::unwrap_used)]

use accelflow_workload::profile::{Direction, RecordedPhase, RecordedStep, Recording};

use crate::common::{measured, recording};

/// The refusal of a recording after `change` to the steps of UniqId's first chain.
fn refusal(change: impl FnOnce(&mut Vec<RecordedStep>)) -> String {
    let mut recording = recording();
    let RecordedPhase::Chains(chains) = &mut recording.services[6].phases[0] else {
        panic!()
    };
    change(&mut chains[0].steps);
    measured(&recording).unwrap_err()
}

#[test]
fn values_are_checked_without_a_service_that_uses_them() {
    let at = "service UniqId, phase 0, chain 0, step 2";
    let refusal = |change: &dyn Fn(&mut RecordedStep)| {
        let mut recording = recording();
        assert!(recording.check().is_ok());
        let RecordedPhase::Chains(chains) = &mut recording.services[6].phases[0] else {
            panic!()
        };
        change(&mut chains[0].steps[2]);
        recording.check().unwrap_err().to_string()
    };
    assert_eq!(
        refusal(&|step| step.cost_ns = -1.0),
        format!("{at}: cost_ns = -1: must be from 0.001 to 1e12")
    );
    assert_eq!(
        refusal(&|step| step.samples = 0),
        format!("{at}: samples = 0: must be at least 1")
    );
    let falling = vec![(0.0, 5.0), (1.0, 3.0)];
    let message = refusal(&|step| step.cost_quantiles_ns = falling.clone());
    assert!(
        message.starts_with(&format!("{at}: cost_quantiles_ns[1] = ")),
        "{message}"
    );
}

#[test]
fn wrong_steps_are_named() {
    let at = "service UniqId, phase 0, chain 0, step 2";
    assert_eq!(
        refusal(|steps| steps[2].accelerator = "Gzip".to_owned()),
        format!(
            "{at}: accelerator = 'Gzip': must be TCP, Encr, Decr, RPC, Ser, Dser, Cmp, Dcmp, LdB \
             or a custom accelerator of the traces"
        )
    );
    for (cost, text) in [
        (-1.0, "-1"),
        (0.0, "0"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
    ] {
        let expected = format!("{at}: cost_ns = {text}: must be from 0.001 to 1e12");
        assert_eq!(refusal(|steps| steps[2].cost_ns = cost), expected);
    }
    assert_eq!(
        refusal(|steps| steps[2].samples = 0),
        format!("{at}: samples = 0: must be at least 1")
    );
    let path = "the service's path has RPC in T1 here, the recording has";
    assert_eq!(
        refusal(|steps| drop(steps.remove(2))),
        format!("{at}: {path} Dser in T1")
    );
    assert_eq!(
        refusal(|steps| steps[2].trace = "T2".to_owned()),
        format!("{at}: {path} RPC in T2")
    );
    assert_eq!(
        refusal(|steps| steps.truncate(2)),
        format!("{at}: {path} the end of the chain")
    );
    assert_eq!(
        refusal(|steps| steps.push(steps[4].clone())),
        "service UniqId, phase 0, chain 0, step 5: the service's path has the end of the chain \
         here, the recording has LdB in T1"
    );
    assert_eq!(
        refusal(|steps| steps[0].direction = Direction::Send),
        "service UniqId, phase 0, chain 0, step 0: the service's path has TCP (receive) in T1 \
         here, the recording has TCP (send) in T1"
    );
}

#[test]
fn wrong_phases_and_services_are_named() {
    let refusal = |change: fn(&mut Recording)| {
        let mut recording = recording();
        change(&mut recording);
        measured(&recording).unwrap_err()
    };
    let others = "ReadH, StoreP, Follow, Login, CUrls, UniqId, RegUsr";
    assert_eq!(
        refusal(|recording| recording.services[0].service = "Compose".to_owned()),
        format!(
            "service = 'CPost': must be in the recording, which has these services: Compose, \
             {others}"
        )
    );
    assert_eq!(
        refusal(|recording| recording.services.clear()),
        "service = 'CPost': must be in the recording, which has these services: none"
    );
    assert_eq!(
        refusal(|recording| recording.services.push(recording.services[0].clone())),
        "service = 'CPost': must be in the recording only once"
    );
    assert_eq!(
        refusal(|recording| drop(recording.services[6].phases.pop())),
        "service UniqId, phase 2: the service's path has 3 phases in all here, the recording has \
         2 phases in all"
    );
    assert_eq!(
        refusal(|recording| recording.services[6].phases.swap(1, 2)),
        "service UniqId, phase 1: the service's path has application logic here, the recording \
         has chains"
    );
    assert_eq!(
        refusal(|recording| {
            let RecordedPhase::Chains(chains) = &mut recording.services[3].phases[2] else {
                panic!()
            };
            chains.pop();
        }),
        "service Follow, phase 2: the service's path has 3 chains here, the recording has 2 chains"
    );
    assert_eq!(
        refusal(
            |recording| recording.services[6].phases[1] = RecordedPhase::Cpu {
                app_ns: Some(-3.0),
                app_quantiles_ns: Vec::new(),
                samples: 1
            }
        ),
        "service UniqId, phase 1: app_ns = -3: must be from 0.001 to 1e12"
    );
    assert_eq!(
        refusal(|recording| recording.version = 6),
        "recording format: version = 6: must be from 1 to 5"
    );
}

#[test]
fn wrong_files_are_named() {
    let refusal = |text: &str| Recording::from_json(text).unwrap_err().to_string();
    assert_eq!(
        refusal(r#"{"format": "accelflow-recording", "version": 9, "extra": 1}"#),
        "recording format: version = 9: must be from 1 to 5"
    );
    assert_eq!(
        refusal(r#"{"format": "accelflow-trace", "version": 1}"#),
        "format = 'accelflow-trace': must be 'accelflow-recording'"
    );
    let error = refusal("{\"format\": \"accelflow-recording\",\n \"version\": 1}");
    assert!(
        error.starts_with("recording: must be the JSON of a recording: missing field `machine`"),
        "{error}"
    );
    let misspelt = recording()
        .to_json()
        .unwrap()
        .replacen("cost_ns", "cost_us", 1);
    let error = refusal(&misspelt);
    assert!(
        error.contains("unknown field `cost_us`") && error.contains("line"),
        "{error}"
    );
}
