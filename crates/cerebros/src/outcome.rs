//! The results of a run.

use accelflow_kernel::Samples;
use accelflow_units::{Bytes, Time};

/// The time that requests spent, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The RPC layer in software on a core.
    pub software: Time,
    /// Traversals of the chip's network to hand tasks to the accelerator.
    pub offload: Time,
    /// Work of the shared accelerator or of Cerebros.
    pub accelerator: Time,
    /// Waits for a free pipeline of the accelerator.
    pub queued: Time,
    /// Waits for responses of nested calls that the NIC refused for lack of memory, until they were
    /// resent.
    pub refused: Time,
    /// Waits for other services that nested calls go to.
    pub away: Time,
    /// Switches of a core back to a request whose nested call was answered.
    pub switched: Time,
    /// The part of the times above during which a request occupied a core.
    pub on_core: Time,
    /// The function's business logic, without stalls.
    pub execute: Time,
    /// Stalls of the business logic for missing instructions.
    pub stall: Time,
}

impl Spent {
    /// The time of the RPC layer without waits, as in the analytic model.
    pub fn rpc(&self) -> Time {
        self.software + self.offload + self.accelerator
    }

    /// The time of the function: business logic and its stalls.
    pub fn function(&self) -> Time {
        self.execute + self.stall
    }

    pub(crate) fn add(&mut self, other: &Spent) {
        self.software += other.software;
        self.offload += other.offload;
        self.accelerator += other.accelerator;
        self.queued += other.queued;
        self.refused += other.refused;
        self.away += other.away;
        self.switched += other.switched;
        self.on_core += other.on_core;
        self.execute += other.execute;
        self.stall += other.stall;
    }
}

/// The results of the requests to one function, or of all requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// The number of answered requests, the warm-up excluded.
    pub requests: u64,
    /// The sums of these requests' times, by cause.
    pub spent: Spent,
    /// The latency of each request: from its first arrival at the NIC to the end of its response.
    pub latency: Samples,
    /// The time for which each request occupied a core: function, and RPC layer on the core.
    pub core: Samples,
    /// The instruction-cache misses of the functions, in blocks, summed over requests.
    pub misses: u64,
    /// The instruction-cache misses of the RPC layer's software, in blocks, summed over requests.
    pub layer_misses: u64,
    /// The number of requests whose function had no instruction-cache miss.
    pub miss_free: u64,
    /// The number of requests that went to a core which had just run the same function, as the
    /// NIC's function map remembers.
    pub steered: u64,
}

impl Group {
    /// The sum `time` divided by the number of requests, in picoseconds; 0 without requests.
    pub fn mean(&self, time: Time) -> f64 {
        ratio(time.as_ps() as f64, self.requests)
    }
}

fn ratio(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// Where requests pile up if the load is too high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// At the NIC's memory: senders resend refused requests, or give up.
    Memory,
    /// At the pipelines of Cerebros.
    Pipelines,
    /// In the NIC, for a free core.
    Cores,
    /// In the NIC, for a core; and the cores wait for the accelerator.
    CoresForPipelines,
}

impl Queue {
    /// The name in results of the place where requests pile up.
    pub fn name(self) -> &'static str {
        match self {
            Queue::Memory => "memory of the NIC",
            Queue::Pipelines => "pipelines",
            Queue::Cores => "cores",
            Queue::CoresForPipelines => "cores, which wait for pipelines",
        }
    }
}

/// Where and how many requests piled up in a run whose load was too high. The results then depend
/// on the run's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// What limits the server. It is the memory of the NIC only if hardly any requests wait
    /// elsewhere.
    pub queue: Queue,
    /// The number of requests, over all places, that were waiting or had been given up when the last
    /// one arrived.
    pub waiting: usize,
}

/// The results of a simulation run.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationResult {
    /// The results of all requests after the warm-up.
    pub all: Group,
    /// The results of each function, in the service's order.
    pub functions: Vec<Group>,
    /// The number of answered requests, the warm-up included.
    pub answered: u64,
    /// The number of requests given up after the last NACK, for their own message or for a nested
    /// response.
    pub refused: u64,
    /// The number of NACKs: messages that the NIC's buffer manager refused for lack of memory.
    pub nacks: u64,
    /// The number of requests whose RPC layer ran on a core, since Cerebros could not process them.
    pub fallbacks: u64,
    /// The simulated time when the last response was sent.
    pub makespan: Time,
    /// The throughput: answered requests per second.
    pub throughput_rps: f64,
    /// The arrival rate in requests per second; `None` for a closed loop.
    pub offered_rps: Option<f64>,
    /// Where requests piled up; `None` unless the load was too high.
    pub saturated: Option<Saturation>,
    /// The share of time in which a shared pipeline works, from 0 to 1.
    pub pipeline_utilisation: f64,
    /// The share of time in which a core is occupied, from 0 to 1.
    pub core_utilisation: f64,
    /// The most memory for messages that was reserved at any time.
    pub buffer_peak: Bytes,
    /// The memory for messages that was still reserved at the end; more than 0 is a leak.
    pub buffer_left: Bytes,
}

impl SimulationResult {
    /// An empty outcome of a service with `functions` functions.
    pub(crate) fn empty(functions: usize) -> SimulationResult {
        SimulationResult {
            all: Group::default(),
            functions: vec![Group::default(); functions],
            answered: 0,
            refused: 0,
            nacks: 0,
            fallbacks: 0,
            makespan: Time::ZERO,
            throughput_rps: 0.0,
            offered_rps: None,
            saturated: None,
            pipeline_utilisation: 0.0,
            core_utilisation: 0.0,
            buffer_peak: Bytes(0),
            buffer_left: Bytes(0),
        }
    }
}
