//! Profiles from the paper's shares.

#![allow(clippy::unwrap_used)]

use accelflow_parameters::Provenance;
use accelflow_trace::{Accel, Image, templates};
use accelflow_units::{Bytes, Time};
use accelflow_workload::profile::{
    Averaging, Cost, PAPER_SHARES, PaperOptions, Profile, RemoteWaits, ShareKind, WaitDistribution,
    shares,
};
use accelflow_workload::services::{Service, invocations};
use accelflow_workload::suites::social_network;

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
        .find(|parameter| parameter.key == name)
        .unwrap()
        .default
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
            .map(|operation| operation.cost.mean().as_ps())
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
        let parameter = profile
            .parameters()
            .iter()
            .find(|parameter| parameter.key == name)
            .unwrap();
        assert!(!parameter.source.is_empty(), "{name}");
        parameter.provenance
    };
    assert_eq!(origin("tcp_cost_ns"), Provenance::Assumed);
    assert_eq!(origin("share.(De)Ser"), Provenance::Paper);
    assert_eq!(origin("cost.AppLogic_ns"), Provenance::Derived);
    assert_eq!(origin("size_share.TCP"), Provenance::Assumed);
    assert_eq!(origin("remote_wait.other_ns"), Provenance::Assumed);
}

#[test]
fn times_that_a_file_states_are_not_those_of_the_capture() {
    let captured = RemoteWaits::social_network().spread();
    let own = WaitDistribution::log_normal(Time::from_us(40), 0.3);
    let profile = paper(&PaperOptions {
        waits: captured.stated("T5", own),
        ..PaperOptions::default()
    });
    let origin = |name: &str| {
        let mut parameters = profile.parameters().iter();
        let parameter = parameters.find(|parameter| parameter.key == name).unwrap();
        (parameter.provenance, parameter.source.as_ref())
    };
    let stated = (Provenance::Assumed, "as the workload's file states it");
    assert_eq!(origin("remote_wait.T5_ns"), stated);
    assert_eq!(origin("remote_wait_sigma.T5"), stated);
    assert_eq!(origin("remote_wait.T6_ns").0, Provenance::Measured);
    assert_eq!(origin("remote_wait_sigma.T6").0, Provenance::Derived);
    assert_eq!(origin("remote_wait.other_ns").0, Provenance::Measured);
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
        "operations of (De)Cmp = 0: must be at least 1 in some service, since the paper prints \
         a share of time for them"
    );
}
