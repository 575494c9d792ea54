//! A chain of five operations, inline and through the accelerators' queues, in one run: latency,
//! throughput and context switches a trace. Throughput is that of two threads inline, and of one
//! thread with 32 traces in flight in the ensemble.
//!
//!     cargo run --profile extension -p accelflow-runtime --example ensemble_chain [ROUNDS]
//!
//! The bodies spin for 1, 5 or 20 us, so that nothing but the way from one operation to the next
//! differs. Rounds of all ways alternate and medians are printed: what else runs on the machine
//! disturbs all alike. A context switch is voluntary where a thread slept, which another thread
//! had to end by waking it, and involuntary where the system took the processor away.

mod spin;

use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use accelflow_accel::{AccelError, Accelerator, Ensemble, Job};
use accelflow_runtime::{
    Conversation, Detail, Executor, Message, NoPeer, Notification, PoolError, PoolSettings, Pools,
    TraceHandle, TraceRequest,
};
use accelflow_trace::{Accel, Image, Library, Node};
use spin::{spin, turns_per_us};

const CHAIN: [Accel; 5] = [Accel::Tcp, Accel::Decr, Accel::Rpc, Accel::Dser, Accel::Ldb];

/// A body that does so many turns of a loop: work, which a preempted thread has to make up for.
struct Spin(Accel, u64);

impl Accelerator for Spin {
    fn kind(&self) -> Accel {
        self.0
    }

    fn run(&mut self, _: &mut Job) -> Result<(), AccelError> {
        spin(self.1);
        Ok(())
    }
}

fn bodies(turns: u64) -> Result<Ensemble, AccelError> {
    let mut ensemble = Ensemble::with_cores(2)?;
    for accel in CHAIN {
        ensemble.replace(Box::new(Spin(accel, turns)));
    }
    Ok(ensemble)
}

fn image() -> Result<Image, Box<dyn Error>> {
    let mut library = Library::default();
    library.register("chain", CHAIN.map(Node::Accel).to_vec())?;
    Ok(library.link()?)
}

/// Voluntary and involuntary context switches of all threads of this process so far.
fn switches() -> Result<[u64; 2], Box<dyn Error>> {
    let mut sum = [0, 0];
    for task in std::fs::read_dir("/proc/self/task")? {
        // A thread that has just ended has no status.
        let status = std::fs::read_to_string(task?.path().join("status")).unwrap_or_default();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|count| count.trim().parse::<u64>().ok())
        };
        sum[0] += of("voluntary_ctxt_switches:").unwrap_or(0);
        sum[1] += of("nonvoluntary_ctxt_switches:").unwrap_or(0);
    }
    Ok(sum)
}

/// The measurements of one way: latency in us, traces/s, switches a trace.
#[derive(Default)]
struct Found {
    latency_us: Vec<f64>,
    rate: Vec<f64>,
    voluntary: Vec<f64>,
    involuntary: Vec<f64>,
}

impl Found {
    fn print(self, way: &str, us: u32) {
        println!(
            "| {us} us | {way} | {:.1} | {:.0} | {:.2} | {:.2} |",
            median(self.latency_us),
            median(self.rate),
            median(self.voluntary),
            median(self.involuntary),
        );
    }

    /// One trace after the other for the latency and the switches, then as many at once as the
    /// way has for the throughput.
    fn round(
        &mut self,
        traces: u32,
        mut one: impl FnMut(),
        many: impl FnOnce(u32),
    ) -> Result<(), Box<dyn Error>> {
        let before = switches()?;
        let begun = Instant::now();
        (0..traces).for_each(|_| one());
        let spent = begun.elapsed();
        let after = switches()?;
        // Threads that end meanwhile take their switches with them.
        let each =
            |place: usize| after[place].saturating_sub(before[place]) as f64 / f64::from(traces);
        self.latency_us
            .push(spent.as_secs_f64() * 1e6 / f64::from(traces));
        self.voluntary.push(each(0));
        self.involuntary.push(each(1));
        let begun = Instant::now();
        many(2 * traces);
        self.rate
            .push(2.0 * f64::from(traces) / begun.elapsed().as_secs_f64());
        Ok(())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The chain on the calling thread.
struct Inline {
    executors: [Executor; 2],
}

impl Inline {
    fn new(image: &Image, turns: u64) -> Result<Inline, AccelError> {
        let executor = || Inline::executor(image, turns);
        Ok(Inline {
            executors: [executor()?, executor()?],
        })
    }

    fn executor(image: &Image, turns: u64) -> Result<Executor, AccelError> {
        let mut executor = Executor::new(image.clone(), bodies(turns)?);
        executor.set_detail(Detail::Results);
        Ok(executor)
    }

    fn run(executor: &mut Executor) {
        let message = Message::received(&[]);
        let done = executor.run("chain", &message, &mut Conversation::default(), &mut NoPeer);
        done.expect("the chain runs");
    }

    /// On two threads.
    fn many(&mut self, traces: u32) {
        thread::scope(|scope| {
            for executor in &mut self.executors {
                scope.spawn(|| (0..traces / 2).for_each(|_| Inline::run(executor)));
            }
        });
    }
}

/// The chain through the accelerators' queues.
struct Apart {
    pools: Pools,
    image: Arc<Image>,
}

/// Traces that the one core has begun at once, when throughput is measured.
const IN_FLIGHT: usize = 32;

impl Apart {
    fn new(image: &Image, turns: u64, pinned: bool) -> Result<Apart, PoolError> {
        let settings = PoolSettings {
            pinned,
            ..PoolSettings::default()
        };
        Ok(Apart {
            pools: Pools::start(settings, move || bodies(turns))?,
            image: Arc::new(image.clone()),
        })
    }

    fn begin(&self) -> TraceHandle {
        let request = TraceRequest {
            detail: Detail::Results,
            ..TraceRequest::new(
                "chain",
                Vec::new(),
                &Message::received(&[]),
                Box::new(NoPeer),
            )
        };
        let begun = self.pools.enqueue(&self.image, request);
        begun.expect("there is room")
    }

    fn run(&self, notification: Notification) {
        let handle = self.begin();
        handle.wait_by(notification, None);
        handle.wait().result.expect("the chain runs");
    }

    /// From one thread.
    fn many(&self, notification: Notification, traces: u32) {
        let mut flying = VecDeque::new();
        for _ in 0..traces {
            if flying.len() == IN_FLIGHT {
                end(flying.pop_front(), notification);
            }
            flying.push_back(self.begin());
        }
        while !flying.is_empty() {
            end(flying.pop_front(), notification);
        }
    }
}

fn end(handle: Option<TraceHandle>, notification: Notification) {
    if let Some(handle) = handle {
        handle.wait_by(notification, None);
        handle.wait().result.expect("the chain runs");
    }
}

/// How the core learns of the end of a trace.
const WAYS: [(&str, Notification); 3] = [
    ("ensemble, woken", Notification::Wake),
    ("ensemble, polling", Notification::Poll),
    (
        "ensemble, checking every 50 us",
        Notification::Check(Duration::from_micros(50)),
    ),
];

fn measure(us: u32, turns: u64, rounds: u32, image: &Image) -> Result<(), Box<dyn Error>> {
    let mut inline = Inline::new(image, turns)?;
    let mut first = Inline::executor(image, turns)?;
    let [apart, pinned] = [
        Apart::new(image, turns, false)?,
        Apart::new(image, turns, true)?,
    ];
    let mut on_core = Found::default();
    let mut ways: Vec<Found> = WAYS.iter().map(|_| Found::default()).collect();
    let mut bound = Found::default();
    let traces = 2_000 / (us + 1) + 200;
    for _ in 0..rounds {
        on_core.round(traces, || Inline::run(&mut first), |many| inline.many(many))?;
        for ((_, way), found) in WAYS.iter().zip(&mut ways) {
            found.round(traces, || apart.run(*way), |many| apart.many(*way, many))?;
        }
        let way = Notification::Wake;
        bound.round(traces, || pinned.run(way), |many| pinned.many(way, many))?;
    }
    on_core.print("inline", us);
    for ((name, _), found) in WAYS.iter().zip(ways) {
        found.print(name, us);
    }
    bound.print("ensemble, woken, workers pinned", us);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args()
        .nth(1)
        .map_or(Ok(15), |text| text.parse::<u32>())?;
    let image = image()?;
    let per_us = turns_per_us();
    println!("| operation | way | latency (us) | traces/s | voluntary | involuntary |");
    println!("|---|---|---|---|---|---|");
    for us in [1, 5, 20] {
        measure(us, (per_us * f64::from(us)) as u64, rounds, &image)?;
    }
    Ok(())
}
