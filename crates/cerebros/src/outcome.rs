//! The results of a simulation run, as sums and samples.

use accelflow_kernel::Samples;
use accelflow_units::{Bytes, Time};

/// The time that one request, or several requests together, spent on each activity and wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The time that cores spend on the RPC layer in software.
    pub software: Time,
    /// The time to move tasks to the accelerator, and results back, over the chip's network.
    pub offload: Time,
    /// The time in which the accelerator or Cerebros works for the requests.
    pub accelerator: Time,
    /// The time that requests wait for a free pipeline of the accelerator or of Cerebros.
    pub queued: Time,
    /// The time that requests wait until refused responses of nested calls are sent again. The NIC
    /// refuses a response if it lacks memory.
    pub refused: Time,
    /// The time that requests wait for the responses of nested calls to other services.
    pub away: Time,
    /// The time in which cores switch back to requests whose nested call was answered.
    pub switched: Time,
    /// The time for which the request occupies a core outside the function. The fields above,
    /// `software` to `switched`, include this time.
    pub on_core: Time,
    /// The part of `queued` and `refused` for which the request occupies a core.
    pub waits_on_core: Time,
    /// The time of the functions' business logic, without stalls.
    pub execute: Time,
    /// The time in which the business logic stalls for missing instructions.
    pub stall: Time,
}

impl Spent {
    /// The time of the RPC layer without waits, as in the analytic model: software, offloads and
    /// accelerator.
    pub fn rpc(&self) -> Time {
        self.software + self.offload + self.accelerator
    }

    /// The time of the functions: business logic and its stalls.
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
        self.waits_on_core += other.waits_on_core;
        self.execute += other.execute;
        self.stall += other.stall;
    }
}

/// The results of a group of requests: all requests, or those to one function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// The number of answered requests in the group, without the warm-up.
    pub requests: u64,
    /// The time that the group's requests together spent on each activity and wait.
    pub spent: Spent,
    /// The latency of each request: the time from its first arrival at the NIC to the end of its
    /// response.
    pub latency: Samples,
    /// The time for which each request occupied a core: for the function, for the RPC layer on the
    /// core, and for waits during which the core stays occupied.
    pub core: Samples,
    /// The number of instruction-cache misses of the functions, over all requests. A miss loads one
    /// block.
    pub misses: u64,
    /// The number of instruction-cache misses of the RPC layer's software, over all requests. A
    /// miss loads one block.
    pub layer_misses: u64,
    /// The number of requests whose function had no instruction-cache miss.
    pub miss_free: u64,
    /// The number of requests that went to a core whose latest functions, according to the NIC's
    /// function map, include the requested one.
    pub steered: u64,
}

impl Group {
    /// Returns the mean per request, in picoseconds, of `time`, a sum over the group's requests:
    /// `time` divided by the number of requests. 0 without requests.
    pub fn mean(&self, time: Time) -> f64 {
        ratio(time.as_ps() as f64, self.requests)
    }
}

fn ratio(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// The queue in which requests pile up if the load is too high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The senders' queue for memory of the NIC: senders resend refused requests, or give up.
    Memory,
    /// The queue for a pipeline of Cerebros.
    Pipelines,
    /// The NIC's queue for a free core.
    Cores,
    /// The NIC's queue for a free core, while the cores wait for the accelerator's pipelines.
    CoresForPipelines,
}

impl Queue {
    /// The queue's name in results.
    pub fn name(self) -> &'static str {
        match self {
            Queue::Memory => "memory of the NIC",
            Queue::Pipelines => "pipelines",
            Queue::Cores => "cores",
            Queue::CoresForPipelines => "cores, which wait for pipelines",
        }
    }
}

/// The queue and the number of requests that piled up in a run whose load was too high. The queue
/// grows until the run ends, so the results depend on the run's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// The queue that limits the server. It is [`Queue::Memory`] only if the queues for pipelines
    /// and for cores are short: in each of the two, fewer requests wait than the service has cores.
    pub queue: Queue,
    /// The number of requests in all queues, or given up, when the last request arrived.
    pub waiting: usize,
}

/// The results of one simulation run of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationResult {
    /// The results of all requests after the warm-up.
    pub all: Group,
    /// The results of the requests to each function after the warm-up, in the order of the
    /// service's functions.
    pub functions: Vec<Group>,
    /// The number of answered requests, including the warm-up.
    pub answered: u64,
    /// The number of requests that were given up because the NIC refused one message (by NACKs)
    /// more often than the parameter `retries` states: the request's own message, or the response
    /// of a nested call. Includes the warm-up.
    pub refused: u64,
    /// The number of NACKs, by which the NIC's buffer manager refuses a message for lack of memory,
    /// including the warm-up.
    pub nacks: u64,
    /// The number of answered requests, including the warm-up, with a message that a core processed
    /// in software because Cerebros could not.
    pub fallbacks: u64,
    /// The simulated time when the last response was sent or, if later, when the last request was
    /// given up during a nested call.
    pub makespan: Time,
    /// The throughput over the whole run, in answered requests per second.
    pub throughput_rps: f64,
    /// The mean arrival rate in requests per second; `None` for a closed loop.
    pub offered_rps: Option<f64>,
    /// The queue in which requests piled up; `None` unless more than 32 requests, and more than 5 %
    /// of the load's requests, were waiting or given up when the last request arrived. Always
    /// `None` for a closed loop.
    pub saturated: Option<Saturation>,
    /// The mean utilisation of the shared pipelines, from 0 to 1: the share of time in which a
    /// pipeline works.
    pub pipeline_utilisation: f64,
    /// The mean utilisation of the cores, from 0 to 1: the share of time in which a core is
    /// occupied.
    pub core_utilisation: f64,
    /// The largest amount of the NIC's memory that was reserved at any time for arriving messages:
    /// requests, and responses of nested calls.
    pub buffer_peak: Bytes,
    /// The amount of the NIC's memory that was still reserved for arriving messages at the end;
    /// more than 0 is a leak.
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
