//! How many graphs of an application run, and when they arrive.

use accelflow_kernel::Stream;
use accelflow_units::Time;

use accelflow_parameters::Refusal;

/// How graphs of an application arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// A closed loop with this many graphs in flight: when one ends, the next arrives.
    Closed(usize),
    /// At equal intervals of this length, like frames of a video.
    Periodic(Time),
    /// At random: Poisson arrivals with this mean interval and this seed.
    Poisson(Time, u64),
}

/// How many graphs of an application run, and how they arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// How the graphs arrive.
    pub arrivals: Arrivals,
    /// The number of graphs, the warm-up included.
    pub graphs: usize,
    /// The number of first completed graphs that do not count in the latencies.
    pub warmup: usize,
}

impl Load {
    /// Creates a closed loop of `graphs` graphs without a warm-up, of which `in_flight` run at a
    /// time.
    pub fn closed(in_flight: usize, graphs: usize) -> Load {
        Load {
            arrivals: Arrivals::Closed(in_flight),
            graphs,
            warmup: 0,
        }
    }

    /// # Errors
    /// [`Refusal`] for no graphs beyond the warm-up, and for arrivals at a standstill or all at once.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.graphs <= self.warmup {
            let allowed = format!("must be above {}, the graphs of the warm-up", self.warmup);
            return Err(Refusal::new("graphs", self.graphs, allowed));
        }
        match self.arrivals {
            Arrivals::Closed(0) => Err(Refusal::new("graphs in flight", 0, "must be at least 1")),
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
