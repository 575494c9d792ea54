//! Clocks, and the load of the machine.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time for which this thread has run.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}

/// A duration in nanoseconds. Exact: no interval here comes near 2^53 ns (104 days).
pub(super) fn nanoseconds(spent: Duration) -> f64 {
    spent.as_nanos() as f64
}

/// The number of threads that ran or were ready on this machine, on average over the last minute;
/// `None` where the system does not tell.
pub fn run_queue() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}
