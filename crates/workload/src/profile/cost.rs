//! Costs of operations as functions of the payload's size.

use accelflow_parameters::Provenance;
use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use super::number::{ProfileParameter, number};

/// The time that an operation takes on a core: a constant part, and a part proportional to the size
/// of the payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    mean: Time,
    size_share: f64,
}

impl Cost {
    /// Creates a cost that is `mean` for a payload of mean size. `size_share` is the share of
    /// `mean` that is proportional to the payload's size; the rest is constant. `size_share` is
    /// limited to 0 to 1, and NaN counts as 0.
    pub fn new(mean: Time, size_share: f64) -> Cost {
        let size_share = if size_share.is_nan() {
            0.0
        } else {
            size_share.clamp(0.0, 1.0)
        };
        Cost { mean, size_share }
    }

    /// Returns the cost for a payload of mean size. It is also the mean cost for any distribution
    /// of sizes with this mean, since the cost grows linearly with the size.
    pub fn mean(self) -> Time {
        self.mean
    }

    /// Returns the share of the mean cost that is proportional to the payload's size, from 0 to 1.
    pub fn size_share(self) -> f64 {
        self.size_share
    }

    /// Returns the cost for a payload of size `size`, where `mean_size` is the mean size of all
    /// payloads. If `mean_size` is zero, returns the mean cost.
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

/// The measured input and output size of an operation, each the median over the measured calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The size of the data that the operation reads.
    pub input: Bytes,
    /// The size of the data that the operation writes.
    pub output: Bytes,
}

/// The default share of each operation's mean cost that is proportional to the payload's size. The
/// index is [`Accel::index`]. The share is one half for operations that process every byte, and
/// zero for RPC and LdB (load balancing), which read only headers.
///
/// Provenance: assumed. The AccelFlow paper prints no cost by size. One half lies between a cost
/// per message and a cost per byte; the mean cost is the same for any value.
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
