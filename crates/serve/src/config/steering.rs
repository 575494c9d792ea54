//! Settings of steering: how many workers run handlers, and how LdB chooses between them.

use std::thread;

/// The policy by which LdB chooses the worker that runs a request's handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteeringPolicy {
    /// The workers in turn.
    RoundRobin,
    /// The worker with the fewest requests.
    LeastLoaded,
    /// The worker that belongs to the request's function, unless that worker has over a quarter
    /// more work than the mean.
    #[default]
    Affinity,
    /// The least loaded worker of those that last ran the function and are not overloaded; else the
    /// least loaded of all (Cerebros, section 4.3).
    FunctionMap,
}

impl SteeringPolicy {
    /// All steering policies.
    pub const ALL: [SteeringPolicy; 4] = [
        SteeringPolicy::Affinity,
        SteeringPolicy::FunctionMap,
        SteeringPolicy::RoundRobin,
        SteeringPolicy::LeastLoaded,
    ];

    /// The policy's name in configurations, such as `round_robin`.
    pub const fn name(self) -> &'static str {
        match self {
            SteeringPolicy::Affinity => "affinity",
            SteeringPolicy::FunctionMap => "function_map",
            SteeringPolicy::RoundRobin => "round_robin",
            SteeringPolicy::LeastLoaded => "least_loaded",
        }
    }

    /// Returns the policy that configurations call `name`; `None` if there is none.
    pub fn named(name: &str) -> Option<SteeringPolicy> {
        SteeringPolicy::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
    }
}

/// Settings of steering: handlers run on workers that LdB chooses, instead of the threads of
/// connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// The number of worker threads; at least 1.
    pub workers: usize,
    /// The policy that chooses a worker.
    pub policy: SteeringPolicy,
    /// Whether each worker is bound to a core that the process may use. If there are more workers
    /// than cores, they share them.
    pub pinned: bool,
    /// The number of functions per worker that the policy `FunctionMap` remembers. Other policies
    /// ignore it. Cerebros has 1.
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
