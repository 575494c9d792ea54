//! Unusual runs: user-defined services, forks, recorded arrivals, and refused input.

#![allow(clippy::unwrap_used)]

use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Config, Load, Run, SimError, simulate};
use accelflow_trace::source::{fork, seq, tail};
use accelflow_trace::{Accel, templates};
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::RecordingOptions;
use accelflow_workload::services::{Chain, Counts, Phase, Service, invocations};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution};

use crate::common::{
    NOTHING_NS, SYSTEMS, fixed_plan, frictionless, profile_on, receive, response, round_cost, run,
    sink, together, uniq_id,
};

/// Two traces that fork: "both" into two accelerators, "leave" into another trace and an arm that
/// stays in this one.
fn forking() -> (Plan, Counts) {
    let mut library = templates().unwrap();
    let arms = |first: &str, second| fork(vec![seq(&[first]).unwrap(), second]);
    let mut both = seq(&["Ser"]).unwrap();
    both.push(arms("LdB", seq(&["Cmp", "Encr", "TCP"]).unwrap()));
    library.register("both", both).unwrap();
    let mut leave = seq(&["Ser"]).unwrap();
    let stays = seq(&["Dcmp", "LdB"]).unwrap();
    library
        .register("aside", seq(&["Cmp", "LdB"]).unwrap())
        .unwrap();
    leave.push(fork(vec![vec![tail("aside")], stays]));
    library.register("leave", leave).unwrap();
    let image = library.link().unwrap();
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::parallel(2, &Chain::new("both")),
        Phase::Cpu,
        Phase::one(Chain::new("leave")),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("Forks", "Fork", path).unwrap();
    let options = RecordingOptions::default();
    let profile = profile_on(&image, &service, 1_000.0, 1_000, &options, &round_cost);
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(1_000)));
    let plan = Plan::new(&profile, &image, &sizes).unwrap();
    (plan, invocations(&service, &image).unwrap())
}

fn assert_all_arms_ran(outcome: &SimulationResult, counts: &Counts, requests: u64, what: &str) {
    assert!(outcome.totals.drained, "{what}");
    assert_eq!(outcome.services[0].completed, requests, "{what}");
    for accel in Accel::ALL {
        let totals = &outcome.totals;
        let ran = totals.on_accelerators[accel.index()] + totals.on_cores[accel.index()];
        assert_eq!(
            ran,
            requests * u64::from(counts.of(accel)),
            "{what}, {accel}"
        );
    }
}

#[test]
fn all_arms_of_a_fork_run_to_their_ends() {
    let (plan, counts) = forking();
    assert_eq!(counts.of(Accel::Ldb), 1 + 2 + 2);
    for id in SYSTEMS {
        let outcome = run(&Config::default(), &plan, id, &together(5), 1);
        assert_all_arms_ran(&outcome, &counts, 5, id);
        assert!(outcome.services[0].fallbacks.is_empty(), "{id}");
    }
}

#[test]
fn arms_overflow_like_everything_else() {
    let (plan, counts) = forking();
    let mut config = Config::default();
    config.set("accelerator.input_entries", 2.0).unwrap();
    config.set("accelerator.pes", 1.0).unwrap();
    for (id, overflow) in [
        ("accelflow", 256.0),
        ("accelflow", 0.0),
        ("cohort_polling", 1.0),
    ] {
        config
            .set("accelerator.overflow_entries", overflow)
            .unwrap();
        let outcome = run(&config, &plan, id, &together(20), 1);
        assert_all_arms_ran(&outcome, &counts, 20, id);
        let full: u64 = outcome.services[0]
            .fallbacks
            .iter()
            .filter(|(reason, _)| reason.name() == "overflow_full")
            .map(|(_, count)| count)
            .sum();
        assert_eq!(full > 0, overflow < 256.0, "{id} with {overflow}");
    }
}

#[test]
fn a_service_that_sends_nothing_ends_when_its_core_knows() {
    let plan = fixed_plan(&sink(), NOTHING_NS, 0, &round_cost);
    let mut config = frictionless();
    config.set("network.notification_cycles", 2_400.0).unwrap();
    // Five operations at a core's speed, and a microsecond.
    let expected = Time::from_ns(7_000 + 6_600 + 2_050 + 3_800 + 8_100 + 1_000);
    for id in &SYSTEMS[1..] {
        assert_eq!(response(&config, &plan, id), expected, "{id}");
    }
    let alone = expected - Time::from_us(1);
    assert_eq!(response(&config, &plan, "non_acc"), alone);
}

fn load(service: usize, arrivals: ArrivalProcess, requests: u64, warmup: u64) -> Load {
    Load::new(service, arrivals, requests, warmup)
}

#[test]
fn two_loads_on_a_service_have_requests_of_their_own() {
    // Requests are numbered by service: one recorded load and its halves are the same requests.
    let plan = fixed_plan(&uniq_id(), 1_000.0, 500, &round_cost);
    let times: Vec<Time> = (1..=40).map(|n| Time::from_us(3 * n)).collect();
    let part = |first: usize| {
        let every_other = times.iter().copied().skip(first).step_by(2);
        load(0, ArrivalProcess::Trace(every_other.collect()), 20, 0)
    };
    let whole = [load(0, ArrivalProcess::Trace(times.clone()), 40, 0)];
    for id in SYSTEMS {
        let one = run(&Config::default(), &plan, id, &whole, 9);
        let two = run(&Config::default(), &plan, id, &[part(0), part(1)], 9);
        assert_eq!(one.services[0].latency, two.services[0].latency, "{id}");
        assert_eq!(one.totals, two.totals, "{id}");
    }
}

#[test]
fn a_recorded_load_may_be_shorter_than_asked_for() {
    let plan = fixed_plan(&uniq_id(), 1_000.0, 500, &round_cost);
    let times: Vec<Time> = (1..=10).map(|n| Time::from_us(100 * n)).collect();
    let short = [load(0, ArrivalProcess::Trace(times), 1_000, 4)];
    let outcome = run(&Config::default(), &plan, "accelflow", &short, 1);
    assert_eq!(outcome.services[0].arrived, 10);
    assert_eq!(outcome.services[0].latency.count(), 6);
    // From the fifth arrival to the tenth.
    assert_eq!(outcome.window, Time::from_us(500));
    let measured = Some((Time::from_us(500), Time::from_us(1_000)));
    assert_eq!(outcome.services[0].measured, measured);
    assert_eq!(outcome.services[0].completed_in_window, 5);
}

fn refused(config: &Config, plan: &Plan, loads: &[Load]) -> SimError {
    let orchestrator = orchestrator("accelflow").unwrap();
    let run = Run {
        config,
        plan,
        orchestrator,
        loads,
        seed: 1,
    };
    simulate(&run).unwrap_err()
}

#[test]
fn impossible_runs_are_refused() {
    let plan = fixed_plan(&uniq_id(), 1_000.0, 500, &round_cost);
    let poisson = |rate_rps| ArrivalProcess::Poisson { rate_rps };
    let message = |load: Load| refused(&Config::default(), &plan, &[load]).to_string();
    assert_eq!(
        message(load(3, poisson(1.0), 10, 0)),
        "service = 3: must be the index of a service in the plan"
    );
    assert_eq!(
        message(load(0, poisson(1.0), 10, 10)),
        "service UniqId: requests = 10: must be more than its 10 warm-up requests; increase the \
         number of requests or the rate of the service"
    );
    let recorded = ArrivalProcess::Trace(vec![Time::ZERO; 3]);
    assert_eq!(
        message(load(0, recorded, 10, 5)),
        "service UniqId: requests = 3: must be more than its 5 warm-up requests; increase the \
         number of requests or the rate of the service"
    );
    assert!(message(load(0, poisson(f64::NAN), 10, 0)).starts_with("rate_rps = NaN"));
    let mut config = Config::default();
    config.core.count = 0;
    assert_eq!(
        refused(&config, &plan, &together(1)).to_string(),
        "core.count = 0: must be a whole number from 1 to 1024 cores"
    );
    let ends_on_a_core = Service::new("Half", "Half", vec![receive(0), Phase::Cpu]).unwrap();
    let plan = fixed_plan(&ends_on_a_core, 1_000.0, 500, &round_cost);
    assert_eq!(
        refused(&Config::default(), &plan, &together(1)).to_string(),
        "service Half: path: must begin and end with a chain of traces"
    );
}
