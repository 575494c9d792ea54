//! Flows: paths, sizes and arrivals of messages.

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
    /// From the host's memory to accelerators and back: DMA read, computation, DMA write.
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
    /// All paths.
    pub const ALL: [Path; 5] = [
        Path::FunctionCall,
        Path::InlineTx,
        Path::InlineRx,
        Path::StorageRead,
        Path::StorageWrite,
    ];

    /// The name in files and reports.
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

/// Sizes of a flow's messages.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All of one size.
    Fixed(Bytes),
    /// Each drawn by weight.
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

    /// The largest size.
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
        PlatformError::unless(good, "flow message size", self.mean(), allowed)
    }
}

/// The arrivals of a flow's messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// A backlog: the queue is always full.
    Backlogged,
    /// At exponential intervals of this mean.
    Poisson(Time),
    /// At exponential intervals whose mean changes once.
    PoissonStep {
        /// The mean before.
        before: Time,
        /// When it changes, from the flow's beginning on.
        at: Time,
        /// The mean from then on.
        after: Time,
    },
    /// At equal intervals.
    Paced(Time),
    /// `burst` messages at once at exponential intervals of mean `every`.
    Bursts {
        /// Messages of a burst.
        burst: u32,
        /// The mean time between the starts of two bursts.
        every: Time,
    },
    /// A closed loop, in which each client sends its next message some time after the answer.
    Closed {
        /// Clients.
        clients: u32,
        /// The time from an answer to the client's next message.
        think: Time,
    },
    /// The answers to another flow's messages ([`Flow::answers`]).
    Answers,
}

impl Arrivals {
    /// Poisson arrivals of `gbit_per_s` in messages of `size`.
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
        PlatformError::unless(good, "flow arrivals", value, allowed)
    }
}

/// The answers of the host to a flow's messages, which another flow carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The number of the flow that carries them; its arrivals are [`Arrivals::Answers`]. Its
    /// latencies count from the sending of the message that is answered.
    pub by: usize,
    /// The host's time from a message to its answer.
    pub service: Time,
    /// Pairs of a message's size and its answer's; other messages have answers of the last size.
    pub sizes: Vec<(Bytes, Bytes)>,
}

impl Answers {
    /// The size of the answer to a message.
    pub(crate) fn size(&self, message: Bytes) -> Bytes {
        let found = self.sizes.iter().find(|sizes| sizes.0 == message);
        found.or(self.sizes.last()).map_or(message, |sizes| sizes.1)
    }
}

/// One flow of one VM.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The VM that it belongs to.
    pub vm: usize,
    /// Its path.
    pub path: Path,
    /// The accelerators that its messages pass, in order.
    pub accelerators: Vec<usize>,
    /// The DMA engine that moves its data over PCIe.
    pub engine: usize,
    /// The Ethernet port that it arrives or leaves through; `None` for a generator on the device.
    pub port: Option<usize>,
    /// Message sizes.
    pub sizes: Sizes,
    /// Arrivals.
    pub arrivals: Arrivals,
    /// The largest number of messages in its queue. Further ones are dropped. Closed loops and
    /// backlogs never exceed it.
    pub queue_limit: usize,
    /// The priority for priority scheduling; lower comes first.
    pub priority: u8,
    /// The weight in bytes for weighted scheduling, relative to those of other flows.
    pub weight: f64,
    /// The registers of ARCUS's second shaper, in bytes of results: it decides when results of
    /// accelerators are written to the storage (section 4.1, inline mode, "PatternC"). `None`
    /// without a second shaper. Other mechanisms and other paths ignore it.
    pub results: Option<Registers>,
    /// The answers to its messages, if it has any: a closed loop's clients then wait for them.
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

    /// Sets the accelerators.
    #[must_use]
    pub fn through(self, accelerators: &[usize]) -> Flow {
        Flow {
            accelerators: accelerators.to_vec(),
            ..self
        }
    }

    /// Sets the DMA engine.
    #[must_use]
    pub fn by_engine(self, engine: usize) -> Flow {
        Flow { engine, ..self }
    }

    /// Sets the Ethernet port.
    #[must_use]
    pub fn over_port(self, port: usize) -> Flow {
        let port = Some(port);
        Flow { port, ..self }
    }

    /// Sets the priority.
    #[must_use]
    pub fn with_priority(self, priority: u8) -> Flow {
        Flow { priority, ..self }
    }

    /// Sets the registers of the second shaper.
    #[must_use]
    pub fn with_results_shaped(self, registers: Registers) -> Flow {
        let results = Some(registers);
        Flow { results, ..self }
    }

    /// Sets the weight.
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
            "flow queue limit",
            limit,
            "at least 1",
        )?;
        let good = self.weight.is_finite() && self.weight > 0.0;
        PlatformError::unless(good, "flow weight", self.weight, "a number above 0")
    }
}
