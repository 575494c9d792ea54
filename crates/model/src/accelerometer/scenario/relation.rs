//! The relation alpha C = n C_b E(g^beta): a kernel's share of the cycles equals the cost of its
//! offloads.

use accelflow_parameters::Refusal;

use super::service::{Kernel, Selection};
use crate::accelerometer::quantity::{CyclesPerSecond, OffloadsPerSecond};

/// The largest factor by which two values of alpha, a kernel's share of the host's cycles, may
/// differ: the given value, and the value that follows from offloads, sizes and cycles per byte.
///
/// The two values come from separate measurements. For the service Feed1 of the Accelerometer
/// paper, the sizes in the text and 5.62 cycles per byte give 12.5 % of the host's cycles, but the
/// profile has 15 %: a factor of 1.2.
pub const RELATION_TOLERANCE: f64 = 1.25;

impl Kernel {
    /// The offloads that alpha covers, whether or not they go to the accelerator.
    pub(crate) fn candidates(&self) -> OffloadsPerSecond {
        match self.selection {
            Selection::OutOf(all) => all,
            Selection::All | Selection::Lucrative(_) => self.offloads,
        }
    }

    /// The mean of g^beta over the sizes, if they are given.
    pub(crate) fn mean_work(&self) -> Option<f64> {
        let sizes = self.sizes.as_ref()?;
        Some(sizes.mean_power(self.host_cost.complexity))
    }

    /// The share of the host's cycles that follows from offloads, sizes and cycles per byte; `None`
    /// if one of them is not given and follows from alpha instead.
    pub(crate) fn counted_share(&self, host: CyclesPerSecond) -> Option<f64> {
        let each = self.host_cost.cycles_per_byte? * self.mean_work()?;
        Some(self.candidates().0 * each / host.0)
    }

    pub(super) fn check_relation(&self, host: CyclesPerSecond) -> Result<(), Refusal> {
        let Some(counted) = self.counted_share(host) else {
            return Ok(());
        };
        let (low, high) = (counted.min(self.share), counted.max(self.share));
        if high <= RELATION_TOLERANCE * low {
            return Ok(());
        }
        Err(Refusal::new(
            "kernel_share_ratio",
            self.share,
            format!(
                "must agree with the other fields to a factor of {RELATION_TOLERANCE}: {} offloads a second of \
                 these sizes at {} cycles per byte take {counted:.4} times the host's cycles; \
                 leave cycles_per_byte out to have it derived",
                self.candidates().0,
                self.host_cost.cycles_per_byte.unwrap_or_default(),
            ),
        ))
    }
}
