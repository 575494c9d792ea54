//! Results of a scenario.

use crate::accelerometer::granularity::Lucrative;
use crate::accelerometer::quantity::{MeanCycles, OffloadsPerSecond};

/// What keeps a kernel from its ideal speedup, by cause: time that stays on the host, or that
/// offloading adds. Each is a share of the host's time without offloading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// The part of the kernel that stays on the host because offloading it would not pay.
    pub not_offloaded: f64,
    /// Waiting for the accelerator's own work.
    pub accelerator: f64,
    /// o0: preparing offloads.
    pub setup: f64,
    /// L: moving data.
    pub transfer: f64,
    /// Q: waiting in the queue.
    pub queue: f64,
    /// o1: switching threads.
    pub thread_switches: f64,
}

/// The largest limit on a kernel's speedup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The rest of the service (Amdahl's law). Over nine tenths of the ideal gain is reached.
    RestOfService,
    /// Offloads that do not pay.
    NotOffloaded,
    /// The accelerator's own speed.
    Accelerator,
    /// Preparing offloads.
    Setup,
    /// Moving data.
    Transfer,
    /// Waiting in the queue.
    Queue,
    /// Switching threads.
    ThreadSwitches,
}

/// The results of offloading one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelResult {
    /// alpha after selection: the share of the host's cycles that is offloaded.
    pub offloaded_share: f64,
    /// alpha scaled by cycles instead of offloads, if sizes are known.
    pub offloaded_share_by_cycles: Option<f64>,
    /// n: offloads per second.
    pub offloads: OffloadsPerSecond,
    /// The share of candidate offloads that go to the accelerator.
    pub lucrative_share: f64,
    /// C_b as given or derived.
    pub cycles_per_byte: Option<f64>,
    /// L, the mean over the offloads.
    pub transfer: MeanCycles,
    /// Q: the mean wait in the accelerator's queue.
    pub queue: MeanCycles,
    /// The accelerator's utilisation, if Q comes from a queue.
    pub utilisation: Option<f64>,
    /// The sizes that raise throughput: equation (2), (4) or (7).
    pub pays_in_speedup: Option<Lucrative>,
    /// The sizes that lower latency.
    pub pays_in_latency: Option<Lucrative>,
    /// C / C_S with this accelerator alone.
    pub speedup: f64,
    /// C / C_L with this accelerator alone; `None` if it needs an unknown A.
    pub latency_reduction: Option<f64>,
    /// Time that this kernel's offloads spend outside the service, as a share of C. Only for a
    /// remote accelerator whose response the host does not need, and a known A.
    pub outside_service: Option<f64>,
    /// 1 / (1 - alpha): an accelerator of infinite speed without any cost.
    pub ideal_speedup: f64,
    /// The additional costs, as shares of the host's time.
    pub losses: Losses,
    /// The largest limit of the speedup.
    pub limit: Limit,
}

/// The results of offloading for the service.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioResult {
    /// C / C_S.
    pub speedup: f64,
    /// C / C_L; `None` if it needs an unknown A.
    pub latency_reduction: Option<f64>,
    /// 1 / (1 - the sum of all alphas).
    pub ideal_speedup: f64,
    /// The kernels, in the order of the scenario.
    pub kernels: Vec<KernelResult>,
}
