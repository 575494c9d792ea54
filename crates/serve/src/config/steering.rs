//! The settings of steering: how many workers run handlers, and how LdB chooses between them.

use std::thread;

/// The policy by which the load balancer LdB chooses the worker thread that runs a request's
/// handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteeringPolicy {
    /// Each worker in turn.
    RoundRobin,
    /// The worker with the fewest waiting and running requests.
    LeastLoaded,
    /// The worker that a hash of the request's function selects, unless the worker would then have
    /// more requests than the bound: 1.25 times the mean number of waiting and running requests per
    /// worker (the new request included), rounded up. If so, the next worker by index that stays
    /// within the bound.
    #[default]
    Affinity,
    /// The least loaded of the workers that last ran the request's function (Cerebros, section
    /// 4.3). The least loaded of all workers if no worker last ran the function, or if each worker
    /// that did would then have more requests than the bound of [`SteeringPolicy::Affinity`].
    FunctionMap,
}

impl SteeringPolicy {
    /// All steering policies. The index of a policy in this list is the value of the numeric
    /// parameter `policy` that selects it.
    pub const ALL: [SteeringPolicy; 4] = [
        SteeringPolicy::Affinity,
        SteeringPolicy::FunctionMap,
        SteeringPolicy::RoundRobin,
        SteeringPolicy::LeastLoaded,
    ];

    /// Returns the policy's name in configurations, such as `round_robin`.
    pub const fn name(self) -> &'static str {
        match self {
            SteeringPolicy::Affinity => "affinity",
            SteeringPolicy::FunctionMap => "function_map",
            SteeringPolicy::RoundRobin => "round_robin",
            SteeringPolicy::LeastLoaded => "least_loaded",
        }
    }

    /// Returns the policy that configurations call `name`; `None` if no policy has this name.
    pub fn named(name: &str) -> Option<SteeringPolicy> {
        SteeringPolicy::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
    }
}

/// The settings of steering: handlers run on worker threads that the load balancer LdB chooses,
/// instead of the threads of their connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// The number of worker threads that run handlers; at least 1. Default: the number of cores
    /// that the process may use.
    pub workers: usize,
    /// The policy by which LdB chooses a worker. Default [`SteeringPolicy::Affinity`].
    pub policy: SteeringPolicy,
    /// Whether each worker is bound to one of the cores that the process may use. If there are more
    /// workers than cores, several workers share a core. Default false.
    pub pinned: bool,
    /// The number of latest requests per worker whose functions [`SteeringPolicy::FunctionMap`]
    /// remembers; at least 1. Other policies ignore this number. Default 1, as in Cerebros.
    pub function_map_depth: usize,
}

impl Default for Steering {
    /// Affinity with one worker per core that the process may use, not pinned, and a map of depth
    /// 1.
    fn default() -> Steering {
        Steering {
            workers: thread::available_parallelism().map_or(1, usize::from),
            policy: SteeringPolicy::default(),
            pinned: false,
            function_map_depth: 1,
        }
    }
}
