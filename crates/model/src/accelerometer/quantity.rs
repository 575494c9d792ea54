//! The quantities of the Accelerometer model: cycles, offloads and rates. Unlike
//! `accelflow_units::Cycles`, these quantities are means, so they need not be whole numbers.

use std::ops::{Add, Div, Mul};

/// The cycles that one busy host executes per second: C of Accelerometer's Table 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct CyclesPerSecond(pub f64);

/// The offloads of one host per second: n of Accelerometer's Table 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct OffloadsPerSecond(pub f64);

/// The offloads per cycle of the host: n / C.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct OffloadsPerCycle(pub f64);

/// A mean number of host cycles per offload, which need not be whole. In Accelerometer's Table 5:
/// the setup o0, the wait in the queue Q, the transfer L or the thread switch o1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct MeanCycles(pub f64);

impl Div<CyclesPerSecond> for OffloadsPerSecond {
    type Output = OffloadsPerCycle;

    #[inline]
    fn div(self, cycles: CyclesPerSecond) -> OffloadsPerCycle {
        OffloadsPerCycle(self.0 / cycles.0)
    }
}

impl Mul<MeanCycles> for OffloadsPerCycle {
    /// The share of the host's cycles.
    type Output = f64;

    #[inline]
    fn mul(self, cycles: MeanCycles) -> f64 {
        self.0 * cycles.0
    }
}

impl Add for MeanCycles {
    type Output = MeanCycles;

    #[inline]
    fn add(self, other: MeanCycles) -> MeanCycles {
        MeanCycles(self.0 + other.0)
    }
}

impl Mul<MeanCycles> for f64 {
    type Output = MeanCycles;

    #[inline]
    fn mul(self, cycles: MeanCycles) -> MeanCycles {
        MeanCycles(self * cycles.0)
    }
}
