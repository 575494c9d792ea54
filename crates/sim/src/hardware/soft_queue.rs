use std::collections::VecDeque;

use accelflow_units::Time;

/// A queue in memory from accelerators to one core, and when the core polls it.
#[derive(Clone, Debug)]
pub(crate) struct SoftQueue<T> {
    entries: VecDeque<T>,
    capacity: usize,
    /// Entries that found the queue full, in the order of arrival.
    outside: VecDeque<T>,
    next_poll: Time,
    /// The time when a thread other than the polling one last left the core.
    left: Option<Time>,
}

impl<T> SoftQueue<T> {
    pub(crate) fn new(capacity: usize) -> SoftQueue<T> {
        SoftQueue {
            entries: VecDeque::new(),
            capacity,
            outside: VecDeque::new(),
            next_poll: Time::ZERO,
            left: None,
        }
    }

    /// Adds an entry, which waits outside if the queue is full.
    pub(crate) fn push(&mut self, entry: T) {
        if self.entries.len() < self.capacity {
            self.entries.push_back(entry);
        } else {
            self.outside.push_back(entry);
        }
    }

    /// Whether a poll would find no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a core with other work polls at `now`.
    pub(crate) fn due(&self, now: Time) -> bool {
        now >= self.next_poll
    }

    /// Notes that another thread than the polling one leaves the core.
    pub(crate) fn thread_left(&mut self, now: Time) {
        self.left = Some(now);
    }

    /// When the polling thread gets an otherwise idle core, if a switch of threads takes `switch`.
    pub(crate) fn polled_from(&self, switch: Time) -> Time {
        self.left.map_or(Time::ZERO, |left| left + switch)
    }

    /// Begins a poll; while the core has other work, the next one is due after `period`.
    pub(crate) fn poll(&mut self, period: Time, now: Time) {
        self.next_poll = now + period;
    }

    /// Ends a poll: takes all entries of the queue, oldest first. Entries that wait outside move
    /// into the queue; the next poll finds them.
    pub(crate) fn take(&mut self) -> VecDeque<T> {
        let taken = std::mem::take(&mut self.entries);
        let free = self.capacity.min(self.outside.len());
        self.entries.extend(self.outside.drain(..free));
        taken
    }

    /// Number of entries in the queue and outside.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() + self.outside.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_takes_all_entries_in_order_and_the_rest_moves_up() {
        let mut queue = SoftQueue::new(2);
        assert!(queue.is_empty());
        for entry in 1..=5 {
            queue.push(entry);
        }
        assert_eq!(queue.len(), 5);
        assert_eq!(queue.take(), [1, 2]);
        assert_eq!(queue.take(), [3, 4]);
        queue.push(6);
        assert_eq!(queue.take(), [5, 6]);
        assert!(queue.take().is_empty() && queue.is_empty());
    }

    #[test]
    fn the_polling_thread_takes_the_core_a_switch_after_another_has_left() {
        let mut queue: SoftQueue<u8> = SoftQueue::new(1);
        let at = Time::from_ns;
        assert_eq!(queue.polled_from(at(10)), at(0));
        queue.thread_left(at(7));
        assert_eq!(queue.polled_from(at(10)), at(17));
    }

    #[test]
    fn a_poll_is_due_a_period_after_the_last_one_began() {
        let mut queue: SoftQueue<u8> = SoftQueue::new(1);
        let at = Time::from_ns;
        assert!(queue.due(at(0)));
        queue.poll(at(50), at(7));
        assert!(!queue.due(at(56)));
        assert!(queue.due(at(57)));
        queue.poll(at(0), at(60));
        assert!(queue.due(at(60)));
    }
}
