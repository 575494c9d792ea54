//! Profiles: the paper's shares, recordings, and what a wrong recording is told.

#![allow(clippy::unwrap_used)]

use accelflow_trace::{Accel, Image, templates};
use accelflow_units::{Bytes, Time};
use accelflow_workload::profile::{
    Averaging, Calibration, Cost, Direction, PAPER_SHARES, PaperOptions, PhaseProfile, Profile,
    Provenance, RecordedChain, RecordedPhase, RecordedRequest, RecordedService, RecordedStep,
    Recording, RecordingOptions, RemoteWaits, ShareKind, shares,
};
use accelflow_workload::services::{Phase, PhaseWalk, Service, invocations, social_network};

fn image() -> Image {
    templates().unwrap().link().unwrap()
}

fn paper(options: &PaperOptions) -> Profile {
    Profile::paper(&social_network().unwrap(), &image(), options).unwrap()
}

fn value(profile: &Profile, name: &str) -> f64 {
    profile
        .parameters()
        .iter()
        .find(|it| it.name == name)
        .unwrap()
        .value
}

#[test]
fn the_profile_gives_the_papers_shares_back() {
    for averaging in [Averaging::Services, Averaging::Time] {
        let profile = paper(&PaperOptions {
            averaging,
            ..PaperOptions::default()
        });
        for (found, printed) in shares(&profile, averaging).iter().zip(PAPER_SHARES) {
            assert!(
                (found - printed).abs() < 0.001,
                "{averaging:?}: {found} {printed}"
            );
        }
        let sum: f64 = shares(&profile, averaging).iter().sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }
}

#[test]
fn costs_from_shares_of_time_are_those_of_the_arithmetic() {
    let profile = paper(&PaperOptions {
        averaging: Averaging::Time,
        ..PaperOptions::default()
    });
    let counts = [54.0, 54.0, 34.0, 54.0, 23.0, 26.0, 18.0];
    for (index, kind) in ShareKind::ALL.into_iter().enumerate().skip(1) {
        let per_count = PAPER_SHARES[index] / counts[index];
        let expected = 20_000.0 * per_count / (PAPER_SHARES[0] / counts[0]);
        let found = value(&profile, &format!("cost.{}_ns", kind.name()));
        assert!(
            (found - expected).abs() < 0.01,
            "{kind:?}: {found} {expected}"
        );
    }
}

#[test]
fn operations_of_a_kind_cost_the_same_and_all_are_priced() {
    let services = social_network().unwrap();
    let profile = paper(&PaperOptions::default());
    assert_eq!(profile.services().len(), services.len());
    for (service, priced) in services.iter().zip(profile.services()) {
        let counts = invocations(service, &image()).unwrap();
        assert_eq!(priced.operations().count(), counts.total as usize);
        for it in priced.operations() {
            let typical = profile.typical_cost(it.operation.accel).unwrap();
            assert_eq!(it.cost.mean(), typical.mean(), "{:?}", it.operation);
            assert_eq!(it.payload, None);
        }
        let sum = priced
            .operations()
            .map(|it| it.cost.mean().as_ps())
            .sum::<u64>();
        assert_eq!(priced.core_time().as_ps(), sum + priced.app_time().as_ps());
    }
    assert_eq!(
        profile.typical_cost(Accel::Tcp).unwrap().mean(),
        Time::from_us(20)
    );
    let (encr, decr) = (
        profile.typical_cost(Accel::Encr),
        profile.typical_cost(Accel::Decr),
    );
    assert_eq!(encr, decr);
}

#[test]
fn tcp_cost_scales_everything() {
    let full = paper(&PaperOptions::default());
    let options = PaperOptions {
        tcp_cost: Time::from_us(7),
        ..PaperOptions::default()
    };
    let scaled = paper(&options);
    for (a, b) in full.services().iter().zip(scaled.services()) {
        let ratio = b.core_time().as_ns_f64() / a.core_time().as_ns_f64();
        assert!((ratio - 0.35).abs() < 1e-6, "{ratio}");
    }
}

#[test]
fn an_operation_is_found_by_trace_and_accelerator() {
    let profile = paper(&PaperOptions::default());
    let login = profile.service("Login").unwrap();
    let sends = login.operation(2, 0, "T6", Accel::Tcp, false).unwrap();
    assert!(!sends.operation.receives);
    assert!(
        login
            .operation(2, 0, "T6", Accel::Tcp, true)
            .unwrap()
            .operation
            .receives
    );
    assert_eq!(login.operation(2, 0, "T6", Accel::Dcmp, false), None);
    assert_eq!(login.operation(1, 0, "T6", Accel::Tcp, false), None);
    assert_eq!(login.operation(2, 1, "T6", Accel::Tcp, false), None);
}

#[test]
fn cost_grows_with_size_around_its_mean() {
    let cost = Cost::new(Time::from_us(10), 0.5);
    assert_eq!(cost.at(Bytes(2_000), Bytes(2_000)), Time::from_us(10));
    assert_eq!(cost.at(Bytes(0), Bytes(2_000)), Time::from_us(5));
    assert_eq!(cost.at(Bytes(6_000), Bytes(2_000)), Time::from_us(20));
    assert_eq!(cost.at(Bytes(6_000), Bytes(0)), Time::from_us(10));
    assert_eq!(
        Cost::new(Time::from_us(4), 0.0).at(Bytes(9), Bytes(1)),
        Time::from_us(4)
    );
    assert_eq!(Cost::new(Time::from_us(4), f64::NAN).size_share(), 0.0);
}

#[test]
fn waits_are_by_receiving_trace() {
    let measured = RemoteWaits::social_network();
    assert_eq!(measured.of("T5"), Time::from_us(72));
    assert_eq!(measured.of("T10"), Time::from_us(269));
    assert_eq!(RemoteWaits::short().of("T6"), Time::from_us(5));
    let waits = RemoteWaits::constant(Time::from_us(1)).with("T6", Time::from_us(9));
    assert_eq!(
        (waits.of("T6"), waits.of("T7")),
        (Time::from_us(9), Time::from_us(1))
    );
}

#[test]
fn every_parameter_has_an_origin_and_the_scale_is_assumed() {
    let profile = paper(&PaperOptions::default());
    let origin = |name: &str| {
        let it = profile
            .parameters()
            .iter()
            .find(|it| it.name == name)
            .unwrap();
        assert!(!it.note.is_empty(), "{name}");
        it.provenance
    };
    assert_eq!(origin("tcp_cost_ns"), Provenance::Assumed);
    assert_eq!(origin("share.(De)Ser"), Provenance::Paper);
    assert_eq!(origin("cost.AppLogic_ns"), Provenance::Derived);
    assert_eq!(origin("size_share.TCP"), Provenance::Assumed);
    assert_eq!(origin("remote_wait.other_ns"), Provenance::Assumed);
}

#[test]
fn options_out_of_range_are_refused() {
    let services = social_network().unwrap();
    let message = |services: &[Service], options: &PaperOptions| {
        Profile::paper(services, &image(), options)
            .unwrap_err()
            .to_string()
    };
    let zero = PaperOptions {
        tcp_cost: Time::ZERO,
        ..PaperOptions::default()
    };
    assert_eq!(
        message(&services, &zero),
        "tcp_cost = 0 ns: must be more than 0 and at most 1e9"
    );
    let mut options = PaperOptions::default();
    options.size_shares[Accel::Rpc.index()] = 1.5;
    assert_eq!(
        message(&services, &options),
        "size_shares[RPC] = 1.5: must be from 0 to 1"
    );
    assert_eq!(
        message(&services[6..7], &PaperOptions::default()),
        "no service has any (De)Cmp operations, of which the paper prints a share"
    );
}

/// A recording of `service` in which the n-th step of a chain costs n us.
fn record(service: &Service) -> RecordedService {
    let step = |(index, it): (usize, &accelflow_workload::services::Operation)| RecordedStep {
        trace: it.trace.clone(),
        accelerator: it.accel.to_string(),
        direction: if it.receives {
            Direction::Receive
        } else {
            Direction::Send
        },
        input_bytes: 100 + index as u64,
        output_bytes: 200 + index as u64,
        facts: [("compressed".to_owned(), 0)].into(),
        cost_ns: 1_000.0 * (index + 1) as f64,
        samples: 50,
    };
    let phases = service.walk(&image()).unwrap();
    let phases = phases.iter().map(|phase| match phase {
        PhaseWalk::Cpu => RecordedPhase::Cpu {
            app_ns: Some(30_000.0),
            samples: 50,
        },
        PhaseWalk::Traces(walks) => {
            let steps = |walk: &accelflow_workload::services::ChainWalk| {
                walk.operations.iter().enumerate().map(step).collect()
            };
            let chains = walks
                .iter()
                .map(|walk| RecordedChain { steps: steps(walk) });
            RecordedPhase::Chains(chains.collect())
        }
    });
    RecordedService {
        service: service.name().to_owned(),
        calibration: None,
        requests: Vec::new(),
        phases: phases.collect(),
    }
}

fn recording() -> Recording {
    let mut recording = Recording::new("one core at 2.4 GHz", "2026-01-31");
    recording.services = social_network().unwrap().iter().map(record).collect();
    recording
}

fn measured(recording: &Recording) -> Result<Profile, String> {
    let services = social_network().unwrap();
    Profile::from_recording(recording, &services, &image(), &RecordingOptions::default())
        .map_err(|error| error.to_string())
}

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
    let older = text.replace("\"version\": 3", "\"version\": 2");
    assert_eq!(
        Recording::from_json(&older).unwrap_err().to_string(),
        "service UniqId: 'calibration' is of version 3, the recording of version 2"
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
        let core_time = |it: &Profile| it.service(service.name()).unwrap().core_time();
        assert_eq!(core_time(&part), core_time(&whole));
    }
}

#[test]
fn application_logic_that_was_not_measured_has_the_papers_share() {
    let mut recording = recording();
    recording.services[6].phases[1] = RecordedPhase::Cpu {
        app_ns: None,
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
            .find(|it| it.name == name)
            .unwrap()
            .provenance
    };
    assert_eq!(origin("UniqId.phase_1.app_ns"), Provenance::Derived);
    assert_eq!(origin("RegUsr.phase_1.app_ns"), Provenance::Measured);
}

/// What a recording of UniqId's first chain is told after `change`.
fn told(change: impl FnOnce(&mut Vec<RecordedStep>)) -> String {
    let mut recording = recording();
    let RecordedPhase::Chains(chains) = &mut recording.services[6].phases[0] else {
        panic!()
    };
    change(&mut chains[0].steps);
    measured(&recording).unwrap_err()
}

#[test]
fn wrong_steps_are_named() {
    let at = "service UniqId, phase 0, chain 0, step 2";
    assert_eq!(
        told(|steps| steps[2].accelerator = "Gzip".to_owned()),
        format!(
            "{at}: unknown accelerator 'Gzip'; known are TCP, Encr, Decr, RPC, Ser, Dser, Cmp, \
             Dcmp, LdB"
        )
    );
    for (cost, text) in [
        (-1.0, "-1"),
        (0.0, "0"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
    ] {
        let expected = format!("{at}: cost_ns = {text}: must be from 0.001 to 1e12");
        assert_eq!(told(|steps| steps[2].cost_ns = cost), expected);
    }
    assert_eq!(
        told(|steps| steps[2].samples = 0),
        format!("{at}: samples = 0: must be at least 1")
    );
    let path = "the service's path has RPC in T1 here, the recording has";
    assert_eq!(
        told(|steps| drop(steps.remove(2))),
        format!("{at}: {path} Dser in T1")
    );
    assert_eq!(
        told(|steps| steps[2].trace = "T2".to_owned()),
        format!("{at}: {path} RPC in T2")
    );
    assert_eq!(
        told(|steps| steps.truncate(2)),
        format!("{at}: {path} the end of the chain")
    );
    assert_eq!(
        told(|steps| steps.push(steps[4].clone())),
        "service UniqId, phase 0, chain 0, step 5: the service's path has the end of the chain \
         here, the recording has LdB in T1"
    );
    assert_eq!(
        told(|steps| steps[0].direction = Direction::Send),
        "service UniqId, phase 0, chain 0, step 0: the service's path has TCP (receive) in T1 \
         here, the recording has TCP (send) in T1"
    );
}

#[test]
fn wrong_phases_and_services_are_named() {
    let told = |change: fn(&mut Recording)| {
        let mut recording = recording();
        change(&mut recording);
        measured(&recording).unwrap_err()
    };
    let others = "ReadH, StoreP, Follow, Login, CUrls, UniqId, RegUsr";
    assert_eq!(
        told(|it| it.services[0].service = "Compose".to_owned()),
        format!("service CPost is missing from the recording, which has Compose, {others}")
    );
    assert_eq!(
        told(|it| it.services.clear()),
        "service CPost is missing from the recording, which has none"
    );
    assert_eq!(
        told(|it| it.services.push(it.services[0].clone())),
        "service CPost is in the recording twice"
    );
    assert_eq!(
        told(|it| drop(it.services[6].phases.pop())),
        "service UniqId, phase 2: the service's path has 3 phases in all here, the recording has \
         2 phases in all"
    );
    assert_eq!(
        told(|it| it.services[6].phases.swap(1, 2)),
        "service UniqId, phase 1: the service's path has application logic here, the recording \
         has chains"
    );
    assert_eq!(
        told(|it| {
            let RecordedPhase::Chains(chains) = &mut it.services[3].phases[2] else {
                panic!()
            };
            chains.pop();
        }),
        "service Follow, phase 2: the service's path has 3 chains here, the recording has 2 chains"
    );
    assert_eq!(
        told(|it| it.services[6].phases[1] = RecordedPhase::Cpu {
            app_ns: Some(-3.0),
            samples: 1
        }),
        "service UniqId, phase 1: app_ns = -3: must be from 0.001 to 1e12"
    );
    assert_eq!(
        told(|it| it.version = 4),
        "version 4 of the recording format is unknown; known are 1, 2 and 3"
    );
}

#[test]
fn wrong_files_are_named() {
    let told = |text: &str| Recording::from_json(text).unwrap_err().to_string();
    assert_eq!(
        told(r#"{"format": "accelflow-recording", "version": 9, "extra": 1}"#),
        "version 9 of the recording format is unknown; known are 1, 2 and 3"
    );
    assert_eq!(
        told(r#"{"format": "accelflow-trace", "version": 1}"#),
        "format 'accelflow-trace': must be 'accelflow-recording'"
    );
    let error = told("{\"format\": \"accelflow-recording\",\n \"version\": 1}");
    assert!(
        error.starts_with("not a recording: missing field `machine`"),
        "{error}"
    );
    let misspelt = recording()
        .to_json()
        .unwrap()
        .replacen("cost_ns", "cost_us", 1);
    let error = told(&misspelt);
    assert!(
        error.contains("unknown field `cost_us`") && error.contains("line"),
        "{error}"
    );
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

/// What the payload of T1 and of what follows the first read of Login says, 3 and 1 times.
fn login_requests() -> Vec<RecordedRequest> {
    let request = |count, hit: i64, found: i64| {
        let read = [
            ("T5".to_owned(), [("hit".to_owned(), hit)].into()),
            ("T6".to_owned(), [("found".to_owned(), found)].into()),
        ];
        let phases = social_network().unwrap()[4].path().to_vec();
        let chains = |(index, phase): (usize, &Phase)| match (index, phase) {
            (2, _) => vec![read.clone().into()],
            _ => vec![Default::default(); phase.chains().len()],
        };
        RecordedRequest {
            count,
            facts: phases.iter().enumerate().map(chains).collect(),
        }
    };
    vec![request(3, 1, 1), request(1, 0, 0)]
}

#[test]
fn recorded_requests_survive_their_file_and_older_files_have_none() {
    let mut recording = recording();
    recording.services[4].requests = login_requests();
    let text = recording.to_json().unwrap();
    assert!(text.contains("\"version\": 3"));
    assert_eq!(Recording::from_json(&text).unwrap(), recording);
    let profile = measured(&recording).unwrap();
    let login = profile.service("Login").unwrap();
    let hits: Vec<_> = login.requests().chains(2, 0).collect();
    let of = |place: usize, trace, field| (hits[place].0, hits[place].1.fact(trace, field));
    assert_eq!(
        [of(0, "T5", "hit"), of(1, "T5", "hit")],
        [(3, Some(1)), (1, Some(0))]
    );
    assert_eq!(of(1, "T6", "found"), (1, Some(0)));
    assert_eq!(
        of(1, "T7", "exception"),
        (1, Some(0)),
        "what was not recorded is the common"
    );
    assert_eq!(profile.service("CPost").unwrap().requests().count(), 0);
    // Version 1 is read as before, and has no requests.
    let second = |text: &str| text.replace("\"version\": 3", "\"version\": 1");
    let refused = Recording::from_json(&second(&text)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "service Login: 'requests' is of version 2, the recording of version 1"
    );
    recording.services[4].requests.clear();
    let old = Recording::from_json(&second(&recording.to_json().unwrap())).unwrap();
    assert_eq!(old.version, 1);
    let [new, old] = [measured(&recording), measured(&old)].map(Result::unwrap);
    assert_eq!(new.services(), old.services());
}

#[test]
fn recorded_requests_must_be_those_of_their_service() {
    let told = |change: &dyn Fn(&mut Vec<RecordedRequest>)| {
        let mut recording = recording();
        recording.services[4].requests = login_requests();
        change(&mut recording.services[4].requests);
        measured(&recording).unwrap_err()
    };
    let login = "service Login, request 1";
    assert_eq!(
        told(&|it| it[1].count = 0),
        format!("{login}: count = 0: must be from 1 to 1e12")
    );
    assert_eq!(
        told(&|it| it[1].facts.truncate(2)),
        format!(
            "{login}: the path has {} phases, the request 2 phases",
            social_network().unwrap()[4].path().len()
        )
    );
    assert_eq!(
        told(&|it| it[1].facts[1].push(Default::default())),
        format!("{login}: the path has 0 chains in phase 1, the request 1 chains in phase 1")
    );
    let say = |trace: &str, field: &str| {
        let (trace, field) = (trace.to_owned(), field.to_owned());
        move |it: &mut Vec<RecordedRequest>| {
            it[1].facts[2][0].insert(trace.clone(), [(field.clone(), 1)].into());
        }
    };
    assert_eq!(
        told(&say("T99", "hit")),
        "request 1: service Login, phase 2, chain 0: there is no trace 'T99'"
    );
    assert_eq!(
        told(&say("T5", "hot")),
        "request 1: service Login, phase 2, chain 0: no branch tests the field 'hot' that is given \
         for trace T5"
    );
    let many = |it: &mut Vec<RecordedRequest>| *it = vec![it[0].clone(); 4_097];
    assert_eq!(
        told(&many),
        "service Login: 4097 different requests; allowed are at most 4096"
    );
}
