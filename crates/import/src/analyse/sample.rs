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
        // Reservoir sampling. The draw depends on the number of values alone, so that equal files
        // give equal results.
        let place = Stream::new(self.mean.count, 0).below(self.mean.count) as usize;
        if let Some(kept) = self.kept.get_mut(place) {
            *kept = value;
        }
    }

    /// Adds the values of `other`. The result is a uniform sample of the values of both.
    pub(crate) fn merge(&mut self, other: &Sample) {
        let (mut own, mut theirs) = (self.mean.count, other.mean.count);
        self.mean.merge(other.mean);
        if self.kept.len() + other.kept.len() <= SIZE {
            self.kept.extend(&other.kept);
            return;
        }
        let (mut here, mut there) = (std::mem::take(&mut self.kept), other.kept.clone());
        let mut draws = Stream::new(self.mean.count, 1);
        while self.kept.len() < SIZE && own + theirs > 0 {
            let is_own = draws.below(own + theirs) < own;
            let (from, left) = match is_own {
                true => (&mut here, &mut own),
                false => (&mut there, &mut theirs),
            };
            *left -= 1;
            let place = draws.below(from.len() as u64) as usize;
            if place < from.len() {
                self.kept.push(from.swap_remove(place));
            }
        }
    }

    /// The values kept, ascending.
    pub(crate) fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.kept.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}
