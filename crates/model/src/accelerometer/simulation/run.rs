//! The settings and the measurements of a simulation of offloads.

/// How times vary about their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Not at all: all times are the mean.
    Constant,
    /// By an exponential distribution.
    Exponential,
}

/// How requests arrive at the hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offered {
    /// Each thread begins its next request when it has finished one, which gives the host's maximum
    /// throughput.
    Saturated,
    /// Poisson arrivals at each host, at this share of its maximum throughput without offloading.
    Load(f64),
}

/// The settings of one simulation of offloads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The number of hosts, of one core each, that share the accelerator; the number of hosts of a
    /// [`Queueing::Station`](crate::accelerometer::Queueing::Station) takes precedence.
    pub hosts: u32,
    /// The number of threads of a host, and so of its requests in progress. Ignored for Sync, which
    /// has one.
    pub threads: u32,
    /// The number of kernel calls in a request.
    pub kernels_per_request: u32,
    /// Whether requests whose response has arrived have precedence over new requests. Otherwise a
    /// core takes requests in the order in which they became ready.
    pub responses_first: bool,
    /// How the service's own work before each kernel call varies.
    pub own_work: Spread,
    /// How the work of a kernel call varies, if sizes of offloads are not given.
    pub kernel_work: Spread,
    /// How requests arrive.
    pub offered: Offered,
    /// Whether kernels are offloaded at all; otherwise all run on the host.
    pub offloading: bool,
    /// The number of measured requests. Before them, a tenth of this number is a warm-up; for
    /// saturated hosts, plus twice the number of requests in progress.
    pub requests: u32,
    /// The seed of random times and sizes.
    pub seed: u64,
}

/// What a simulation of offloads measured, in cycles of the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The throughput of one host, in requests per cycle.
    pub requests_per_cycle: f64,
    /// The mean latency of a request from arrival to end.
    pub mean_latency_cycles: f64,
    /// The latency that 99 % of the requests do not exceed.
    pub p99_latency_cycles: f64,
    /// The mean time that an offload waits in the accelerator's queue.
    pub mean_queue_cycles: f64,
    /// The share of time in which a processing element of the accelerator works; 0 without
    /// offloading. `None` if the number of elements is unknown. With several accelerators, that of
    /// the busiest one.
    pub utilisation: Option<f64>,
    /// The share of time in which a core is busy, including waits for the accelerator during which
    /// a thread keeps the core.
    pub core_busy: f64,
}
