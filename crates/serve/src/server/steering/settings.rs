//! Settings of steering: how many workers run handlers, and how LdB chooses between them.

/// How LdB chooses a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteeringPolicy {
    /// The next one.
    RoundRobin,
    /// The one with the fewest requests.
    LeastLoaded,
    /// The function's own, unless that has a quarter more to do than the mean.
    #[default]
    Affinity,
}

impl SteeringPolicy {
    /// All of them.
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

/// Handlers run on workers and not on the threads of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// How many workers there are; at least 1.
    pub workers: usize,
    /// How they are chosen.
    pub policy: SteeringPolicy,
    /// Whether each is bound to a core of its own, of those that the process may use; workers
    /// beyond their number share them.
    pub pinned: bool,
}
