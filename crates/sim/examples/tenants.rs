//! Who keeps P99 and rate when a tenant floods AccelFlow's accelerators: nobody's rule, AccelFlow's limit N and
//! deadlines, or ARCUS's traffic shaper. Writes docs/results/tenants.md to standard output.
//!
//! `cargo run --release -p accelflow-sim --example tenants [requests of each service] [seeds] [us for TCP on a core]`

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use accelflow_shaping::{FlowConfig, Registers, Splitting, Unit};
use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::Outcome;
use accelflow_sim::{Config, Load, Run, SimError, simulate};
use accelflow_trace::templates;
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::{ArrivalProcess, Modulation};
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::services::social_network;
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution, SizePreset};

type Failure = Box<dyn Error + Send + Sync>;

/// AccelFlow, section VI: the mean load of a service.
const RATE_RPS: f64 = 13_400.0;
/// AccelFlow, section VII.A.3: the SLO, in mean response times on an idle server.
const SLO_FACTOR: u64 = 5;
/// What floods: the service that does least beside receiving and answering.
const FLOODER: &str = "UniqId";
/// What the flooder was promised, in requests: two traces each.
const PROMISED_RPS: f64 = 100_000.0;

/// How the flooder floods.
struct Flood {
    name: &'static str,
    what: &'static str,
    /// The size of all its messages; that of the profile without.
    bytes: Option<u64>,
    rate_rps: f64,
    bursts: bool,
}

const FLOODS: [Flood; 3] = [
    Flood {
        name: "small",
        what: "messages of 64 B, Poisson",
        bytes: Some(64),
        rate_rps: 1_500_000.0,
        bursts: false,
    },
    Flood {
        name: "huge",
        what: "messages of 64 KiB, Poisson",
        bytes: Some(65_536),
        rate_rps: 200_000.0,
        bursts: false,
    },
    Flood {
        name: "bursty",
        what: "sizes of the fleet (mean 8.0 KB), ten times the rate for a tenth of the time, else \
               nothing; 5 ms between draws",
        bytes: None,
        rate_rps: 100_000.0,
        bursts: true,
    },
];

/// What is done about it.
struct Rule {
    name: &'static str,
    system: &'static str,
    max_traces: f64,
    unit: Option<Unit>,
}

const fn rule(name: &'static str, max_traces: f64, unit: Option<Unit>) -> Rule {
    Rule {
        name,
        system: "accelflow",
        max_traces,
        unit,
    }
}

const RULES: [Rule; 8] = [
    rule("none", 0.0, None),
    rule("limit N = 16", 16.0, None),
    rule("limit N = 64", 64.0, None),
    rule("limit N = 256", 256.0, None),
    Rule {
        system: "accelflow_deadline",
        ..rule("deadlines", 0.0, None)
    },
    rule("ARCUS, in traces", 0.0, Some(Unit::Operations)),
    rule("ARCUS, in bytes", 0.0, Some(Unit::Bytes)),
    Rule {
        system: "accelflow_deadline",
        ..rule("ARCUS, in bytes, and deadlines", 0.0, Some(Unit::Bytes))
    },
];

/// Two traces for each promised request, at 8,192 B each (the fleet's mean is 8.0 KB): one every 5 us.
fn shaping(unit: Unit) -> Result<FlowConfig, Failure> {
    const CYCLES: u64 = 1_250;
    Ok(match unit {
        Unit::Operations => FlowConfig::new(unit, Registers::new(1, 16, CYCLES)?),
        Unit::Bytes => FlowConfig {
            splitting: Splitting::segments(Bytes(131_072), Bytes(0))?,
            ..FlowConfig::new(unit, Registers::new(8_192, 131_072, CYCLES)?)
        },
    })
}

/// The victim's services, and the flooder's as the last.
struct Scenario {
    plan: Plan,
    slos: Vec<Time>,
    requests: u64,
}

/// What came of a run.
struct Row {
    /// The mean over the victim's services of P99, in us, and responses of the victim and of the flooder a second.
    values: [f64; 3],
    /// What cannot keep up.
    saturated: Option<String>,
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let requests: u64 = arguments.next().as_deref().unwrap_or("1000").parse()?;
    let seeds: u64 = arguments.next().as_deref().unwrap_or("3").parse()?;
    let tcp_us: u64 = arguments.next().as_deref().unwrap_or("7").parse()?;
    let scenarios: Vec<Scenario> = FLOODS
        .iter()
        .map(|flood| scenario(flood, requests, tcp_us))
        .collect::<Result<_, _>>()?;
    let mut cells = vec![(0, None)];
    for flood in 0..FLOODS.len() {
        cells.extend((0..RULES.len()).map(|rule| (flood, Some(rule))));
    }
    let tasks: Vec<(usize, u64)> = (0..cells.len())
        .flat_map(|cell| (1..=seeds).map(move |seed| (cell, seed)))
        .collect();
    let (next, rows) = (
        AtomicUsize::new(0),
        Mutex::new(cells.iter().map(|_| Vec::new()).collect::<Vec<_>>()),
    );
    let work = || -> Result<(), Failure> {
        while let Some(&(cell, seed)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (flood, rule) = cells[cell];
            let rule = rule.map(|rule| &RULES[rule]);
            let row = cell_of(&scenarios[flood], &FLOODS[flood], rule, seed)?;
            if let Ok(mut rows) = rows.lock() {
                rows[cell].push((seed, row));
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers = [(); 2].map(|()| scope.spawn(work));
        let ended = workers.map(|worker| worker.join());
        ended
            .into_iter()
            .try_for_each(|it| it.unwrap_or_else(|_| Err("a worker has panicked".into())))
    })?;
    let mut rows = rows.into_inner().map_err(|_| "a worker has panicked")?;
    for row in &mut rows {
        row.sort_unstable_by_key(|(seed, _)| *seed);
    }
    print(&rows, [requests, seeds, tcp_us]);
    Ok(())
}

/// The eight services and the flooder's.
fn scenario(flood: &Flood, requests: u64, tcp_us: u64) -> Result<Scenario, Failure> {
    let (image, services) = (templates()?.link()?, social_network()?);
    let options = PaperOptions {
        tcp_cost: Time::from_us(tcp_us),
        ..PaperOptions::default()
    };
    let profile = Profile::paper(&services, &image, &options)?;
    let sizes = PayloadSizes::preset(SizePreset::Fleet);
    let mut plan = Plan::new(&profile, &image, &sizes)?;
    let named = plan.services.iter().find(|service| service.name == FLOODER);
    let mut flooder = named.ok_or("there is no flooder")?.clone();
    if let Some(bytes) = flood.bytes {
        flooder = flooder.with_messages(&SizeDistribution::Fixed(Bytes(bytes)));
    }
    plan.services.push(flooder);
    let idle = |service| -> Result<Time, Failure> {
        let arrivals = ArrivalProcess::Poisson { rate_rps: 10.0 };
        let load = Load::new(service, arrivals, 200, 0);
        let outcome = run(&plan, "accelflow", &Config::default(), &[load], 1)?;
        let mean = outcome.services[service].latency.mean();
        Ok(mean.ok_or("no responses")? * SLO_FACTOR)
    };
    let slos = (0..plan.services.len())
        .map(idle)
        .collect::<Result<_, _>>()?;
    Ok(Scenario {
        plan,
        slos,
        requests,
    })
}

fn run(
    plan: &Plan,
    system: &str,
    config: &Config,
    loads: &[Load],
    seed: u64,
) -> Result<Outcome, Failure> {
    Ok(simulate(&Run {
        config,
        plan,
        orchestrator: orchestrator(system)?,
        loads,
        seed,
    })
    .map_err(|error: SimError| error.to_string())?)
}

/// The victim and, under a rule, the flooder.
fn cell_of(
    scenario: &Scenario,
    flood: &Flood,
    rule: Option<&Rule>,
    seed: u64,
) -> Result<Row, Failure> {
    let requests = scenario.requests;
    let victims = scenario.plan.services.len() - 1;
    let poisson = |rate_rps| ArrivalProcess::Poisson { rate_rps };
    let mut loads: Vec<Load> = (0..victims)
        .map(|it| Load::new(it, poisson(RATE_RPS), requests, requests / 10))
        .map(|load| Load {
            slo: Some(scenario.slos[load.service]),
            ..load
        })
        .collect();
    let mut config = Config::default();
    let mut system = "accelflow";
    if let Some(rule) = rule {
        let arrivals = match flood.bursts {
            false => poisson(flood.rate_rps),
            true => ArrivalProcess::Bursty {
                rate_rps: flood.rate_rps,
                modulation: Modulation::new(&[(10.0, 0.1), (0.0, 0.9)], Time::from_us(5_000))?,
            },
        };
        // It floods for as long as the victim has requests.
        let count = (requests as f64 * flood.rate_rps / RATE_RPS) as u64;
        let mut load = Load::new(victims, arrivals, count, count / 10)
            .of_tenant(1)
            .within(scenario.slos[victims]);
        load.shaping = rule.unit.map(shaping).transpose()?;
        loads.push(load);
        config.set("tenant.max_traces", rule.max_traces)?;
        system = rule.system;
    }
    let mut outcome = run(&scenario.plan, system, &config, &loads, seed)?;
    Ok(row(&mut outcome, victims))
}

fn row(outcome: &mut Outcome, victims: usize) -> Row {
    let mut values = [0.0; 3];
    for (service, stats) in outcome.services.iter_mut().enumerate() {
        let window = stats.measured.map_or(Time::ZERO, |(from, to)| to - from);
        let rate = stats.completed_in_window as f64 / window.as_s_f64().max(1e-12);
        if service < victims {
            let p99 = stats
                .latency
                .percentile(99.0)
                .map_or(f64::NAN, Time::as_us_f64);
            values[0] += p99 / victims as f64;
            values[1] += rate;
        } else {
            values[2] = rate;
        }
    }
    Row {
        values,
        saturated: outcome.saturated.as_ref().map(|it| it.cause.clone()),
    }
}

fn print(rows: &[Vec<(u64, Row)>], [requests, seeds, tcp_us]: [u64; 3]) {
    println!("# Who keeps P99 and rate when a tenant floods\n");
    println!(
        "Written by `cargo run --release -p accelflow-sim --example tenants -- {requests} {seeds} {tcp_us}`; only what follows \
         the table is edited by hand. AccelFlow on the base server, profile `paper` with {tcp_us} us for TCP, sizes `fleet`. The victim is all \
         eight SocialNetwork services at {RATE_RPS:.0} requests a second each, Poisson, {requests} requests of each, \
         of which the first tenth is not counted; P99 is the mean over the services. The flooder is another tenant's \
         {FLOODER}, for as long. Every service has an SLO of {SLO_FACTOR} times its mean response time when alone. \
         The flooder was promised {PROMISED_RPS:.0} requests a second: its shaper has a trace every 5 us (bucket 16), \
         or 8,192 B every 5 us (bucket 128 KiB). Seeds 1 to {seeds}; a cell is the mean and the standard deviation \
         over them.\n"
    );
    for flood in &FLOODS {
        println!(
            "- *{}*: {}, {:.0} requests a second on average",
            flood.name, flood.what, flood.rate_rps
        );
    }
    println!(
        "\n| flood | rule | victim's P99, us | victim, 1,000/s | flooder, 1,000/s | cannot keep up |"
    );
    println!("|---|---|---|---|---|---|");
    println!(
        "| *nobody floods* | | {} | {} | | {} |",
        cell(&rows[0], 0, 1.0),
        cell(&rows[0], 1, 1e3),
        causes(&rows[0])
    );
    for (flood, rows) in FLOODS.iter().zip(rows[1..].chunks(RULES.len())) {
        for (rule, runs) in RULES.iter().zip(rows) {
            println!(
                "| {} | {} | {} | {} | {} | {} |",
                flood.name,
                rule.name,
                cell(runs, 0, 1.0),
                cell(runs, 1, 1e3),
                cell(runs, 2, 1e3),
                causes(runs)
            );
        }
    }
}

/// The mean and the standard deviation of a value over seeds.
fn cell(runs: &[(u64, Row)], column: usize, unit: f64) -> String {
    let count = runs.len() as f64;
    let of = |run: &(u64, Row)| run.1.values[column] / unit;
    let mean = runs.iter().map(of).sum::<f64>() / count;
    if mean.is_nan() {
        return "a service without responses".to_owned();
    }
    let squares: f64 = runs.iter().map(|run| (of(run) - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    format!("{mean:.1} ± {deviation:.1}")
}

/// What cannot keep up, with any seed.
fn causes(runs: &[(u64, Row)]) -> String {
    let causes = runs.iter().filter_map(|run| run.1.saturated.as_deref());
    let causes: std::collections::BTreeSet<&str> = causes.collect();
    causes.into_iter().collect::<Vec<_>>().join(", ")
}
