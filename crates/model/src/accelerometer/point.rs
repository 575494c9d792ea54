//! One evaluation of the Accelerometer equations.

use super::design::{Coefficients, Design};
use super::quantity::{MeanCycles, OffloadsPerCycle};

/// The inputs of the Accelerometer equations for one kernel. Times are mean numbers of host cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// alpha: the share of the host's cycles that is offloaded, from 0 to 1.
    pub kernel_share: f64,
    /// n / C: the offloads per cycle of the host.
    pub offload_rate: OffloadsPerCycle,
    /// o0: the cycles to prepare one offload.
    pub setup: MeanCycles,
    /// L + Q: the cycles to move one offload to the accelerator, plus its wait in the accelerator's
    /// queue.
    pub interface: MeanCycles,
    /// o1: the cycles of one thread switch.
    pub thread_switch: MeanCycles,
    /// A: how many times as fast as the host the accelerator is, above 0; infinite for an ideal
    /// accelerator.
    pub acceleration: f64,
}

impl Point {
    /// The ratio of the cycles after offloading to those before: C_S / C for the host's cycles, or
    /// C_L / C for the cycles of a request. `c` states how often each cost counts, and so which of
    /// the two ratios the result is.
    #[inline]
    pub fn remaining(&self, c: Coefficients) -> f64 {
        (1.0 - self.kernel_share) + self.added(c)
    }

    /// The cycles that offloading adds, as a share of the host's cycles before offloading: the
    /// costs of the offloads and, where it counts, the accelerator's own time. Work that stays on
    /// the host is not included. `c` states how often each cost counts.
    #[inline]
    pub fn added(&self, c: Coefficients) -> f64 {
        let each = self.setup + c.interface * self.interface + c.switches * self.thread_switch;
        c.accelerator * (self.kernel_share / self.acceleration) + self.offload_rate * each
    }

    /// The speedup C / C_S: the factor by which the host's throughput grows under `design`.
    pub fn speedup(&self, design: Design) -> f64 {
        1.0 / self.remaining(design.coefficients().0)
    }

    /// The latency reduction C / C_L: the factor by which a request becomes faster under `design`.
    pub fn latency_reduction(&self, design: Design) -> f64 {
        1.0 / self.remaining(design.coefficients().1)
    }
}
