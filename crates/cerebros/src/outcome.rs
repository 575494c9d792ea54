//! Results of a run.

use accelflow_kernel::Samples;
use accelflow_units::{Bytes, Time};

/// The time of a request, broken down by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The RPC layer as software.
    pub software: Time,
    /// Traversals of the chip's network for offloads.
    pub offload: Time,
    /// Work of the accelerator or of Cerebros.
    pub accelerator: Time,
    /// Waiting for a free pipeline.
    pub queued: Time,
    /// Waiting for nested responses that were resent because the NIC had no memory.
    pub refused: Time,
    /// Waiting for the called services of nested calls.
    pub away: Time,
    /// Switches back to the request after a nested call was answered.
    pub switched: Time,
    /// The part of the times above during which the request occupied a core.
    pub on_core: Time,
    /// Business logic.
    pub execute: Time,
    /// Stalls of the business logic on instruction fetches.
    pub stall: Time,
}

impl Spent {
    /// The RPC layer without waiting, as in the analytic model.
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
        self.away += other.away;
        self.switched += other.switched;
        self.on_core += other.on_core;
        self.execute += other.execute;
        self.stall += other.stall;
    }
}

/// The results of the requests of one function, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Requests that were answered, without those of the warm-up.
    pub requests: u64,
    /// The sums of their times.
    pub spent: Spent,
    /// The latency from the first attempt's arrival to the end of the response.
    pub latency: Samples,
    /// The time for which a core was occupied: function, and RPC layer on the core.
    pub core: Samples,
    /// Instruction-cache misses of the functions, in blocks.
    pub misses: u64,
    /// Instruction-cache misses of the RPC layer in software, in blocks.
    pub layer_misses: u64,
    /// Requests whose function had no miss.
    pub miss_free: u64,
    /// Requests steered to a core that the function map names for their function.
    pub steered: u64,
}

impl Group {
    /// The mean of `time` over the requests, in picoseconds; 0 without requests.
    pub fn mean(&self, time: Time) -> f64 {
        ratio(time.as_ps() as f64, self.requests)
    }
}

fn ratio(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// The place where requests wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The NIC's memory: requests wait at their senders, which resend them or give up.
    Memory,
    /// The pipelines of Cerebros.
    Pipelines,
    /// The cores: requests wait for them in the NIC.
    Cores,
    /// The accelerator: requests wait in the NIC for cores, which wait for the accelerator.
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

/// The saturation of a server whose load is too high. Results then depend on the run's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// The place where most requests wait.
    pub queue: Queue,
    /// The number of requests that were waiting or given up when the last one arrived.
    pub waiting: usize,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationResult {
    /// All measured requests.
    pub all: Group,
    /// The results by function, in the service's order.
    pub functions: Vec<Group>,
    /// Answered requests, including the warm-up.
    pub answered: u64,
    /// Requests that were given up after the last NACK for their own message or a nested response.
    pub refused: u64,
    /// NACKs of the buffer manager.
    pub nacks: u64,
    /// Requests whose RPC layer ran on a core instead of Cerebros.
    pub fallbacks: u64,
    /// The time when the last response was sent.
    pub makespan: Time,
    /// Answered requests a second.
    pub throughput_rps: f64,
    /// Arrivals a second, for random arrivals.
    pub offered_rps: Option<f64>,
    /// The saturation, if the load was too high.
    pub saturated: Option<Saturation>,
    /// Utilization of the shared pipelines, as a share of their time.
    pub pipeline_utilisation: f64,
    /// Utilization of the cores, as a share of their time.
    pub core_utilisation: f64,
    /// The most memory that messages took.
    pub buffer_peak: Bytes,
    /// The memory that messages still held at the end.
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
