use std::collections::VecDeque;

use accelflow_units::Time;

/// What accelerators have for one core, in a queue in memory, and when the core may look again.
#[derive(Clone, Debug)]
pub(crate) struct SoftQueue<T> {
    entries: VecDeque<T>,
    capacity: usize,
    /// What has found the queue full, in the order of coming.
    outside: VecDeque<T>,
    next_look: Time,
    /// When a thread last left the core, which the polling thread then takes.
    left: Option<Time>,
}

impl<T> SoftQueue<T> {
    pub(crate) fn new(capacity: usize) -> SoftQueue<T> {
        SoftQueue {
            entries: VecDeque::new(),
            capacity,
            outside: VecDeque::new(),
            next_look: Time::ZERO,
            left: None,
        }
    }

    /// Adds an entry, or lets it wait for a free one.
    pub(crate) fn push(&mut self, entry: T) {
        if self.entries.len() < self.capacity {
            self.entries.push_back(entry);
        } else {
            self.outside.push_back(entry);
        }
    }

    /// Whether there is something to find.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a core that has other work is to look at `now`.
    pub(crate) fn due(&self, now: Time) -> bool {
        now >= self.next_look
    }

    /// Another thread than the polling one has left the core.
    pub(crate) fn thread_left(&mut self, now: Time) {
        self.left = Some(now);
    }

    /// From when on the polling thread has a core that does nothing else, if a switch of threads
    /// takes `switch`.
    pub(crate) fn polled_from(&self, switch: Time) -> Time {
        self.left.map_or(Time::ZERO, |left| left + switch)
    }

    /// A look begins; the next one need not for `period`.
    pub(crate) fn look(&mut self, period: Time, now: Time) {
        self.next_look = now + period;
    }

    /// A look has ended: all that is in the queue, oldest first. What has waited for free entries
    /// gets them, and is seen by the next look.
    pub(crate) fn take(&mut self) -> VecDeque<T> {
        let taken = std::mem::take(&mut self.entries);
        let free = self.capacity.min(self.outside.len());
        self.entries.extend(self.outside.drain(..free));
        taken
    }

    /// Entries in it and before it.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() + self.outside.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_finds_what_the_queue_holds_in_order_and_the_rest_moves_up() {
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
    fn a_look_is_due_a_period_after_the_last_one_began() {
        let mut queue: SoftQueue<u8> = SoftQueue::new(1);
        let at = Time::from_ns;
        assert!(queue.due(at(0)));
        queue.look(at(50), at(7));
        assert!(!queue.due(at(56)));
        assert!(queue.due(at(57)));
        queue.look(at(0), at(60));
        assert!(queue.due(at(60)));
    }
}
