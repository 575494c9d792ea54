//! One evaluation of the equations.

use super::design::{Coefficients, Design};
use super::quantity::{MeanCycles, OffloadsPerCycle};

/// The inputs of the equations for one kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// alpha: the share of the host's cycles that is offloaded, from 0 to 1.
    pub kernel_share: f64,
    /// n / C.
    pub offload_rate: OffloadsPerCycle,
    /// o0: preparing one offload.
    pub setup: MeanCycles,
    /// L + Q: the cycles to move one offload to the accelerator, and of its wait there.
    pub interface: MeanCycles,
    /// o1: one thread switch.
    pub thread_switch: MeanCycles,
    /// A: the accelerator's speed over the host's, above 0; infinite for an ideal one.
    pub acceleration: f64,
}

impl Point {
    /// The remaining share of the host's cycles: C_S / C or C_L / C.
    #[inline]
    pub fn remaining(&self, c: Coefficients) -> f64 {
        (1.0 - self.kernel_share) + self.added(c)
    }

    /// The share of the host's cycles that offloads add outside the kernel.
    #[inline]
    pub fn added(&self, c: Coefficients) -> f64 {
        let each = self.setup + c.interface * self.interface + c.switches * self.thread_switch;
        c.accelerator * (self.kernel_share / self.acceleration) + self.offload_rate * each
    }

    /// The speedup C / C_S: the factor by which the host's throughput grows.
    pub fn speedup(&self, design: Design) -> f64 {
        1.0 / self.remaining(design.coefficients().0)
    }

    /// The latency reduction C / C_L: the factor by which a request becomes faster.
    pub fn latency_reduction(&self, design: Design) -> f64 {
        1.0 / self.remaining(design.coefficients().1)
    }
}
