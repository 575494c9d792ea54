//! The results of a simulation of many graphs of one application.

use accelflow_kernel::Samples;
use accelflow_units::Time;

use crate::dag::Kind;
use crate::load::{Arrivals, Load};

/// The results of a simulation of many graphs, which are runs of one application.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationResult {
    /// The time from arrival to completion of each graph that completes after the warm-up.
    pub latency: Samples,
    /// The simulated time at which the last graph is completed.
    pub makespan: Time,
    /// The completed graphs per simulated second, over the whole simulation including the warm-up.
    /// At most the rate at which the busiest kind of accelerator computes without pause
    /// ([`bound_per_s`](crate::throughput::bound_per_s)).
    pub throughput_per_s: f64,
    /// The total time that accelerators of each kind compute, indexed by [`Kind::index`].
    pub compute: [Time; Kind::COUNT],
    /// The total time for which the manager is busy; 0 under AccelFlow.
    pub manager: Time,
    /// The number of interrupts that the manager serves; 0 under AccelFlow.
    pub interrupts: u64,
    /// The number of task inputs that come from a scratchpad or a queue instead of memory.
    pub forwards: u64,
    /// The number of task inputs that come from memory although another task has produced them.
    pub reloads: u64,
    /// The number of entries that find an accelerator's input queue full and go to its overflow
    /// area; 0 for orchestrators other than AccelFlow.
    pub overflows: u64,
}

/// The completions of a run, for rates and latencies.
pub(crate) struct Completions {
    load: Load,
    arrived: Vec<Time>,
    done: Vec<Time>,
    latency: Samples,
}

impl Completions {
    pub(crate) fn new(load: &Load) -> Completions {
        Completions {
            load: *load,
            arrived: Vec::with_capacity(load.graphs),
            done: Vec::with_capacity(load.graphs),
            latency: Samples::with_capacity(load.graphs - load.warmup),
        }
    }

    /// Notes the arrival of a graph; returns its number.
    pub(crate) fn arrive(&mut self, now: Time) -> usize {
        self.arrived.push(now);
        self.arrived.len() - 1
    }

    pub(crate) fn arrived(&self, graph: usize) -> Time {
        self.arrived[graph]
    }

    /// Notes the completion of a graph. Returns whether another arrives in its place.
    pub(crate) fn complete(&mut self, now: Time, graph: usize) -> bool {
        if self.done.len() >= self.load.warmup {
            self.latency.record(now - self.arrived[graph]);
        }
        self.done.push(now);
        matches!(self.load.arrivals, Arrivals::Closed(_)) && self.arrived.len() < self.load.graphs
    }

    pub(crate) fn outcome(self) -> SimulationResult {
        let last = self.done.last().copied().unwrap_or(Time::ZERO);
        let seconds = last.as_s_f64();
        let completed = self.done.len() as f64;
        SimulationResult {
            latency: self.latency,
            makespan: last,
            throughput_per_s: if seconds > 0.0 {
                completed / seconds
            } else {
                0.0
            },
            compute: [Time::ZERO; Kind::COUNT],
            manager: Time::ZERO,
            interrupts: 0,
            forwards: 0,
            reloads: 0,
            overflows: 0,
        }
    }
}
