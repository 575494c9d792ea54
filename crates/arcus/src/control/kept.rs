//! Promises that a flow gets its rate in a percentage of periods, such as 99 %. During the run,
//! each period is judged when it ends. After missed periods the flow is shaped to a higher rate
//! than promised, after kept ones to a lower rate again.

use accelflow_units::{Bytes, Time};

use super::request::Availability;
use super::thresholds::{CATCH_UP, MARGIN_STEP, TOLERANCE};

/// A flow's progress in the present period of its promise, and the margin above the SLO to which
/// the flow is shaped.
///
/// Results of a period vary by the number of messages in flight at its ends, even if tokens pass at
/// exactly the promised rate. A flow shaped to its SLO would thus miss the SLO in more periods than
/// the promise allows. The margin rises by a step with each missed period. It falls with each kept
/// period by a small part of a step, so that the missed share settles at half of what the promise
/// allows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    elapsed: Time,
    bytes: f64,
    /// Whether the flow had something to send at some call of [`Kept::count`] in this period.
    waited: bool,
    margin: f64,
}

impl Kept {
    /// Adds what passed since the last call, for an SLO of `gbit_per_s` and messages of at most
    /// `message`. At the end of a period, returns whether the period was missed, by the rule of the
    /// flow's verdict: a message under way at the period's end is not late yet. A period in which
    /// the sender never had a message waiting is not counted, since such a sender limits itself.
    pub(super) fn count(
        &mut self,
        promised: Availability,
        (gbit_per_s, message): (f64, Bytes),
        passed: (Time, u64),
        waits: bool,
    ) -> Option<bool> {
        self.elapsed += passed.0;
        self.bytes += passed.1 as f64;
        self.waited |= waits;
        if self.elapsed < promised.period {
            return None;
        }
        let due = gbit_per_s / 8.0 * self.elapsed.as_ns_f64();
        let missed = self.bytes < due * (1.0 - TOLERANCE) - message.get() as f64;
        let counted = self.waited;
        *self = Kept {
            margin: self.margin,
            ..Kept::default()
        };
        if !counted {
            return None;
        }
        let allowed = 0.5 * (1.0 - promised.percent / 100.0);
        let change = if missed { 1.0 - allowed } else { -allowed };
        self.margin = (self.margin + MARGIN_STEP * change).clamp(0.0, CATCH_UP - 1.0);
        Some(missed)
    }

    /// The multiple of the SLO to which the flow is shaped.
    pub(super) fn factor(&self) -> f64 {
        1.0 + self.margin
    }

    /// Whether the margin is exhausted, so that only another route helps.
    pub(super) fn exhausted(&self) -> bool {
        self.margin >= CATCH_UP - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMISED: Availability = Availability {
        percent: 99.0,
        period: Time::from_us(100),
    };

    /// 8 Gbit/s in messages of 500 bytes.
    const SLO: (f64, Bytes) = (8.0, Bytes(500));

    #[test]
    fn a_period_is_judged_when_it_ends() {
        let mut kept = Kept::default();
        let half = Time::from_us(50);
        assert_eq!(kept.count(PROMISED, SLO, (half, 50_000), true), None);
        assert_eq!(kept.count(PROMISED, SLO, (half, 48_500), true), Some(false));
        assert_eq!(kept.count(PROMISED, SLO, (half, 50_000), true), None);
        assert_eq!(kept.count(PROMISED, SLO, (half, 48_000), true), Some(true));
        assert!(kept.factor() > 1.0 && !kept.exhausted());
        // A sender without messages limits itself.
        let before = kept.factor();
        assert_eq!(kept.count(PROMISED, SLO, (half * 2, 0), false), None);
        assert_eq!(kept.factor(), before);
    }

    #[test]
    fn the_margin_settles_where_half_of_the_allowed_periods_are_missed() {
        // A period is missed if its random factor is below 0.985 over the margin's factor.
        let mut stream = accelflow_kernel::Stream::new(1, 0);
        let mut kept = Kept::default();
        let (mut missed, mut all) = (0, 0);
        for number in 0..20_000 {
            let noise: f64 = (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
            let bytes = 100_000.0 * kept.factor() * (1.0 + 0.008 * noise);
            let whole = (PROMISED.period, bytes as u64);
            if let Some(late) = kept.count(PROMISED, SLO, whole, true)
                && number >= 1_000
            {
                all += 1;
                missed += u32::from(late);
            }
        }
        let share = f64::from(missed) / f64::from(all);
        assert!((0.003..0.007).contains(&share), "{share}");
    }
}
