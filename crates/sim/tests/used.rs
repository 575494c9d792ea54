//! How busy servers are over time.

#![allow(clippy::unwrap_used)]

use accelflow_sim::orchestrators::SYSTEMS as ALL;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::{SimulationResult, Used};
use accelflow_sim::{Config, Load, Run, Watch, simulate_watched};
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

use crate::common::image;

/// One without accelerators, one whose cores decide, one with a manager, one whose cores poll.
const SYSTEMS: [&str; 5] = [
    "non_acc",
    "cpu_centric",
    "relief",
    "cohort_polling",
    "accelflow",
];

fn plan() -> Plan {
    let (image, services) = (image(), social_network().unwrap());
    let profile = Profile::paper(&services, &image, &PaperOptions::default()).unwrap();
    let sizes = PayloadSizes::preset(SizePreset::SocialNetwork);
    Plan::new(&profile, &image, &sizes).unwrap()
}

/// All services on one server, without a warm-up, so that the measured window is from the first to
/// the last arrival.
fn run(plan: &Plan, id: &str, use_intervals: usize) -> SimulationResult {
    let load = |service| {
        let arrivals = ArrivalProcess::Poisson { rate_rps: 13_400.0 };
        Load::new(service, arrivals, 150, 0)
    };
    let loads: Vec<Load> = (0..plan.services.len()).map(load).collect();
    let run = Run {
        config: &Config::default(),
        plan,
        orchestrator: *ALL.iter().find(|system| system.id() == id).unwrap(),
        loads: &loads,
        seed: 3,
    };
    let watch = Watch {
        use_intervals,
        ..Watch::default()
    };
    simulate_watched(&run, &watch).unwrap().unwrap()
}

/// The mean of a share over all intervals.
fn mean(used: &[Used], share: impl Fn(&Used) -> f64) -> f64 {
    let length = |used: &Used| (used.until - used.from).as_us_f64();
    let whole: f64 = used.iter().map(length).sum();
    used.iter()
        .map(|interval| share(interval) * length(interval))
        .sum::<f64>()
        / whole
}

#[test]
fn intervals_follow_each_other_and_their_mean_is_the_utilization() {
    let plan = plan();
    for id in SYSTEMS {
        for most in [1_000, 10] {
            let outcome = run(&plan, id, most);
            let used = &outcome.used;
            assert!(
                used.len() > most.min(100) / 3 && used.len() <= most,
                "{id} {most}"
            );
            assert!(used.windows(2).all(|pair| pair[0].until == pair[1].from));
            let covered = used.last().unwrap().until - used[0].from;
            assert!(covered > outcome.window.scale(1.0 - 2.0 / used.len() as f64));
            // The measured window begins when every load has begun, and the last interval may end
            // before it.
            let most_off = 0.03 + 2.0 / used.len() as f64;
            let near = |mean: f64, whole: f64| (mean - whole).abs() <= most_off;
            assert!(
                near(
                    mean(used, |interval| interval.cores),
                    outcome.core_utilization
                ),
                "{id} {most}"
            );
            assert!(
                near(
                    mean(used, |interval| interval.manager),
                    outcome.manager_utilization
                ),
                "{id}"
            );
            assert!(
                near(mean(used, |interval| interval.dma), outcome.dma_utilization),
                "{id}"
            );
            for accel in Accel::ALL {
                let index = accel.index();
                let whole = outcome.accelerators[index].utilization;
                assert!(
                    near(mean(used, |interval| interval.accelerators[index]), whole),
                    "{id} {accel}"
                );
            }
        }
    }
}

#[test]
fn shares_vary_and_are_shares() {
    let plan = plan();
    let used = run(&plan, "non_acc", 200).used;
    assert!(
        used.iter()
            .all(|interval| (0.0..=1.0).contains(&interval.cores))
    );
    let (least, most) = used.iter().fold((1.0_f64, 0.0_f64), |(least, most), one| {
        (least.min(one.cores), most.max(one.cores))
    });
    assert!(most - least > 0.1, "{least} {most}");
    assert!(
        used.iter()
            .all(|interval| interval.accelerators == [0.0; Accel::MOST])
    );
}

#[test]
fn readings_change_nothing_else() {
    let plan = plan();
    for id in SYSTEMS {
        let (with, without) = (run(&plan, id, 50), run(&plan, id, 0));
        assert!(without.used.is_empty());
        assert_eq!(with.events, without.events);
        assert_eq!(with.totals, without.totals);
        assert_eq!(with.core_utilization, without.core_utilization);
        for (with, without) in with.services.iter().zip(&without.services) {
            assert_eq!(with.latency, without.latency);
            assert_eq!(with.spent, without.spent);
        }
    }
}

#[test]
fn all_times_are_within_the_run() {
    let used = run(&plan(), "accelflow", 20).used;
    assert!(used[0].from > Time::ZERO);
    assert!(used.iter().all(|interval| interval.from < interval.until));
}
