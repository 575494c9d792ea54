//! The five applications beside what the statistics of RELIEF's release say of them.

#![allow(clippy::unwrap_used)]

use accelflow_relief_suite::suite::{self, RELEASE, Release};
use accelflow_relief_suite::throughput::{self, Length, Pattern};
use accelflow_relief_suite::{Dag, Orchestrator, Platform, throughput::IN_FLIGHT};
use accelflow_units::Time;

fn suite() -> impl Iterator<Item = (Dag, Release)> {
    suite::all().into_iter().zip(RELEASE)
}

fn alone(dag: &Dag, orchestrator: Orchestrator) -> accelflow_relief_suite::SimulationResult {
    let load = accelflow_relief_suite::Load::closed(1, 1);
    accelflow_relief_suite::simulate(dag, &Platform::default(), orchestrator, &load).unwrap()
}

fn within(ours: f64, theirs: f64, share: f64) -> bool {
    (ours / theirs - 1.0).abs() <= share
}

#[test]
fn tasks_and_bottlenecks_are_the_releases_to_the_digit() {
    for (dag, release) in suite() {
        assert_eq!(dag.name(), release.name);
        assert_eq!(dag.tasks().len(), release.tasks, "{}", release.name);
        let bottleneck = dag.compute_of(dag.bottleneck()).as_us_f64();
        assert_eq!(
            bottleneck.round(),
            release.bottleneck_us,
            "{}",
            release.name
        );
        assert_eq!(suite::find(release.name), Some(dag));
    }
    assert_eq!(suite::find("jpeg"), None);
}

#[test]
fn deadlines_are_frames_for_images_and_7_ms_for_recurrent_networks() {
    for (dag, _) in suite() {
        let recurrent = ["gru", "lstm"].contains(&dag.name());
        let us = if recurrent { 7_000 } else { 16_667 };
        assert_eq!(dag.deadline(), Time::from_us(us), "{}", dag.name());
    }
}

#[test]
fn alone_each_takes_as_long_as_in_the_release_to_5_percent() {
    for (dag, release) in suite() {
        for (orchestrator, theirs) in [
            (Orchestrator::Relief, release.relief_us),
            (Orchestrator::Fcfs, release.fcfs_us),
        ] {
            let ours = alone(&dag, orchestrator).makespan.as_us_f64();
            assert!(
                within(ours, theirs, 0.05),
                "{} {orchestrator:?}: {ours}",
                dag.name()
            );
        }
    }
}

#[test]
fn forwards_and_the_managers_time_are_near_the_releases() {
    for (dag, release) in suite() {
        let ours = alone(&dag, Orchestrator::Relief);
        let exact = ["canny", "deblur", "lstm"].contains(&dag.name());
        if exact {
            assert_eq!(ours.forwards, release.forwards, "{}", dag.name());
        } else {
            assert!(
                within(ours.forwards as f64, release.forwards as f64, 0.12),
                "{}",
                dag.name()
            );
        }
        assert!(
            within(ours.manager.as_us_f64(), release.manager_us, 0.11),
            "{}",
            dag.name()
        );
        assert_eq!(ours.forwards + ours.reloads, dag.edges() as u64);
    }
}

#[test]
fn the_bound_of_the_ratio_is_1_745_with_the_releases_own_times() {
    let ratios = RELEASE.map(|release| release.relief_us / release.bottleneck_us);
    let mean = ratios.iter().sum::<f64>() / 5.0;
    let geometric = ratios.iter().product::<f64>().powf(0.2);
    assert_eq!(
        (format!("{mean:.3}"), format!("{geometric:.2}")),
        ("1.745".into(), "1.59".into())
    );
}

#[test]
fn no_closed_loop_beats_the_bottleneck_and_accelflow_never_loses_to_relief() {
    let platform = Platform::default();
    let length = Length {
        graphs: 60,
        warmup: 5,
    };
    for (dag, _) in suite() {
        let bound = throughput::bound_per_s(&dag, &platform);
        let best =
            |orchestrator| throughput::closed_loop(&dag, &platform, orchestrator, length).unwrap();
        for orchestrator in Orchestrator::ALL {
            let (rate, in_flight) = best(orchestrator);
            assert!(
                rate <= bound && IN_FLIGHT.contains(&in_flight),
                "{} {orchestrator:?}",
                dag.name()
            );
        }
        let (ours, theirs) = (
            best(Orchestrator::AccelFlow).0,
            best(Orchestrator::Relief).0,
        );
        assert!(ours >= 0.995 * theirs, "{}: {ours} {theirs}", dag.name());
    }
}

#[test]
fn a_higher_rate_than_the_one_found_misses_deadlines_and_that_one_does_not() {
    let platform = Platform::default();
    let length = Length {
        graphs: 120,
        warmup: 10,
    };
    let dag = suite::gru();
    for pattern in [Pattern::Periodic, Pattern::Poisson(3)] {
        let rate =
            throughput::within_deadline(&dag, &platform, Orchestrator::AccelFlow, pattern, length)
                .unwrap();
        assert!(rate > 0.0);
        let p99 = |rate: f64| {
            let interval = Time::from_s_f64(1.0 / rate);
            let arrivals = match pattern {
                Pattern::Periodic => accelflow_relief_suite::Arrivals::Periodic(interval),
                Pattern::Poisson(seed) => accelflow_relief_suite::Arrivals::Poisson(interval, seed),
            };
            let load = accelflow_relief_suite::Load {
                arrivals,
                graphs: 120,
                warmup: 10,
            };
            let run =
                accelflow_relief_suite::simulate(&dag, &platform, Orchestrator::AccelFlow, &load);
            run.unwrap().latency.percentile(99.0).unwrap()
        };
        assert!(p99(rate) <= dag.deadline());
        assert!(p99(1.02 * rate) > dag.deadline(), "{pattern:?}");
    }
}
