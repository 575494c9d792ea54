//! What a reserved share of each accelerator does for a victim and costs everybody: all eight
//! SocialNetwork services beside a tenant that floods, with shared and with reserved elements.
//! Writes the table of the section "Reserved shares" of docs/simulator-reasons.md to standard
//! output.
//!
//! `cargo run --release -p accelflow-sim --example isolation REQUESTS_OF_EACH_SERVICE SEEDS`

use std::error::Error;

use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load, Run, simulate};
use accelflow_trace::{Accel, templates};
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution, SizePreset};
use accelflow_workload::suites::social_network;

/// AccelFlow, section VI: the mean load of a service.
const RATE_RPS: f64 = 13_400.0;
/// What floods: the service that does least beside receiving and answering, with short messages.
const FLOODER: &str = "UniqId";
const FLOOD_BYTES: Bytes = Bytes(64);
/// TCP operations of a core: with them the victim needs a quarter of TCP's elements.
const TCP_COST: Time = Time::from_us(7);
/// Twice as many as in the base server, so that accelerators are what tenants contend for.
const CORES: f64 = 72.0;
/// From next to nothing to more than TCP can do.
const FLOODS_RPS: [f64; 3] = [1_000.0, 1_000_000.0, 2_000_000.0];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<u64> = std::env::args()
        .skip(1)
        .map(|argument| argument.parse())
        .collect::<Result<_, _>>()?;
    let [requests, seeds] = arguments[..] else {
        return Err("expected the requests of each service and a number of seeds".into());
    };
    let plan = plan()?;
    println!(
        "| flood, 1,000/s | elements | victim's P99, us | victim, 1,000/s | flooder's P99, us | flooder, 1,000/s | TCP busy | cores busy |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for flood_rps in FLOODS_RPS {
        for (isolation, name) in [(0.0, "shared"), (1.0, "reserved")] {
            let mut mean = [0.0; 6];
            for seed in 1..=seeds {
                for (sum, value) in mean
                    .iter_mut()
                    .zip(values(&plan, isolation, flood_rps, requests, seed)?)
                {
                    *sum += value / seeds as f64;
                }
            }
            let [p99, rate, flood_p99, flood, tcp, cores] = mean;
            println!(
                "| {:.0} | {name} | {p99:.0} | {:.1} | {flood_p99:.0} | {:.0} | {:.0} % | {:.0} % |",
                flood_rps / 1e3,
                rate / 1e3,
                flood / 1e3,
                tcp * 100.0,
                cores * 100.0
            );
        }
    }
    Ok(())
}

/// The eight services, and the flooder's as the last.
fn plan() -> Result<Plan, Box<dyn Error>> {
    let (image, services) = (templates()?.link()?, social_network()?);
    let options = PaperOptions {
        tcp_cost: TCP_COST,
        ..PaperOptions::default()
    };
    let profile = Profile::paper(&services, &image, &options)?;
    let mut plan = Plan::new(&profile, &image, &PayloadSizes::preset(SizePreset::Fleet))?;
    let named = plan.services.iter().find(|service| service.name == FLOODER);
    let flooder = named.ok_or("there is no flooder")?.clone();
    let messages = SizeDistribution::Fixed(FLOOD_BYTES);
    plan.services.push(flooder.with_messages(&messages));
    Ok(plan)
}

/// P99 in us, the mean over the victim's services, and its responses a second; the flooder's two;
/// TCP's utilisation; that of the cores.
fn values(
    plan: &Plan,
    isolation: f64,
    flood_rps: f64,
    requests: u64,
    seed: u64,
) -> Result<[f64; 6], Box<dyn Error>> {
    let mut config = Config::default();
    config.set("tenant.isolation", isolation)?;
    config.set("core.count", CORES)?;
    let victims = plan.services.len() - 1;
    let poisson = |rate_rps| ArrivalProcess::Poisson { rate_rps };
    let mut loads: Vec<Load> = (0..victims)
        .map(|victim| Load::new(victim, poisson(RATE_RPS), requests, requests / 10))
        .collect();
    let count = (requests as f64 * flood_rps / RATE_RPS) as u64;
    loads.push(Load::new(victims, poisson(flood_rps), count, count / 10).of_tenant(1));
    let mut outcome = simulate(&Run {
        config: &config,
        plan,
        orchestrator: orchestrator("accelflow")?,
        loads: &loads,
        seed,
    })?;
    let tcp = outcome.accelerators[Accel::Tcp.index()].utilization;
    let mut values = [0.0, 0.0, 0.0, 0.0, tcp, outcome.core_utilization];
    for (service, stats) in outcome.services.iter_mut().enumerate() {
        let window = stats.measured.map_or(Time::ZERO, |(from, to)| to - from);
        let p99 = stats
            .latency
            .percentile(99.0)
            .map_or(f64::NAN, Time::as_us_f64);
        let rate = stats.completed_in_window as f64 / window.as_s_f64().max(1e-12);
        if service < victims {
            values[0] += p99 / victims as f64;
            values[1] += rate;
        } else {
            (values[2], values[3]) = (p99, rate);
        }
    }
    Ok(values)
}
