//! Joins: arms run in parallel, and the next operation waits for all of them and gets their data.

#![allow(clippy::unwrap_used)]

use accelflow_sim::orchestrators::{Arm, Completion, Decision, Links, Next, orchestrator};
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::Operated;
use accelflow_sim::{Config, Run, simulate_logged};
use accelflow_trace::source::{join, seq};
use accelflow_trace::{Accel, Image, Nodes, templates};
use accelflow_units::{Bytes, Time};
use accelflow_workload::profile::{PaperOptions, Profile, RecordingOptions};
use accelflow_workload::services::{Chain, Counts, Phase, Service, invocations};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution};
use accelflow_workload::suites::social_network;

use crate::common::{
    SYSTEMS, frictionless, profile_on, receive, response, round_cost, run, set, together,
};

fn names(names: &[&str]) -> Nodes {
    seq(names).unwrap()
}

/// A service that answers by a trace of `nodes`, and the memory with it.
fn service(nodes: Nodes) -> (Service, Image) {
    let mut library = templates().unwrap();
    library.register("gather", nodes).unwrap();
    let gather = Phase::one(Chain::new("gather"));
    let path = vec![receive(0), Phase::Cpu, gather];
    let service = Service::new("Joins", "Join", path).unwrap();
    (service, library.link().unwrap())
}

/// Its plan with round costs, payloads of `bytes` as recorded and 1 us of application logic.
fn plan(nodes: Nodes, bytes: u64) -> (Plan, Counts) {
    let (service, image) = service(nodes);
    let options = RecordingOptions::default();
    let profile = profile_on(&image, &service, 1_000.0, bytes, &options, &round_cost);
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(bytes)));
    let plan = Plan::new(&profile, &image, &sizes).unwrap();
    (plan, invocations(&service, &image).unwrap())
}

/// Ser, then Cmp beside Encr and RPC, then Encr and TCP on the data of both.
fn two_arms() -> Nodes {
    let mut nodes = names(&["Ser"]);
    nodes.push(join(vec![names(&["Cmp"]), names(&["Encr", "RPC"])]));
    nodes.extend(names(&["Encr", "TCP"]));
    nodes
}

/// Joins in arms of joins, in three words; arms wait for others that need the same accelerators.
fn nested() -> Nodes {
    let mut first = vec![];
    first.extend(names(&["Cmp"]));
    first.push(join(vec![names(&["Cmp", "Ser"]), names(&["Encr"])]));
    first.extend(names(&["Cmp"]));
    let arms = vec![first, names(&["Cmp", "Encr", "Cmp"]), names(&["Ser"])];
    let mut nodes = names(&["Ser"]);
    nodes.push(join(arms));
    nodes.extend(names(&["Cmp"]));
    nodes.push(join(vec![names(&["Encr"]), names(&["RPC"])]));
    nodes.extend(names(&["Encr", "TCP"]));
    nodes
}

#[test]
fn a_join_continues_when_the_slowest_arm_arrives() {
    let (plan, _) = plan(two_arms(), 0);
    // TCP Decr RPC Dser LdB, application logic, Ser, the longer of Cmp and Encr RPC, Encr, TCP.
    let received = 7_000 + 6_600 + 2_050 + 3_800 + 8_100 + 1_000;
    let beside = received + 3_800 + 15_200 + 6_600 + 7_000;
    for id in &SYSTEMS[1..] {
        let found = response(&frictionless(), &plan, id);
        assert_eq!(found, Time::from_ns(beside), "{id}");
    }
    // A core does one arm after the other.
    let one_by_one = beside + 6_600 + 2_050;
    let found = response(&frictionless(), &plan, "non_acc");
    assert_eq!(found, Time::from_ns(one_by_one));
}

#[test]
fn every_operation_runs_once_however_small_the_queues_are() {
    for (what, nodes) in [("two arms", two_arms()), ("nested", nested())] {
        let (plan, counts) = plan(nodes, 1_500);
        let sizes = [(64, 256), (2, 256), (2, 3), (1, 9), (1, 3), (1, 0)];
        for (entries, overflow) in sizes {
            let mut config = Config::default();
            set(
                &mut config,
                &[
                    ("accelerator.input_entries", f64::from(entries)),
                    ("accelerator.overflow_entries", f64::from(overflow)),
                    ("accelerator.pes", 1.0),
                    ("accelerator.output_entries", 1.0),
                    ("relief.queue_entries", f64::from(entries)),
                    ("network.dma_engines", 1.0),
                ],
            );
            for id in SYSTEMS {
                let outcome = run(&config, &plan, id, &together(20), 1);
                let what = format!("{what}, {id}, {entries} and {overflow}");
                assert!(outcome.totals.drained, "{what}");
                let totals = &outcome.totals;
                assert_eq!(
                    totals.spent_ps, totals.latency_ps,
                    "{what}, parts of the path"
                );
                assert_eq!(outcome.services[0].completed, 20, "{what}");
                for accel in Accel::ALL {
                    let totals = &outcome.totals;
                    let index = accel.index();
                    let ran = totals.on_accelerators[index] + totals.on_cores[index];
                    assert_eq!(ran, 20 * u64::from(counts.of(accel)), "{what}, {accel}");
                }
            }
        }
    }
}

#[test]
fn arms_that_wait_for_what_joins_hold_get_through() {
    // Every arm ends at the accelerator that the arms meet at, so that joins hold what arms need.
    let mut nodes = names(&["Ser"]);
    let arms = [&["Cmp"][..], &["Encr", "Cmp"], &["RPC", "Cmp"]];
    nodes.push(join(arms.map(names).to_vec()));
    nodes.extend(names(&["Cmp", "Encr", "TCP"]));
    let (plan, _) = plan(nodes, 1_500);
    for (entries, overflow, pes) in [(1, 1, 1), (1, 40, 1), (2, 5, 2), (3, 17, 1), (4, 400, 2)] {
        let mut config = Config::default();
        set(
            &mut config,
            &[
                ("accelerator.input_entries", f64::from(entries)),
                ("accelerator.overflow_entries", f64::from(overflow)),
                ("accelerator.pes", f64::from(pes)),
                ("relief.queue_entries", f64::from(entries)),
            ],
        );
        for id in SYSTEMS {
            for requests in [3, 17, 60] {
                let outcome = run(&config, &plan, id, &together(requests), 1);
                let what = format!("{id}, {entries} and {overflow}, {requests} requests");
                assert!(outcome.totals.drained, "{what}");
                assert_eq!(outcome.services[0].completed, requests, "{what}");
            }
        }
    }
}

fn logged(config: &Config, plan: &Plan, id: &str) -> Vec<Operated> {
    let run = Run {
        config,
        plan,
        orchestrator: orchestrator(id).unwrap(),
        loads: &together(3),
        seed: 1,
    };
    simulate_logged(&run).unwrap().1
}

#[test]
fn the_operation_after_a_join_has_the_data_of_all_arms() {
    let mut nodes = names(&["Ser"]);
    nodes.push(join(vec![names(&["Cmp"]), names(&["RPC"])]));
    nodes.extend(names(&["Encr", "TCP"]));
    let (service, image) = service(nodes);
    let reference = social_network().unwrap();
    let services = [service];
    let options = PaperOptions::default();
    let profile = Profile::paper_like(&services, &reference, &image, &options).unwrap();
    let mut config = Config::default();
    config.set("payload.compression_ratio", 4.0).unwrap();
    // 1,000 B of RPC beside 250 B of Cmp fit an entry; 10,000 B beside 2,500 B do not.
    for (bytes, joined) in [(1_000, 1_250), (10_000, 12_500)] {
        let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(bytes)));
        let plan = Plan::new(&profile, &image, &sizes).unwrap();
        for id in SYSTEMS {
            let log = logged(&config, &plan, id);
            let of = |accel| {
                let answers = log.iter().filter(move |entry| entry.phase == 2);
                answers.filter(move |entry| entry.accel == accel)
            };
            for accel in [Accel::Encr, Accel::Tcp] {
                assert_eq!(of(accel).count(), 3, "{id}");
                for operation in of(accel) {
                    assert_eq!(operation.sizes, [Bytes(joined); 2], "{id}, {accel}");
                }
            }
        }
    }
}

#[test]
fn more_data_take_longer() {
    let of = |arms: &[&str]| {
        let mut nodes = names(&["Ser"]);
        nodes.push(join(arms.iter().map(|arm| names(&[arm])).collect()));
        nodes.extend(names(&["Encr", "TCP"]));
        let (service, image) = service(nodes);
        let reference = social_network().unwrap();
        let options = PaperOptions::default();
        let profile = Profile::paper_like(&[service], &reference, &image, &options).unwrap();
        let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(1_000)));
        response(
            &Config::default(),
            &Plan::new(&profile, &image, &sizes).unwrap(),
            "accelflow",
        )
    };
    assert!(of(&["RPC", "RPC", "RPC"]) > of(&["RPC", "RPC"]));
}

#[test]
fn only_the_last_arm_hands_on_what_follows() {
    let mut config = Config::default();
    config.set("core.interrupt_ns", 2_000.0).unwrap();
    let links = Links::most_frequent(&[((Accel::Cmp, Accel::Encr), 9)]);
    let decide = |id: &str, arm| -> Decision {
        let completion = Completion {
            from: Accel::Cmp,
            next: Next::Forward(Accel::Encr),
            branches: 0,
            loads: 0,
            transforms: 0,
            size: Bytes(1_000),
            arm,
        };
        orchestrator(id)
            .unwrap()
            .decide(&completion, &config, &links)
    };
    let core_ns = |id: &str, arm| decide(id, arm).core.as_ps() / 1_000;
    // An interrupt of 2 us, two switches of 1 us, a submission of 0.8 us.
    assert_eq!(core_ns("cpu_centric", Arm::Last), 4_800);
    assert_eq!(core_ns("cpu_centric", Arm::Waits), 4_000);
    // The manager learns of each arm.
    for id in ["relief", "per_acc_type_q"] {
        assert_eq!(decide(id, Arm::Waits), decide(id, Arm::None), "{id}");
        assert!(decide(id, Arm::Waits).manager.is_some(), "{id}");
    }
    // A pair is linked, but a link is between two: what comes from several meets at the core. It
    // takes from one queue and, for the last arm, puts into another; to the letter it is
    // interrupted.
    for (id, waits, last) in [
        ("cohort_polling", 150 + 1_000, 150 + 1_000 + 100),
        ("cohort", 4_000, 4_800),
    ] {
        assert_eq!(core_ns(id, Arm::None), 0, "{id}");
        assert_eq!(core_ns(id, Arm::Waits), waits, "{id}");
        assert_eq!(core_ns(id, Arm::Last), last, "{id}");
    }
    for id in ["accelflow", "direct", "ideal"] {
        assert_eq!(decide(id, Arm::Waits), decide(id, Arm::None), "{id}");
    }
}
