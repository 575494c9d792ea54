//! The eight SocialNetwork services on one server of the base configuration: mean and P99 of each
//! orchestrator, and how many events a second were simulated.
//!
//! `cargo run --release -p accelflow-sim --example base_server [requests of each service] [key=value]...`

use std::error::Error;
use std::time::Instant;

use accelflow_sim::orchestrators::ORCHESTRATORS;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::DataStats;
use accelflow_sim::{Config, Load, Run, simulate};
use accelflow_trace::templates;
use accelflow_workload::arrivals::{ArrivalProcess, Modulation};
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

/// AccelFlow, section VI: the mean load of a service.
const RATE_RPS: f64 = 13_400.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let requests: u64 = arguments.next().as_deref().unwrap_or("5000").parse()?;
    let mut config = Config::default();
    for argument in arguments {
        let (key, value) = argument.split_once('=').ok_or("expected key=value")?;
        config.set(key, value.parse()?)?;
    }
    let (image, services) = (templates()?.link()?, social_network()?);
    let profile = Profile::paper(&services, &image, &PaperOptions::default())?;
    let plan = Plan::new(
        &profile,
        &image,
        &PayloadSizes::preset(SizePreset::SocialNetwork),
    )?;
    let arrivals = ArrivalProcess::Bursty {
        rate_rps: RATE_RPS,
        modulation: Modulation::short_bursts(),
    };
    let load = |service| Load::new(service, arrivals.clone(), requests, requests / 10);
    let loads: Vec<Load> = (0..plan.services.len()).map(load).collect();
    for orchestrator in ORCHESTRATORS {
        let began = Instant::now();
        let outcome = simulate(&Run {
            config: &config,
            plan: &plan,
            orchestrator,
            loads: &loads,
            seed: 1,
        })?;
        let host_s = began.elapsed().as_secs_f64();
        print_data(
            orchestrator.id(),
            &outcome.data,
            requests as f64 * loads.len() as f64,
        );
        let (mut means, mut tails) = (0.0, 0.0);
        for mut stats in outcome.services {
            means += stats.latency.mean().map_or(0.0, |t| t.as_us_f64());
            tails += stats
                .latency
                .percentile(99.0)
                .map_or(0.0, |t| t.as_us_f64());
        }
        let services = loads.len() as f64;
        println!(
            "{:12} mean {:9.2} us, P99 {:9.2} us, {:.0} events, {:.2} M events/s",
            orchestrator.id(),
            means / services,
            tails / services,
            outcome.events as f64,
            outcome.events as f64 / host_s / 1e6,
        );
    }
    Ok(())
}

/// What a request's data did on average over `requests` of them.
fn print_data(orchestrator: &str, data: &DataStats, requests: f64) {
    println!(
        "{:12} per request {:.1} pages looked up, {:.1} not there; {:.0} KiB read and written, {:.2} of it \
             found, {:.0} KiB of memory traffic; {:.3} page faults; busiest link {:.2}, crossing {:.2}",
        orchestrator,
        data.tlb_lookups as f64 / requests,
        data.tlb_misses as f64 / requests,
        (data.read_bytes + data.written_bytes) as f64 / requests / 1024.0,
        data.llc_hit_ratio().unwrap_or(1.0),
        data.dram_bytes as f64 / requests / 1024.0,
        data.page_faults as f64 / requests,
        data.busiest_link,
        data.busiest_crossing,
    );
}
