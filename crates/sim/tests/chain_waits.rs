//! Waits of individual chains: deadlines and estimates know them as they know those of the plan.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load};
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{RecordingOptions, RemoteWaits, WaitDistribution};
use accelflow_workload::services::{Chain, Phase, Service};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution};

use crate::common::{SYSTEMS, image, profile, receive, round_cost, run, set, together};

/// A service with a call, in a plan whose answers all take `wait_us`.
fn plan(wait_us: u64) -> Plan {
    let call = Chain::new("T9").with("T10", "exception", 0);
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::one(call.with("T10", "compressed", 0)),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("Front", "Front", path).unwrap();
    let options = RecordingOptions {
        waits: RemoteWaits::constant(Time::from_us(wait_us)),
        ..RecordingOptions::default()
    };
    let profile = profile(&service, 1_000.0, 300, &options, &round_cost);
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(300)));
    Plan::new(&profile, &image(), &sizes).unwrap()
}

fn waits(median_us: u64, sigma: f64) -> WaitDistribution {
    WaitDistribution::log_normal(Time::from_us(median_us), sigma)
}

/// Two services on few elements, of which the first has an SLO of 1 ms and the second of 100 ms.
fn outcome(mut plan: Plan, id: &str, policy: f64) -> String {
    let mut config = Config::default();
    let values = [("accelerator.pes", 1.0), ("scheduling.policy", policy)];
    set(&mut config, &values);
    plan.services = vec![plan.services[0].clone(); 2];
    let loads = [1, 100].map(|slo_ms| {
        let arrivals = ArrivalProcess::Poisson { rate_rps: 60_000.0 };
        let service = usize::from(slo_ms == 100);
        Load::new(service, arrivals, 300, 0).within(Time::from_us(1_000 * slo_ms))
    });
    let found = run(&config, &plan, id, &loads, 7);
    format!("{:?} {:?}", found.services, found.totals)
}

#[test]
fn waits_of_a_chain_count_as_the_same_waits_of_the_plan() {
    for id in SYSTEMS.into_iter().chain(["accelflow_edf"]) {
        for policy in [0.0, 3.0] {
            let own =
                plan(1).with_chain_waits(|_, _, trace| (trace == "T10").then(|| waits(500, 0.0)));
            let of_plan = outcome(plan(500), id, policy);
            assert_eq!(outcome(own, id, policy), of_plan, "{id} {policy}");
        }
    }
}

/// Software sets deadlines before it can know how long an answer will take.
#[test]
fn what_follows_a_late_answer_is_late() {
    let plan = plan(1).with_chain_waits(|_, _, trace| (trace == "T10").then(|| waits(500, 1.5)));
    let config = Config::default();
    let mut late = 0;
    for seed in 0..40 {
        let load = together(1)[0].clone().within(Time::from_us(1_000));
        let found = run(&config, &plan, "accelflow_edf", &[load], seed);
        let service = &found.services[0];
        if service.slo_missed > 0 {
            late += 1;
            // All operations of T10, which receives the answer, and of T2, which sends the
            // response.
            assert_eq!(service.deadlines_missed, 5 + 4, "{seed}");
        }
    }
    assert!(late > 5, "{late}");
}
