//! The results of offloading the kernels of a service.

use crate::accelerometer::granularity::Lucrative;
use crate::accelerometer::quantity::{MeanCycles, OffloadsPerSecond};

/// What keeps a kernel from its ideal speedup, by cause: time that stays on the host, or that
/// offloads add. Each is a share of the host's time before offloading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// The part of the kernel that stays on the host because offloading it would not pay.
    pub not_offloaded: f64,
    /// The time that the host waits for the accelerator's own work.
    pub accelerator: f64,
    /// The time that the host takes to prepare offloads, o0.
    pub setup: f64,
    /// The time that the host takes to move data to the accelerator, L.
    pub transfer: f64,
    /// The time that the host waits in the accelerator's queue, Q.
    pub queue: f64,
    /// The time of the host's thread switches, o1.
    pub thread_switches: f64,
}

/// The largest of the causes that limit a kernel's speedup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The rest of the service, which is not offloaded (Amdahl's law). Over nine tenths of the
    /// ideal gain is reached.
    RestOfService,
    /// The part of the kernel that stays on the host because offloading it would not pay.
    NotOffloaded,
    /// The accelerator's own speed.
    Accelerator,
    /// The preparation of offloads, o0.
    Setup,
    /// The transfer of data to the accelerator, L.
    Transfer,
    /// The wait in the accelerator's queue, Q.
    Queue,
    /// The thread switches, o1.
    ThreadSwitches,
}

/// The results of offloading one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelResult {
    /// alpha after the choice of offloads: the share of the host's cycles that goes to the
    /// accelerator.
    pub offloaded_share: f64,
    /// The share of the host's cycles that goes to the accelerator, with alpha scaled by the cycles
    /// of the chosen offloads and not by their number; `None` unless sizes are known.
    pub offloaded_share_by_cycles: Option<f64>,
    /// n: the offloads per second that go to the accelerator.
    pub offloads: OffloadsPerSecond,
    /// The share of the possible offloads that go to the accelerator, from 0 to 1.
    pub lucrative_share: f64,
    /// C_b: the cycles of the host per byte, as given or derived; `None` if unknown.
    pub cycles_per_byte: Option<f64>,
    /// L: the mean cycles to move one offload to the accelerator.
    pub transfer: MeanCycles,
    /// Q: the mean cycles that one offload waits in the accelerator's queue.
    pub queue: MeanCycles,
    /// The accelerator's utilisation, from 0 to 1; `None` unless Q is computed from a queue.
    pub utilisation: Option<f64>,
    /// The sizes whose offload raises the host's throughput: equation (2), (4) or (7). `None` if
    /// the break-even size is unknown.
    pub pays_in_speedup: Option<Lucrative>,
    /// The sizes whose offload lowers a request's latency; `None` if unknown.
    pub pays_in_latency: Option<Lucrative>,
    /// The speedup C / C_S with this kernel offloaded alone.
    pub speedup: f64,
    /// The latency reduction C / C_L with this kernel offloaded alone; `None` if it depends on an
    /// unknown acceleration A.
    pub latency_reduction: Option<f64>,
    /// The time that this kernel's offloads spend outside the service, as a share of C. Only for a
    /// remote accelerator whose response the host does not need and whose acceleration A is known.
    pub outside_service: Option<f64>,
    /// The speedup 1 / (1 - alpha) of an infinitely fast accelerator without any cost.
    pub ideal_speedup: f64,
    /// What keeps the kernel from this ideal speedup, by cause.
    pub losses: Losses,
    /// The largest of these causes.
    pub limit: Limit,
}

/// The results of offloading all kernels of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioResult {
    /// The speedup C / C_S: the factor by which the host's throughput grows.
    pub speedup: f64,
    /// The latency reduction C / C_L: the factor by which a request becomes faster; `None` if it
    /// depends on an unknown acceleration A.
    pub latency_reduction: Option<f64>,
    /// The speedup if all kernels had infinitely fast accelerators without any cost: 1 / (1 - the
    /// sum of all alphas).
    pub ideal_speedup: f64,
    /// The results of each kernel, in the order of the scenario.
    pub kernels: Vec<KernelResult>,
}
