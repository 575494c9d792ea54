//! Statistics of durations, exact or from bins.

use accelflow_units::Time;

use super::bins::Bins;

/// A set of measured durations with statistics: count, sum, mean, maximum, percentiles. Each
/// duration is stored in 8 bytes, so every statistic is exact. With [`Samples::binned`], durations
/// are counted in the bins of a histogram instead.
///
/// Statistics of an empty set are `None`, never NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    kept: Kept,
    total_ps: u128,
}

/// How durations are kept, in picoseconds.
#[derive(Clone, Debug, PartialEq)]
enum Kept {
    All(Vec<u64>),
    Bins(Box<Bins>),
}

impl Default for Kept {
    fn default() -> Kept {
        Kept::All(Vec::new())
    }
}

/// Percentiles are resolved to a millionth of a percent, in integers, so that 99.9 % of 1,000
/// samples is the 999th and not, by a rounding error of a float, the 1,000th.
const PARTS_PER_PERCENT: f64 = 1e6;
const PARTS: u128 = 100_000_000;

impl Samples {
    /// Creates an empty set whose durations are stored one by one.
    pub fn new() -> Samples {
        Samples::default()
    }

    /// Creates an empty set whose durations are stored one by one, with memory for `count`
    /// durations.
    pub fn with_capacity(count: usize) -> Samples {
        Samples {
            kept: Kept::All(Vec::with_capacity(count)),
            total_ps: 0,
        }
    }

    /// Creates an empty set whose durations are counted in the bins of a histogram. Memory does not
    /// grow with the number of durations, and is at most some hundred kilobytes. A percentile is
    /// then within [`super::BIN_ERROR`] of the exact one; count, sum, mean and maximum stay exact.
    pub fn binned() -> Samples {
        Samples {
            kept: Kept::Bins(Box::new(Bins::new())),
            total_ps: 0,
        }
    }

    /// Returns whether durations are counted in bins (true) or stored one by one.
    pub fn is_binned(&self) -> bool {
        matches!(self.kept, Kept::Bins(_))
    }

    /// Adds one measured duration to the set.
    #[inline]
    pub fn record(&mut self, duration: Time) {
        match &mut self.kept {
            Kept::All(picoseconds) => picoseconds.push(duration.as_ps()),
            Kept::Bins(bins) => bins.record(duration.as_ps()),
        }
        self.total_ps += u128::from(duration.as_ps());
    }

    /// Adds all durations of `other` to this set. If either set counts durations in bins, this set
    /// does so afterwards.
    pub fn merge(&mut self, other: &Samples) {
        match (&mut self.kept, &other.kept) {
            (Kept::All(ours), Kept::All(theirs)) => ours.extend_from_slice(theirs),
            (Kept::Bins(ours), Kept::Bins(theirs)) => ours.merge(theirs),
            (Kept::Bins(ours), Kept::All(theirs)) => theirs.iter().for_each(|&ps| ours.record(ps)),
            (Kept::All(ours), Kept::Bins(theirs)) => {
                let mut bins = theirs.clone();
                ours.iter().for_each(|&ps| bins.record(ps));
                self.kept = Kept::Bins(bins);
            }
        }
        self.total_ps += other.total_ps;
    }

    /// Returns the number of durations in the set.
    pub fn count(&self) -> usize {
        match &self.kept {
            Kept::All(picoseconds) => picoseconds.len(),
            Kept::Bins(bins) => bins.count() as usize,
        }
    }

    /// Returns the exact sum of the durations, in picoseconds.
    pub fn total_ps(&self) -> u128 {
        self.total_ps
    }

    /// Returns the mean duration in picoseconds, with its fraction; `None` for an empty set.
    pub fn mean_ps(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.total_ps as f64 / self.count() as f64)
    }

    /// Returns the mean duration, rounded to a picosecond; `None` for an empty set.
    pub fn mean(&self) -> Option<Time> {
        self.mean_ps()
            .map(|mean| Time::from_ps(mean.round() as u64))
    }

    /// Returns the longest duration; `None` for an empty set.
    pub fn max(&self) -> Option<Time> {
        let longest = match &self.kept {
            Kept::All(picoseconds) => picoseconds.iter().max().copied(),
            Kept::Bins(bins) => (bins.count() > 0).then(|| bins.longest()),
        };
        longest.map(Time::from_ps)
    }

    /// Returns a percentile by nearest rank: the smallest duration that at least `percent` % of the
    /// samples do not exceed. `percent` is rounded to a millionth. If durations are counted in
    /// bins, returns the middle of this duration's bin, but at most the longest duration. `None`
    /// for an empty set, or if `percent` is not within 0 to 100.
    ///
    /// Reorders the samples (selection, about 3 ns a sample), hence `&mut`.
    pub fn percentile(&mut self, percent: f64) -> Option<Time> {
        let count = self.count();
        if count == 0 || !(0.0..=100.0).contains(&percent) {
            return None;
        }
        let parts = (percent * PARTS_PER_PERCENT).round() as u128;
        let rank = (parts * count as u128).div_ceil(PARTS).max(1) as usize;
        let value = match &mut self.kept {
            Kept::All(picoseconds) => *picoseconds.select_nth_unstable(rank - 1).1,
            Kept::Bins(bins) => bins.at_rank(rank as u64),
        };
        Some(Time::from_ps(value))
    }

    /// Returns the longest durations, in descending order: the fraction `share` (0 to 1) of all
    /// durations, with their number rounded up. High percentiles over several runs can be computed
    /// from the results of the single runs. The result is empty if durations are counted in bins
    /// (see [`Samples::longest_bins`]).
    ///
    /// Reorders the stored durations, hence `&mut`.
    pub fn longest(&mut self, share: f64) -> Vec<Time> {
        let kept = self.kept_of(share);
        let Kept::All(picoseconds) = &mut self.kept else {
            return Vec::new();
        };
        let all = picoseconds.len();
        if kept == 0 {
            return Vec::new();
        }
        if kept < all {
            picoseconds.select_nth_unstable(all - kept);
        }
        let mut longest = picoseconds[all - kept..].to_vec();
        longest.sort_unstable_by(|a, b| b.cmp(a));
        longest.into_iter().map(Time::from_ps).collect()
    }

    /// Returns the histogram bins with the longest durations, as pairs (middle of the bin, number
    /// of durations in the bin); the bin with the longest durations comes first. A middle beyond
    /// the longest duration is replaced by this duration. The result has as few bins as possible
    /// that together hold at least the fraction `share` (0 to 1) of all durations. It is empty if
    /// durations are stored one by one.
    pub fn longest_bins(&self, share: f64) -> Vec<(Time, u64)> {
        let wanted = self.kept_of(share) as u64;
        let Kept::Bins(bins) = &self.kept else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut reached = 0;
        for (middle, count) in bins.descending() {
            if reached >= wanted {
                break;
            }
            reached += count;
            found.push((Time::from_ps(middle), count));
        }
        found
    }

    /// `share` of the number of samples, rounded up.
    fn kept_of(&self, share: f64) -> usize {
        let all = self.count();
        ((all as f64 * share.clamp(0.0, 1.0)).ceil() as usize).min(all)
    }

    /// Iterates over the durations in no particular order. Durations in bins appear as the middles
    /// of their bins.
    pub fn iter(&self) -> impl Iterator<Item = Time> + '_ {
        let (all, bins) = match &self.kept {
            Kept::All(picoseconds) => (Some(picoseconds), None),
            Kept::Bins(bins) => (None, Some(bins)),
        };
        let in_bins = bins.into_iter().flat_map(|bins| bins.ascending());
        let in_bins = in_bins.flat_map(|(ps, count)| std::iter::repeat_n(ps, count as usize));
        let all = all.into_iter().flatten().copied();
        all.chain(in_bins).map(Time::from_ps)
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
