//! What a tenant's floods do to another tenant of a live server, by what holds the flood back.
//!
//!     cargo run --profile extension -p accelflow-serve --example tenant_flood [ROUNDS [SECONDS]]
//!
//! The victim has one connection and sends 2,000 requests a second. The flooder has eight
//! connections that call and wait, again and again. Rounds of all situations alternate, as server,
//! clients and whatever else runs share the machine. Prints JSON, from which `scripts/tenants
//! --server` writes docs/results/tenants.md.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use accelflow_accel::Limits;
use accelflow_accel::rpc::{ThriftCall, write_message};
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json};
use accelflow_runtime::run_queue;
use accelflow_serve::{
    Control, HandlerError, Request, Running, SHAPING_CLOCK_HZ, Server, Shaping, Tenant, TenantSlo,
};
use accelflow_shaping::{Clock, Registers};
use accelflow_units::{Bytes, Time};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

const CONNECTIONS: usize = 8;
const VICTIM_BYTES: usize = 256;
/// What the flooder was promised: so many requests a second, each of this size.
const PROMISED_PER_S: f64 = 1_000.0;
const PROMISED_BYTES: usize = 8 * 1024;
/// When the victim sends.
const VICTIM_EVERY: Duration = Duration::from_micros(500);
/// What the victim is promised by the control plane, in requests a second: a quarter more than it
/// sends.
const VICTIM_PER_S: f64 = 2_500.0;
/// Buckets hold this much of a second's traffic.
const BURST_S: f64 = 0.01;
/// The capacity that the control plane is told, in cores: clients and handlers have the rest.
const CAPACITY: f64 = 0.5;

type Failed = Box<dyn Error + Send + Sync>;

/// A flood: what it sends, and for which part of each 50 ms.
struct Flood {
    name: &'static str,
    sizes: &'static [usize],
    busy: Duration,
}

const CYCLE: Duration = Duration::from_millis(50);

const FLOODS: [Flood; 3] = [
    Flood {
        name: "small",
        sizes: &[64],
        busy: CYCLE,
    },
    Flood {
        name: "huge",
        sizes: &[64 * 1024],
        busy: CYCLE,
    },
    // 8.1 KB in the mean.
    Flood {
        name: "bursty",
        sizes: &[256, 33_000, 1_024, 8_192, 2_048, 4_096],
        busy: Duration::from_millis(5),
    },
];

/// How a round went.
struct Round {
    victim_us: Vec<f64>,
    flood: u64,
    seconds: f64,
}

/// The two servers: with limits that are set by hand, and with a control plane.
struct Bench {
    shaped: Running,
    controlled: Running,
    messages: Vec<(usize, Vec<u8>)>,
    lasts: Duration,
}

impl Bench {
    fn new(lasts: Duration) -> Result<Bench, Failed> {
        let schema = schema()?;
        let sizes = FLOODS.iter().flat_map(|flood| flood.sizes);
        let mut messages = Vec::new();
        for &size in sizes.chain(&[VICTIM_BYTES, PROMISED_BYTES]) {
            messages.push((size, message(&schema, size)?));
        }
        let shaped = server(None)?.start(([127, 0, 0, 1], 0).into())?;
        let controlled = server(Some(Control::new(CAPACITY)))?;
        let controlled = controlled.start(([127, 0, 0, 1], 0).into())?;
        Ok(Bench {
            shaped,
            controlled,
            messages,
            lasts,
        })
    }

    fn message(&self, size: usize) -> &[u8] {
        let found = self.messages.iter().find(|message| message.0 == size);
        found.map_or(&[], |message| &message.1)
    }

    /// The accelerator time of a request of `size` in seconds, as the server measures it for
    /// `tenant`.
    fn cost_s(&self, size: usize, last: u8, tenant: &str) -> Result<f64, Failed> {
        let mut stream = connect(&self.controlled, address(last))?;
        let totals = || {
            let text = self.controlled.metrics();
            ["charged", "accelerator_seconds"].map(|what| {
                let series = format!("accelflow_tenant_{what}_total{{tenant=\"{tenant}\"}} ");
                let value = text.lines().find_map(|line| line.strip_prefix(&series));
                value.and_then(|value| value.parse().ok()).unwrap_or(0.0)
            })
        };
        let (before, mut reply) = (totals(), Vec::new());
        // As often as the victim sends: a thread that was asleep takes longer.
        for _ in 0..500 {
            thread::sleep(VICTIM_EVERY);
            call(&mut stream, self.message(size), &mut reply)?;
        }
        let after: [f64; 2] = totals();
        Ok((after[1] - before[1]) / (after[0] - before[0]))
    }

    fn round(&self, running: &Running, flood: Option<&Flood>) -> Result<Round, Failed> {
        let (ended, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            let mut threads = Vec::new();
            let begun = Instant::now();
            for flood in flood.into_iter().cycle().take(CONNECTIONS) {
                let mut stream = connect(running, address(2))?;
                let (ended, sent) = (&ended, &sent);
                threads.push(scope.spawn(move || -> Result<(), Failed> {
                    let mut reply = Vec::new();
                    for size in flood.sizes.iter().cycle() {
                        let phase = begun.elapsed().as_nanos() % CYCLE.as_nanos();
                        if phase > flood.busy.as_nanos() {
                            thread::sleep(Duration::from_nanos((CYCLE.as_nanos() - phase) as u64));
                        }
                        if ended.load(Ordering::Relaxed) {
                            break;
                        }
                        call(&mut stream, self.message(*size), &mut reply)?;
                        sent.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                }));
            }
            let mut stream = connect(running, address(3))?;
            let (mut victim_us, mut reply) = (Vec::new(), Vec::new());
            // Full buckets are not what a flood lasts on.
            let warm = begun + self.lasts / 5;
            let (mut flood_before, mut ended_late) = (0, false);
            let mut due = begun;
            while begun.elapsed() < self.lasts {
                due += VICTIM_EVERY;
                thread::sleep(due.saturating_duration_since(Instant::now()));
                // A request that could not be sent in time has waited, too; one that the system
                // woke late has not.
                let start = if ended_late { due } else { Instant::now() };
                call(&mut stream, self.message(VICTIM_BYTES), &mut reply)?;
                ended_late = Instant::now() > due + VICTIM_EVERY;
                match start < warm {
                    true => flood_before = sent.load(Ordering::Relaxed),
                    false => victim_us.push(start.elapsed().as_secs_f64() * 1e6),
                }
            }
            let seconds = warm.elapsed().as_secs_f64();
            let flood = sent.load(Ordering::Relaxed) - flood_before;
            ended.store(true, Ordering::Relaxed);
            for thread in threads {
                thread.join().map_err(|_| "a client panicked")??;
            }
            Ok(Round {
                victim_us,
                flood,
                seconds,
            })
        })
    }
}

fn address(last: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 0, last).into()
}

fn connect(running: &Running, from: IpAddr) -> Result<TcpStream, Failed> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(from, 0).into())?;
    socket.connect(&running.address().into())?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket.into())
}

fn call(stream: &mut TcpStream, message: &[u8], reply: &mut Vec<u8>) -> Result<(), Failed> {
    stream.write_all(message)?;
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    reply.resize(u32::from_be_bytes(head) as usize, 0);
    Ok(stream.read_exact(reply)?)
}

fn schema() -> Result<Schema, Failed> {
    Ok(Schema::parse(
        "service Bench { string echo(1: string text) }",
    )?)
}

fn message(schema: &Schema, text: usize) -> Result<Vec<u8>, Failed> {
    let limits = Limits::default();
    let call = ThriftCall::request(schema, "echo", Protocol::Binary, 1)?;
    let function = schema.function(call.function).ok_or("it is declared")?;
    let json = format!("{{\"text\":\"{}\"}}", "x".repeat(text));
    let body = struct_from_json(
        schema,
        function.arguments,
        Protocol::Binary,
        json.as_bytes(),
        &limits,
    )?;
    Ok(write_message(&call, &body, &limits)?)
}

fn server(control: Option<Control>) -> Result<Server, Failed> {
    let mut server = Server::new(schema()?.into());
    server.handle("Bench.echo", |request: &Request<'_>| {
        let arguments: Value = serde_json::from_slice(request.arguments)
            .map_err(|error| HandlerError::Internal(error.to_string()))?;
        Ok(arguments["text"].to_string().into_bytes())
    })?;
    let tenant = |name, last| Tenant::new(name, vec![address(last).into()]);
    server.set_tenants(vec![tenant("flooder", 2), tenant("victim", 3)])?;
    if let Some(control) = control {
        server.set_control(control)?;
    }
    Ok(server)
}

/// The rules by which the flooder is held back; the last one is the control plane.
fn rules(cost_s: f64) -> Result<[(&'static str, Shaping); 5], Failed> {
    let clock = Clock::from_hz(SHAPING_CLOCK_HZ)?;
    let registers = |per_s: f64| -> Result<_, Failed> {
        Ok(Some(Registers::for_rate(
            per_s,
            (per_s * BURST_S) as u64,
            clock,
        )?))
    };
    let requests = registers(PROMISED_PER_S)?;
    let bytes = registers(PROMISED_PER_S * PROMISED_BYTES as f64)?;
    let time = registers((PROMISED_PER_S * cost_s * 1e9).round())?;
    let none = Shaping::default();
    let in_both = Shaping {
        requests,
        bytes,
        ..none
    };
    Ok([
        ("none", none),
        ("in requests", Shaping { requests, ..none }),
        ("in bytes", Shaping { bytes, ..none }),
        ("in both", in_both),
        ("in accelerator time", Shaping { time, ..none }),
    ])
}

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (share * (values.len().max(1) - 1) as f64).round() as usize;
    values.get(place).copied().unwrap_or(f64::NAN)
}

/// A situation, and what was measured in each round.
struct Row {
    flood: Option<&'static str>,
    rule: Option<&'static str>,
    rounds: Vec<Value>,
}

impl Row {
    fn add(&mut self, mut round: Round) {
        let rates = [round.victim_us.len() as f64, round.flood as f64];
        let [victim, flood] = rates.map(|count| count / round.seconds);
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| quantile(&mut round.victim_us, share));
        self.rounds.push(json!({
            "p50_us": p50,
            "p90_us": p90,
            "p99_us": p99,
            "victim_rps": victim,
            "flooder_rps": flood,
        }));
    }

    fn to_json(&self) -> Value {
        json!({"flood": self.flood, "rule": self.rule, "rounds": self.rounds})
    }
}

/// Rounds of all situations, in turns: that without a flood first.
fn measured(
    bench: &Bench,
    rules: &[(&'static str, Shaping)],
    rounds: usize,
) -> Result<Vec<Row>, Failed> {
    let row = |flood, rule| Row {
        flood,
        rule,
        rounds: Vec::new(),
    };
    let mut rows = vec![row(None, None)];
    for flood in &FLOODS {
        let names = rules.iter().map(|rule| rule.0).chain(["control plane"]);
        rows.extend(names.map(|name| row(Some(flood.name), Some(name))));
    }
    for _ in 0..rounds {
        bench.shaped.reshape("flooder", Shaping::default())?;
        let mut rows = rows.iter_mut();
        if let Some(row) = rows.next() {
            row.add(bench.round(&bench.shaped, None)?);
        }
        for flood in &FLOODS {
            for (rule, row) in rules.iter().zip(rows.by_ref()) {
                // Registers that were not there come with a full bucket.
                bench.shaped.reshape("flooder", Shaping::default())?;
                bench.shaped.reshape("flooder", rule.1)?;
                row.add(bench.round(&bench.shaped, Some(flood))?);
            }
            if let Some(row) = rows.next() {
                row.add(bench.round(&bench.controlled, Some(flood))?);
            }
        }
    }
    Ok(rows)
}

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().map_or(Ok(7), |text| text.parse())?;
    let seconds: f64 = arguments.next().map_or(Ok(0.5), |text| text.parse())?;
    let bench = Bench::new(Duration::from_secs_f64(seconds))?;
    // The first requests are slower than all others.
    bench.cost_s(PROMISED_BYTES, 2, "flooder")?;
    let cost_s = bench.cost_s(PROMISED_BYTES, 2, "flooder")?;
    let victim_s = bench.cost_s(VICTIM_BYTES, 3, "victim")?;
    // The promise follows what such requests take during the floods.
    let slo = TenantSlo {
        time: Some(Time::from_ns_f64(victim_s * 1e9)),
        size: Some(Bytes(bench.message(VICTIM_BYTES).len() as u64)),
        ..TenantSlo::new(VICTIM_PER_S)
    };
    bench.controlled.set_slo("victim", slo)?;
    let busy = run_queue();
    let rows = measured(&bench, &rules(cost_s)?, rounds)?;
    let kept = bench.controlled.slo_status().swap_remove(1);
    let result = json!({
        "schema": "accelflow.tenant-flood/1",
        "run_queue": [busy, run_queue()],
        "rounds": rounds,
        "seconds": seconds,
        "victim": {"per_s": 1.0 / VICTIM_EVERY.as_secs_f64(), "bytes": VICTIM_BYTES, "s": victim_s},
        "flooder": {"connections": CONNECTIONS},
        "promise": {"per_s": PROMISED_PER_S, "bytes": PROMISED_BYTES, "s": cost_s},
        "control": {
            "victim_per_s": VICTIM_PER_S,
            "capacity": CAPACITY,
            "periods": kept.periods,
            "missed": kept.missed,
        },
        "cells": rows.iter().map(Row::to_json).collect::<Vec<Value>>(),
    });
    println!("{result:#}");
    Ok(())
}
