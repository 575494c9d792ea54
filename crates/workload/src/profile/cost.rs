//! Costs of operations as functions of the payload's size.

use accelflow_parameters::Provenance;
use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use super::number::{ProfileParameter, number};

/// The cost of an operation on a core, as a function of the size of the payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    mean: Time,
    size_share: f64,
}

impl Cost {
    /// Creates a cost with the value `mean` at the mean payload. The part `size_share` (clamped to
    /// 0 to 1; NaN counts as 0) is proportional to the payload's size, and the rest is constant.
    pub fn new(mean: Time, size_share: f64) -> Cost {
        let size_share = if size_share.is_nan() {
            0.0
        } else {
            size_share.clamp(0.0, 1.0)
        };
        Cost { mean, size_share }
    }

    /// The cost at the mean payload. It is also the mean cost, for every distribution of sizes.
    pub fn mean(self) -> Time {
        self.mean
    }

    /// The share that is proportional to the payload's size.
    pub fn size_share(self) -> f64 {
        self.size_share
    }

    /// Returns the cost for a payload of `size`, if the mean payload is `mean_size`. If `mean_size`
    /// is zero, returns the mean cost.
    #[inline]
    pub fn at(self, size: Bytes, mean_size: Bytes) -> Time {
        if mean_size == Bytes(0) {
            return self.mean;
        }
        let relative = size.get() as f64 / mean_size.get() as f64;
        self.mean
            .scale(1.0 - self.size_share + self.size_share * relative)
    }
}

/// Measured payload sizes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Bytes that the accelerator reads.
    pub input: Bytes,
    /// Bytes that it writes.
    pub output: Bytes,
}

/// The share of an operation's cost that grows with the payload, by [`Accel::index`], unless an
/// option overrides it. It is one half for operations that process every byte, and zero for RPC and
/// LdB, which read headers.
///
/// Provenance: assumed. The paper prints no cost by size. One half lies between a cost per message
/// and a cost per byte; the mean cost is the same for any value.
pub const ASSUMED_SIZE_SHARES: [f64; Accel::COUNT] = [0.5, 0.5, 0.5, 0.0, 0.5, 0.5, 0.5, 0.5, 0.0];

pub(super) fn size_share_parameters(
    shares: &[f64; Accel::COUNT],
) -> impl Iterator<Item = ProfileParameter> + '_ {
    Accel::ALL.into_iter().map(|accel| {
        number(
            format!("size_share.{accel}"),
            shares[accel.index()],
            Provenance::Assumed,
            "share of the cost that is proportional to the payload; no paper prints it",
        )
    })
}
