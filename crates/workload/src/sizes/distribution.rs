//! Distributions of message sizes.

use accelflow_units::Bytes;

use super::normal::normal_quantile;

/// The largest message size that a size distribution may have: 1 TiB.
pub const MAX_SIZE: Bytes = Bytes(1 << 40);

/// A distribution of message sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeDistribution {
    /// One size for all messages.
    Fixed(Bytes),
    /// A table of quantiles, between whose points sizes are evenly distributed.
    Quantiles(QuantileTable),
    /// A log-normal distribution: the logarithm of the size is normally distributed.
    LogNormal(LogNormal),
}

/// A log-normal distribution of message sizes. Sizes are limited to 1 byte to [`MAX_SIZE`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    median: f64,
    sigma: f64,
}

impl LogNormal {
    /// Creates a log-normal distribution of message sizes. `median_bytes` is the median, in bytes,
    /// and `sigma` the standard deviation of the size's natural logarithm. Returns `None` if the
    /// median is not from 1 to [`MAX_SIZE`], or `sigma` is not from 0 to 4.
    pub fn new(median_bytes: f64, sigma: f64) -> Option<LogNormal> {
        let fits = (1.0..=MAX_SIZE.get() as f64).contains(&median_bytes);
        (fits && (0.0..=4.0).contains(&sigma)).then_some(LogNormal {
            median: median_bytes,
            sigma,
        })
    }

    /// The size that the share `probability` of all sizes does not exceed.
    fn at(self, probability: f64) -> Bytes {
        // Without spread, the infinite quantiles of 0 and 1 would give no number.
        let size = match self.sigma > 0.0 {
            true => self.median * (self.sigma * normal_quantile(probability)).exp(),
            false => self.median,
        };
        Bytes(size.clamp(1.0, MAX_SIZE.get() as f64).round() as u64)
    }

    /// The mean of the whole distribution, without the bounds.
    fn mean(self) -> Bytes {
        let mean = self.median * (self.sigma * self.sigma / 2.0).exp();
        Bytes(mean.clamp(1.0, MAX_SIZE.get() as f64).round() as u64)
    }

    /// The distribution as a table of a thousand quantiles.
    fn table(self) -> QuantileTable {
        let point = |step: u32| {
            let probability = f64::from(step) / 1_000.0;
            (probability, self.at(probability).get())
        };
        QuantileTable {
            points: (0..=1_000).map(point).collect(),
        }
    }

    fn share_up_to(self, size: f64) -> f64 {
        if self.sigma == 0.0 {
            return f64::from(u8::from(self.median <= size));
        }
        let deviations = (size / self.median).ln() / self.sigma;
        libm::erfc(-deviations / std::f64::consts::SQRT_2) / 2.0
    }
}

/// A distribution of message sizes as a table of points (probability p, size s): a share p of the
/// messages is at most s bytes large. Between the points, sizes are evenly distributed.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileTable {
    /// From (0, minimum) to (1, maximum); neither column decreases.
    pub(super) points: Vec<(f64, u64)>,
}

/// The error of a table of quantiles that is not a valid distribution of message sizes, or of a
/// distribution that is cut below its smallest size.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SizeError {
    /// A table of quantiles has fewer than 2 points. Holds the number of points.
    #[error("quantile table: points = {0}: must be at least 2")]
    Points(usize),
    /// The probabilities of a table of quantiles do not go from 0 to 1.
    #[error("quantile table: probabilities = {first} to {last}: must go from 0 to 1")]
    Ends {
        /// The first probability in the table.
        first: f64,
        /// The last probability in the table.
        last: f64,
    },
    /// A point of a table of quantiles has a smaller probability or size than the point before it.
    /// Holds the index of the point, counted from 0.
    #[error(
        "quantile table: point {0}: probability and size must not be less than those of the point before"
    )]
    Order(usize),
    /// A size is larger than [`MAX_SIZE`]. Holds the size.
    #[error("size = {}: must be at most {} bytes", .0.get(), MAX_SIZE.get())]
    TooLarge(Bytes),
    /// The cut, the largest size to keep, is below the smallest size of a distribution.
    #[error("largest size to keep = {} bytes: must be at least {} bytes, the smallest size of the distribution", .cut.get(), .min.get())]
    Cut {
        /// The largest size to keep.
        cut: Bytes,
        /// The smallest size of the distribution.
        min: Bytes,
    },
}

impl QuantileTable {
    /// Creates a table of quantiles from points (probability p, size s): a share p of the messages
    /// is at most s large.
    ///
    /// # Errors
    /// [`SizeError`] for fewer than two points, for probabilities that do not go from 0 to 1, for
    /// probabilities or sizes that decrease, and for a size above [`MAX_SIZE`].
    pub fn new(points: &[(f64, Bytes)]) -> Result<QuantileTable, SizeError> {
        let (Some(first), Some(last), true) = (points.first(), points.last(), points.len() > 1)
        else {
            return Err(SizeError::Points(points.len()));
        };
        if first.0 != 0.0 || last.0 != 1.0 {
            return Err(SizeError::Ends {
                first: first.0,
                last: last.0,
            });
        }
        let rises = |pair: &[(f64, Bytes)]| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1;
        if let Some(before) = points.windows(2).position(|pair| !rises(pair)) {
            return Err(SizeError::Order(before + 1));
        }
        if last.1 > MAX_SIZE {
            return Err(SizeError::TooLarge(last.1));
        }
        Ok(QuantileTable {
            points: points.iter().map(|&(p, size)| (p, size.get())).collect(),
        })
    }

    /// A table of buckets' cumulative shares. Sizes in the first bucket begin at 1 byte.
    pub(super) fn of_buckets(buckets: &[(f64, u64)]) -> QuantileTable {
        let mut points = vec![(0.0, 1)];
        points.extend_from_slice(buckets);
        QuantileTable { points }
    }

    /// The size that the share `probability` of all sizes does not exceed, before rounding.
    fn at(&self, probability: f64) -> f64 {
        let above = self.points.partition_point(|point| point.0 <= probability);
        let above = above.clamp(1, self.points.len() - 1);
        let ((p, from), (q, to)) = (self.points[above - 1], self.points[above]);
        let part = if q > p {
            ((probability - p) / (q - p)).clamp(0.0, 1.0)
        } else {
            1.0
        };
        from as f64 + part * (to - from) as f64
    }

    /// The probability of at most `size` bytes.
    fn share_up_to(&self, size: f64) -> f64 {
        let above = self.points.partition_point(|point| point.1 as f64 <= size);
        if above == 0 {
            return 0.0;
        }
        let Some(&(q, to)) = self.points.get(above) else {
            return 1.0;
        };
        let (p, from) = self.points[above - 1];
        p + (q - p) * (size - from as f64) / (to - from) as f64
    }
}

impl SizeDistribution {
    /// Returns the size that a share `u` of the messages, from 0 to 1, does not exceed, rounded to
    /// whole bytes. If `u` is a uniform random number, the result is a random size of this
    /// distribution. For `u` below 0 or NaN, returns the smallest size; for `u` above 1, the
    /// largest.
    #[inline]
    pub fn sample(&self, u: f64) -> Bytes {
        match self {
            SizeDistribution::Fixed(size) => *size,
            SizeDistribution::Quantiles(table) => {
                let u = if u.is_nan() { 0.0 } else { u };
                Bytes(table.at(u).round() as u64)
            }
            SizeDistribution::LogNormal(sizes) => sizes.at(if u.is_nan() { 0.0 } else { u }),
        }
    }

    /// Returns the size that a share `probability` of the messages, from 0 to 1, does not exceed,
    /// rounded to whole bytes; 0.5 gives the median.
    pub fn quantile(&self, probability: f64) -> Bytes {
        self.sample(probability)
    }

    /// Returns the mean size, rounded to whole bytes. For a log-normal distribution, this is the
    /// mean before sizes are limited to 1 byte to [`MAX_SIZE`].
    pub fn mean(&self) -> Bytes {
        match self {
            SizeDistribution::Fixed(size) => *size,
            SizeDistribution::Quantiles(table) => {
                let part = |pair: &[(f64, u64)]| {
                    let ((p, from), (q, to)) = (pair[0], pair[1]);
                    (q - p) * (from as f64 + to as f64) / 2.0
                };
                Bytes(table.points.windows(2).map(part).sum::<f64>().round() as u64)
            }
            SizeDistribution::LogNormal(sizes) => sizes.mean(),
        }
    }

    /// Returns the largest size of the distribution.
    pub fn max(&self) -> Bytes {
        self.sample(1.0)
    }

    /// Returns the probability, from 0 to 1, that a message is larger than `size`. If `size` is the
    /// size of a queue entry, 2 KB, this is the probability that a message does not fit into an
    /// entry.
    pub fn share_beyond(&self, size: Bytes) -> f64 {
        match self {
            SizeDistribution::Fixed(fixed) => f64::from(u8::from(*fixed > size)),
            SizeDistribution::Quantiles(table) => 1.0 - table.share_up_to(size.get() as f64),
            SizeDistribution::LogNormal(sizes) => 1.0 - sizes.share_up_to(size.get() as f64),
        }
    }

    /// Returns the distribution of only those messages that are not larger than `cut`. If such
    /// messages have probability 0, as when `cut` is the smallest size, all messages of the
    /// returned distribution have the size `cut`.
    ///
    /// # Errors
    /// [`SizeError::Cut`] if `cut` is below the smallest size of the distribution.
    pub fn cut_at(&self, cut: Bytes) -> Result<SizeDistribution, SizeError> {
        let below = match self {
            SizeDistribution::Fixed(size) => f64::from(u8::from(*size <= cut)),
            SizeDistribution::Quantiles(table) => table.share_up_to(cut.get() as f64),
            SizeDistribution::LogNormal(sizes) => sizes.share_up_to(cut.get() as f64),
        };
        let min = self.sample(0.0);
        if cut < min {
            return Err(SizeError::Cut { cut, min });
        }
        if below <= 0.0 {
            return Ok(SizeDistribution::Fixed(cut));
        }
        let table = match self {
            SizeDistribution::Quantiles(table) if below < 1.0 => table.clone(),
            SizeDistribution::LogNormal(sizes) if below < 1.0 => sizes.table(),
            _ => return Ok(self.clone()),
        };
        let kept = table.points.iter().filter(|point| point.1 <= cut.get());
        let mut points: Vec<_> = kept.map(|&(p, size)| (p / below, size)).collect();
        points.push((1.0, cut.get()));
        Ok(SizeDistribution::Quantiles(QuantileTable { points }))
    }
}
