//! The options and the measurements of a simulation.

/// The variation of times about their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// None: all are the mean.
    Constant,
    /// An exponential distribution.
    Exponential,
}

/// The arrival process of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offered {
    /// Each thread begins its next request when it has finished one, which gives the host's maximum
    /// throughput.
    Saturated,
    /// Poisson arrivals at each host, at this share of its maximum throughput without offloading.
    Load(f64),
}

/// One run of the simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Hosts of one core each that share the accelerator; the number of hosts of a
    /// [`Queueing::Station`](super::Queueing::Station) takes precedence.
    pub hosts: u32,
    /// Threads of a host, which is the number of requests in progress. Ignored for Sync, which has
    /// one.
    pub threads: u32,
    /// Kernels in a request.
    pub kernels_per_request: u32,
    /// Whether requests whose response has arrived have precedence over new requests. Otherwise a
    /// core takes requests in the order in which they became ready.
    pub responses_first: bool,
    /// The service's own work before each kernel.
    pub own_work: Spread,
    /// The work of a kernel, if its sizes are not given.
    pub kernel_work: Spread,
    /// The arrival process of requests.
    pub offered: Offered,
    /// Whether kernels are offloaded at all; otherwise all run on the host.
    pub offloading: bool,
    /// The number of measured requests. The warm-up before them has a tenth of this number of
    /// requests, plus twice the number of requests in progress for saturated hosts.
    pub requests: u32,
    /// The seed of all times and sizes.
    pub seed: u64,
}

/// The measurements of a run, in cycles of the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Throughput of one host, in requests per cycle.
    pub requests_per_cycle: f64,
    /// The mean latency from arrival to end.
    pub mean_latency_cycles: f64,
    /// The latency that 99 % of the requests do not exceed.
    pub p99_latency_cycles: f64,
    /// The mean wait of an offload in the accelerator's queue.
    pub mean_queue_cycles: f64,
    /// The share of time in which an element of the accelerator works; 0 without offloading. `None`
    /// if the number of elements is unknown. With several accelerators, that of the
    /// busiest one.
    pub utilisation: Option<f64>,
    /// The share of time in which a core is busy, including waits for the accelerator during which
    /// a thread keeps the core.
    pub core_busy: f64,
}
