//! The simulator's Non-acc on one core, fed with a recording.

use accelflow_kernel::Samples;
use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load, Run, SimError, simulate};
use accelflow_trace::templates;
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{
    Profile, RecordedPhase, RecordedService, Recording, RecordingOptions, RemoteWaits,
    WaitDistribution,
};
use accelflow_workload::services::{Chain, Phase, Service};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution};

use crate::recorded::PathOfRequests;

/// Simulated requests of a prediction, after the warm-up.
const REQUESTS: f64 = 100_000.0;

/// A rate at which requests hardly ever overlap.
const ALONE_RPS: f64 = 0.1;

/// Paths with fewer requests are left out, and reported.
const LEAST_SHARE: f64 = 0.005;

/// The lowest rate that the simulator accepts, used for rare paths of an idle server.
const LEAST_RPS: f64 = 0.001;

/// The simulator's prediction.
#[derive(Clone, Debug)]
pub(crate) struct Prediction {
    pub(crate) mean_us: f64,
    pub(crate) p99_us: f64,
    /// The mean without other requests: the recorded times alone.
    pub(crate) alone_us: f64,
    /// The share of time in which the core is busy.
    pub(crate) utilization: f64,
    /// Core time of a request, in microseconds: steps and application logic.
    pub(crate) core_us: f64,
    /// The paths simulated, and the share of requests that took one of them.
    pub(crate) paths: usize,
    pub(crate) share: f64,
    /// Whether requests arrived faster than they ended.
    pub(crate) saturated: bool,
}

/// Simulates requests that arrive at `rate_rps` and take the recorded paths as often as they were
/// taken.
pub(crate) fn predict(
    paths: &[PathOfRequests],
    rate_rps: f64,
    seed: u64,
) -> Result<Prediction, Box<dyn std::error::Error>> {
    let all: u64 = paths.iter().map(|path| path.requests).sum();
    let share = |path: &PathOfRequests| path.requests as f64 / all.max(1) as f64;
    let kept: Vec<_> = paths
        .iter()
        .filter(|path| share(path) >= LEAST_SHARE)
        .collect();
    let total: f64 = kept.iter().map(|path| share(path)).sum();
    let (services, recording) = services_of(&kept)?;
    let image = templates()?.link()?;
    let options = RecordingOptions {
        waits: waits(&kept),
        ..RecordingOptions::default()
    };
    let profile = Profile::from_recording(&recording, &services, &image, &options)?;
    let core_time = |(service, path): (_, &&PathOfRequests)| {
        let service: &accelflow_workload::profile::ServiceProfile = service;
        service.core_time().as_ns_f64() / 1e3 * share(path) / total
    };
    let core_us = profile.services().iter().zip(&kept).map(core_time).sum();
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(1_024)));
    let plan = Plan::new(&profile, &image, &sizes)?;
    let mut config = Config::default();
    config.core.count = 1;
    let non_acc = orchestrator("non_acc")?;
    let run = |rate_rps: f64, requests: f64| {
        let loads = kept.iter().enumerate().map(|(index, path)| {
            let own = share(path) / total;
            let arrivals = ArrivalProcess::Poisson {
                rate_rps: (rate_rps * own).max(LEAST_RPS),
            };
            let requests = (requests * own).max(100.0) as u64;
            Load::new(index, arrivals, requests + requests / 10, requests / 10)
        });
        let loads: Vec<Load> = loads.collect();
        let outcome = simulate(&Run {
            config: &config,
            plan: &plan,
            orchestrator: non_acc,
            loads: &loads,
            seed,
        })?;
        let mut latency = Samples::new();
        for service in &outcome.services {
            latency.merge(&service.latency);
        }
        Ok::<_, SimError>((outcome, latency))
    };
    let (outcome, mut latency) = run(rate_rps, REQUESTS)?;
    let (_, alone) = run(ALONE_RPS, REQUESTS / 10.0)?;
    let us = |time: Option<Time>| time.map_or(f64::NAN, |time| time.as_ns_f64() / 1e3);
    Ok(Prediction {
        mean_us: us(latency.mean()),
        alone_us: us(alone.mean()),
        p99_us: us(latency.percentile(99.0)),
        utilization: outcome.core_utilization,
        core_us,
        paths: kept.len(),
        share: total,
        saturated: outcome.saturated.is_some(),
    })
}

/// A phase of a service's path, as recorded.
fn phase(recorded: &RecordedPhase) -> Phase {
    let RecordedPhase::Chains(chains) = recorded else {
        return Phase::Cpu;
    };
    let chains = chains.iter().map(|chain| {
        let entry = chain.steps.first().map_or("", |step| step.trace.as_str());
        chain.steps.iter().fold(Chain::new(entry), |chain, step| {
            let facts = step.facts.iter();
            // Branches look at the first operation of a trace that says something.
            facts.fold(chain, |chain, (field, value)| {
                let known = chain.fact(&step.trace, field).unwrap_or(*value);
                chain.with(&step.trace, field, known)
            })
        })
    });
    Phase::Traces(chains.collect())
}

/// Log-normal waits with the mean and the variance of the recorded ones, by trace.
fn waits(paths: &[&PathOfRequests]) -> RemoteWaits {
    let mut traces: Vec<&String> = paths.iter().flat_map(|path| path.waits_ns.keys()).collect();
    traces.sort();
    traces.dedup();
    traces
        .into_iter()
        .fold(RemoteWaits::short(), |waits, trace| {
            let all = paths.iter().filter_map(|path| path.waits_ns.get(trace));
            let all: Vec<f64> = all.flatten().copied().collect();
            waits.with_distribution(trace, log_normal(&all))
        })
}

fn log_normal(waits_ns: &[f64]) -> WaitDistribution {
    let count = waits_ns.len().max(1) as f64;
    let mean = waits_ns.iter().sum::<f64>() / count;
    let variance = waits_ns
        .iter()
        .map(|waits_n| (waits_n - mean).powi(2))
        .sum::<f64>()
        / count;
    if mean <= 0.0 {
        return WaitDistribution::constant(Time::ZERO);
    }
    let sigma_squared = (1.0 + variance / (mean * mean)).ln();
    let median = mean / (sigma_squared / 2.0).exp();
    WaitDistribution::log_normal(Time::from_ns_f64(median), sigma_squared.sqrt())
}

/// A service and its recording for each of `paths`.
fn services_of(
    paths: &[&PathOfRequests],
) -> Result<(Vec<Service>, Recording), Box<dyn std::error::Error>> {
    let (mut services, mut recording) = (Vec::new(), Recording::new("this machine", "1970-01-01"));
    for (index, path) in paths.iter().enumerate() {
        let name = format!("path {index}");
        services.push(Service::new(
            &name,
            &name,
            path.phases.iter().map(phase).collect(),
        )?);
        recording.services.push(RecordedService {
            calibration: None,
            service: name,
            phases: path.phases.clone(),
            outside: None,
            requests: Vec::new(),
        });
    }
    Ok((services, recording))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_keep_mean_and_spread() {
        let fitted = log_normal(&[50_000.0, 100_000.0, 150_000.0, 300_000.0]);
        assert!((fitted.mean().as_ns_f64() - 150_000.0).abs() < 1.0);
        let cv_squared = (fitted.sigma() * fitted.sigma()).exp() - 1.0;
        assert!((cv_squared - 8.75e9 / 2.25e10).abs() < 1e-9);
        let same = log_normal(&[7_000.0; 3]);
        assert_eq!((same.sigma(), same.median()), (0.0, Time::from_us(7)));
    }

    /// Requests of 100 us of application logic, on a core that they load by half: the
    /// Pollaczek-Khinchine formula for a constant service time gives 50 us of waiting.
    #[test]
    fn a_queue_of_constant_requests_waits_as_long_as_the_formula_says() {
        let step = |trace: &str, accel: &str, receives: bool| {
            let direction = if receives { "receive" } else { "send" };
            serde_json::json!({"trace": trace, "accelerator": accel, "direction": direction,
                "input_bytes": 100, "output_bytes": 100, "cost_ns": 0.001, "samples": 1,
                "facts": {"compressed": 0}})
        };
        let chain = |trace: &str, accels: &[&str], receives: bool| {
            let steps = accels.iter().map(|accel| step(trace, accel, receives));
            serde_json::json!({"chains": [{"steps": steps.collect::<Vec<_>>()}]})
        };
        let phases = serde_json::json!([
            chain("T1", &["TCP", "Decr", "RPC", "Dser", "LdB"], true),
            {"cpu": {"app_ns": 100_000.0, "samples": 1}},
            chain("T2", &["Ser", "RPC", "Encr", "TCP"], false),
        ]);
        let path = PathOfRequests {
            requests: 1,
            phases: serde_json::from_value(phases).expect("phases"),
            waits_ns: std::collections::BTreeMap::new(),
        };
        let predicted = predict(&[path], 5_000.0, 1).expect("simulates");
        assert!((predicted.core_us - 100.0).abs() < 0.1, "{predicted:?}");
        assert!((predicted.utilization - 0.5).abs() < 0.02, "{predicted:?}");
        assert!((predicted.mean_us - 150.0).abs() < 4.0, "{predicted:?}");
    }
}
