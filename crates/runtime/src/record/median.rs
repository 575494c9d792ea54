//! Medians of measured times and sizes.

/// The median. For an even number of samples, the mean of the two in the middle; for none, 0.
pub(crate) fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    match samples.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => samples[middle],
        _ => f64::midpoint(samples[middle - 1], samples[middle]),
    }
}

/// The median. For an even number of samples, the lower of the two in the middle, so it is a size
/// that occurred.
pub(super) fn median_size(samples: &mut [u64]) -> u64 {
    samples.sort_unstable();
    let middle = samples.len().saturating_sub(1) / 2;
    samples.get(middle).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median_size(&mut [4, 1, 2, 3]), 2);
        assert_eq!(median_size(&mut [9, 7, 8]), 8);
    }
}
