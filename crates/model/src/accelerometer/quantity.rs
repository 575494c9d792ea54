//! The quantities of the Accelerometer model. Unlike `accelflow_units::Cycles` these are means,
//! which need not be whole numbers.

use std::ops::{Add, Div, Mul};

/// Cycles of one host in a second: C of Table 5, the host's busy frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct CyclesPerSecond(pub f64);

/// Offloads of one host in a second: n of Table 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct OffloadsPerSecond(pub f64);

/// Offloads for each cycle of the host: n / C.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct OffloadsPerCycle(pub f64);

/// Mean cycles of the host per offload: o0, Q, L or o1 of Table 5.
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
