//! How sure a mean is.

/// A 95 % confidence interval for a mean, from independent observations (replications, or batch
/// means that are long enough).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceInterval {
    /// The mean of the observations.
    pub mean: f64,
    /// The interval is `mean - half_width ..= mean + half_width`.
    pub half_width: f64,
}

impl ConfidenceInterval {
    /// Student's interval; `None` for fewer than two observations.
    pub fn of(observations: &[f64]) -> Option<ConfidenceInterval> {
        let n = observations.len();
        if n < 2 {
            return None;
        }
        let mean = observations.iter().sum::<f64>() / n as f64;
        let squares: f64 = observations.iter().map(|x| (x - mean) * (x - mean)).sum();
        let of_mean = (squares / (n - 1) as f64 / n as f64).sqrt();
        Some(ConfidenceInterval {
            mean,
            half_width: student_t_975(n - 1) * of_mean,
        })
    }

    /// Whether `value` lies in the interval.
    pub fn contains(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }

    /// Half width over mean; `None` for a mean of zero.
    pub fn relative_half_width(&self) -> Option<f64> {
        (self.mean != 0.0).then(|| (self.half_width / self.mean).abs())
    }
}

/// The means of `batches` equal consecutive batches of a series; what does not fill a batch is
/// left out at the front, where the warm-up is. `None` for no batches or fewer values than batches.
pub fn batch_means(series: &[f64], batches: usize) -> Option<Vec<f64>> {
    let size = series.len().checked_div(batches).filter(|&size| size > 0)?;
    let used = &series[series.len() - size * batches..];
    Some(
        used.chunks_exact(size)
            .map(|batch| batch.iter().sum::<f64>() / size as f64)
            .collect(),
    )
}

/// How many leading values of a series to drop as warm-up, by MSER-5 (White, Cobb and Spratt,
/// Winter Simulation Conference 2000): over means of five, the cut that minimises the squared
/// standard error of the mean of the rest.
///
/// A cut in the second half means that the run is too short to tell, and is `None`; so is a
/// series of fewer than 20 values.
pub fn truncation_point(series: &[f64]) -> Option<usize> {
    const BATCH: usize = 5;
    let means: Vec<f64> = series
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().sum::<f64>() / 5.0)
        .collect();
    if means.len() < 4 {
        return None;
    }
    // Sums over the rest relative to the last mean, from the back: one pass, little cancellation.
    let origin = means[means.len() - 1];
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, mean) in means.iter().enumerate().rev() {
        let from_origin = mean - origin;
        sum += from_origin;
        squares += from_origin * from_origin;
        let kept = (means.len() - cut) as f64;
        let error = (squares - sum * sum / kept) / (kept * kept);
        // Fewer than five kept means are equal by chance too often (as in the authors' program).
        if kept >= 5.0_f64.min(means.len() as f64) && error <= best.0 {
            best = (error, cut);
        }
    }
    (best.1 <= means.len() / 2).then_some(best.1 * BATCH)
}

/// The 97.5 % quantile of Student's t.
fn student_t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
        2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922,
        2.093024, 2.085963, 2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831,
        2.048407, 2.045230, 2.042272,
    ];
    if let Some(quantile) = degrees.checked_sub(1).and_then(|row| TABLE.get(row)) {
        return *quantile;
    }
    // Abramowitz and Stegun 26.7.5, right to six digits from 30 degrees on.
    let x = 1.959_963_984_540_054_f64;
    let v = degrees as f64;
    let g1 = (x.powi(3) + x) / 4.0;
    let g2 = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
    let g3 = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
    x + g1 / v + g2 / (v * v) + g3 / (v * v * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_of_student_meet_where_the_table_ends() {
        for (degrees, published) in [
            (30, 2.042272),
            (31, 2.039513),
            (40, 2.021075),
            (60, 2.000298),
        ] {
            assert!(
                (student_t_975(degrees) - published).abs() < 2e-6,
                "{degrees}"
            );
        }
        assert!((student_t_975(1_000_000) - 1.959966).abs() < 2e-6);
    }
}
