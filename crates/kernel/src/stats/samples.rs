//! Exact statistics of stored durations.

use accelflow_units::Time;

/// Durations, all of them kept: 8 bytes each, and every statistic exact.
///
/// Statistics of no samples are `None`, never NaN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    picoseconds: Vec<u64>,
    total_ps: u128,
}

/// Percentiles are resolved to a millionth of a percent, in integers, so that 99.9 % of 1,000
/// samples is the 999th and not, by a rounding error of a float, the 1,000th.
const PARTS_PER_PERCENT: f64 = 1e6;
const PARTS: u128 = 100_000_000;

impl Samples {
    /// No samples.
    pub fn new() -> Samples {
        Samples::default()
    }

    /// No samples, and room for `count`.
    pub fn with_capacity(count: usize) -> Samples {
        Samples {
            picoseconds: Vec::with_capacity(count),
            total_ps: 0,
        }
    }

    /// Adds one duration.
    #[inline]
    pub fn record(&mut self, duration: Time) {
        self.picoseconds.push(duration.as_ps());
        self.total_ps += u128::from(duration.as_ps());
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Samples) {
        self.picoseconds.extend_from_slice(&other.picoseconds);
        self.total_ps += other.total_ps;
    }

    /// The number of samples.
    pub fn count(&self) -> usize {
        self.picoseconds.len()
    }

    /// The exact sum in picoseconds.
    pub fn total_ps(&self) -> u128 {
        self.total_ps
    }

    /// The mean in picoseconds, with its fraction.
    pub fn mean_ps(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.total_ps as f64 / self.count() as f64)
    }

    /// The mean, rounded to a picosecond.
    pub fn mean(&self) -> Option<Time> {
        self.mean_ps()
            .map(|mean| Time::from_ps(mean.round() as u64))
    }

    /// The largest sample; `None` without samples.
    pub fn max(&self) -> Option<Time> {
        self.picoseconds.iter().max().copied().map(Time::from_ps)
    }

    /// The exact percentile by nearest rank: the smallest sample that at least `percent` % of the
    /// samples do not exceed. `None` without samples, or if `percent` is not within 0 to 100.
    ///
    /// Reorders the samples (selection, about 3 ns a sample), hence `&mut`.
    pub fn percentile(&mut self, percent: f64) -> Option<Time> {
        if self.picoseconds.is_empty() || !(0.0..=100.0).contains(&percent) {
            return None;
        }
        let parts = (percent * PARTS_PER_PERCENT).round() as u128;
        let rank = (parts * self.picoseconds.len() as u128)
            .div_ceil(PARTS)
            .max(1) as usize;
        let (_, value, _) = self.picoseconds.select_nth_unstable(rank - 1);
        Some(Time::from_ps(*value))
    }

    /// The longest samples, `share` of all (rounded up), the longest first: what percentiles of
    /// several runs together need. All of them for a share of 1 or more.
    ///
    /// Reorders the samples, hence `&mut`.
    pub fn longest(&mut self, share: f64) -> Vec<Time> {
        let all = self.picoseconds.len();
        let kept = ((all as f64 * share.clamp(0.0, 1.0)).ceil() as usize).min(all);
        if kept == 0 {
            return Vec::new();
        }
        if kept < all {
            self.picoseconds.select_nth_unstable(all - kept);
        }
        let mut longest = self.picoseconds[all - kept..].to_vec();
        longest.sort_unstable_by(|a, b| b.cmp(a));
        longest.into_iter().map(Time::from_ps).collect()
    }

    /// The samples in no particular order: that of recording until a percentile is asked for.
    pub fn iter(&self) -> impl Iterator<Item = Time> + '_ {
        self.picoseconds.iter().copied().map(Time::from_ps)
    }
}

impl Extend<Time> for Samples {
    fn extend<I: IntoIterator<Item = Time>>(&mut self, durations: I) {
        durations
            .into_iter()
            .for_each(|duration| self.record(duration));
    }
}

impl FromIterator<Time> for Samples {
    fn from_iter<I: IntoIterator<Item = Time>>(durations: I) -> Samples {
        let mut samples = Samples::new();
        samples.extend(durations);
        samples
    }
}
