//! Durations counted in bins, so that memory does not grow with the number of durations.

use hdrhistogram::Histogram;

/// The largest relative error of a duration up to 53 days that is counted in a bin of a histogram
/// ([`super::Samples::binned`]): 1/2,048.
///
/// The middle of a bin represents all durations in the bin. A bin wider than a picosecond is at
/// most 1/1,024 as wide as its smallest duration, so the middle is off by at most half of that.
/// Durations above 53 days share the last bin, so their error may be larger.
pub const BIN_ERROR: f64 = 1.0 / 2_048.0;

/// Significant decimal digits that bins distinguish: 2,048 bins for each doubling, of which the
/// upper half is used.
const DIGITS: u8 = 3;

/// The longest duration that is distinguished from longer ones, in picoseconds: 53 days.
const LONGEST_PS: u64 = 1 << 62;

/// Durations in picoseconds, counted in bins whose widths grow with the duration (HdrHistogram).
/// All arithmetic is on integers, so that counts are the same on every machine.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    counts: Histogram<u64>,
    longest_ps: u64,
}

impl Bins {
    /// No durations.
    pub(super) fn new() -> Bins {
        // The digits are a constant that the histogram has bins for.
        let mut counts = Histogram::new(DIGITS).expect("three digits are allowed");
        counts.auto(true);
        Bins {
            counts,
            longest_ps: 0,
        }
    }

    /// Adds a duration.
    pub(super) fn record(&mut self, picoseconds: u64) {
        self.add(picoseconds, 1);
        self.longest_ps = self.longest_ps.max(picoseconds);
    }

    /// Adds all durations of `other`.
    pub(super) fn merge(&mut self, other: &Bins) {
        for (middle, count) in other.descending() {
            self.add(middle, count);
        }
        self.longest_ps = self.longest_ps.max(other.longest_ps);
    }

    fn add(&mut self, picoseconds: u64, count: u64) {
        let known = picoseconds.min(LONGEST_PS);
        // The histogram grows as needed; if it cannot, its last bin takes the rest.
        if self.counts.record_n(known, count).is_err() {
            self.counts.saturating_record_n(known, count);
        }
    }

    /// Number of durations.
    pub(super) fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The longest duration, which is exact.
    pub(super) fn longest(&self) -> u64 {
        self.longest_ps
    }

    /// The duration at `rank`, from 1 for the shortest on.
    pub(super) fn at_rank(&self, rank: u64) -> u64 {
        let mut reached = 0;
        for (middle, count) in self.ascending() {
            reached += count;
            if reached >= rank {
                return middle;
            }
        }
        self.longest_ps
    }

    /// The bins that have durations, shortest first: their middles and counts.
    pub(super) fn ascending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let bins = self.counts.iter_recorded();
        bins.map(|bin| {
            let middle = self.counts.median_equivalent(bin.value_iterated_to());
            (middle.min(self.longest_ps), bin.count_at_value())
        })
    }

    /// The bins that have durations, longest first: their middles and counts.
    pub(super) fn descending(&self) -> Vec<(u64, u64)> {
        let mut bins: Vec<(u64, u64)> = self.ascending().collect();
        bins.reverse();
        bins
    }
}

impl PartialEq for Bins {
    fn eq(&self, other: &Bins) -> bool {
        self.longest_ps == other.longest_ps && self.counts == other.counts
    }
}
