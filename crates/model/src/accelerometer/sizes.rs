//! Distributions of the sizes of a kernel's offloads, as in Accelerometer's Figs. 15, 19, 21, 22.

use accelflow_parameters::Refusal;

use super::granularity::Lucrative;

/// The rule for sizes between two neighbouring points of a [`SizeCdf`]: all of them occur, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// All sizes between two points, equally likely, as in the bins of a histogram.
    Linear,
    /// No sizes between two points: only the points' own sizes occur.
    Step,
}

/// The cumulative distribution of the sizes of offloads: for each size in bytes, the share of
/// offloads up to that size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeCdf {
    /// (size in bytes, share up to it); sizes increase, shares do not decrease, the last is 1.
    points: Vec<(f64, f64)>,
    interpolation: Interpolation,
}

impl SizeCdf {
    /// Creates a distribution from `points` of (size in bytes, share of offloads up to this size).
    /// The share of the first point belongs to offloads of exactly that point's size.
    ///
    /// # Errors
    /// [`Refusal`] for no points, sizes that are not above 0 or do not increase, shares that
    /// decrease or are outside 0 to 1, and a last share other than 1.
    pub fn new(points: Vec<(f64, f64)>, interpolation: Interpolation) -> Result<SizeCdf, Refusal> {
        let Some(&last) = points.last() else {
            return Err(Refusal::new(
                "sizes",
                "[]",
                "must have at least one point of size and cumulative share",
            ));
        };
        let mut before = (0.0, 0.0);
        for (index, &(size, share)) in points.iter().enumerate() {
            let place = |column: &str| format!("sizes.{column}[{index}]");
            if !(size > before.0 && size.is_finite()) {
                let rule = format!(
                    "must be a number above {}: sizes must increase from point to point",
                    before.0
                );
                return Err(Refusal::new(place("bytes"), size, rule));
            }
            if !(share >= before.1 && share <= 1.0) {
                let rule = format!(
                    "must be from {} to 1: cumulative shares must not decrease",
                    before.1
                );
                return Err(Refusal::new(place("cumulative_ratio"), share, rule));
            }
            before = (size, share);
        }
        if last.1 != 1.0 {
            return Err(Refusal::new(
                format!("sizes.cumulative_ratio[{}]", points.len() - 1),
                last.1,
                "must be 1: all offloads are at most as large as the last size",
            ));
        }
        Ok(SizeCdf {
            points,
            interpolation,
        })
    }

    /// The points of the distribution: (size in bytes, share of offloads up to that size).
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The share of the offloads whose size is in `range`.
    pub fn share(&self, range: Lucrative) -> f64 {
        self.moment(0.0, range)
    }

    /// The quantile of the size: the size in bytes that the share `share` (0 to 1) of the offloads
    /// does not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        let above = self.points.partition_point(|point| point.1 < share);
        let (to, upper) = self.points[above.min(self.points.len() - 1)];
        let Some(&(from, lower)) = above.checked_sub(1).and_then(|i| self.points.get(i)) else {
            return to;
        };
        match self.interpolation {
            Interpolation::Step => to,
            Interpolation::Linear if upper > lower => {
                from + (to - from) * ((share - lower) / (upper - lower)).min(1.0)
            }
            Interpolation::Linear => to,
        }
    }

    /// The mean size of an offload in bytes.
    pub fn mean_bytes(&self) -> f64 {
        self.moment(1.0, EVERY)
    }

    /// The mean of size^`power` over all offloads, with sizes in bytes. `power` is 0 or more.
    pub fn mean_power(&self, power: f64) -> f64 {
        self.moment(power, EVERY)
    }

    /// The sum of size^`power` over the offloads whose size is in `range`, divided by the number of
    /// all offloads. Sizes are in bytes; `power` is 0 or more.
    pub fn moment(&self, power: f64, range: Lucrative) -> f64 {
        let atom = |size: f64, weight: f64| {
            if weight > 0.0 && range.contains(size) {
                weight * libm::pow(size, power)
            } else {
                0.0
            }
        };
        let (first, share) = self.points[0];
        let mut sum = atom(first, share);
        for pair in self.points.windows(2) {
            let ((from, below), (to, above)) = (pair[0], pair[1]);
            let weight = above - below;
            sum += match self.interpolation {
                Interpolation::Step => atom(to, weight),
                Interpolation::Linear => {
                    let (low, high) = (from.max(range.from_bytes), to.min(range.to_bytes));
                    if high > low {
                        weight / (to - from) * integral(power, low, high)
                    } else {
                        0.0
                    }
                }
            };
        }
        sum
    }
}

const EVERY: Lucrative = Lucrative {
    from_bytes: 0.0,
    to_bytes: f64::INFINITY,
};

/// The integral of g^power, for a power of 0 or more.
fn integral(power: f64, low: f64, high: f64) -> f64 {
    if power == 0.0 {
        return high - low;
    }
    (libm::pow(high, power + 1.0) - libm::pow(low, power + 1.0)) / (power + 1.0)
}
