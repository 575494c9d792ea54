//! Where handlers run: the connection's thread, or a worker by affinity, in turn, or by load.
//!
//!     cargo run --profile extension -p accelflow-serve --example steering [ROUNDS]
//!
//! Eight functions each go through a table of their own, which stands for what a function keeps in
//! its core's caches. Four connections call them at random. Rounds of the policies alternate, for
//! tables of three sizes. The output has medians of requests a second, and of their ratio to round
//! robin in the same round, with its quartiles. Then it has the same for the processor time of the
//! process (server and clients), which depends less on the machine's other load. The last column is
//! the share of calls whose worker had just run their function.

use std::cell::Cell;
use std::error::Error;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use accelflow_accel::Limits;
use accelflow_accel::rpc::{ThriftCall, write_message};
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json};
use accelflow_serve::{Config, Request, Running, Server, Steering, SteeringPolicy};
use rustix::time::{ClockId, clock_gettime};

const ROUND: Duration = Duration::from_millis(500);
const FUNCTIONS: usize = 8;
const CONNECTIONS: usize = 4;
const KIB: usize = 1024;

type Failed = Box<dyn Error + Send + Sync>;

fn interface() -> Result<Schema, Failed> {
    let functions: Vec<String> = (0..FUNCTIONS)
        .map(|number| format!("i64 walk{number}(1: i64 start)"))
        .collect();
    let text = format!("service Bench {{ {} }}", functions.join(" "));
    Ok(Schema::parse(&text)?)
}

thread_local! {
    /// The function that this thread has just run.
    static LATEST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Calls, and those whose thread had just run their function.
#[derive(Clone, Default)]
struct Warm(Arc<[AtomicU64; 2]>);

impl Warm {
    fn note(&self, function: usize) {
        let warm = LATEST.replace(Some(function)) == Some(function);
        for (count, more) in self.0.iter().zip([1, u64::from(warm)]) {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }

    fn share(&self) -> f64 {
        let [calls, warm] = [0, 1].map(|which| self.0[which].load(Ordering::Relaxed) as f64);
        warm / calls.max(1.0)
    }
}

fn start(
    table_bytes: usize,
    policy: Option<SteeringPolicy>,
    warm: &Warm,
) -> Result<Running, Failed> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut server = Server::new(interface()?.into());
    server.set_config(Config {
        steering: policy.map(|policy| Steering {
            workers,
            policy,
            pinned: true,
            ..Steering::default()
        }),
        ..Config::default()
    });
    for number in 0..FUNCTIONS {
        let table: Vec<u64> = (0..table_bytes as u64 / 8).collect();
        let warm = warm.clone();
        server.handle(&format!("Bench.walk{number}"), move |_: &Request<'_>| {
            warm.note(number);
            // A cache line at a time.
            let sum: u64 = table.iter().step_by(8).sum();
            Ok(black_box(sum).to_string().into_bytes())
        })?;
    }
    Ok(server.start(([127, 0, 0, 1], 0).into())?)
}

fn messages() -> Result<Vec<Vec<u8>>, Failed> {
    let (schema, limits) = (interface()?, Limits::default());
    let message = |number: usize| {
        let name = format!("walk{number}");
        let call = ThriftCall::request(&schema, &name, Protocol::Binary, 1)?;
        let function = schema.function(call.function).ok_or("it is declared")?;
        let json = br#"{"start":0}"#;
        let arguments = function.arguments;
        let body = struct_from_json(&schema, arguments, Protocol::Binary, json, &limits)?;
        Ok(write_message(&call, &body, &limits)?)
    };
    (0..FUNCTIONS).map(message).collect()
}

/// The processor time that this process has spent, in seconds.
fn spent() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Requests a second, and a second of processor time.
fn round(running: &Running, messages: &[Vec<u8>]) -> Result<[f64; 2], Failed> {
    let before = spent();
    let client = |seed: u64| -> Result<u64, Failed> {
        let mut stream = TcpStream::connect(running.address())?;
        stream.set_nodelay(true)?;
        let (mut state, mut count, mut reply) = (seed, 0, Vec::new());
        let begun = Instant::now();
        while begun.elapsed() < ROUND {
            // Knuth's MMIX generator; its high bits are good enough for a choice of eight.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            stream.write_all(&messages[(state >> 40) as usize % FUNCTIONS])?;
            let mut head = [0; 4];
            stream.read_exact(&mut head)?;
            reply.resize(u32::from_be_bytes(head) as usize, 0);
            stream.read_exact(&mut reply)?;
            count += 1;
        }
        Ok(count)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS as u64)
            .map(|seed| scope.spawn(move || client(seed)))
            .collect();
        let mut sum = 0;
        for thread in threads {
            sum += thread.join().map_err(|_| "a client panicked")??;
        }
        let sum = sum as f64;
        Ok([sum / ROUND.as_secs_f64(), sum / (spent() - before)])
    })
}

/// Quartile, median, quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}

/// One policy's column of a table: its rate, and how that compares with `other`'s.
fn column(rates: &[[f64; 2]], other: &[[f64; 2]], which: usize) -> String {
    let [_, rate, _] = quartiles(rates.iter().map(|rate| rate[which]).collect());
    // Ratios are taken within a round, since the machine changes from one to the next.
    let ratios = rates.iter().zip(other).map(|(a, b)| a[which] / b[which]);
    let [low, ratio, high] = quartiles(ratios.collect());
    format!("{rate:>9.0} {ratio:>6.2} ({low:.2} to {high:.2})")
}

fn main() -> Result<(), Failed> {
    let messages = messages()?;
    let rounds = std::env::args()
        .nth(1)
        .map_or(Ok(15), |text| text.parse())?;
    let policies = [
        ("connection's thread", None),
        ("round robin", Some(SteeringPolicy::RoundRobin)),
        ("least loaded", Some(SteeringPolicy::LeastLoaded)),
        ("affinity", Some(SteeringPolicy::Affinity)),
        ("function map", Some(SteeringPolicy::FunctionMap)),
    ];
    println!(
        "table KiB  where                requests/s, to round robin  ... of processor time       just run"
    );
    for table_bytes in [4 * KIB, 256 * KIB, 1024 * KIB] {
        let warm = [(); 5].map(|()| Warm::default());
        let servers = [0, 1, 2, 3, 4].map(|at| start(table_bytes, policies[at].1, &warm[at]));
        let mut rates = [const { Vec::new() }; 5];
        for _ in 0..rounds {
            for (running, rates) in servers.iter().zip(&mut rates) {
                let running = running.as_ref().map_err(ToString::to_string)?;
                rates.push(round(running, &messages)?);
            }
        }
        for (((name, _), own), warm) in policies.iter().zip(&rates).zip(&warm) {
            let share = warm.share();
            let [wall, cpu] = [0, 1].map(|which| column(own, &rates[1], which));
            println!(
                "{:>9}  {name:<20} {wall}  {cpu} {share:>9.2}",
                table_bytes / KIB
            );
        }
    }
    Ok(())
}
