//! The decision whether operations raise exceptions or meet page faults.

use crate::config::Config;
use crate::server::state::Job;

const MILLION: u64 = 1_000_000;

/// The number of values of [`accelflow_kernel::attribute_unit`].
const UNITS: u64 = 1 << 53;

/// The odds that operations are stopped.
pub(crate) struct Exceptions {
    /// An operation raises an exception if the upper 53 bits of its attribute are below this.
    below: u64,
    /// The number of a million operations that meet a page fault.
    faults: u64,
}

impl Exceptions {
    /// The odds of a server with `config`.
    pub(crate) fn new(config: &Config) -> Exceptions {
        Exceptions {
            below: least(config.exception.per_million),
            faults: config.tlb.faults_per_million,
        }
    }

    /// Whether the operation of a job raises an exception.
    #[inline(always)]
    pub(crate) fn raises(&self, job: &Job) -> bool {
        job.draws.exception(job.run.steps, job.accel) >> 11 < self.below
    }

    /// Whether the operation of a job meets a page fault: the same in every system.
    #[inline(always)]
    pub(crate) fn faults(&self, job: &Job) -> bool {
        job.draws.fault(job.cursor.mark, job.accel) % MILLION < self.faults
    }

    /// Whether the operation of a job is stopped, by a page fault or another exception.
    #[inline(always)]
    pub(crate) fn stops(&self, job: &Job) -> bool {
        self.faults(job) || self.raises(job)
    }
}

/// The least number of [`UNITS`] whose share of them is not below `per_million`.
fn least(per_million: f64) -> u64 {
    let share = |number: u64| number as f64 * (1.0 / UNITS as f64);
    let (mut least, mut most) = (0, UNITS);
    while least < most {
        let middle = least + (most - least) / 2;
        if share(middle) * 1e6 < per_million {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_below_the_least_if_its_share_is_below(
            bits in any::<u64>(),
            per_million in prop_oneof![Just(0.0), Just(1e6), 0.0..1e6, 0.0..10.0],
        ) {
            let unit = (bits >> 11) as f64 * (1.0 / UNITS as f64);
            prop_assert_eq!(bits >> 11 < least(per_million), unit * 1e6 < per_million);
            let beside = least(per_million);
            for number in [beside.saturating_sub(1), beside.min(UNITS - 1)] {
                let unit = number as f64 * (1.0 / UNITS as f64);
                prop_assert_eq!(number < beside, unit * 1e6 < per_million);
            }
        }
    }
}
