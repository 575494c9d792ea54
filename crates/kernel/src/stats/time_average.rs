//! Averages over time of levels, such as queue lengths and numbers of busy servers.

use accelflow_units::Time;

/// The time average of a level that changes in steps, such as the length of a queue. The average is
/// computed from the exact integral of the level over time.
///
/// The average covers the time since [`TimeAverage::new`] or the last [`TimeAverage::restart`],
/// which a simulation calls at the end of its warm-up. The times `now` of successive calls must
/// never decrease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeAverage {
    level: u64,
    max: u64,
    changed: Time,
    began: Time,
    integral: u128,
}

impl TimeAverage {
    /// Starts an observation of a level at `now`. The level is zero at first.
    pub fn new(now: Time) -> TimeAverage {
        TimeAverage {
            level: 0,
            max: 0,
            changed: now,
            began: now,
            integral: 0,
        }
    }

    /// Sets the level to `level` from the time `now` on.
    #[inline]
    pub fn set(&mut self, now: Time, level: u64) {
        self.integral = self.integral_at(now);
        self.changed = now;
        self.level = level;
        self.max = self.max.max(level);
    }

    /// Increases the level by one from the time `now` on.
    #[inline]
    pub fn increase(&mut self, now: Time) {
        self.set(now, self.level + 1);
    }

    /// Decreases the level by one from the time `now` on. A call at level zero is a bug of the
    /// model: debug builds panic, release builds leave the level at zero.
    #[inline]
    pub fn decrease(&mut self, now: Time) {
        debug_assert!(
            self.level > 0,
            "level = 0 at {} ps: must be above 0 to decrease it",
            now.as_ps()
        );
        self.set(now, self.level.saturating_sub(1));
    }

    /// Returns the current value of the averaged level, such as the current length of a queue.
    pub fn level(&self) -> u64 {
        self.level
    }

    /// Returns the highest level since the observation began or was last restarted.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Restarts the observation at `now`: forgets the integral and the highest level, and keeps the
    /// current level.
    pub fn restart(&mut self, now: Time) {
        *self = TimeAverage {
            level: self.level,
            max: self.level,
            ..TimeAverage::new(now)
        };
    }

    /// Returns the integral of the level over time from the start of observation to `now`. The unit
    /// is the level's unit times picoseconds.
    pub fn integral_at(&self, now: Time) -> u128 {
        let held = now.saturating_sub(self.changed).as_ps();
        self.integral + u128::from(self.level) * u128::from(held)
    }

    /// Returns the mean level from the start of observation to `now`; `None` if no time has passed.
    pub fn mean_at(&self, now: Time) -> Option<f64> {
        let observed = now.saturating_sub(self.began).as_ps();
        (observed > 0).then(|| self.integral_at(now) as f64 / observed as f64)
    }
}

/// The busy time of a pool of servers, summed over the servers, and their utilization. A server
/// here is anything that is idle or busy, such as a core. The sum must stay below 2^64 ps (213
/// days). The times `now` of successive calls must never decrease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyTime {
    busy: u64,
    /// The sum of the ends of busy times minus their beginnings, in picoseconds, modulo 2^64. Busy
    /// servers have no end yet.
    sum: u64,
    began: Time,
    charged: Time,
}

impl BusyTime {
    /// Starts an observation of a pool of servers at `now`, with all servers idle.
    pub fn new(now: Time) -> BusyTime {
        BusyTime {
            busy: 0,
            sum: 0,
            began: now,
            charged: Time::ZERO,
        }
    }

    /// Counts one more server as busy from the time `now` on.
    #[inline(always)]
    pub fn begin(&mut self, now: Time) {
        self.busy += 1;
        self.sum = self.sum.wrapping_sub(now.as_ps());
    }

    /// Counts one server less as busy from the time `now` on. A call while no server is busy is a
    /// bug of the model: debug builds panic, release builds do nothing.
    #[inline(always)]
    pub fn end(&mut self, now: Time) {
        debug_assert!(
            self.busy > 0,
            "busy servers = 0 at {} ps: must be above 0 to end one",
            now.as_ps()
        );
        if self.busy > 0 {
            self.busy -= 1;
            self.sum = self.sum.wrapping_add(now.as_ps());
        }
    }

    /// Adds `duration` of busy time at once, instead of by [`BusyTime::begin`] and
    /// [`BusyTime::end`]. This is for a server that is modelled only by the time at which it
    /// becomes free. The whole duration counts immediately, even if part of it lies in the future.
    #[inline]
    pub fn charge(&mut self, duration: Time) {
        self.charged += duration;
    }

    /// Returns the number of servers that are busy now. [`BusyTime::charge`] does not change this
    /// number.
    #[inline]
    pub fn busy(&self) -> u64 {
        self.busy
    }

    /// Restarts the observation at `now`: forgets the busy time so far. Busy servers stay busy.
    pub fn restart(&mut self, now: Time) {
        let busy = self.busy;
        *self = BusyTime {
            busy,
            sum: busy.wrapping_mul(now.as_ps()).wrapping_neg(),
            ..BusyTime::new(now)
        };
    }

    /// Returns the busy time from the start of observation to `now`, summed over the servers. It
    /// includes all time added by [`BusyTime::charge`], even time after `now`.
    pub fn total_at(&self, now: Time) -> Time {
        let until_now = self.busy.wrapping_mul(now.as_ps());
        let ps = self.sum.wrapping_add(until_now);
        Time::from_ps(ps.saturating_add(self.charged.as_ps()))
    }

    /// Returns the average fraction of `servers` that was busy from the start of observation to
    /// `now`. The fraction may exceed 1 after [`BusyTime::charge`], which counts busy time that is
    /// still to come. `None` if `servers` is 0 or no time has passed.
    pub fn utilisation_at(&self, now: Time, servers: u64) -> Option<f64> {
        let observed = now.saturating_sub(self.began).as_ps() as f64;
        let available = observed * servers as f64;
        (available > 0.0).then(|| self.total_at(now).as_ps() as f64 / available)
    }
}
