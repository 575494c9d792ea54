//! The worked example of CONTRIBUTING.md: a user-defined service.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

// quoted: begin
use accelflow_sim::orchestrators::Orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Config, Load, Run, simulate};
use accelflow_trace::templates;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::services::{Chain, Phase, Service, ServiceError};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

/// Receives a request, reads two keys of the cache at once, of which both are there and one is
/// compressed, and answers.
fn two_reads() -> Result<Service, ServiceError> {
    let request = Chain::new("T1").with("T1", "compressed", 0);
    let read = |compressed| {
        let read = Chain::new("T4").with("T5", "hit", 1);
        read.with("T5", "compressed", compressed)
    };
    let path = vec![
        Phase::one(request),
        Phase::Cpu,
        Phase::Traces(vec![read(0), read(1)]),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    Service::new("TwoReads", "ReadPosts", path)
}

fn simulate_two_reads(
    orchestrator: &dyn Orchestrator,
    requests: u64,
) -> Result<SimulationResult, Box<dyn std::error::Error>> {
    let image = templates()?.link()?;
    // The paper's shares are of services that do all kinds of work, so those are asked too.
    let mut services = social_network()?;
    services.push(two_reads()?);
    let profile = Profile::paper(&services, &image, &PaperOptions::default())?;
    let plan = Plan::new(&profile, &image, &PayloadSizes::preset(SizePreset::Fleet))?;
    let load = Load::new(
        services.len() - 1,
        ArrivalProcess::Poisson { rate_rps: 13_400.0 },
        requests,
        requests / 10,
    );
    Ok(simulate(&Run {
        config: &Config::default(),
        plan: &plan,
        orchestrator,
        loads: &[load],
        seed: 1,
    })?)
}
// quoted: end

use accelflow_sim::orchestrators::orchestrator;
use accelflow_trace::Accel;
use accelflow_workload::profile::{Recording, RecordingOptions};
use accelflow_workload::services::invocations;

#[test]
fn it_runs_under_an_orchestrator() {
    let outcome = simulate_two_reads(orchestrator("accelflow").unwrap(), 1_000).unwrap();
    let of = outcome.services.last().unwrap();
    assert_eq!((of.arrived, of.completed), (1_000, 1_000));
    assert_eq!(of.latency.count(), 900);
    let image = templates().unwrap().link().unwrap();
    let counts = invocations(&two_reads().unwrap(), &image).unwrap();
    // T1 5, twice T4 3 and T5 4, Dcmp in one of them, T2 4.
    assert_eq!(counts.total, 24);
    assert_eq!(counts.of(Accel::Dcmp), 1);
    let ran: u64 = outcome.totals.on_accelerators.iter().sum::<u64>()
        + outcome.totals.on_cores.iter().sum::<u64>();
    assert_eq!(ran, 24_000);
}

#[test]
fn a_recording_of_something_else_is_refused_by_name() {
    let image = templates().unwrap().link().unwrap();
    let empty = Recording::new("by hand", "2026-01-01");
    let options = RecordingOptions::default();
    let refused = Profile::from_recording(&empty, &[two_reads().unwrap()], &image, &options);
    let error = refused.unwrap_err().to_string();
    let expected = "service = 'TwoReads': must be in the recording, which has these services: none";
    assert_eq!(error, expected);
}
