//! The demonstration: starts everything, runs the mixed workload and each service, stops
//! everything.

use std::time::Duration;

use accelflow_parameters::Refusal;
use clap::Args;

use crate::cluster::Cluster;
use crate::graph;
use crate::load::{Load, Measured, open_loop};
use crate::requests::{EIGHT, Kind, MIXED};
use crate::services::SERVICES;

/// Options of the demonstration.
#[derive(Args)]
pub(crate) struct Options {
    /// Requests per second of the mixed workload: 60 % home timelines, 30 % user timelines, 10 %
    /// posts.
    #[arg(long, default_value_t = 100.0)]
    rate: f64,
    /// Requests per second of each service, when it is driven alone.
    #[arg(long, default_value_t = 50.0)]
    service_rate: f64,
    /// Duration of each load after its warm-up, in seconds.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Duration of each load's warm-up, whose requests are sent but not measured, in seconds.
    #[arg(long, default_value_t = 2.0)]
    warm_up_seconds: f64,
    /// Posts of each of the 962 users at the start.
    #[arg(long, default_value_t = graph::POSTS)]
    posts: u64,
    /// Seed of the arrival times and the contents of requests.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn check(name: &str, value: f64, most: f64) -> Result<(), Refusal> {
    match value > 0.0 && value <= most {
        true => Ok(()),
        false => {
            let allowed = format!("must be above 0 and at most {most}");
            Err(Refusal::number(format!("--{name}"), value, allowed))
        }
    }
}

fn check_options(options: &Options) -> Result<(), Refusal> {
    check("rate", options.rate, 100_000.0)?;
    check("service-rate", options.service_rate, 100_000.0)?;
    check("seconds", options.seconds, 3_600.0)?;
    check("warm-up-seconds", options.warm_up_seconds, 3_600.0)?;
    if !(1..=graph::MAX_POSTS).contains(&options.posts) {
        let allowed = format!("must be from 1 to {}", graph::MAX_POSTS);
        return Err(Refusal::new("--posts", options.posts, allowed));
    }
    Ok(())
}

pub(crate) fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    check_options(options)?;
    eprintln!(
        "starting Redis, PostgreSQL, the gateway and {} services",
        SERVICES.len()
    );
    let cluster = Cluster::start()?;
    let names = SERVICES.map(|(name, _)| name);
    let servers = cluster.serve(&names, None, false)?;
    eprintln!("loading users, graph and posts");
    let loaded = graph::load(&cluster.site, options.seed, options.posts);
    loaded.map_err(|error| error.to_string())?;
    let warm_up = Duration::from_secs_f64(options.warm_up_seconds);
    let drive = |mix: &[(Kind, f64)], rate_rps: f64| {
        let load = Load {
            mix,
            rate_rps,
            warm_up,
            duration: warm_up + Duration::from_secs_f64(options.seconds),
            connections: 64,
            seed: options.seed,
        };
        open_loop(&cluster.site, &load).map_err(|error| error.to_string())
    };
    println!(
        "{:<8} {:>9} {:>9} {:>9} {:>9} {:>7}",
        "", "req/s", "mean us", "P50 us", "P99 us", "errors"
    );
    let print = |measured: &Measured, kind: Kind, rate: f64| {
        println!(
            "{:<8} {:>9.1} {:>9.0} {:>9.0} {:>9.0} {:>7}",
            kind.name(),
            rate,
            measured.mean_us(kind),
            measured.percentile_us(kind, 50.0),
            measured.percentile_us(kind, 99.0),
            measured.errors.get(&kind).copied().unwrap_or(0),
        );
    };
    eprintln!("the mixed workload: 60 % home timelines, 30 % user timelines, 10 % posts");
    let measured = drive(&MIXED, options.rate)?;
    let mut errors = measured.errors();
    for (kind, share) in MIXED {
        print(&measured, kind, options.rate * share);
    }
    eprintln!("each of the eight services alone");
    for kind in EIGHT {
        let measured = drive(&[(kind, 1.0)], options.service_rate)?;
        errors += measured.errors();
        print(&measured, kind, options.service_rate);
    }
    servers.stop()?;
    match errors {
        0 => Ok(()),
        errors => Err(format!("{errors} requests failed or were answered with an error").into()),
    }
}
