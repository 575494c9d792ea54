//! Services, their kernels, and the offloading of kernels.

use crate::accelerometer::design::Design;
use crate::accelerometer::quantity::{CyclesPerSecond, MeanCycles, OffloadsPerSecond};
use crate::accelerometer::queueing::Approximation;
use crate::accelerometer::sizes::SizeCdf;

/// A service on one host, and its kernels, which are offloaded to accelerators.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// C: the cycles per second of all the host's cores together.
    pub host: CyclesPerSecond,
    /// The kernels, each with its accelerator. All values of [`Kernel::share`] refer to the same
    /// total: the host's cycles before offloading.
    pub kernels: Vec<Kernel>,
}

/// A kernel, which is a function of the service, and the accelerator that could do it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The kernel's name in error messages and result tables.
    pub name: String,
    /// The threading design of the offloads, and the placement of the accelerator.
    pub design: Design,
    /// alpha: the kernel's share of the host's cycles before offloading, from 0 to 1.
    pub share: f64,
    /// n: the offloads per second that go to the accelerator. With [`Selection::Lucrative`]: all
    /// possible offloads per second, of which those that save cycles are selected.
    pub offloads: OffloadsPerSecond,
    /// o0: the cycles to prepare one offload.
    pub setup: MeanCycles,
    /// L: the cycles to move one offload to the accelerator.
    pub transfer: Transfer,
    /// o1: the cycles of one thread switch.
    pub thread_switch: MeanCycles,
    /// A: how many times as fast as the host the accelerator is. `None` if unknown; results that
    /// depend on A are then unknown as well.
    pub acceleration: Option<f64>,
    /// Q: the cycles that one offload waits in the accelerator's queue.
    pub queue: Queueing,
    /// The host's own cycles for the work of one offload. The break-even size is unknown if neither
    /// the cycles per byte nor the distribution of sizes is given.
    pub host_cost: HostCost,
    /// The distribution of the sizes of offloads; `None` if unknown.
    pub sizes: Option<SizeCdf>,
    /// Which offloads go to the accelerator; the others stay on the host.
    pub selection: Selection,
    /// The name of another kernel whose offloads also carry this kernel's work. The accelerator
    /// does the work of both kernels in one offload, which waits in the other kernel's queue. This
    /// kernel should have the `offloads` of the other kernel, and offload costs of 0. `None` for a
    /// kernel with its own offloads.
    pub rides_on: Option<String>,
}

impl Scenario {
    /// The kernels that ride on `carrier`.
    pub(super) fn riders<'s>(&'s self, carrier: &'s Kernel) -> impl Iterator<Item = &'s Kernel> {
        let kernels = self.kernels.iter();
        kernels.filter(|kernel| kernel.rides_on.as_deref() == Some(&carrier.name))
    }
}

/// L: the cycles to move one offload to the accelerator: a fixed part, and a part per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfer {
    /// The part of L, the cycles to move one offload, that does not depend on the size. This is all
    /// of L on a pipelined interface, or if only the mean of L is known.
    pub fixed: MeanCycles,
    /// The cycles that each byte of an offload adds; 0 on a pipelined interface.
    pub per_byte: MeanCycles,
}

/// C_b g^beta: the cycles that the host itself needs for the work of one offload of g bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostCost {
    /// C_b: the host needs C_b g^`complexity` cycles for g bytes. If `None`, C_b is derived from
    /// the kernel's share of cycles, its offloads and their sizes.
    pub cycles_per_byte: Option<f64>,
    /// beta: the exponent of the offload's size; 1 for work that is linear in the size.
    pub complexity: f64,
}

/// The source of Q, the cycles that an offload waits in the accelerator's queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Queueing {
    /// Q is given: the mean wait of an offload, in cycles.
    Mean(MeanCycles),
    /// The given waits of a sample of offloads, in cycles; Q is their mean.
    List(Vec<f64>),
    /// Q is calculated by the formula of an M/G/k queue in front of the accelerator.
    Station {
        /// The number of processing elements, from 1 to 100,000.
        servers: u32,
        /// The number of hosts with the same load that share the accelerator.
        hosts: f64,
        /// The mean time that an offload occupies a processing element, in cycles of the host. It
        /// includes the work of kernels that ride on this one ([`Kernel::rides_on`]). If `None`, it
        /// is the host's time for this work divided by A.
        service: Option<MeanCycles>,
        /// The squared coefficient of variation of the time `service`. If `None`, it follows from
        /// the sizes of the offloads; without sizes, it is 1.
        service_scv: Option<f64>,
        /// The approximation of the mean wait for more than one processing element.
        approximation: Approximation,
        /// The accelerator's name; kernels that state the same name share one queue. `None` for a
        /// queue of this kernel alone.
        shared: Option<String>,
    },
}

/// Which offloads of a kernel go to the accelerator. The others stay on the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selection {
    /// All offloads of the kernel go to the accelerator.
    All,
    /// Of this total number of possible offloads per second, the kernel's
    /// [`offloads`](Kernel::offloads) per second go to the accelerator. Alpha is the kernel's share
    /// of cycles for the total; it is multiplied by `offloads` / total (Accelerometer, Fig. 20).
    OutOf(OffloadsPerSecond),
    /// Only the offloads of sizes for which offloading raises the host's throughput; the sizes of
    /// the kernel's offloads must be given. The value states how alpha is scaled to these offloads.
    Lucrative(Scaling),
}

/// The rule that reduces alpha, the kernel's share of the host's cycles, if only some of the
/// kernel's offloads go to the accelerator. Alpha is multiplied by the share of these offloads in
/// all offloads, by number or by the host's cycles for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// alpha is scaled in proportion to the number of selected offloads, as in Accelerometer's
    /// Fig. 20.
    Offloads,
    /// alpha is scaled in proportion to the cycles that the host would spend on the selected
    /// offloads: the sum of C_b g^beta over them.
    Cycles,
}
