//! The results of offloading the kernels of a service.

use crate::accelerometer::granularity::Lucrative;
use crate::accelerometer::quantity::{MeanCycles, OffloadsPerSecond};

/// The causes that keep a kernel from its ideal speedup: times that stay on the host, and times
/// that offloads add. Each is a share of the host's time before offloading. Times for which the
/// host does not wait are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// The kernel's work that stays on the host because its offloads are not selected, as a share
    /// of the host's time.
    pub not_offloaded: f64,
    /// The host's wait for the accelerator's own work, as a share of the host's time.
    pub accelerator: f64,
    /// The preparation of offloads (o0), as a share of the host's time.
    pub setup: f64,
    /// The transfer of data to the accelerator (L), as a share of the host's time; 0 if the host
    /// does not wait for it.
    pub transfer: f64,
    /// The wait of offloads in the accelerator's queue (Q), as a share of the host's time; 0 if the
    /// host does not wait for it.
    pub queue: f64,
    /// The host's thread switches (o1), as a share of the host's time.
    pub thread_switches: f64,
}

/// The cause that limits a kernel's speedup most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The work of the service outside this kernel (Amdahl's law). This is the limit if offloading
    /// the kernel alone reaches at least nine tenths of the ideal gain, `ideal_speedup` - 1.
    RestOfService,
    /// The part of the kernel that stays on the host because its offloads are not selected.
    NotOffloaded,
    /// The host's wait for the accelerator's own work.
    Accelerator,
    /// The host's time to prepare offloads, o0.
    Setup,
    /// The time for which the host moves data to the accelerator or waits for this transfer, L.
    Transfer,
    /// The host's wait until an offload has left the accelerator's queue, Q.
    Queue,
    /// The host's time for thread switches, o1.
    ThreadSwitches,
}

/// The modelled results of offloading one kernel of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelResult {
    /// The share of the host's cycles that goes to the accelerator: alpha, scaled down if only some
    /// of the offloads are selected.
    pub offloaded_share: f64,
    /// Like `offloaded_share`, but the kernel's share (alpha) is always scaled by the cycles of the
    /// selected offloads, not by their number. `None` unless the sizes of these are known: they
    /// are not if [`Selection::OutOf`](super::Selection::OutOf) selects a part of the offloads.
    pub offloaded_share_by_cycles: Option<f64>,
    /// n: the offloads per second that go to the accelerator.
    pub offloads: OffloadsPerSecond,
    /// The share of the kernel's possible offloads that go to the accelerator, from 0 to 1.
    pub lucrative_share: f64,
    /// The share of the kernel's possible offloads whose size is in `pays_in_speedup`, from 0 to 1,
    /// whether or not they go to the accelerator. Offloads of other sizes do not raise the host's
    /// throughput. `None` if the sizes of offloads or C_b are unknown.
    pub paying_share: Option<f64>,
    /// C_b, as given or derived: the host needs C_b g^beta cycles for g bytes. `None` if unknown.
    pub cycles_per_byte: Option<f64>,
    /// L: the mean cycles to move one offload to the accelerator.
    pub transfer: MeanCycles,
    /// Q: the mean cycles that one offload waits in the accelerator's queue.
    pub queue: MeanCycles,
    /// The accelerator's utilisation, from 0 to 1; `None` unless Q is computed from an M/G/k queue.
    pub utilisation: Option<f64>,
    /// The sizes for which an offload raises the host's throughput: equation (2), (4) or (7).
    /// `None` if C_b is unknown.
    pub pays_in_speedup: Option<Lucrative>,
    /// The sizes for which an offload lowers a request's latency. `None` if C_b is unknown, or if
    /// the latency depends on an unknown acceleration A.
    pub pays_in_latency: Option<Lucrative>,
    /// The speedup C / C_S with this kernel offloaded alone.
    pub speedup: f64,
    /// The latency reduction C / C_L with this kernel offloaded alone; `None` if it depends on an
    /// unknown acceleration A.
    pub latency_reduction: Option<f64>,
    /// The time that this kernel's offloads spend outside the service, in transfer, queue and
    /// accelerator, as a share of the host's time before offloading (C). `None` unless the
    /// accelerator is remote, the host needs no response, and the acceleration A is known.
    pub outside_service: Option<f64>,
    /// The speedup with an infinitely fast accelerator whose offloads cost nothing: 1 / (1 -
    /// alpha), where alpha is the kernel's share of the host's cycles.
    pub ideal_speedup: f64,
    /// The causes that keep the kernel from its `ideal_speedup`, each as a share of the host's
    /// time.
    pub losses: Losses,
    /// The cause that limits the kernel's speedup most.
    pub limit: Limit,
}

/// The modelled results of offloading all kernels of a service together.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioResult {
    /// The speedup C / C_S: the factor by which the host's throughput grows.
    pub speedup: f64,
    /// The latency reduction C / C_L: the factor by which a request becomes faster; `None` if it
    /// depends on an unknown acceleration A.
    pub latency_reduction: Option<f64>,
    /// The speedup with infinitely fast accelerators whose offloads cost nothing: 1 / (1 - alpha),
    /// where alpha is the sum of the kernels' shares of the host's cycles.
    pub ideal_speedup: f64,
    /// The results of each kernel, in the order of [`Scenario::kernels`](super::Scenario::kernels).
    pub kernels: Vec<KernelResult>,
}
