//! Processor time of threads, and the load of the machine.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the processor time that this thread has used since its start. Time in which the thread
/// is blocked or waits does not count.
pub fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// A duration in nanoseconds. Exact below 2^53 ns, which is 104 days.
pub(crate) fn nanoseconds(spent: Duration) -> f64 {
    spent.as_nanos() as f64
}

/// Returns the machine's load average over the last minute: the mean number of threads that ran,
/// were ready to run, or waited uninterruptibly, mostly for disks. `None` if the system does not
/// report it.
pub fn run_queue() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}
