//! Flows: the messages of a VM, with their path, sizes and arrival process.

use accelflow_kernel::Stream;
use accelflow_shaping::Registers;
use accelflow_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PlatformError;

/// The path of a flow's messages between host, network, accelerators and storage (section 2, Fig.
/// 2; section 4.1).
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
    /// From the network, or from a traffic generator on the device, through accelerators to the
    /// host's memory.
    InlineRx,
    /// A read of the storage. The data crosses the PCIe link from the SSDs to the device. There it
    /// passes the accelerators, if the flow has any, and does not leave the device.
    StorageRead,
    /// A write to the storage. The data passes the accelerators, if there are any, and crosses the
    /// PCIe link to the SSDs.
    StorageWrite,
}

impl Path {
    /// All five paths of messages between host, network, accelerators and storage.
    pub const ALL: [Path; 5] = [
        Path::FunctionCall,
        Path::InlineTx,
        Path::InlineRx,
        Path::StorageRead,
        Path::StorageWrite,
    ];

    /// The path's name in files and reports, such as `inline_tx`.
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

    /// Whether the path ends or begins at the storage.
    pub(crate) const fn uses_storage(self) -> bool {
        matches!(self, Path::StorageRead | Path::StorageWrite)
    }
}

/// The sizes of a flow's messages: one size, or a random mix.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All messages of the flow have this size.
    Fixed(Bytes),
    /// The size of each message is drawn at random. Each pair is a size and its relative weight,
    /// above 0.
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

    /// The mean message size in bytes.
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

    /// The largest message size that occurs.
    pub fn largest(&self) -> Bytes {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Mix(sizes) => sizes.iter().map(|size| size.0).max().unwrap_or(Bytes(1)),
        }
    }

    pub(crate) fn check(&self) -> Result<(), PlatformError> {
        let allowed = "a mean of sizes from 1 byte to 64 MiB with weights above 0";
        let in_range = |size: Bytes| (1..=1 << 26).contains(&size.get());
        let good = match self {
            Sizes::Fixed(size) => in_range(*size),
            Sizes::Mix(sizes) => {
                let each =
                    |size: &(Bytes, f64)| in_range(size.0) && size.1.is_finite() && size.1 > 0.0;
                !sizes.is_empty() && sizes.iter().all(each)
            }
        };
        PlatformError::unless(good, "mean size of a flow's messages", self.mean(), allowed)
    }
}

/// The arrival process of a flow's messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// The flow always has a message to send.
    Backlogged,
    /// A Poisson process: messages arrive at random, at exponentially distributed intervals with
    /// this mean.
    Poisson(Time),
    /// A Poisson process whose mean interval changes once.
    PoissonStep {
        /// The mean interval between messages before the change.
        before: Time,
        /// The time of the change, counted from the time when the flow is added to the platform.
        at: Time,
        /// The mean interval between messages after the change.
        after: Time,
    },
    /// Messages arrive at equal intervals of this length.
    Paced(Time),
    /// Several messages arrive at once, in bursts at exponentially distributed intervals.
    Bursts {
        /// The number of messages in each burst.
        burst: u32,
        /// The mean time from one burst to the next.
        every: Time,
    },
    /// A closed loop: each client sends its next message a think time after its previous message is
    /// completed. If the flow has [`Flow::answers`], the client waits for the answer too.
    Closed {
        /// The number of clients, from 1 to 65,536. Each has at most one message under way.
        clients: u32,
        /// The time from a message's completion or answer to the same client's next message.
        think: Time,
    },
    /// The flow's messages are the host's answers to the messages of another flow
    /// ([`Flow::answers`]).
    Answers,
}

impl Arrivals {
    /// Creates Poisson arrivals of messages of `size`, at a mean rate of `gbit_per_s` gigabits per
    /// second.
    pub fn poisson_gbit_per_s(size: Bytes, gbit_per_s: f64) -> Arrivals {
        Arrivals::Poisson(Time::from_ns_f64(size.get() as f64 * 8.0 / gbit_per_s))
    }

    /// Creates Poisson arrivals at a mean rate of `rate` messages per second.
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
                    // Poisson arrivals are memoryless: after the change of rate the wait is drawn
                    // anew.
                    false => at.saturating_sub(since) + stream.exponential_time(after),
                })
            }
            Arrivals::Paced(every) => Some(every),
            Arrivals::Bursts { every, .. } => Some(stream.exponential_time(every)),
            Arrivals::Backlogged | Arrivals::Closed { .. } | Arrivals::Answers => None,
        }
    }

    fn check(self) -> Result<(), PlatformError> {
        let above_0 = |name, every: Time| {
            PlatformError::unless(every > Time::ZERO, name, every.as_us_f64(), "above 0")
        };
        match self {
            Arrivals::Backlogged | Arrivals::Answers => Ok(()),
            Arrivals::Poisson(every) | Arrivals::Paced(every) => {
                above_0("interval between messages of a flow in us", every)
            }
            Arrivals::PoissonStep { before, after, .. } => {
                let name = "interval between messages of a flow before the step in us";
                above_0(name, before)?;
                above_0(
                    "interval between messages of a flow after the step in us",
                    after,
                )
            }
            Arrivals::Bursts { burst, every } => {
                let name = "messages in each burst of a flow";
                PlatformError::unless(burst > 0, name, f64::from(burst), "at least 1")?;
                above_0("interval between bursts of a flow in us", every)
            }
            Arrivals::Closed { clients, .. } => {
                let good = (1..=65_536).contains(&clients);
                let value = f64::from(clients);
                PlatformError::unless(good, "clients of a flow", value, "from 1 to 65536")
            }
        }
    }
}

/// How the host answers the messages of a flow. Another flow carries the answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The index of the flow that carries the answers; its arrivals are [`Arrivals::Answers`]. The
    /// latency of an answer counts from the time when the answered message was sent.
    pub by: usize,
    /// The time from a message's completion until the host sends the answer.
    pub service: Time,
    /// The sizes of the answers, as pairs of a message's size and its answer's size. A message
    /// whose size is in no pair gets an answer of the last pair's size. If there are no pairs, each
    /// answer is as large as its message.
    pub sizes: Vec<(Bytes, Bytes)>,
}

impl Answers {
    /// The size of the answer to a message.
    pub(crate) fn size(&self, message: Bytes) -> Bytes {
        let found = self.sizes.iter().find(|sizes| sizes.0 == message);
        found.or(self.sizes.last()).map_or(message, |sizes| sizes.1)
    }
}

/// The messages of one VM over one path. They share a queue and a rate limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The identifier of the VM that sends the messages.
    pub vm: usize,
    /// The path of the messages between host, network, accelerators and storage.
    pub path: Path,
    /// The accelerators that the messages pass, in order, as indices of `Platform::accelerators`.
    pub accelerators: Vec<usize>,
    /// The index of the DMA engine that moves the flow's data over PCIe.
    pub engine: usize,
    /// The index of the Ethernet port through which the messages arrive ([`Path::InlineRx`]) or
    /// leave ([`Path::InlineTx`]); other paths ignore it. If `None` on [`Path::InlineRx`], a
    /// traffic generator on the device sends the messages; [`Path::InlineTx`] needs a port.
    pub port: Option<usize>,
    /// The sizes of the flow's messages.
    pub sizes: Sizes,
    /// The arrival process of the flow's messages.
    pub arrivals: Arrivals,
    /// The capacity of the flow's queue, in messages. A message that arrives at a full queue is
    /// dropped. Answers, and messages of closed loops, wait at a full queue instead. Under
    /// [`Mechanism::Panic`](crate::Mechanism::Panic), messages from the network wait in the
    /// mechanism's buffer instead.
    pub queue_limit: usize,
    /// The flow's priority under [`Order::Priority`](crate::Order::Priority); flows with the lowest
    /// number are served first.
    pub priority: u8,
    /// The flow's weight under weighted scheduling, above 0. A flow of weight 2 gets twice the
    /// bytes of a flow of weight 1.
    pub weight: f64,
    /// The registers of ARCUS's second shaper, which limits the bytes that the flow's accelerators
    /// write to the storage (section 4.1, inline mode, "PatternC"). `None` without a second shaper.
    /// Mechanisms other than ARCUS, and paths that do not write to the storage, ignore the
    /// registers.
    pub results: Option<Registers>,
    /// How the host answers the flow's messages; the clients of a closed loop wait for the answers.
    /// `None` if the host does not answer.
    pub answers: Option<Answers>,
}

impl Flow {
    /// Creates a flow whose messages all have `size` and pass accelerator 0. The flow uses DMA
    /// engine 0 and no Ethernet port, and has priority 0, weight 1 and a queue of 1,024 messages.
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

    /// Sets the accelerators that the messages pass, in order, as indices of
    /// `Platform::accelerators`.
    #[must_use]
    pub fn through(self, accelerators: &[usize]) -> Flow {
        Flow {
            accelerators: accelerators.to_vec(),
            ..self
        }
    }

    /// Sets the index of the DMA engine that moves the flow's data.
    #[must_use]
    pub fn by_engine(self, engine: usize) -> Flow {
        Flow { engine, ..self }
    }

    /// Sets the index of the Ethernet port through which the messages arrive or leave.
    #[must_use]
    pub fn over_port(self, port: usize) -> Flow {
        let port = Some(port);
        Flow { port, ..self }
    }

    /// Sets the flow's priority; flows with the lowest number are served first.
    #[must_use]
    pub fn with_priority(self, priority: u8) -> Flow {
        Flow { priority, ..self }
    }

    /// Sets the registers of ARCUS's second shaper, which limits what accelerators write to the
    /// storage ([`Flow::results`]).
    #[must_use]
    pub fn with_results_shaped(self, registers: Registers) -> Flow {
        let results = Some(registers);
        Flow { results, ..self }
    }

    /// Sets the flow's weight under weighted scheduling, above 0 ([`Flow::weight`]).
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
