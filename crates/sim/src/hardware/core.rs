use std::collections::VecDeque;

use accelflow_kernel::BusyTime;
use accelflow_units::Time;

/// A core with its own run queue. What runs is not preempted; what arrives waits behind it.
#[derive(Clone, Debug)]
pub(crate) struct Core<T> {
    running: Option<T>,
    queue: VecDeque<(T, Time)>,
    pub(crate) busy: BusyTime,
}

impl<T: Copy> Core<T> {
    pub(crate) fn new() -> Core<T> {
        Core {
            running: None,
            queue: VecDeque::new(),
            busy: BusyTime::new(Time::ZERO),
        }
    }

    /// Tasks that wait or run: what load balancing looks at.
    pub(crate) fn load(&self) -> usize {
        self.queue.len() + usize::from(self.running.is_some())
    }

    /// Adds a task behind the others; how long until it is done, if it starts now.
    pub(crate) fn push(&mut self, task: T, duration: Time, now: Time) -> Option<Time> {
        self.queue.push_back((task, duration));
        self.start(now)
    }

    /// Adds a task before the others: the thread that ran goes on running.
    pub(crate) fn resume(&mut self, task: T, duration: Time, now: Time) -> Option<Time> {
        self.queue.push_front((task, duration));
        self.start(now)
    }

    /// Ends the running task. The next one starts with the next call of [`Core::start`].
    pub(crate) fn finish(&mut self, now: Time) -> Option<T> {
        self.busy.end(now);
        self.running.take()
    }

    /// Starts the first waiting task if the core is free; how long until it is done.
    pub(crate) fn start(&mut self, now: Time) -> Option<Time> {
        if self.running.is_some() {
            return None;
        }
        let (task, duration) = self.queue.pop_front()?;
        self.running = Some(task);
        self.busy.begin(now);
        Some(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn tasks_run_one_at_a_time_in_order() {
        let mut core = Core::new();
        assert_eq!(core.push('a', at(5), at(0)), Some(at(5)));
        assert_eq!(core.push('b', at(7), at(1)), None);
        assert_eq!(core.load(), 2);
        assert_eq!(core.start(at(2)), None, "a is not preempted");
        assert_eq!(core.finish(at(5)), Some('a'));
        assert_eq!(core.start(at(5)), Some(at(7)));
        assert_eq!(core.finish(at(12)), Some('b'));
        assert_eq!(core.start(at(12)), None);
        assert_eq!(core.busy.total_at(at(20)), at(12));
        assert_eq!(core.load(), 0);
    }

    #[test]
    fn the_thread_that_runs_goes_on_before_those_that_wait() {
        let mut core = Core::new();
        core.push('a', at(5), at(0));
        core.push('b', at(7), at(0));
        assert_eq!(core.finish(at(5)), Some('a'));
        assert_eq!(core.resume('c', at(3), at(5)), Some(at(3)));
        assert_eq!(core.finish(at(8)), Some('c'));
        assert_eq!(core.start(at(8)), Some(at(7)));
    }
}
