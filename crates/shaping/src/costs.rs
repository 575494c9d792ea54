//! The accelerator times of requests, predicted from completed requests.

use accelflow_units::{Bytes, Time};

/// The weight of a new measurement in a moving mean.
pub(crate) const SHARE: f64 = 1.0 / 16.0;

/// The number of size classes: up to 1 byte, 2, 4, and so on.
const CLASSES: usize = 65;

/// A predictor of the accelerator time of a request from its size. For each size class (a power of
/// two), the predictor keeps a moving mean of measured times.
///
/// A size class without measurements is predicted from the nearest smaller class with measurements,
/// scaled by the ratio of the two powers of two. If no smaller class has measurements, the mean of
/// the nearest larger class is used unchanged, since part of the time is the same for all sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTable {
    /// In picoseconds.
    means: [Option<f64>; CLASSES],
}

impl Default for CostTable {
    fn default() -> CostTable {
        CostTable {
            means: [None; CLASSES],
        }
    }
}

impl CostTable {
    /// Records that the accelerator time of a request of `size` bytes was `time`.
    pub fn learn(&mut self, size: Bytes, time: Time) {
        let mean = &mut self.means[class(size)];
        let time = time.as_ps() as f64;
        *mean = Some(mean.map_or(time, |mean| mean + (time - mean) * SHARE));
    }

    /// Returns the expected accelerator time of a request of `size` bytes; `None` before the first
    /// measurement.
    pub fn predict(&self, size: Bytes) -> Option<Time> {
        let class = class(size);
        let (smaller, larger) = self.means.split_at(class);
        let own = larger[0];
        let from_smaller = || {
            let found = smaller.iter().rev().zip(1..).find_map(|(mean, steps)| {
                let mean = (*mean)?;
                Some(mean * f64::powi(2.0, steps))
            });
            found.or_else(|| larger.iter().find_map(|mean| *mean))
        };
        // Conversion from float to integer saturates.
        let ps = own.or_else(from_smaller)?;
        Some(Time::from_ps(ps.round() as u64))
    }
}

/// The number of a size's class: the exponent of the smallest power of two that is at least the
/// size.
fn class(size: Bytes) -> usize {
    let below = size.get().saturating_sub(1);
    (u64::BITS - below.leading_zeros()) as usize
}
