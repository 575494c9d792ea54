//! Deadlines of the steps of a run.
//!
//! Software assigns each step a deadline relative to the start of the execution. A step that ends
//! early passes its slack to the next (AccelFlow, section IV.C). As in the simulated server, the
//! time left until the run's deadline is divided over the run's steps in proportion to their
//! expected work. The simulator knows the work in advance; the ensemble learns it from earlier
//! runs.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use accelflow_units::Time;

/// The weight of a new sample in a moving mean (assumed). It is small enough to tolerate an
/// outlier, and large enough to follow a change of load within some tens of runs.
const SHARE: f64 = 1.0 / 16.0;

/// A moving mean's next value; the first sample is the first value.
pub(super) fn moved(mean: Time, sample: Time) -> Time {
    match mean {
        Time::ZERO => sample,
        mean => mean.scale(1.0 - SHARE) + sample.scale(SHARE),
    }
}

/// The expected work of whole runs, by their first trace.
#[derive(Debug, Default)]
pub(super) struct TraceWork(Mutex<HashMap<String, Time>>);

impl TraceWork {
    fn get(&self, trace: &str) -> Time {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(trace).copied().unwrap_or_default()
    }

    /// Learns the work of a run that has ended. Ignores runs whose work was not measured.
    pub(super) fn learn(&self, trace: &str, work: Time) {
        if work == Time::ZERO {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get_mut(trace) {
            Some(mean) => *mean = moved(*mean, work),
            None => {
                known.insert(trace.to_owned(), work);
            }
        }
    }
}

/// The pace of one execution towards its run's deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    due: Time,
    /// The previous step's deadline, and the time that each unit of work adds. `None` until the
    /// trace's work is known.
    step: Option<(Time, f64)>,
    work: Time,
}

impl Pace {
    /// The pace of a run of `trace` that begins now.
    pub(super) fn begin(
        trace: &str,
        due: Option<Instant>,
        epoch: Instant,
        known: &TraceWork,
    ) -> Pace {
        let work = Time::ZERO;
        let Some(due) = due else {
            return Pace {
                due: Time::MAX,
                step: None,
                work,
            };
        };
        let due = since(epoch, due);
        let (now, expected) = (since(epoch, Instant::now()), known.get(trace));
        let step = (expected > Time::ZERO).then(|| {
            let left = due.saturating_sub(now);
            (now, left.as_ps() as f64 / expected.as_ps() as f64)
        });
        Pace { due, step, work }
    }

    /// The deadline of the next step, which is expected to be `work`.
    pub(super) fn next(&mut self, work: Time) -> Time {
        if self.due == Time::MAX {
            return Time::MAX;
        }
        self.work += work;
        match &mut self.step {
            Some((due, stretch)) => {
                *due += work.scale(*stretch);
                *due
            }
            None => self.due,
        }
    }

    /// The work of the execution so far, including the executions from which it was forked. Zero
    /// for a run without a deadline.
    pub(super) fn work(&self) -> Time {
        self.work
    }
}

/// The time from `epoch` to `at`, or zero if `at` is earlier.
pub(super) fn since(epoch: Instant, at: Instant) -> Time {
    let ns = at.saturating_duration_since(epoch).as_nanos();
    // 2^64 ps are 213 days; a later deadline is ignored.
    Time::from_ns(u64::try_from(ns).unwrap_or(u64::MAX).min(u64::MAX / 1_000))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_left_is_divided_in_proportion_to_work() {
        let epoch = Instant::now();
        let known = TraceWork::default();
        let far = Duration::from_secs(1_000);
        // Nothing is known of the trace: each step has the deadline of the run.
        let mut pace = Pace::begin("T", Some(epoch + far), epoch, &known);
        for ns in [100, 300] {
            assert_eq!(pace.next(Time::from_ns(ns)), Time::from_s_f64(1_000.0));
        }
        known.learn("T", pace.work());
        // The work is known now: a step with a quarter of the work gets a quarter of the time.
        let mut pace = Pace::begin("T", Some(epoch + far), epoch, &known);
        let first = pace.next(Time::from_ns(100));
        let last = pace.next(Time::from_ns(300));
        assert!((249.9..251.0).contains(&first.as_s_f64()), "{first:?}");
        assert!((999.9..1_000.1).contains(&last.as_s_f64()), "{last:?}");
        // Steps of an overdue run get no time; steps of a run without a deadline are never due.
        let now = Instant::now();
        let mut pace = Pace::begin("T", Some(now), epoch, &known);
        assert!(pace.next(Time::from_ns(100)) <= since(epoch, Instant::now()));
        let mut pace = Pace::begin("T", None, epoch, &known);
        assert_eq!(pace.next(Time::from_ns(100)), Time::MAX);
        assert_eq!(pace.work(), Time::ZERO);
    }

    #[test]
    fn means_move_by_a_sixteenth() {
        let mean = moved(Time::ZERO, Time::from_ns(160));
        assert_eq!(mean, Time::from_ns(160));
        assert_eq!(moved(mean, Time::from_ns(320)), Time::from_ns(170));
    }
}
