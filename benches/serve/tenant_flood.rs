//! What a tenant's flood does to another tenant, without and with ARCUS's shaper in front of it.
//!
//!     cargo run --profile extension -p accelflow-serve --example tenant_flood
//!
//! One connection of the modest tenant calls and waits, again and again. Eight of the greedy one
//! do the same with a message of 16 KiB. Rounds of the three situations alternate, medians of the
//! rounds are printed: server, clients and whatever else runs share the machine.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use accelflow_accel::Limits;
use accelflow_accel::rpc::{ThriftCall, write_message};
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json};
use accelflow_serve::{Request, Running, SHAPING_CLOCK_HZ, Server, Shaping, Tenant};
use accelflow_shaping::{Clock, Registers};
use socket2::{Domain, Socket, Type};

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(1);
const GREEDY_CONNECTIONS: usize = 8;
const GREEDY_BYTES: usize = 16 * 1024;
/// What the shaper lets pass of the greedy tenant, a second.
const GREEDY_REQUESTS_PER_S: f64 = 1_000.0;

type Failed = Box<dyn Error + Send + Sync>;

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

/// How a round went.
struct Round {
    modest_us: Vec<f64>,
    greedy: u64,
}

fn round(running: &Running, messages: [&[u8]; 2], flood: bool) -> Result<Round, Failed> {
    let ended = AtomicBool::new(false);
    let greedy = AtomicU64::new(0);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for _ in 0..GREEDY_CONNECTIONS * usize::from(flood) {
            let mut stream = connect(running, address(2))?;
            let (ended, greedy) = (&ended, &greedy);
            threads.push(scope.spawn(move || -> Result<(), Failed> {
                let mut reply = Vec::new();
                while !ended.load(Ordering::Relaxed) {
                    call(&mut stream, messages[1], &mut reply)?;
                    greedy.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }));
        }
        let mut stream = connect(running, address(3))?;
        let (mut modest_us, mut reply) = (Vec::new(), Vec::new());
        let begun = Instant::now();
        while begun.elapsed() < ROUND {
            let start = Instant::now();
            call(&mut stream, messages[0], &mut reply)?;
            modest_us.push(start.elapsed().as_secs_f64() * 1e6);
        }
        let greedy = greedy.load(Ordering::Relaxed);
        ended.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a client panicked")??;
        }
        Ok(Round { modest_us, greedy })
    })
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

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (share * (values.len() - 1) as f64).round() as usize;
    values[place]
}

fn main() -> Result<(), Failed> {
    let schema = Schema::parse("service Bench { string echo(1: string text) }")?;
    let messages = [message(&schema, 256)?, message(&schema, GREEDY_BYTES)?];
    let mut server = Server::new(schema.into());
    server.handle("Bench.echo", |request: &Request<'_>| {
        let arguments: serde_json::Value = serde_json::from_slice(request.arguments)
            .map_err(|error| accelflow_serve::HandlerError::Internal(error.to_string()))?;
        Ok(arguments["text"].to_string().into_bytes())
    })?;
    let tenant = |name, last| Tenant::new(name, vec![address(last).into()]);
    server.set_tenants(vec![tenant("greedy", 2), tenant("modest", 3)])?;
    let running = server.start(([127, 0, 0, 1], 0).into())?;
    let clock = Clock::from_hz(SHAPING_CLOCK_HZ)?;
    let registers = Registers::for_rate(GREEDY_REQUESTS_PER_S, 10, clock)?;
    let shaped = Shaping {
        requests: Some(registers),
        bytes: None,
    };
    let situations = [
        ("alone", false, Shaping::default()),
        ("flood", true, Shaping::default()),
        ("flood, shaped", true, shaped),
    ];
    let mut found = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for ((_, flood, shaping), found) in situations.iter().zip(&mut found) {
            running.reshape("greedy", *shaping)?;
            let mut round = round(&running, [&messages[0], &messages[1]], *flood)?;
            let rate = round.modest_us.len() as f64 / ROUND.as_secs_f64();
            let greedy = round.greedy as f64 / ROUND.as_secs_f64();
            let of = |share| quantile(&mut round.modest_us, share);
            let [p50, p99] = [0.5, 0.99].map(of);
            found.push([rate, p50, p99, greedy]);
        }
    }
    println!("situation       modest/s   P50 us   P99 us   greedy/s");
    for ((name, ..), rounds) in situations.iter().zip(&found) {
        let median = |at: usize| {
            let mut values: Vec<f64> = rounds.iter().map(|round| round[at]).collect();
            quantile(&mut values, 0.5)
        };
        let [rate, p50, p99, greedy] = [0, 1, 2, 3].map(median);
        println!("{name:<14} {rate:>9.0} {p50:>8.0} {p99:>8.0} {greedy:>10.0}");
    }
    Ok(())
}
