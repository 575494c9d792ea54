//! What is asked of a simulation, and what comes back.

/// The variation of times about their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// None: all are the mean.
    Constant,
    /// An exponential distribution.
    Exponential,
}

/// When requests come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offered {
    /// Each thread begins its next request when it has finished one: the most that the host serves.
    Saturated,
    /// Poisson arrivals at each host: this share of the requests that it serves without offloading.
    Load(f64),
}

/// One run of the simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Hosts of one core each that share the accelerator; a queue's own number of hosts prevails.
    pub hosts: u32,
    /// Threads of a host: requests that it works on at a time. Sync has one, whatever this says.
    pub threads: u32,
    /// Kernels in a request.
    pub kernels_per_request: u32,
    /// Whether requests whose response has come go on before those that have not begun. Otherwise a
    /// core takes them in the order in which they became ready.
    pub responses_first: bool,
    /// The service's own work before each kernel.
    pub own_work: Spread,
    /// The work of a kernel, if its sizes are not given.
    pub kernel_work: Spread,
    /// When requests come.
    pub offered: Offered,
    /// Whether kernels are offloaded at all; otherwise all run on the host.
    pub offloading: bool,
    /// Requests that are measured. A tenth more come before them, and with saturated hosts twice as
    /// many as these work on at a time.
    pub requests: u32,
    /// The seed of all times and sizes.
    pub seed: u64,
}

/// The measurements of a run, in cycles of the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Requests of one host for each cycle.
    pub requests_per_cycle: f64,
    /// From arrival to end.
    pub mean_latency_cycles: f64,
    /// The latency that 99 % of the requests do not exceed.
    pub p99_latency_cycles: f64,
    /// The mean wait of an offload in the accelerator's queue.
    pub mean_queue_cycles: f64,
    /// The share of time in which an element of the accelerator works; 0 without offloading, and
    /// unknown (`None`) where the accelerator is not one of so many elements.
    pub utilisation: Option<f64>,
    /// The share of time in which a core is busy, waits of its threads for the accelerator included
    /// where they hold the core.
    pub core_busy: f64,
}
