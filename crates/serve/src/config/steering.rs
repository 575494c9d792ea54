//! Settings of steering: how many workers run handlers, and how LdB chooses between them.

use std::thread;

use accelflow_parameters::Refusal;

/// The policy by which LdB chooses a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteeringPolicy {
    /// The next worker.
    RoundRobin,
    /// The worker with the fewest requests.
    LeastLoaded,
    /// The function's own worker, unless that worker has over a quarter more work than the mean.
    #[default]
    Affinity,
    /// The least loaded worker of those that last ran the function, if one has room; else the least
    /// loaded of all (Cerebros, section 4.3).
    FunctionMap,
}

impl SteeringPolicy {
    /// All policies.
    pub const ALL: [SteeringPolicy; 4] = [
        SteeringPolicy::Affinity,
        SteeringPolicy::FunctionMap,
        SteeringPolicy::RoundRobin,
        SteeringPolicy::LeastLoaded,
    ];

    /// The name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            SteeringPolicy::Affinity => "affinity",
            SteeringPolicy::FunctionMap => "function_map",
            SteeringPolicy::RoundRobin => "round_robin",
            SteeringPolicy::LeastLoaded => "least_loaded",
        }
    }

    /// Returns the policy with this name.
    pub fn named(name: &str) -> Option<SteeringPolicy> {
        SteeringPolicy::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
    }
}

/// Settings of steering, in which handlers run on workers instead of the threads of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// The number of workers; at least 1.
    pub workers: usize,
    /// The policy that chooses a worker.
    pub policy: SteeringPolicy,
    /// Whether each worker is bound to a core that the process may use. If there are more workers
    /// than cores, they share them.
    pub pinned: bool,
    /// The number of functions per worker that the function map remembers. Other policies ignore
    /// it. The paper has 1.
    pub function_map_depth: usize,
}

impl Steering {
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        for (name, value) in [
            ("steering.workers", self.workers),
            ("steering.function_map_depth", self.function_map_depth),
        ] {
            if value == 0 {
                return Err(Refusal::new(name, value, "must be at least 1"));
            }
        }
        Ok(())
    }
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
