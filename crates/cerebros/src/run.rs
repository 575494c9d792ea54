//! What is simulated, and what comes out.

use accelflow_kernel::Samples;
use accelflow_model::cerebros::Design;
use accelflow_units::{Bytes, Time};

use crate::server::Server;
use crate::services::Service;
use crate::steering::Steering;
use crate::{CerebrosError, Platform};

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// So many senders, each of which sends its next request when the last is answered. One sender
    /// never waits for another.
    Closed(usize),
    /// At random, so many a second on average.
    Rate(f64),
    /// At random, at this share of the rate at which all cores are always busy.
    Share(f64),
}

/// How many requests, when, and of which kinds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// When they arrive.
    pub arrivals: Arrivals,
    /// How many.
    pub requests: usize,
    /// How many of the first are no part of the results.
    pub warmup: usize,
    /// The seed of times, functions and kinds.
    pub seed: u64,
    /// The share of requests for functions that Cerebros does not know.
    pub unknown: f64,
    /// The share of requests that do not match their schema.
    pub malformed: f64,
}

impl Load {
    /// `requests` requests without a warm-up, all of them in order.
    pub fn new(arrivals: Arrivals, requests: usize) -> Load {
        Load {
            arrivals,
            requests,
            warmup: 0,
            seed: 1,
            unknown: 0.0,
            malformed: 0.0,
        }
    }

    fn check(&self) -> Result<(), CerebrosError> {
        if self.requests <= self.warmup || self.requests > 100_000_000 {
            let allowed = format!(
                "must be above the warm-up's {} and at most 1e8",
                self.warmup
            );
            return Err(CerebrosError::new("requests", self.requests, allowed));
        }
        let shares = [
            ("unknown_ratio", self.unknown),
            ("malformed_ratio", self.malformed),
            (
                "unknown_ratio + malformed_ratio",
                self.unknown + self.malformed,
            ),
        ];
        for (place, value) in shares {
            if !(0.0..=1.0).contains(&value) {
                return Err(CerebrosError::new(place, value, "must be from 0 to 1"));
            }
        }
        match self.arrivals {
            Arrivals::Closed(0) => Err(CerebrosError::new("senders", 0, "must be at least 1")),
            Arrivals::Rate(rate) if !(rate > 0.0 && rate <= 1e12) => Err(CerebrosError::new(
                "rate_rps",
                rate,
                "must be above 0, at most 1e12",
            )),
            Arrivals::Share(share) if !(share > 0.0 && share <= 100.0) => Err(CerebrosError::new(
                "load_ratio",
                share,
                "must be above 0, at most 100",
            )),
            _ => Ok(()),
        }
    }
}

/// Where the time of a request went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The RPC layer as software.
    pub software: Time,
    /// Traversals of the chip's network for offloads.
    pub offload: Time,
    /// Accelerator or Cerebros at work.
    pub accelerator: Time,
    /// Waiting for a pipeline to be free.
    pub queued: Time,
    /// Waiting for the senders of nested responses, for which the NIC had no memory, to try again.
    pub refused: Time,
    /// The part of the five above during which a core was with the request.
    pub on_core: Time,
    /// Business logic.
    pub execute: Time,
    /// Stalled on its instructions.
    pub stall: Time,
}

impl Spent {
    /// The RPC layer, which is what the analytic model speaks of, without waiting.
    pub fn rpc(&self) -> Time {
        self.software + self.offload + self.accelerator
    }

    /// The function.
    pub fn function(&self) -> Time {
        self.execute + self.stall
    }

    pub(crate) fn add(&mut self, other: &Spent) {
        self.software += other.software;
        self.offload += other.offload;
        self.accelerator += other.accelerator;
        self.queued += other.queued;
        self.refused += other.refused;
        self.on_core += other.on_core;
        self.execute += other.execute;
        self.stall += other.stall;
    }
}

/// What came of the requests of one function, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Requests that were answered, those of the warm-up left out.
    pub requests: u64,
    /// The sums of their times.
    pub spent: Spent,
    /// From the first attempt's arrival to the response's end.
    pub latency: Samples,
    /// What a core was occupied for: function, and RPC layer on the core.
    pub core: Samples,
    /// Instruction blocks that the functions missed.
    pub misses: u64,
    /// Requests whose function missed none.
    pub miss_free: u64,
    /// Requests whose core the function map had for their function.
    pub steered: u64,
}

impl Group {
    /// The mean of `time` over the requests; zero if there are none.
    pub fn mean(&self, time: Time) -> f64 {
        ratio(time.as_ps() as f64, self.requests)
    }
}

fn ratio(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// Where requests wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// For memory of the NIC: their senders try again, or have given up.
    Memory,
    /// For a pipeline of Cerebros to take their message.
    Pipelines,
    /// In the NIC, for a core.
    Cores,
    /// The same, where the cores themselves wait for the accelerator.
    CoresForPipelines,
}

impl Queue {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Queue::Memory => "memory of the NIC",
            Queue::Pipelines => "pipelines",
            Queue::Cores => "cores",
            Queue::CoresForPipelines => "cores, which wait for pipelines",
        }
    }
}

/// Random arrivals that the server cannot keep up with: its results are a property of the run's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// Where most of them wait.
    pub queue: Queue,
    /// Requests that wait when the last one arrives, or had been given up by then.
    pub waiting: usize,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// All measured requests.
    pub all: Group,
    /// The same by function, in the service's order.
    pub functions: Vec<Group>,
    /// Answered requests, the warm-up included.
    pub answered: u64,
    /// Requests that were given up after the last NACK for their own message or a nested response.
    pub refused: u64,
    /// NACKs of the buffer manager.
    pub nacks: u64,
    /// Requests whose RPC layer Cerebros left to a core.
    pub fallbacks: u64,
    /// When the last response was sent.
    pub makespan: Time,
    /// Answered requests a second.
    pub throughput_rps: f64,
    /// Requests that arrive a second, if they arrive at random.
    pub offered_rps: Option<f64>,
    /// Whether they were too many.
    pub saturated: Option<Saturation>,
    /// The share of their time that the shared pipelines worked.
    pub pipeline_utilisation: f64,
    /// The share of their time that cores had a request.
    pub core_utilisation: f64,
    /// The most memory that messages took.
    pub buffer_peak: Bytes,
    /// What they still held at the end.
    pub buffer_left: Bytes,
}

/// Serves `load` requests of `service` under `design`.
///
/// Steering by affinity needs the function before the core is chosen, which only
/// [`Design::Full`] has.
///
/// # Errors
/// [`CerebrosError`] for a platform, service or load that cannot be, and for affinity under another
/// design than Full.
pub fn simulate(
    service: &Service,
    platform: &Platform,
    design: Design,
    steering: Steering,
    load: &Load,
) -> Result<Outcome, CerebrosError> {
    platform.check()?;
    service.check()?;
    load.check()?;
    if steering == Steering::Affinity && design != Design::Full {
        let allowed = "the function is known before the core only under Full";
        return Err(CerebrosError::new(
            "steering by affinity",
            design.name(),
            allowed,
        ));
    }
    let Arrivals::Share(share) = load.arrivals else {
        return Ok(Server::new(service, platform, design, steering, load)?.run());
    };
    let senders = 4 * platform.workers().min(service.most_cores);
    let requests = load.requests.clamp(20 * senders, 10_000.max(20 * senders));
    let full = Load {
        arrivals: Arrivals::Closed(senders),
        requests,
        warmup: 0,
        ..*load
    };
    // Refusals would count as progress, and memory is no limit on what cores can do.
    let ample = Platform {
        buffer_bytes: 1e12,
        ..platform.clone()
    };
    let most = Server::new(service, &ample, design, steering, &full)?.run();
    let open = Load {
        arrivals: Arrivals::Rate(share * most.throughput_rps),
        ..*load
    };
    Ok(Server::new(service, platform, design, steering, &open)?.run())
}
