//! The breakdown of a request's time, along the traces that its response waits for.

use accelflow_units::Time;

use crate::stats::{Breakdown, Part};

/// The time since a request's arrival, with its breakdown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// The time from the request's arrival until `since`, broken down by kind of work or wait.
    pub spent: Breakdown,
    /// The simulated time up to which `spent` covers the request's time.
    pub since: Time,
}

impl Path {
    /// A path that begins at `now`.
    pub(crate) fn new(now: Time) -> Path {
        Path {
            spent: Breakdown::default(),
            since: now,
        }
    }

    /// Charges the time since the last charge to `part`.
    pub(crate) fn spend(&mut self, part: Part, now: Time) {
        self.spent.add(part, now - self.since);
        self.since = now;
    }

    /// Charges the time since the last charge to `parts`, each up to the time given, and the rest
    /// to queueing.
    pub(crate) fn spend_up_to<const N: usize>(&mut self, parts: [(Part, Time); N], now: Time) {
        let mut elapsed = now - self.since;
        for (part, most) in parts {
            let time = most.min(elapsed);
            self.spent.add(part, time);
            elapsed = elapsed - time;
        }
        self.spent.add(Part::Queueing, elapsed);
        self.since = now;
    }
}
