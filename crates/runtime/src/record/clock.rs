//! The share of time in which the measuring thread did not run, because it had no core.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Wall and processor time of this thread, either at a moment or summed over intervals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    wall: Duration,
    /// The time for which the thread ran.
    ran: Duration,
}

impl Clock {
    /// Now.
    pub(super) fn start() -> Clock {
        let read = |clock| {
            let time = clock_gettime(clock);
            let (s, ns) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
            Duration::from_secs(s) + Duration::from_nanos(ns)
        };
        Clock {
            wall: read(ClockId::Monotonic),
            ran: read(ClockId::ThreadCPUTime),
        }
    }

    /// Adds the interval from `since` to now.
    pub(super) fn add(&mut self, since: &Clock) {
        let now = Clock::start();
        self.wall += now.wall.saturating_sub(since.wall);
        self.ran += now.ran.saturating_sub(since.ran);
    }

    /// The share of the measured time in which the thread did not run, because other threads had
    /// its core. The thread never waits by itself.
    pub(super) fn waited_ratio(&self) -> f64 {
        if self.wall.is_zero() {
            return 0.0;
        }
        (1.0 - self.ran.as_secs_f64() / self.wall.as_secs_f64()).clamp(0.0, 1.0)
    }
}
