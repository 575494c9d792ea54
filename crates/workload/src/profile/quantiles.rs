//! Distributions of measured times, as tables of quantiles.

use accelflow_units::Time;

use super::recording::{RecordedQuantiles, RecordingError};
use super::waits::WaitDistribution;

/// The largest number of points in a table of quantiles in a recording.
pub const MAX_QUANTILES: usize = 64;

/// The longest time that a recording may give: 1,000 s.
const MOST_NS: f64 = 1e12;

/// The probabilities of a table that [`quantiles`] makes. They are close together in the tail, from
/// which 99th percentiles come.
const PROBABILITIES: [f64; 22] = [
    0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98,
    0.99, 0.995, 0.998, 0.999, 1.0,
];

/// Returns the distribution of `samples`, times in ns, as a table of 22 points (probability,
/// quantile in ns). Between points, times are evenly distributed. The table is empty if there are
/// no samples.
///
/// The table has the same mean as the samples. The quantile at probability 1 is therefore not the
/// longest sample, which would raise the mean of the last interval too much. This quantile is
/// chosen such that the last interval (from 0.999 to 1) has the same mean as the samples in it.
/// Then all times are multiplied by a factor close to 1, which makes the means of table and samples
/// equal.
pub fn quantiles(samples: &[f64]) -> RecordedQuantiles {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return Vec::new();
    }
    let at = |probability: f64| {
        let place = probability * (sorted.len() - 1) as f64;
        let (low, part) = (place.floor(), place.fract());
        let from = sorted[low as usize];
        let to = sorted.get(low as usize + 1).copied().unwrap_or(from);
        from + part * (to - from)
    };
    let mut table = PROBABILITIES.map(|probability| (probability, at(probability)));
    let [.., (before, start), end] = &mut table;
    end.1 = (2.0 * mean_beyond(&sorted, *before) - *start).max(*start);
    let factor = mean(&sorted) / table_mean(&table);
    let scaled = table.map(|(probability, time)| (probability, time * factor));
    match factor.is_finite() {
        true => scaled.to_vec(),
        false => table.to_vec(),
    }
}

/// The mean of the samples above the quantile `probability`. `sorted` is in ascending order. The
/// sample at the quantile counts with the fraction of it that lies above.
fn mean_beyond(sorted: &[f64], probability: f64) -> f64 {
    let border = probability * sorted.len() as f64;
    let whole = &sorted[(border.ceil() as usize).min(sorted.len())..];
    let part = border.ceil() - border;
    let first = sorted[(border as usize).min(sorted.len() - 1)];
    let beyond = sorted.len() as f64 - border;
    (whole.iter().sum::<f64>() + part * first) / beyond
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len().max(1) as f64
}

fn table_mean(table: &[(f64, f64)]) -> f64 {
    let part = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0;
    table.windows(2).map(part).sum()
}

/// The distribution that `table` describes, whose times must be at least `least_ns`; `None` for an
/// empty one. `place` and `member` name it in errors.
pub(super) fn distribution(
    table: &[(f64, f64)],
    least_ns: f64,
    member: &'static str,
    place: &dyn Fn() -> String,
) -> Result<Option<WaitDistribution>, RecordingError> {
    if table.is_empty() {
        return Ok(None);
    }
    let wrong = |point: usize| {
        let (probability, value) = table.get(point).copied().unwrap_or_default();
        RecordingError::Quantiles {
            place: place(),
            member,
            point,
            probability,
            value,
            least: least_ns,
            most: MAX_QUANTILES,
        }
    };
    if table.len() > MAX_QUANTILES {
        return Err(wrong(MAX_QUANTILES));
    }
    let mut before = (0.0, least_ns);
    for (point, &(probability, value)) in table.iter().enumerate() {
        let first = point > 0 || probability == 0.0;
        let last = point + 1 < table.len() || probability == 1.0;
        let rises = probability >= before.0 && value >= before.1 && value <= MOST_NS;
        if !(first && last && rises) {
            return Err(wrong(point));
        }
        before = (probability, value);
    }
    let points: Vec<(f64, Time)> = table
        .iter()
        .map(|&(probability, value)| (probability, Time::from_ns_f64(value)))
        .collect();
    let made = WaitDistribution::of_quantiles(&points);
    made.map(Some).ok_or_else(|| wrong(0))
}
