//! Services, their kernels, and the offloading of kernels.

use crate::accelerometer::design::Design;
use crate::accelerometer::quantity::{CyclesPerSecond, MeanCycles, OffloadsPerSecond};
use crate::accelerometer::queueing::Approximation;
use crate::accelerometer::sizes::SizeCdf;

/// A service on one host, and the kernels that are offloaded from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// C: all cycles of the host per second.
    pub host: CyclesPerSecond,
    /// The kernels, each with an accelerator. All shares refer to the same host.
    pub kernels: Vec<Kernel>,
}

/// A function of the service, and the accelerator that could do it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// A name for messages and tables.
    pub name: String,
    /// Threading and placement.
    pub design: Design,
    /// alpha: its share of the host's cycles, over all sizes.
    pub share: f64,
    /// Its offloads per second: n, or all candidates if [`Selection::Lucrative`] selects among
    /// them.
    pub offloads: OffloadsPerSecond,
    /// o0: preparing one offload.
    pub setup: MeanCycles,
    /// L: moving one offload to the accelerator.
    pub transfer: Transfer,
    /// o1: one thread switch.
    pub thread_switch: MeanCycles,
    /// A: the accelerator's speed over the host's. `None` if it is unknown; results that depend on
    /// it are then also unknown.
    pub acceleration: Option<f64>,
    /// Q: the wait of one offload in the accelerator's queue.
    pub queue: Queueing,
    /// The kernel's cost on the host. Without it and without sizes, there is no break-even size.
    pub host_cost: HostCost,
    /// The sizes of the offloads.
    pub sizes: Option<SizeCdf>,
    /// The selection of offloads that go to the accelerator.
    pub selection: Selection,
    /// The name of another kernel whose offloads this one is part of. The accelerator works on both
    /// in one offload, which waits in the queue of that kernel. The costs of this one should be 0.
    pub rides_on: Option<String>,
}

impl Scenario {
    /// The kernels that ride on `carrier`.
    pub(super) fn riders<'s>(&'s self, carrier: &'s Kernel) -> impl Iterator<Item = &'s Kernel> {
        let kernels = self.kernels.iter();
        kernels.filter(|kernel| kernel.rides_on.as_deref() == Some(&carrier.name))
    }
}

/// L, the cycles to move one offload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfer {
    /// The cycles for any size: a mean, or a pipelined interface.
    pub fixed: MeanCycles,
    /// The cycles for each byte: an interface that is not pipelined.
    pub per_byte: MeanCycles,
}

/// C_b g^beta: the cycles that the host needs for one offload of g bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostCost {
    /// C_b: cycles per byte to the power of `complexity`. If `None`, it is derived from the share,
    /// the offloads and their sizes.
    pub cycles_per_byte: Option<f64>,
    /// beta: 1 for work that is linear in the size.
    pub complexity: f64,
}

/// The source of Q.
#[derive(Clone, Debug, PartialEq)]
pub enum Queueing {
    /// The mean.
    Mean(MeanCycles),
    /// The waits of a sample of offloads. Their sum over n offloads is n times the mean.
    List(Vec<f64>),
    /// An M/G/k queue in front of the accelerator.
    Station {
        /// Processing elements.
        servers: u32,
        /// Hosts with the same load that share it.
        hosts: f64,
        /// The mean time of an offload; if not given, the host's time for it over A, with the times
        /// of the kernels that ride on it.
        service: Option<MeanCycles>,
        /// The squared coefficient of variation of that time; if not given, that of the host's
        /// time for the offloaded sizes, or 1 without sizes.
        service_scv: Option<f64>,
        /// For more than one processing element.
        approximation: Approximation,
        /// The name of the accelerator, if other kernels of the service share its queue.
        shared: Option<String>,
    },
}

/// The selection of offloads that go to the accelerator. The others stay on the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selection {
    /// All offloads.
    All,
    /// The offloads of the scenario, out of this total number. alpha is scaled by the ratio, as in
    /// the paper's Fig. 20.
    OutOf(OffloadsPerSecond),
    /// The offloads whose size pays in terms of speedup.
    Lucrative(Scaling),
}

/// The scaling of alpha when not all offloads go to the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// In proportion to the number of offloads, as in the paper's Fig. 20.
    Offloads,
    /// In proportion to the host's cycles for the offloads, C_b g^beta.
    Cycles,
}
