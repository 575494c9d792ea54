//! Possible definitions of "maximum throughput", a term that AccelFlow's paper does not define, and
//! the upper bound of the throughput.

use accelflow_units::Time;

use crate::dag::Dag;
use crate::load::{Arrivals, Load};
use crate::orchestrator::Orchestrator;
use crate::platform::Platform;
use crate::run::simulate;
use accelflow_parameters::Refusal;

/// The numbers of graphs (runs of an application) in flight that [`closed_loop`] tries.
pub const IN_FLIGHT: [usize; 5] = [1, 2, 4, 8, 16];
/// Steps of the search for the highest rate: it is found to 1 part in 4,096 of the bound.
const STEPS: u32 = 12;

/// The length of one simulation that measures throughput, in graphs (runs of an application).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// The number of graphs in the simulation, including the warm-up.
    pub graphs: usize,
    /// The number of graphs in the warm-up, which are the first `warmup` graphs to complete.
    /// [`within_deadline`] does not count these graphs; [`closed_loop`] does.
    pub warmup: usize,
}

impl Default for Length {
    fn default() -> Length {
        Length {
            graphs: 330,
            warmup: 30,
        }
    }
}

/// The upper bound of the throughput under any orchestrator, in graphs (runs of the application)
/// per second: the rate at which all accelerators of the busiest kind ([`Dag::bottleneck`]) compute
/// without pause. If kinds have different numbers of accelerators, another kind may allow less.
/// Infinite for an application without tasks.
pub fn bound_per_s(dag: &Dag, platform: &Platform) -> f64 {
    let kind = dag.bottleneck();
    platform.units[kind.index()] as f64 / dag.compute_of(kind).as_s_f64()
}

/// Returns the maximum throughput of a closed loop, in graphs (runs of the application) per second,
/// and the number of graphs in flight that gives it: one of [`IN_FLIGHT`]. Both are 0 if no graph
/// is completed.
///
/// # Errors
/// The errors of [`simulate`].
pub fn closed_loop(
    dag: &Dag,
    platform: &Platform,
    orchestrator: Orchestrator,
    length: Length,
) -> Result<(f64, usize), Refusal> {
    let mut best = (0.0, 0);
    for in_flight in IN_FLIGHT {
        let load = Load {
            arrivals: Arrivals::Closed(in_flight),
            graphs: length.graphs,
            warmup: length.warmup,
        };
        let rate = simulate(dag, platform, orchestrator, &load)?.throughput_per_s;
        if rate > best.0 {
            best = (rate, in_flight);
        }
    }
    Ok(best)
}

/// The pattern of arrivals in a measurement by [`within_deadline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Arrivals at equal intervals, like frames of a video.
    Periodic,
    /// Poisson arrivals. Holds the seed of the random numbers.
    Poisson(u64),
}

/// Returns the highest arrival rate, in graphs (runs of the application) per second, at which 99 %
/// of the graphs meet their deadline; 0 if fewer than 99 % meet it even at the lowest rate tried.
///
/// The rate is found by bisection between 0 and [`bound_per_s`]. The search assumes that a higher
/// rate never lets more graphs meet their deadline.
///
/// # Errors
/// The errors of [`simulate`].
pub fn within_deadline(
    dag: &Dag,
    platform: &Platform,
    orchestrator: Orchestrator,
    pattern: Pattern,
    length: Length,
) -> Result<f64, Refusal> {
    let bound = bound_per_s(dag, platform);
    let (mut met, mut missed) = (0.0, 1.0);
    for _ in 0..STEPS {
        let share = (met + missed) / 2.0;
        let interval = Time::from_s_f64(1.0 / (share * bound));
        let load = Load {
            arrivals: match pattern {
                Pattern::Periodic => Arrivals::Periodic(interval),
                Pattern::Poisson(seed) => Arrivals::Poisson(interval, seed),
            },
            graphs: length.graphs,
            warmup: length.warmup,
        };
        let mut latency = simulate(dag, platform, orchestrator, &load)?.latency;
        if latency
            .percentile(99.0)
            .is_some_and(|p99| p99 <= dag.deadline())
        {
            met = share;
        } else {
            missed = share;
        }
    }
    Ok(met * bound)
}
