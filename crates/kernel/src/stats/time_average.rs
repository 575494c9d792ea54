//! Averages over time of what holds a level: queue lengths, busy servers.

use accelflow_units::Time;

/// The exact integral over time of a level that changes in steps.
///
/// Observation begins at [`TimeAverage::new`] or the last [`TimeAverage::restart`] (the end of the
/// warm-up). Times given to one instance never decrease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeAverage {
    level: u64,
    max: u64,
    changed: Time,
    began: Time,
    integral: u128,
}

impl TimeAverage {
    /// Level zero, observed from `now` on.
    pub fn new(now: Time) -> TimeAverage {
        TimeAverage {
            level: 0,
            max: 0,
            changed: now,
            began: now,
            integral: 0,
        }
    }

    /// From `now` on the level is `level`.
    #[inline]
    pub fn set(&mut self, now: Time, level: u64) {
        self.integral = self.integral_at(now);
        self.changed = now;
        self.level = level;
        self.max = self.max.max(level);
    }

    /// From `now` on the level is one higher.
    #[inline]
    pub fn increase(&mut self, now: Time) {
        self.set(now, self.level + 1);
    }

    /// From `now` on the level is one lower. Below zero is a bug of the model: debug builds
    /// panic, release builds stay at zero.
    #[inline]
    pub fn decrease(&mut self, now: Time) {
        debug_assert!(self.level > 0, "a level of zero was decreased at {now:?}");
        self.set(now, self.level.saturating_sub(1));
    }

    /// The level that holds now.
    pub fn level(&self) -> u64 {
        self.level
    }

    /// The highest level since observation began.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Forgets the past and observes from `now` on; the level stays.
    pub fn restart(&mut self, now: Time) {
        *self = TimeAverage {
            level: self.level,
            max: self.level,
            ..TimeAverage::new(now)
        };
    }

    /// The integral until `now`, in levels times picoseconds.
    pub fn integral_at(&self, now: Time) -> u128 {
        let held = now.saturating_sub(self.changed).as_ps();
        self.integral + u128::from(self.level) * u128::from(held)
    }

    /// The mean level until `now`; `None` if no time has passed.
    pub fn mean_at(&self, now: Time) -> Option<f64> {
        let observed = now.saturating_sub(self.began).as_ps();
        (observed > 0).then(|| self.integral_at(now) as f64 / observed as f64)
    }
}

/// The busy time of a pool of servers, in server-seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyTime {
    busy: TimeAverage,
    charged: Time,
}

impl BusyTime {
    /// Starts an observation at `now`, with all servers idle.
    pub fn new(now: Time) -> BusyTime {
        BusyTime {
            busy: TimeAverage::new(now),
            charged: Time::ZERO,
        }
    }

    /// Counts one more server as busy from `now` on.
    #[inline]
    pub fn begin(&mut self, now: Time) {
        self.busy.increase(now);
    }

    /// Counts one server less as busy from `now` on.
    #[inline]
    pub fn end(&mut self, now: Time) {
        self.busy.decrease(now);
    }

    /// Adds busy time without events, for a stage that is only a "free at" time. It counts in full
    /// at once, also the part that is still to come.
    #[inline]
    pub fn charge(&mut self, duration: Time) {
        self.charged += duration;
    }

    /// The servers that are busy now, without charged ones.
    pub fn busy(&self) -> u64 {
        self.busy.level()
    }

    /// Forgets the past and observes from `now` on; busy servers stay busy.
    pub fn restart(&mut self, now: Time) {
        self.busy.restart(now);
        self.charged = Time::ZERO;
    }

    /// Server time spent until `now`.
    pub fn total_at(&self, now: Time) -> Time {
        let ps = u64::try_from(self.busy.integral_at(now)).unwrap_or(u64::MAX);
        Time::from_ps(ps.saturating_add(self.charged.as_ps()))
    }

    /// The fraction of `servers` that was busy on average until `now`; `None` without servers or
    /// if no time has passed.
    pub fn utilisation_at(&self, now: Time, servers: u64) -> Option<f64> {
        let observed = now.saturating_sub(self.busy.began).as_ps() as f64;
        let available = observed * servers as f64;
        (available > 0.0).then(|| self.total_at(now).as_ps() as f64 / available)
    }
}
