//! Flows: the messages of a VM, with their path, sizes and arrivals.

use accelflow_kernel::Stream;
use accelflow_shaping::Registers;
use accelflow_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PlatformError;

/// The path of a message (section 2, Fig. 2; section 4.1).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Path {
    /// From the host's memory to accelerators and back: DMA read, computation, DMA write. The host
    /// calls the accelerator like a function.
    FunctionCall,
    /// From the host's memory through accelerators to the network.
    InlineTx,
    /// From the network, or an on-board generator, through accelerators to the host's memory.
    InlineRx,
    /// A read of the storage: the device's data crosses the link to the accelerators, if there are
    /// any, and ends there.
    StorageRead,
    /// A write to the storage: through accelerators, across the link, to the device.
    StorageWrite,
}

impl Path {
    /// The five paths.
    pub const ALL: [Path; 5] = [
        Path::FunctionCall,
        Path::InlineTx,
        Path::InlineRx,
        Path::StorageRead,
        Path::StorageWrite,
    ];

    /// The path's name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Path::FunctionCall => "function_call",
            Path::InlineTx => "inline_tx",
            Path::InlineRx => "inline_rx",
            Path::StorageRead => "storage_read",
            Path::StorageWrite => "storage_write",
        }
    }

    /// Whether the device fetches the message from the host's memory.
    pub(crate) const fn reads_host(self) -> bool {
        matches!(self, Path::FunctionCall | Path::InlineTx)
    }

    /// Whether it ends or begins at the storage.
    pub(crate) const fn uses_storage(self) -> bool {
        matches!(self, Path::StorageRead | Path::StorageWrite)
    }
}

/// The sizes of a flow's messages.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All messages have this size.
    Fixed(Bytes),
    /// The size of each message is drawn at random from pairs of a size and its relative weight.
    Mix(Vec<(Bytes, f64)>),
}

impl Sizes {
    pub(crate) fn draw(&self, stream: &mut Stream) -> Bytes {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Mix(sizes) => {
                let total: f64 = sizes.iter().map(|size| size.1).sum();
                let mut left = stream.uniform() * total;
                let drawn = sizes.iter().find(|size| {
                    left -= size.1;
                    left < 0.0
                });
                drawn.or(sizes.last()).map_or(Bytes(1), |size| size.0)
            }
        }
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(size) => size.get() as f64,
            Sizes::Mix(sizes) => {
                let total: f64 = sizes.iter().map(|size| size.1).sum();
                sizes
                    .iter()
                    .map(|size| size.0.get() as f64 * size.1)
                    .sum::<f64>()
                    / total
            }
        }
    }

    /// Each size and its share of the messages.
    pub(crate) fn shares(&self) -> Vec<(Bytes, f64)> {
        match self {
            Sizes::Fixed(size) => vec![(*size, 1.0)],
            Sizes::Mix(sizes) => {
                let total: f64 = sizes.iter().map(|size| size.1).sum();
                sizes.iter().map(|size| (size.0, size.1 / total)).collect()
            }
        }
    }

    /// The largest size that occurs.
    pub fn largest(&self) -> Bytes {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Mix(sizes) => sizes.iter().map(|size| size.0).max().unwrap_or(Bytes(1)),
        }
    }

    pub(crate) fn check(&self) -> Result<(), PlatformError> {
        let allowed = "from 1 byte to 64 MiB, with weights above 0";
        let in_range = |size: Bytes| (1..=1 << 26).contains(&size.get());
        let good = match self {
            Sizes::Fixed(size) => in_range(*size),
            Sizes::Mix(sizes) => {
                let each =
                    |size: &(Bytes, f64)| in_range(size.0) && size.1.is_finite() && size.1 > 0.0;
                !sizes.is_empty() && sizes.iter().all(each)
            }
        };
        PlatformError::unless(good, "size of a flow's messages", self.mean(), allowed)
    }
}

/// The arrival process of a flow's messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// There is always a message to send.
    Backlogged,
    /// At random, at exponential intervals of this mean.
    Poisson(Time),
    /// At random, at exponential intervals whose mean changes once.
    PoissonStep {
        /// The mean interval before the change.
        before: Time,
        /// The time of the change, counted from the flow's first moment.
        at: Time,
        /// The mean interval after the change.
        after: Time,
    },
    /// At equal intervals of this length.
    Paced(Time),
    /// Several messages at once, at exponential intervals.
    Bursts {
        /// The number of messages of a burst.
        burst: u32,
        /// The mean time between the starts of two bursts.
        every: Time,
    },
    /// A closed loop: each client waits for the answer, thinks, and then sends its next message.
    Closed {
        /// The number of clients.
        clients: u32,
        /// The time from an answer to the client's next message.
        think: Time,
    },
    /// The messages are the host's answers to another flow's messages ([`Flow::answers`]).
    Answers,
}

impl Arrivals {
    /// Creates Poisson arrivals of messages of `size` that add up to `gbit_per_s` gigabits per
    /// second on average.
    pub fn poisson_gbit_per_s(size: Bytes, gbit_per_s: f64) -> Arrivals {
        Arrivals::Poisson(Time::from_ns_f64(size.get() as f64 * 8.0 / gbit_per_s))
    }

    /// Poisson arrivals of `rate` messages per second.
    pub fn poisson_per_s(rate: f64) -> Arrivals {
        Arrivals::Poisson(Time::from_s_f64(1.0 / rate))
    }

    /// The time from one arrival or burst, `since` after the flow's beginning, to the next.
    pub(crate) fn next(self, since: Time, stream: &mut Stream) -> Option<Time> {
        match self {
            Arrivals::Poisson(mean) => Some(stream.exponential_time(mean)),
            Arrivals::PoissonStep { before, at, after } => {
                let first = stream.exponential_time(before);
                Some(match since + first < at {
                    true => first,
                    // Poisson arrivals are memoryless: after the change of rate the wait is drawn anew.
                    false => at.saturating_sub(since) + stream.exponential_time(after),
                })
            }
            Arrivals::Paced(every) => Some(every),
            Arrivals::Bursts { every, .. } => Some(stream.exponential_time(every)),
            Arrivals::Backlogged | Arrivals::Closed { .. } | Arrivals::Answers => None,
        }
    }

    fn check(self) -> Result<(), PlatformError> {
        let (good, value) = match self {
            Arrivals::Backlogged | Arrivals::Answers => (true, 0.0),
            Arrivals::Poisson(every) | Arrivals::Paced(every) => (every > Time::ZERO, 0.0),
            Arrivals::PoissonStep { before, after, .. } => {
                (before > Time::ZERO && after > Time::ZERO, 0.0)
            }
            Arrivals::Bursts { burst, every } => {
                (burst > 0 && every > Time::ZERO, f64::from(burst))
            }
            Arrivals::Closed { clients, .. } => {
                ((1..=65_536).contains(&clients), f64::from(clients))
            }
        };
        let allowed = "an interval above 0, a burst above 0, 1 to 65536 clients";
        PlatformError::unless(good, "arrivals of a flow", value, allowed)
    }
}

/// The host's answers to a flow's messages. Another flow carries them.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The number of the flow that carries the answers; its arrivals are [`Arrivals::Answers`]. Its
    /// latencies count from the time when the answered message was sent.
    pub by: usize,
    /// The time that the host takes from a message to its answer.
    pub service: Time,
    /// Pairs of a message's size and the size of its answer. A message of another size gets an
    /// answer of the last pair's size.
    pub sizes: Vec<(Bytes, Bytes)>,
}

impl Answers {
    /// The size of the answer to a message.
    pub(crate) fn size(&self, message: Bytes) -> Bytes {
        let found = self.sizes.iter().find(|sizes| sizes.0 == message);
        found.or(self.sizes.last()).map_or(message, |sizes| sizes.1)
    }
}

/// The messages of one VM over one path, which share a queue and a rate limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The number of the VM.
    pub vm: usize,
    /// The path of the messages between host, network, accelerators and storage.
    pub path: Path,
    /// The numbers of the accelerators that the messages pass, in order.
    pub accelerators: Vec<usize>,
    /// The number of the DMA engine that moves the flow's data over PCIe.
    pub engine: usize,
    /// The number of the Ethernet port through which messages arrive or leave; `None` if a traffic
    /// generator on the device sends them.
    pub port: Option<usize>,
    /// The sizes of the messages.
    pub sizes: Sizes,
    /// The arrival process of the messages.
    pub arrivals: Arrivals,
    /// The capacity of the flow's queue, in messages. A message that finds it full is dropped.
    /// Closed loops and backlogs never exceed it.
    pub queue_limit: usize,
    /// The priority under [`Order::Priority`](crate::Order::Priority); the lowest number is served
    /// first.
    pub priority: u8,
    /// The weight under weighted scheduling, relative to other flows: a flow of weight 2 gets twice
    /// the bytes of one of weight 1.
    pub weight: f64,
    /// The registers of ARCUS's second shaper, whose tokens are bytes of results: it decides when
    /// results of accelerators are written to the storage (section 4.1, inline mode, "PatternC").
    /// `None` without a second shaper. Other mechanisms and other paths ignore it.
    pub results: Option<Registers>,
    /// How the host answers the messages; the clients of a closed loop wait for the answers. `None`
    /// if the host does not answer.
    pub answers: Option<Answers>,
}

impl Flow {
    /// Creates a flow of messages of one size through accelerator 0, without a port, with priority
    /// 0, weight 1 and a queue of 1,024 messages.
    pub fn new(vm: usize, path: Path, size: Bytes, arrivals: Arrivals) -> Flow {
        Flow {
            vm,
            path,
            accelerators: vec![0],
            engine: 0,
            port: None,
            sizes: Sizes::Fixed(size),
            arrivals,
            queue_limit: 1024,
            priority: 0,
            weight: 1.0,
            results: None,
            answers: None,
        }
    }

    /// Sets the numbers of the accelerators that messages pass, in order.
    #[must_use]
    pub fn through(self, accelerators: &[usize]) -> Flow {
        Flow {
            accelerators: accelerators.to_vec(),
            ..self
        }
    }

    /// Sets the number of the DMA engine.
    #[must_use]
    pub fn by_engine(self, engine: usize) -> Flow {
        Flow { engine, ..self }
    }

    /// Sets the number of the Ethernet port.
    #[must_use]
    pub fn over_port(self, port: usize) -> Flow {
        let port = Some(port);
        Flow { port, ..self }
    }

    /// Sets the priority; the lowest number is served first.
    #[must_use]
    pub fn with_priority(self, priority: u8) -> Flow {
        Flow { priority, ..self }
    }

    /// Sets the registers of the second shaper ([`Flow::results`]).
    #[must_use]
    pub fn with_results_shaped(self, registers: Registers) -> Flow {
        let results = Some(registers);
        Flow { results, ..self }
    }

    /// Sets the weight under weighted scheduling.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Flow {
        Flow { weight, ..self }
    }

    pub(crate) fn check(&self) -> Result<(), PlatformError> {
        self.sizes.check()?;
        self.arrivals.check()?;
        let limit = self.queue_limit as f64;
        PlatformError::unless(
            self.queue_limit > 0,
            "queue limit of a flow",
            limit,
            "at least 1",
        )?;
        let good = self.weight.is_finite() && self.weight > 0.0;
        PlatformError::unless(good, "weight of a flow", self.weight, "a number above 0")
    }
}
