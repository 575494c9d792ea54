//! What is simulated, and what comes out.

use accelflow_kernel::{Samples, Stream};
use accelflow_units::Time;

use crate::dag::{Dag, DagError, Kind};
use crate::platform::Platform;
use crate::{flow, managed};

/// Who decides which task runs next and moves its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orchestrator {
    /// A manager that launches tasks in the order in which they became ready.
    Fcfs,
    /// A manager that launches the task of least laxity, and lets tasks whose input still is in a
    /// scratchpad go first where nobody's deadline suffers (RELIEF, HPCA 2024).
    Relief,
    /// No manager: queues and dispatchers at each accelerator, and entries that wait for all of
    /// their sources.
    AccelFlow,
}

impl Orchestrator {
    /// All of them.
    pub const ALL: [Orchestrator; 3] = [
        Orchestrator::Fcfs,
        Orchestrator::Relief,
        Orchestrator::AccelFlow,
    ];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Orchestrator::Fcfs => "fcfs",
            Orchestrator::Relief => "relief",
            Orchestrator::AccelFlow => "accelflow",
        }
    }
}

/// When graphs arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// As many at a time: one that completes makes room for the next.
    Closed(usize),
    /// One every so often, as frames do.
    Periodic(Time),
    /// At random with this mean distance; the number is the seed.
    Poisson(Time, u64),
}

/// How many graphs, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// When they arrive.
    pub arrivals: Arrivals,
    /// How many.
    pub graphs: usize,
    /// How many of the first to complete have no part in the latencies.
    pub warmup: usize,
}

impl Load {
    /// `graphs` graphs, `in_flight` at a time, all of which count.
    pub fn closed(in_flight: usize, graphs: usize) -> Load {
        Load {
            arrivals: Arrivals::Closed(in_flight),
            graphs,
            warmup: 0,
        }
    }

    fn check(&self) -> Result<(), DagError> {
        if self.graphs <= self.warmup {
            let allowed = format!("must be above the warm-up's {}", self.warmup);
            return Err(DagError::new("graphs", self.graphs, allowed));
        }
        match self.arrivals {
            Arrivals::Closed(0) => Err(DagError::new("in flight", 0, "must be at least 1")),
            Arrivals::Periodic(Time::ZERO) | Arrivals::Poisson(Time::ZERO, _) => {
                Err(DagError::new("interval", Time::ZERO, "must be above 0"))
            }
            _ => Ok(()),
        }
    }

    /// The times of the arrivals that are known before anything runs.
    pub(crate) fn known_arrivals(&self) -> Vec<Time> {
        match self.arrivals {
            Arrivals::Closed(in_flight) => vec![Time::ZERO; in_flight.min(self.graphs)],
            Arrivals::Periodic(interval) => (0..self.graphs as u64).map(|n| interval * n).collect(),
            Arrivals::Poisson(mean, seed) => {
                let mut stream = Stream::new(seed, 0);
                let mut now = Time::ZERO;
                let mut next = || {
                    now += stream.exponential_time(mean);
                    now
                };
                (0..self.graphs).map(|_| next()).collect()
            }
        }
    }
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// From arrival to completion, of the graphs after the warm-up.
    pub latency: Samples,
    /// When the last graph completed.
    pub makespan: Time,
    /// Graphs a second over the whole run, so that filling and draining count against it: with
    /// all graphs at hand it never exceeds the bound of the bottleneck.
    pub throughput_per_s: f64,
    /// Time that the units of each kind computed, by [`Kind::index`].
    pub compute: [Time; Kind::COUNT],
    /// Time that the manager served.
    pub manager: Time,
    /// Interrupts that it served.
    pub interrupts: u64,
    /// Inputs that came from a scratchpad or a queue instead of memory.
    pub forwards: u64,
    /// Inputs that came from memory though a task had made them.
    pub reloads: u64,
    /// Entries that found their queue full.
    pub overflows: u64,
}

/// Completions of a run, from which rates and latencies follow.
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

    /// A graph arrived; its number.
    pub(crate) fn arrive(&mut self, now: Time) -> usize {
        self.arrived.push(now);
        self.arrived.len() - 1
    }

    pub(crate) fn arrived(&self, graph: usize) -> Time {
        self.arrived[graph]
    }

    /// A graph completed; whether another arrives for it.
    pub(crate) fn complete(&mut self, now: Time, graph: usize) -> bool {
        if self.done.len() >= self.load.warmup {
            self.latency.record(now - self.arrived[graph]);
        }
        self.done.push(now);
        matches!(self.load.arrivals, Arrivals::Closed(_)) && self.arrived.len() < self.load.graphs
    }

    pub(crate) fn outcome(self) -> Outcome {
        let last = self.done.last().copied().unwrap_or(Time::ZERO);
        let seconds = last.as_s_f64();
        let completed = self.done.len() as f64;
        Outcome {
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

/// Runs `dag` as often as `load` says on `platform`.
///
/// # Errors
/// [`DagError`] for a graph without tasks and for a platform or load that cannot be.
pub fn simulate(
    dag: &Dag,
    platform: &Platform,
    orchestrator: Orchestrator,
    load: &Load,
) -> Result<Outcome, DagError> {
    platform.check()?;
    load.check()?;
    if dag.tasks().is_empty() {
        return Err(DagError::new("tasks", 0, "must be at least 1"));
    }
    Ok(match orchestrator {
        Orchestrator::Fcfs => managed::run(dag, platform, managed::Policy::Fcfs, load),
        Orchestrator::Relief => managed::run(dag, platform, managed::Policy::Relief, load),
        Orchestrator::AccelFlow => flow::run(dag, platform, load),
    })
}
