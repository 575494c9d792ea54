//! Chips that do not have every accelerator: a trace that comes to one that is missing goes on in
//! software.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::Plan;
use accelflow_sim::stats::{Fallback, SimulationResult};
use accelflow_sim::{Config, Load};
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;
use proptest::prelude::*;

use crate::common::{SYSTEMS, fixed_plan, image, round_cost, run, set, together, uniq_id};

fn without(absent: &[Accel]) -> Config {
    let mut config = Config::default();
    for accel in absent {
        set(&mut config, &[(&format!("instances.{accel}"), 0.0)]);
    }
    config
}

/// One request of UniqId on a chip without `absent`.
fn one_request(id: &str, absent: &[Accel]) -> SimulationResult {
    let plan = fixed_plan(&uniq_id(), 50_000.0, 1_000, &round_cost);
    run(&without(absent), &plan, id, &together(1), 1)
}

/// Operations of a type: on accelerators and on cores.
fn operations(outcome: &SimulationResult, accel: Accel) -> (u64, u64) {
    let totals = &outcome.totals;
    (
        totals.on_accelerators[accel.index()],
        totals.on_cores[accel.index()],
    )
}

fn missed(outcome: &SimulationResult) -> u64 {
    let found = outcome.services[0].fallbacks.get(&Fallback::NoAccelerator);
    found.copied().unwrap_or(0)
}

#[test]
fn the_rest_of_a_trace_goes_on_in_software() {
    // UniqId receives by TCP, Decr, RPC, Dser and LdB, and sends by Ser, RPC, Encr and TCP.
    for id in SYSTEMS.into_iter().filter(|&id| id != "non_acc") {
        let found = one_request(id, &[Accel::Rpc]);
        assert_eq!(missed(&found), 2, "{id}: both traces pass RPC");
        assert_eq!(operations(&found, Accel::Decr), (1, 0), "{id}: before RPC");
        assert_eq!(operations(&found, Accel::Ser), (1, 0), "{id}: before RPC");
        assert_eq!(operations(&found, Accel::Rpc), (0, 2), "{id}");
        assert_eq!(operations(&found, Accel::Dser), (0, 1), "{id}: after RPC");
        assert_eq!(operations(&found, Accel::Encr), (0, 1), "{id}: after RPC");
        assert_eq!(operations(&found, Accel::Tcp), (1, 1), "{id}");
        assert_eq!(found.accelerators[Accel::Rpc.index()].utilization, 0.0);
    }
}

#[test]
fn a_message_without_tcp_is_received_in_software() {
    for id in SYSTEMS.into_iter().filter(|&id| id != "non_acc") {
        let found = one_request(id, &[Accel::Tcp]);
        assert_eq!(missed(&found), 2, "{id}: the message, and the response");
        assert_eq!(operations(&found, Accel::Decr), (0, 1), "{id}");
        assert_eq!(operations(&found, Accel::Encr), (1, 0), "{id}: before TCP");
    }
}

#[test]
fn the_accelerators_of_a_whole_chiplet_may_be_absent() {
    // TCP has a chiplet of its own among six, and one with Encr and Decr among three and four.
    let first: [&[Accel]; 2] = [&[Accel::Tcp], &[Accel::Tcp, Accel::Encr, Accel::Decr]];
    let plan = fixed_plan(&uniq_id(), 50_000.0, 1_000, &round_cost);
    for (chiplets, absent) in [
        (6, first[0]),
        (3, first[1]),
        (4, first[1]),
        (2, &Accel::ALL),
    ] {
        for id in SYSTEMS.into_iter().filter(|&id| id != "non_acc") {
            let mut config = without(absent);
            set(&mut config, &[("network.chiplets", f64::from(chiplets))]);
            let found = run(&config, &plan, id, &together(1), 1);
            assert_eq!(missed(&found), 2, "{id}, {chiplets} chiplets");
            assert_eq!(found.services[0].latency.count(), 1, "{id}");
        }
    }
}

#[test]
fn an_accelerator_without_elements_or_entries_is_absent() {
    let plan = fixed_plan(&uniq_id(), 50_000.0, 1_000, &round_cost);
    for id in SYSTEMS {
        let found = |size: &str| {
            let mut config = Config::default();
            set(&mut config, &[(&format!("{size}.RPC"), 0.0)]);
            run(&config, &plan, id, &together(1), 1)
        };
        let expected = found("instances");
        for size in ["pes", "input_entries", "output_entries"] {
            let found = found(size);
            assert_eq!(missed(&found), missed(&expected), "{id}: {size}");
            assert_eq!(found.services[0].latency, expected.services[0].latency);
        }
    }
}

#[test]
fn an_unused_accelerator_may_be_absent() {
    for id in SYSTEMS {
        let found = one_request(id, &[Accel::Cmp, Accel::Dcmp]);
        assert_eq!(missed(&found), 0, "{id}");
        let whole = one_request(id, &[]);
        let times = [&found, &whole]
            .map(|outcome| outcome.services[0].latency.iter().collect::<Vec<Time>>());
        assert_eq!(times[0], times[1], "{id}");
    }
}

#[test]
fn a_server_without_accelerators_does_not_miss_them() {
    let [with, without] = [&[][..], &Accel::ALL].map(|absent| one_request("non_acc", absent));
    assert_eq!(format!("{with:?}"), format!("{without:?}"));
    assert_eq!(missed(&without), 0);
}

#[test]
fn a_chip_without_any_executes_everything_on_cores() {
    for id in SYSTEMS {
        let found = one_request(id, &Accel::ALL);
        for accel in Accel::ALL {
            assert_eq!(operations(&found, accel).0, 0, "{id} {accel}");
        }
        let on_cores: u64 = found.totals.on_cores.iter().sum();
        assert_eq!(on_cores, 9, "{id}");
    }
}

fn social() -> Plan {
    let (image, services) = (image(), social_network().unwrap());
    let profile = Profile::paper(&services, &image, &PaperOptions::default()).unwrap();
    let sizes = PayloadSizes::preset(SizePreset::Fleet);
    Plan::new(&profile, &image, &sizes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever is missing, and with several instances of what is there, every request ends.
    #[test]
    fn every_request_ends_on_any_chip(
        absent in prop::sample::subsequence(Accel::ALL.to_vec(), 0..=Accel::COUNT),
        double in prop::sample::subsequence(Accel::ALL.to_vec(), 0..=Accel::COUNT),
        reuse in any::<bool>(),
        reserved in any::<bool>(),
        entries in 2..=4_u32,
        id in prop::sample::select(SYSTEMS.to_vec()),
        seed in any::<u64>(),
    ) {
        let mut config = without(&absent);
        for accel in double.iter().filter(|accel| !absent.contains(accel)) {
            set(&mut config, &[(&format!("instances.{accel}"), 2.0)]);
        }
        let on = |switch: bool| f64::from(u8::from(switch));
        let central = ["relief", "per_acc_type_q"].contains(&id);
        set(&mut config, &[
            ("accelerator.reuse", on(reuse)),
            ("accelerator.input_entries", f64::from(entries)),
            ("accelerator.overflow_entries", 2.0),
            ("accelerator.pes", 2.0),
            ("tenant.isolation", on(reserved && !central)),
        ]);
        let load = |service: usize| {
            let arrivals = ArrivalProcess::Poisson { rate_rps: 20_000.0 };
            Load::new(service, arrivals, 20, 0).of_tenant(service as u16 % 2)
        };
        let loads: Vec<Load> = (0..8).map(load).collect();
        let outcome = run(&config, &social(), id, &loads, seed);
        prop_assert!(outcome.totals.drained);
        for service in &outcome.services {
            prop_assert_eq!(service.completed, service.arrived);
        }
        // With reuse, idle elements of the others do some of its operations.
        for accel in absent.into_iter().filter(|_| !reuse) {
            prop_assert_eq!(outcome.totals.on_accelerators[accel.index()], 0);
        }
    }
}
