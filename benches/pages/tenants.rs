//! Who keeps P99 and rate when a tenant floods AccelFlow's accelerators: nobody's rule, AccelFlow's
//! limit N and deadlines, or ARCUS's traffic shaper. Prints JSON with a table for each three
//! arguments, from which `scripts/tenants` writes docs/results/tenants.md.
//!
//! `cargo run --release -p accelflow-sim --example tenants (REQUESTS SEEDS TCP_US)...`, with the
//! requests of each service, the seeds, and the time in us that a core takes for TCP.

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use accelflow_shaping::{Clock, FlowConfig, Registers, Splitting, Unit};
use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::{Plan, ServicePlan};
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Config, Load, Run, SimError, simulate};
use accelflow_trace::templates;
use accelflow_units::{Bytes, Cycles, Time};
use accelflow_workload::arrivals::{ArrivalProcess, Modulation};
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution, SizePreset};
use serde_json::{Value, json};

type Failure = Box<dyn Error + Send + Sync>;

/// AccelFlow, section VI: the mean load of a service.
const RATE_RPS: f64 = 13_400.0;
/// AccelFlow, section VII.A.3: the SLO, in mean response times on an idle server.
const SLO_FACTOR: u64 = 5;
/// What floods: the service that does least beside receiving and answering.
const FLOODER: &str = "UniqId";
/// What the flooder was promised, in requests: two traces each.
const PROMISED_RPS: f64 = 100_000.0;
const TRACES_OF_A_REQUEST: f64 = 2.0;
/// A trace every 5 us, at 8,192 B (the fleet's mean is 8.0 KB).
const INTERVAL: Cycles = Cycles(1_250);
const INTERVAL_S: f64 = 5e-6;
const BYTES_OF_A_TRACE: u64 = 8_192;

/// The time between draws of a bursty flood's rate: a run has many.
const DRAWS: Time = Time::from_us(1_000);

/// A bucket holds so many traces, their bytes or their time.
const BUCKET: u64 = 16;

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
               nothing; 1 ms between draws",
        bytes: None,
        rate_rps: 300_000.0,
        bursts: true,
    },
];

/// What is done about it.
struct Rule {
    name: &'static str,
    system: &'static str,
    max_traces: f64,
    shaping: &'static [Unit],
    /// Whether it is limited in accelerator time.
    in_time: bool,
    /// Traces get tokens in the order of asking, and not those of requests that have begun first.
    asking: bool,
}

const NO_RULE: Rule = Rule {
    name: "none",
    system: "accelflow",
    max_traces: 0.0,
    shaping: &[],
    in_time: false,
    asking: false,
};

const fn limit(name: &'static str, max_traces: f64) -> Rule {
    Rule {
        name,
        max_traces,
        ..NO_RULE
    }
}

const fn arcus(name: &'static str, shaping: &'static [Unit]) -> Rule {
    Rule {
        name,
        shaping,
        ..NO_RULE
    }
}

const IN_TIME: Rule = Rule {
    name: "ARCUS, in accelerator time",
    in_time: true,
    ..NO_RULE
};

const BOTH: &[Unit] = &[Unit::Operations, Unit::Bytes];

const RULES: [Rule; 14] = [
    NO_RULE,
    limit("limit N = 16", 16.0),
    limit("limit N = 64", 64.0),
    limit("limit N = 256", 256.0),
    Rule {
        system: "accelflow_deadline",
        ..limit("deadlines", 0.0)
    },
    Rule {
        asking: true,
        ..arcus(
            "ARCUS, in traces, in the order of asking",
            &[Unit::Operations],
        )
    },
    arcus("ARCUS, in traces", &[Unit::Operations]),
    Rule {
        asking: true,
        ..arcus("ARCUS, in bytes, in the order of asking", &[Unit::Bytes])
    },
    arcus("ARCUS, in bytes", &[Unit::Bytes]),
    Rule {
        asking: true,
        ..arcus("ARCUS, in both, in the order of asking", BOTH)
    },
    arcus("ARCUS, in both", BOTH),
    Rule {
        system: "accelflow_deadline",
        ..arcus("ARCUS, in both, and deadlines", BOTH)
    },
    Rule {
        name: "ARCUS, in accelerator time, in the order of asking",
        asking: true,
        ..IN_TIME
    },
    IN_TIME,
];

/// The limits in these units, in the order given.
fn shaping(units: &[Unit]) -> Result<Option<FlowConfig>, Failure> {
    let registers = |unit: Unit| match unit {
        Unit::Operations => Registers::new(1, BUCKET, INTERVAL.0),
        Unit::Bytes => Registers::new(BYTES_OF_A_TRACE, BUCKET * BYTES_OF_A_TRACE, INTERVAL.0),
    };
    let Some((&first, others)) = units.split_first() else {
        return Ok(None);
    };
    let mut flow = FlowConfig::new(first, registers(first)?);
    for &other in others {
        flow = flow.and(registers(other)?);
    }
    if units.contains(&Unit::Bytes) {
        flow.splitting = Splitting::segments(Bytes(BUCKET * BYTES_OF_A_TRACE), Bytes(0))?;
    }
    Ok(Some(flow))
}

/// What the flooder was promised with messages of this size, in requests a second.
fn promised_rps(scenario: &Scenario, flood: &Flood, rule: &Rule) -> Option<f64> {
    let bytes = flood.bytes.unwrap_or(BYTES_OF_A_TRACE) as f64;
    let of = |unit: &Unit| match unit {
        Unit::Operations => PROMISED_RPS,
        Unit::Bytes => BYTES_OF_A_TRACE as f64 / INTERVAL_S / bytes / TRACES_OF_A_REQUEST,
    };
    let in_time = scenario.promised_s_per_s() / scenario.flooder_s;
    let limits = rule.shaping.iter().map(of);
    limits
        .chain(rule.in_time.then_some(in_time))
        .min_by(f64::total_cmp)
}

/// The victim's services, and the flooder's as the last.
struct Scenario {
    plan: Plan,
    slos: Vec<Time>,
    requests: u64,
    /// The accelerator time of a request of the flooder, and of one with messages as promised, in
    /// seconds.
    flooder_s: f64,
    promised_s: f64,
}

impl Scenario {
    /// The accelerator time a second that the flooder was promised.
    fn promised_s_per_s(&self) -> f64 {
        PROMISED_RPS * self.promised_s
    }

    /// The same as registers.
    fn limit_in_time(&self) -> Result<Registers, Failure> {
        let burst = BUCKET as f64 / TRACES_OF_A_REQUEST * self.promised_s;
        let rate = self.promised_s_per_s();
        Ok(Registers::for_accelerator_time(
            rate,
            Some(burst),
            Clock::PAPER,
        )?)
    }
}

/// The outcome of a run.
struct Row {
    /// The mean over the victim's services of P99, if all had responses.
    p99_us: Option<f64>,
    /// Responses of the victim's services, and of the flooder's.
    victim_rps: f64,
    flooder_rps: f64,
    /// What cannot keep up.
    saturated: Option<String>,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<u64> = std::env::args()
        .skip(1)
        .map(|argument| argument.parse())
        .collect::<Result<_, _>>()?;
    let (tables, []) = arguments.as_chunks::<3>() else {
        return Err("expected three numbers for each table".into());
    };
    let mut found = Vec::new();
    for &[requests, seeds, tcp_us] in tables {
        let scenarios: Vec<Scenario> = FLOODS
            .iter()
            .map(|flood| scenario(flood, requests, tcp_us))
            .collect::<Result<_, _>>()?;
        let cells = cells(&scenarios, &table_of(&scenarios, seeds)?);
        found.push(json!({"requests": requests, "seeds": seeds, "tcp_us": tcp_us, "cells": cells}));
    }
    let floods = FLOODS
        .iter()
        .map(|flood| json!({"name": flood.name, "what": flood.what, "rate_rps": flood.rate_rps}));
    let result = json!({
        "schema": "accelflow.tenants/1",
        "victim_rps": RATE_RPS,
        "slo_factor": SLO_FACTOR,
        "flooder": FLOODER,
        "promised_rps": PROMISED_RPS,
        "traces_of_a_request": TRACES_OF_A_REQUEST,
        "interval_us": INTERVAL_S * 1e6,
        "bytes_of_a_trace": BYTES_OF_A_TRACE,
        "bucket_traces": BUCKET,
        "floods": floods.collect::<Vec<Value>>(),
        "tables": found,
    });
    println!("{result:#}");
    Ok(())
}

/// The runs of each row, by seed.
fn table_of(scenarios: &[Scenario], seeds: u64) -> Result<Vec<Vec<(u64, Row)>>, Failure> {
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
            .try_for_each(|worker| worker.unwrap_or_else(|_| Err("a worker has panicked".into())))
    })?;
    let mut rows = rows.into_inner().map_err(|_| "a worker has panicked")?;
    for row in &mut rows {
        row.sort_unstable_by_key(|(seed, _)| *seed);
    }
    Ok(rows)
}

/// The eight services and the flooder's.
fn scenario(flood: &Flood, requests: u64, tcp_us: u64) -> Result<Scenario, Failure> {
    let (image, services) = (
        templates()?.link()?,
        accelflow_workload::suites::social_network()?,
    );
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
    plan.services.push(flooder.clone());
    let promised = SizeDistribution::Fixed(Bytes(BYTES_OF_A_TRACE));
    let alone = |service: ServicePlan| time_of_a_request(&plan, service);
    let (flooder_s, promised_s) = (
        alone(flooder.clone())?,
        alone(flooder.with_messages(&promised))?,
    );
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
        flooder_s,
        promised_s,
    })
}

/// The mean accelerator time of a request of a service alone, in seconds.
fn time_of_a_request(plan: &Plan, service: ServicePlan) -> Result<f64, Failure> {
    const REQUESTS: u64 = 20_000;
    let mut plan = plan.clone();
    plan.services = vec![service];
    let arrivals = ArrivalProcess::Poisson { rate_rps: 1_000.0 };
    let most =
        Registers::for_accelerator_time(Registers::MAX_ACCELERATOR_S_PER_S, None, Clock::PAPER)?;
    let load = Load::new(0, arrivals, REQUESTS, 0).shaped_in_time(most);
    let outcome = run(&plan, "accelflow", &Config::default(), &[load], 1)?;
    let tenant = outcome.tenants.first().ok_or("there is no tenant")?;
    Ok(tenant.charged_time.as_s_f64() / REQUESTS as f64)
}

fn run(
    plan: &Plan,
    system: &str,
    config: &Config,
    loads: &[Load],
    seed: u64,
) -> Result<SimulationResult, Failure> {
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
        .map(|victim| Load::new(victim, poisson(RATE_RPS), requests, requests / 10))
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
                modulation: Modulation::new(&[(10.0, 0.1), (0.0, 0.9)], DRAWS)?,
            },
        };
        // It floods for as long as the victim has requests.
        let count = (requests as f64 * flood.rate_rps / RATE_RPS) as u64;
        let mut load = Load::new(victims, arrivals, count, count / 10)
            .of_tenant(1)
            .within(scenario.slos[victims]);
        load.shaping.flow = shaping(rule.shaping)?;
        if rule.in_time {
            load.shaping.time = Some(scenario.limit_in_time()?);
        }
        loads.push(load);
        config.set("tenant.max_traces", rule.max_traces)?;
        config.set("tenant.shaping_order", f64::from(u8::from(!rule.asking)))?;
        system = rule.system;
    }
    let mut outcome = run(&scenario.plan, system, &config, &loads, seed)?;
    Ok(row(&mut outcome, victims))
}

fn row(outcome: &mut SimulationResult, victims: usize) -> Row {
    let (mut p99_us, mut victim_rps, mut flooder_rps) = (Some(0.0), 0.0, 0.0);
    for (service, stats) in outcome.services.iter_mut().enumerate() {
        let window = stats.measured.map_or(Time::ZERO, |(from, to)| to - from);
        let rate = stats.completed_in_window as f64 / window.as_s_f64().max(1e-12);
        if service < victims {
            let p99 = stats.latency.percentile(99.0).map(Time::as_us_f64);
            p99_us = p99_us.zip(p99).map(|(sum, p99)| sum + p99 / victims as f64);
            victim_rps += rate;
        } else {
            flooder_rps = rate;
        }
    }
    Row {
        p99_us,
        victim_rps,
        flooder_rps,
        saturated: outcome
            .saturated
            .as_ref()
            .map(|saturation| saturation.cause.clone()),
    }
}

/// The cells of a table as JSON: that without a flood first.
fn cells(scenarios: &[Scenario], rows: &[Vec<(u64, Row)>]) -> Vec<Value> {
    let runs =
        |rows: &[(u64, Row)]| -> Vec<Value> { rows.iter().map(|(_, row)| run_of(row)).collect() };
    let mut found =
        vec![json!({"flood": null, "rule": null, "promised_rps": null, "runs": runs(&rows[0])})];
    let of_floods = FLOODS.iter().zip(scenarios);
    for ((flood, scenario), rows) in of_floods.zip(rows[1..].chunks(RULES.len())) {
        for (rule, rows) in RULES.iter().zip(rows) {
            found.push(json!({
                "flood": flood.name,
                "rule": rule.name,
                "promised_rps": promised_rps(scenario, flood, rule),
                "runs": runs(rows),
            }));
        }
    }
    found
}

fn run_of(row: &Row) -> Value {
    json!({
        "p99_us": row.p99_us,
        "victim_rps": row.victim_rps,
        "flooder_rps": row.flooder_rps,
        "saturated": row.saturated,
    })
}
