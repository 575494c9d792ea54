//! An open-loop load on a live server: calls begin when they are due, whether or not earlier ones
//! have ended.
//!
//! As in wrk2, a response time is measured from the due time of its call, so a server that stalls
//! is charged for all calls that were due during the stall.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use accelflow_serve::{CallOptions, Client};
use rustix::thread::set_current_timer_slack;

/// The longest load, in seconds.
const LONGEST_S: f64 = 1e6;
/// The time from the start of the load's threads to its beginning.
const LEAD: Duration = Duration::from_millis(50);
/// Time between two reports of progress.
const REPORT: Duration = Duration::from_millis(100);
/// The longest sleep of a thread, so that it sees the end of the load.
const NAP: Duration = Duration::from_millis(100);

/// A load: calls of one function at given times.
pub(super) struct Load {
    pub(super) method: String,
    /// The arguments as JSON, taken in turn.
    pub(super) arguments: Vec<Vec<u8>>,
    /// When calls are due, in seconds after the start.
    pub(super) due_s: Vec<f64>,
    /// The largest number of calls at a time.
    pub(super) callers: usize,
    /// When the load ends, in seconds after the start: calls that have not begun are not made.
    pub(super) until_s: Option<f64>,
}

/// One call of a load.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Driven {
    /// Time from the due time to the call's beginning.
    pub(super) late: Duration,
    /// Time from the due time to the response.
    pub(super) response: Duration,
    /// Whether the service answered with a result.
    pub(super) good: bool,
}

impl Load {
    /// Makes the calls with `client`, and returns them in the order of their due times, without
    /// those that were not made. `report` is called with the number of finished calls and the total
    /// number, and ends the load by returning false.
    ///
    /// # Errors
    /// A message for an empty load, for an invalid due time or end, and for threads that cannot
    /// start.
    pub(super) fn drive(
        &self,
        client: &Client,
        report: &dyn Fn(u64, u64) -> bool,
    ) -> Result<Vec<Driven>, String> {
        let end = self
            .until_s
            .map(|end| seconds("until_s", end))
            .transpose()?;
        let due = self.due(end)?;
        let (next, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let stopped = AtomicBool::new(false);
        let start = Instant::now() + LEAD;
        // Checked before a call is taken, so that those that were made are the first.
        let over = || end.is_some_and(|end| start + end <= Instant::now());
        let calls = || {
            // By default the system may delay wake-ups by 50 us, which would be most of a response
            // time.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
            let mut calls = Vec::new();
            while !stopped.load(Ordering::Relaxed) && !over() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(due) = due.get(number) else { break };
                let due = start + *due;
                if !sleep_until(due, &stopped) {
                    break;
                }
                calls.push((number, self.call(client, number, due)));
                finished.fetch_add(1, Ordering::Relaxed);
            }
            calls
        };
        thread::scope(|scope| {
            let mut threads = Vec::with_capacity(self.callers);
            for _ in 0..self.callers {
                let started = thread::Builder::new().spawn_scoped(scope, calls);
                if started.is_err() {
                    stopped.store(true, Ordering::Relaxed);
                }
                threads.push(
                    started.map_err(|error| format!("callers: a thread cannot start: {error}"))?,
                );
            }
            let all = due.len() as u64;
            let report = || report(finished.load(Ordering::Relaxed) as u64, all);
            while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
                if !report() {
                    stopped.store(true, Ordering::Relaxed);
                }
                // The last calls are short, and so is the wait for them.
                thread::sleep(REPORT.min(until(start, due.last())));
            }
            report();
            let made = due.len().min(next.load(Ordering::Relaxed));
            let mut found = vec![Driven::default(); made];
            for thread in threads {
                let calls = thread.join().map_err(|_| {
                    "callers: a thread ended without a result (it panicked)".to_owned()
                })?;
                for (number, call) in calls {
                    found[number] = call;
                }
            }
            Ok(found)
        })
    }

    /// The due times before the end.
    fn due(&self, end: Option<Duration>) -> Result<Vec<Duration>, String> {
        if self.arguments.is_empty() || self.callers == 0 {
            return Err(format!(
                "arguments ({}) and callers ({}): must be at least 1 each",
                self.arguments.len(),
                self.callers
            ));
        }
        let due = self.due_s.iter().map(|due| seconds("due_s", *due));
        let mut due: Vec<Duration> = due.collect::<Result<_, _>>()?;
        due.retain(|due| end.is_none_or(|end| *due < end));
        Ok(due)
    }

    fn call(&self, client: &Client, number: usize, due: Instant) -> Driven {
        let late = due.elapsed();
        let arguments = &self.arguments[number % self.arguments.len()];
        let called = client.call_with(&self.method, arguments, &CallOptions::default());
        Driven {
            late,
            response: due.elapsed(),
            good: called.is_ok(),
        }
    }
}

/// A time in seconds, or a message that names it.
fn seconds(name: &str, time_s: f64) -> Result<Duration, String> {
    if !(0.0..=LONGEST_S).contains(&time_s) {
        return Err(format!("{name} = {time_s}: must be from 0 to {LONGEST_S}"));
    }
    Ok(Duration::from_secs_f64(time_s))
}

/// The time until the last call is due, at least a millisecond.
fn until(start: Instant, last: Option<&Duration>) -> Duration {
    let end = last.map_or(start, |last| start + *last);
    end.saturating_duration_since(Instant::now())
        .max(Duration::from_millis(1))
}

/// Sleeps until `due`; false if the load has ended before.
fn sleep_until(due: Instant, stopped: &AtomicBool) -> bool {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        if stopped.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(left.min(NAP));
    }
}
