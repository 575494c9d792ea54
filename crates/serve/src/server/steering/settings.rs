//! Settings of steering: how many workers run handlers, and how LdB chooses between them.

/// The policy by which LdB chooses a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteeringPolicy {
    /// The next worker.
    RoundRobin,
    /// The worker with the fewest requests.
    LeastLoaded,
    /// The function's own worker, unless that has a quarter more to do than the mean.
    #[default]
    Affinity,
}

impl SteeringPolicy {
    /// All policies.
    pub const ALL: [SteeringPolicy; 3] = [
        SteeringPolicy::Affinity,
        SteeringPolicy::RoundRobin,
        SteeringPolicy::LeastLoaded,
    ];

    /// The name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            SteeringPolicy::Affinity => "affinity",
            SteeringPolicy::RoundRobin => "round_robin",
            SteeringPolicy::LeastLoaded => "least_loaded",
        }
    }

    /// The policy with a name.
    pub fn named(name: &str) -> Option<SteeringPolicy> {
        SteeringPolicy::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
    }
}

/// Settings of steering: handlers run on workers and not on the threads of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// The number of workers; at least 1.
    pub workers: usize,
    /// How a worker is chosen.
    pub policy: SteeringPolicy,
    /// Whether each worker is bound to a core that the process may use. If there are more workers
    /// than cores, they share them.
    pub pinned: bool,
}
