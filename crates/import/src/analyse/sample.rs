//! Random samples of bounded size, and means, of observed values.

use accelflow_kernel::Stream;

/// A uniform sample of the values seen, of bounded size, with their exact mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    kept: Vec<f64>,
    pub(crate) mean: Mean,
}

/// The mean of values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    pub(crate) count: u64,
    sum: f64,
}

/// The largest number of values that are kept.
const SIZE: usize = 512;

impl Mean {
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
    }

    pub(crate) fn merge(&mut self, other: Mean) {
        self.count += other.count;
        self.sum += other.sum;
    }

    /// The mean; 0 without values.
    pub(crate) fn value(self) -> f64 {
        match self.count {
            0 => 0.0,
            count => self.sum / count as f64,
        }
    }

    pub(crate) fn sum(self) -> f64 {
        self.sum
    }
}

impl Sample {
    pub(crate) fn add(&mut self, value: f64) {
        self.mean.add(value);
        if self.kept.len() < SIZE {
            self.kept.push(value);
            return;
        }
        // Reservoir sampling. The draw depends on the number of values alone, so that equal files give
        // equal results.
        let place = Stream::new(self.mean.count, 0).below(self.mean.count) as usize;
        if let Some(kept) = self.kept.get_mut(place) {
            *kept = value;
        }
    }

    /// Adds the values of `other`.
    pub(crate) fn merge(&mut self, other: &Sample) {
        let room = SIZE - self.kept.len();
        self.kept.extend(other.kept.iter().take(room));
        self.mean.merge(other.mean);
    }

    /// The values kept, ascending.
    pub(crate) fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.kept.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}
