//! Times that are drawn from recorded distributions, and the time of requests outside of steps.

#![allow(clippy::unwrap_used)]

use accelflow_kernel::ConfidenceInterval;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Config, Load};
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{
    Profile, RecordedOutside, RecordedPhase, RecordedTimes, Recording, RecordingOptions, quantiles,
};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution};

use crate::common::{frictionless, image, recording, round_cost, run, set, uniq_id};

/// A recording of UniqId with round costs and 10 us of application logic.
fn recorded() -> Recording {
    recording(&uniq_id(), 10_000.0, 0, &round_cost)
}

/// The same where each time is evenly spread from nothing to twice itself, with `outside`.
fn spread(outside: Option<RecordedOutside>) -> Recording {
    let table = |mean: f64| vec![(0.0, 0.001), (1.0, 2.0 * mean)];
    let mut recording = recorded();
    let service = &mut recording.services[0];
    service.outside = outside;
    for phase in &mut service.phases {
        match phase {
            RecordedPhase::Cpu {
                app_ns,
                app_quantiles_ns,
                ..
            } => *app_quantiles_ns = table(app_ns.unwrap()),
            RecordedPhase::Chains(chains) => {
                for step in chains.iter_mut().flat_map(|chain| &mut chain.steps) {
                    step.cost_quantiles_ns = table(step.cost_ns);
                }
            }
        }
    }
    recording
}

fn outside(core_us: f64, client_us: f64) -> RecordedOutside {
    let constant = |us: f64| vec![(0.0, us * 1e3), (1.0, us * 1e3)];
    RecordedOutside {
        core_quantiles_ns: constant(core_us),
        client_quantiles_ns: constant(client_us),
        samples: 1,
    }
}

fn plan(recording: &Recording, times: RecordedTimes) -> Plan {
    let options = RecordingOptions {
        times,
        ..RecordingOptions::default()
    };
    let services = [uniq_id()];
    let profile = Profile::from_recording(recording, &services, &image(), &options).unwrap();
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(0)));
    Plan::new(&profile, &image(), &sizes).unwrap()
}

fn one_core() -> Config {
    let mut config = frictionless();
    set(&mut config, &[("core.count", 1.0)]);
    config
}

fn poisson(rate_rps: f64, requests: u64) -> Load {
    let arrivals = ArrivalProcess::Poisson { rate_rps };
    Load::new(0, arrivals, requests, requests / 10)
}

fn responses(outcome: &SimulationResult) -> Vec<Time> {
    outcome.services[0].latency.iter().collect()
}

#[test]
fn medians_are_taken_whatever_else_a_recording_has() {
    let recording = spread(Some(outside(5.0, 7.0)));
    let (before, after) = (
        plan(&recorded(), RecordedTimes::Median),
        plan(&recording, RecordedTimes::Median),
    );
    let load = [poisson(5_000.0, 500)];
    for id in crate::common::ALL {
        let of = |plan| responses(&run(&Config::default(), plan, id, &load, 1));
        assert_eq!(of(&before), of(&after), "{id}");
    }
}

#[test]
fn a_recording_without_distributions_gives_its_medians() {
    let load = [poisson(5_000.0, 500)];
    let of = |times| {
        let plan = plan(&recorded(), times);
        responses(&run(&Config::default(), &plan, "accelflow", &load, 1))
    };
    assert_eq!(of(RecordedTimes::Median), of(RecordedTimes::Distribution));
}

/// Over drawn times the mean of an M/G/1 queue is Pollaczek's and Khinchine's, with the time
/// outside of steps on the core as part of the service, and the client's beside it.
#[test]
fn drawn_times_on_one_core_are_m_g_1() {
    let plan = plan(
        &spread(Some(outside(5.0, 7.0))),
        RecordedTimes::Distribution,
    );
    let steps: Vec<f64> = recorded().services[0]
        .phases
        .iter()
        .flat_map(|phase| match phase {
            RecordedPhase::Cpu { app_ns, .. } => vec![app_ns.unwrap()],
            RecordedPhase::Chains(chains) => {
                let steps = chains.iter().flat_map(|chain| &chain.steps);
                steps.map(|step| step.cost_ns).collect()
            }
        })
        .collect();
    let service_s = (steps.iter().sum::<f64>() + 5_000.0) * 1e-9;
    // A time that is evenly spread from 0 to 2 m has the variance m² / 3.
    let variance: f64 = steps.iter().map(|mean| mean * mean / 3.0).sum::<f64>() * 1e-18;
    for utilization in [0.3, 0.7] {
        let rate = utilization / service_s;
        let wait = rate * (service_s * service_s + variance) / (2.0 * (1.0 - utilization));
        let load = [poisson(rate, 20_000)];
        let means: Vec<f64> = (1..=10)
            .map(|seed| {
                let outcome = run(&one_core(), &plan, "non_acc", &load, seed);
                outcome.services[0].latency.mean_ps().unwrap() * 1e-12
            })
            .collect();
        let found = ConfidenceInterval::of(&means).unwrap();
        let expected = service_s + wait + 7e-6;
        assert!(found.half_width < 0.02 * expected, "{found:?}");
        assert!(
            (found.mean - expected).abs() < 1.5 * found.half_width,
            "{found:?}, expected {expected}"
        );
    }
}

#[test]
fn requests_have_the_same_times_in_every_system() {
    let plan = plan(&spread(None), RecordedTimes::Distribution);
    let mut config = frictionless();
    set(&mut config, &[("core.transform_ns_per_kib", 0.0)]);
    // So far apart that no request waits for another.
    let arrivals: Vec<Time> = (1..=50)
        .map(|number| Time::from_us(number * 1_000))
        .collect();
    let load = [Load::new(0, ArrivalProcess::Trace(arrivals), 50, 0)];
    let of = |id| responses(&run(&config, &plan, id, &load, 3));
    let (software, ideal) = (of("non_acc"), of("ideal"));
    assert!(software.iter().min() < software.iter().max());
    for (a, b) in software.iter().zip(&ideal) {
        let off = a.as_ns_f64() - b.as_ns_f64();
        assert!(off.abs() < 1.0, "{a:?} in software, {b:?} on accelerators");
    }
}

#[test]
fn the_core_pays_outside_of_steps_only_where_software_executes_traces() {
    let with = plan(
        &{
            let mut recording = recorded();
            recording.services[0].outside = Some(outside(5.0, 7.0));
            recording
        },
        RecordedTimes::Distribution,
    );
    let without = plan(&recorded(), RecordedTimes::Distribution);
    for (id, more_us) in [("non_acc", 12), ("accelflow", 7), ("relief", 7)] {
        let of = |plan| crate::common::response(&Config::default(), plan, id);
        assert_eq!(of(&with) - of(&without), Time::from_us(more_us), "{id}");
    }
}

#[test]
fn the_parts_of_a_response_time_include_the_clients() {
    let plan = plan(
        &spread(Some(outside(5.0, 7.0))),
        RecordedTimes::Distribution,
    );
    let outcome = run(&one_core(), &plan, "non_acc", &[poisson(5_000.0, 400)], 1);
    let stats = &outcome.services[0];
    let measured = stats.latency.count() as f64;
    let spent = stats.spent.total().as_us_f64() / measured;
    let mean = stats.latency.mean_ps().unwrap() * 1e-6;
    assert!((spent - mean).abs() < 1e-3, "{spent} {mean}");
}

#[test]
fn tables_keep_the_mean_of_long_tails() {
    let mut samples: Vec<f64> = (0..4_000)
        .map(|number| 10_000.0 + f64::from(number))
        .collect();
    samples.extend([5e6, 9e6]);
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let mut recording = recorded();
    for phase in &mut recording.services[0].phases {
        if let RecordedPhase::Cpu {
            app_quantiles_ns, ..
        } = phase
        {
            *app_quantiles_ns = quantiles(&samples);
        }
    }
    let options = RecordingOptions {
        times: RecordedTimes::Distribution,
        ..RecordingOptions::default()
    };
    let read = Profile::from_recording(&recording, &[uniq_id()], &image(), &options).unwrap();
    let found = read.services()[0].app_time().as_ns_f64();
    assert!((found / mean - 1.0).abs() < 1e-6, "{found} {mean}");
}
