//! Services, their kernels, and the offloading of kernels.

use crate::accelerometer::design::Design;
use crate::accelerometer::quantity::{CyclesPerSecond, MeanCycles, OffloadsPerSecond};
use crate::accelerometer::queueing::Approximation;
use crate::accelerometer::sizes::SizeCdf;

/// A service on one host, and the kernels that are offloaded from it to accelerators.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// C: the cycles of the host per second, of all its cores.
    pub host: CyclesPerSecond,
    /// The kernels, each with its accelerator. All their shares refer to the same host.
    pub kernels: Vec<Kernel>,
}

/// A function of the service, and the accelerator that could do it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The kernel's name in messages and tables.
    pub name: String,
    /// The threading design of the offloads, and the placement of the accelerator.
    pub design: Design,
    /// alpha: the kernel's share of the host's cycles before offloading, from 0 to 1.
    pub share: f64,
    /// n: the offloads per second. If [`Selection::Lucrative`] chooses among them, all possible
    /// ones.
    pub offloads: OffloadsPerSecond,
    /// o0: the cycles to prepare one offload.
    pub setup: MeanCycles,
    /// L: the cycles to move one offload to the accelerator.
    pub transfer: Transfer,
    /// o1: the cycles of one thread switch.
    pub thread_switch: MeanCycles,
    /// A: how many times as fast as the host the accelerator is. `None` if unknown; results that
    /// depend on it are then also unknown.
    pub acceleration: Option<f64>,
    /// Q: the wait of one offload in the accelerator's queue.
    pub queue: Queueing,
    /// The host's own cycles for the work of one offload. Without cycles per byte and without
    /// sizes, the break-even size is unknown.
    pub host_cost: HostCost,
    /// The distribution of the sizes of offloads; `None` if unknown.
    pub sizes: Option<SizeCdf>,
    /// Which offloads go to the accelerator; the others stay on the host.
    pub selection: Selection,
    /// The name of another kernel whose offloads also carry this kernel's work. The accelerator
    /// does both in one offload, which waits in the other kernel's queue. The costs of this kernel
    /// should be 0.
    pub rides_on: Option<String>,
}

impl Scenario {
    /// The kernels that ride on `carrier`.
    pub(super) fn riders<'s>(&'s self, carrier: &'s Kernel) -> impl Iterator<Item = &'s Kernel> {
        let kernels = self.kernels.iter();
        kernels.filter(|kernel| kernel.rides_on.as_deref() == Some(&carrier.name))
    }
}

/// L: the cycles to move one offload to the accelerator, a fixed part and a part per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfer {
    /// The cycles of one offload of any size: of a pipelined interface, or a mean.
    pub fixed: MeanCycles,
    /// The cycles for each byte of an offload, of an interface that is not pipelined.
    pub per_byte: MeanCycles,
}

/// C_b g^beta: the cycles that the host itself needs for the work of one offload of g bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostCost {
    /// C_b: the cycles per byte to the power of `complexity`. If `None`, it is derived from the
    /// kernel's share of cycles, its offloads and their sizes.
    pub cycles_per_byte: Option<f64>,
    /// beta: the exponent of the size; 1 for work that is linear in the size.
    pub complexity: f64,
}

/// How Q, the wait of an offload in the accelerator's queue, is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Queueing {
    /// As a mean wait.
    Mean(MeanCycles),
    /// As the waits of a sample of offloads, in cycles; Q is their mean.
    List(Vec<f64>),
    /// By the formula of an M/G/k queue in front of the accelerator.
    Station {
        /// The number of processing elements, from 1 to 100,000.
        servers: u32,
        /// The number of hosts with the same load that share the accelerator.
        hosts: f64,
        /// The mean time of an offload in a processing element. If not given, the host's time for
        /// its work over A, including the kernels whose work the offload carries
        /// ([`Kernel::rides_on`]).
        service: Option<MeanCycles>,
        /// The squared coefficient of variation of that time; if not given, that of the host's
        /// time for the offloaded sizes, or 1 without sizes.
        service_scv: Option<f64>,
        /// The approximation for more than one processing element.
        approximation: Approximation,
        /// The accelerator's name, if several kernels of the service share its queue: kernels with
        /// the same name do.
        shared: Option<String>,
    },
}

/// Which offloads of a kernel go to the accelerator. The others stay on the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selection {
    /// All offloads.
    All,
    /// The kernel's `offloads` per second, out of this total per second. alpha is multiplied by the
    /// ratio of the two (Accelerometer, Fig. 20).
    OutOf(OffloadsPerSecond),
    /// The offloads whose size makes them raise the host's throughput.
    Lucrative(Scaling),
}

/// How alpha, the kernel's share of cycles, is scaled if only some offloads go to the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// In proportion to the number of offloads, as in the paper's Fig. 20.
    Offloads,
    /// In proportion to the host's cycles for the work of the offloads, C_b g^beta.
    Cycles,
}
