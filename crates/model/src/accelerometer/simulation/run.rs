//! The settings and the measurements of a simulation of offloads.

/// The distribution of a simulated time about its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All times equal the mean.
    Constant,
    /// The times have an exponential distribution.
    Exponential,
}

/// How requests arrive at the hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offered {
    /// Each thread begins its next request as soon as it has finished one. This gives a host's
    /// maximum throughput.
    Saturated,
    /// Poisson arrivals at each host, at a rate of this share of the host's maximum throughput
    /// without offloading; it may exceed 1.
    Load(f64),
}

/// The settings of one simulation of offloads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The number of hosts, of one core each, that share the accelerator. The `hosts` of a
    /// [`Queueing::Station`](crate::accelerometer::Queueing::Station) takes precedence.
    pub hosts: u32,
    /// The number of threads of a host; each works on one request at a time. Ignored if all kernels
    /// have the design Sync, which has one thread.
    pub threads: u32,
    /// The number of kernel calls in each simulated request.
    pub kernels_per_request: u32,
    /// Whether a core continues the requests that the accelerator has answered before it starts new
    /// requests. Otherwise the core runs requests in the order in which they became ready.
    pub responses_first: bool,
    /// How the service's own work before each kernel call varies about its mean.
    pub own_work: Spread,
    /// How the work of a kernel call varies about its mean. Used only if the sizes of offloads are
    /// not given. If the accelerator's queue states a `service_scv`, that variation applies to the
    /// accelerator's work instead.
    pub kernel_work: Spread,
    /// How requests arrive at the hosts.
    pub offered: Offered,
    /// Whether kernels are offloaded; if not, all kernels run on the host.
    pub offloading: bool,
    /// The number of measured requests, of all hosts together. They follow a warm-up of a tenth of
    /// this number of requests; for saturated hosts, the warm-up is longer by twice the number of
    /// requests in progress.
    pub requests: u32,
    /// The seed of the random numbers from which times, sizes and kernels are drawn.
    pub seed: u64,
}

/// The measurements of a simulation of offloads. Times are in cycles of the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The throughput of one host, in requests per cycle.
    pub requests_per_cycle: f64,
    /// The mean latency of a request from arrival to end, in cycles. `None` if it depends on the
    /// unknown time of an accelerator: neither the acceleration A nor the queue's `service` is
    /// given.
    pub mean_latency_cycles: Option<f64>,
    /// The latency in cycles that 99 % of the requests do not exceed; `None` as
    /// `mean_latency_cycles` is.
    pub p99_latency_cycles: Option<f64>,
    /// The mean time that an offload waits in the accelerator's queue, in cycles; 0 without
    /// offloads.
    pub mean_queue_cycles: f64,
    /// The share of time in which a processing element of the accelerator works, on average; 0
    /// without offloading. With several accelerators, the share of the busiest one. `None` if no
    /// kernel states the number of its accelerator's processing elements.
    pub utilisation: Option<f64>,
    /// The share of time in which a core is busy, from 0 to 1. A wait for the accelerator counts as
    /// busy if the waiting thread keeps the core.
    pub core_busy: f64,
}
