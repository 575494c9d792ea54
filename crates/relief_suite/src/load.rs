//! The load of a simulation: how many graphs of an application run, and how they arrive.

use accelflow_kernel::Stream;
use accelflow_units::Time;

use accelflow_parameters::Refusal;

/// How the graphs (runs) of an application arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// A closed loop with this number of graphs in flight: when one ends, the next arrives.
    Closed(usize),
    /// Arrivals at equal intervals of this length, like frames of a video.
    Periodic(Time),
    /// Poisson arrivals: the mean interval, and the seed of the random numbers.
    Poisson(Time, u64),
}

/// How many graphs are simulated, and how they arrive. A graph is one run of the application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// How the graphs arrive.
    pub arrivals: Arrivals,
    /// The number of graphs, including the warm-up.
    pub graphs: usize,
    /// The number of graphs in the warm-up. The first `warmup` graphs to complete are not counted
    /// in the latencies.
    pub warmup: usize,
}

impl Load {
    /// Creates a closed loop of `graphs` graphs without a warm-up; `in_flight` of them run at a
    /// time.
    pub fn closed(in_flight: usize, graphs: usize) -> Load {
        Load {
            arrivals: Arrivals::Closed(in_flight),
            graphs,
            warmup: 0,
        }
    }

    /// # Errors
    /// [`Refusal`] for no graphs beyond the warm-up, and for arrivals at a standstill or all at
    /// once.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.graphs <= self.warmup {
            let allowed = format!(
                "must be above the number of graphs in the warm-up ({})",
                self.warmup
            );
            return Err(Refusal::new("graphs", self.graphs, allowed));
        }
        match self.arrivals {
            Arrivals::Closed(0) => Err(Refusal::new(
                "number of graphs in flight",
                0,
                "must be at least 1",
            )),
            Arrivals::Periodic(Time::ZERO) | Arrivals::Poisson(Time::ZERO, _) => Err(Refusal::new(
                "interval of arrivals",
                Time::ZERO,
                "must be above 0",
            )),
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
