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
