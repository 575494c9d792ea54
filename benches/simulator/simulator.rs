//! What a simulation costs: the eight SocialNetwork services on one server of the base
//! configuration, and the digests by which two versions of the simulator are compared.
//!
//! `cargo run --profile extension -p accelflow-sim --example simulator -- run SIZES SYSTEM
//! REQUESTS` simulates SYSTEM with REQUESTS requests of each service and prints a line of JSON;
//! `... -- digests REQUESTS` prints a digest of the results and of the log of each system, with
//! several servers. `run.py` beside this file measures with it.

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use accelflow_sim::orchestrators::{Orchestrator, SYSTEMS, orchestrator};
use accelflow_sim::plan::{Plan, Retry};
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Config, Load, Run, simulate, simulate_logged};
use accelflow_trace::templates;
use accelflow_units::Time;
use accelflow_workload::arrivals::{ArrivalProcess, Modulation};
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

/// AccelFlow, section VI: the mean load of a service.
const RATE_RPS: f64 = 13_400.0;

/// The servers of the digests: each is the base configuration with a few parameters changed.
const SERVERS: [&[(&str, f64)]; 12] = [
    &[],
    &[("network.chiplets", 1.0), ("scheduling.policy", 3.0)],
    &[("network.chiplets", 3.0), ("scheduling.policy", 1.0)],
    &[("network.chiplets", 4.0), ("accelerator.pes", 2.0)],
    &[("network.chiplets", 6.0), ("dispatcher.busy", 1.0)],
    &[
        ("accelerator.input_entries", 2.0),
        ("accelerator.overflow_entries", 2.0),
    ],
    &[("memory.controllers", 1.0), ("memory.dram_gb_per_s", 5.0)],
    &[
        ("core.count", 12.0),
        ("core.balancing", 1.0),
        ("core.time_slice_ns", 500.0),
    ],
    &[("accelerator.instances", 2.0), ("accelerator.reuse", 1.0)],
    &[("tlb.entries", 8.0), ("tlb.ways", 2.0), ("atm.ports", 1.0)],
    &[
        ("tlb.faults_per_million", 500.0),
        ("exception.per_million", 500.0),
    ],
    &[
        ("accelerator.speedup_half_bytes", 512.0),
        ("accelerator.service_state_bytes", 4096.0),
    ],
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["run", sizes, system, requests] => measure(sizes, system, requests.parse()?),
        ["digests", requests] => digests(requests.parse()?),
        _ => Err("expected 'run SIZES SYSTEM REQUESTS' or 'digests REQUESTS'".into()),
    }
}

/// Simulates once, and prints how much was simulated and how long it took.
fn measure(sizes: &str, system: &str, requests: u64) -> Result<(), Box<dyn Error>> {
    let (plan, system) = (plan(sizes)?, orchestrator(system)?);
    let loads = loads(&plan, requests);
    let config = Config::default();
    let run = Run {
        config: &config,
        plan: &plan,
        orchestrator: system,
        loads: &loads,
        seed: 1,
    };
    let began = Instant::now();
    let outcome = measured_simulation(&run)?;
    let host_s = began.elapsed().as_secs_f64();
    let totals = &outcome.totals;
    let operations: u64 = totals.on_accelerators.iter().chain(&totals.on_cores).sum();
    println!(
        "{{\"requests\": {}, \"events\": {}, \"operations\": {operations}, \"host_s\": {host_s:.6}, \
         \"digest\": \"{:016x}\"}}",
        requests * loads.len() as u64,
        outcome.events,
        digest(&outcome),
    );
    Ok(())
}

/// What callgrind counts.
#[inline(never)]
fn measured_simulation(run: &Run<'_>) -> Result<SimulationResult, Box<dyn Error>> {
    Ok(simulate(run)?)
}

/// Prints a digest for each size distribution, server and system, with fixed and drawn facts.
fn digests(requests: u64) -> Result<(), Box<dyn Error>> {
    for sizes in ["socialnetwork", "fleet"] {
        let fixed = plan(sizes)?;
        let drawn = plan(sizes)?.with_odds(&Config::default().facts.odds()?);
        let retried = retried(plan(sizes)?)?;
        for (index, server) in SERVERS.iter().enumerate() {
            let plan = [&fixed, &drawn, &retried][index % 3];
            for system in SYSTEMS {
                let digest = digest_of(plan, server, system, requests)?;
                println!("{sizes} {index} {} {digest}", system.id());
            }
        }
    }
    Ok(())
}

/// The digest of the outcome and of the log of a run, or its error.
fn digest_of(
    plan: &Plan,
    server: &[(&str, f64)],
    system: &dyn Orchestrator,
    requests: u64,
) -> Result<String, Box<dyn Error>> {
    let mut config = Config::default();
    for (key, value) in server {
        config.set(key, *value)?;
    }
    let mut loads = loads(plan, requests);
    for (index, load) in loads.iter_mut().enumerate() {
        *load = load.clone().sampling(u64::MAX);
        load.slo = (index % 2 == 0).then(|| Time::from_us(200));
        (load.tenant, load.priority) = ((index / 4) as u16, (index % 3) as u8);
    }
    let outcome = simulate_logged(&Run {
        config: &config,
        plan,
        orchestrator: system,
        loads: &loads,
        seed: 7,
    });
    Ok(match outcome {
        Ok(outcome) => format!("{:016x}", digest(&outcome)),
        Err(error) => error.to_string(),
    })
}

fn digest(value: &impl std::fmt::Debug) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{value:?}").hash(&mut hasher);
    hasher.finish()
}

fn plan(sizes: &str) -> Result<Plan, Box<dyn Error>> {
    let (image, services) = (templates()?.link()?, social_network()?);
    let profile = Profile::paper(&services, &image, &PaperOptions::default())?;
    let sizes = PayloadSizes::preset(sizes.parse::<SizePreset>()?);
    Ok(Plan::new(&profile, &image, &sizes)?)
}

/// The plan whose first chain of each second phase fails sometimes, and starts again.
fn retried(mut plan: Plan) -> Result<Plan, Box<dyn Error>> {
    for service in 0..plan.services.len() {
        let retry = Retry {
            odds: 0.2,
            attempts: 3,
            backoff: Time::from_us(3),
        };
        let again = plan.clone().with_retry(service, 2, 0, retry);
        plan = again.unwrap_or(plan);
    }
    Ok(plan)
}

fn loads(plan: &Plan, requests: u64) -> Vec<Load> {
    let arrivals = ArrivalProcess::Bursty {
        rate_rps: RATE_RPS,
        modulation: Modulation::short_bursts(),
    };
    let services = 0..plan.services.len();
    services
        .map(|service| Load::new(service, arrivals.clone(), requests, requests / 10))
        .collect()
}
