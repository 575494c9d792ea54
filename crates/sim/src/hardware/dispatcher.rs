use std::collections::VecDeque;

use accelflow_kernel::BusyTime;
use accelflow_units::Time;

/// An output dispatcher. It handles one output entry at a time, in the order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Dispatcher<T> {
    current: Option<T>,
    waiting: VecDeque<T>,
    pub(crate) busy: BusyTime,
}

impl<T: Copy + PartialEq> Dispatcher<T> {
    pub(crate) fn new() -> Dispatcher<T> {
        Dispatcher {
            current: None,
            waiting: VecDeque::new(),
            busy: BusyTime::new(Time::ZERO),
        }
    }

    /// Queues an entry. Returns whether it is handled at once.
    pub(crate) fn ask(&mut self, entry: T, now: Time) -> bool {
        if self.current.is_some() {
            self.waiting.push_back(entry);
            return false;
        }
        self.current = Some(entry);
        self.busy.begin(now);
        true
    }

    /// Ends the handling of `entry`, unless it has ended before, and returns the next entry, whose
    /// handling begins.
    pub(crate) fn end(&mut self, entry: T, now: Time) -> Option<T> {
        if self.current != Some(entry) {
            return None;
        }
        self.current = self.waiting.pop_front();
        if self.current.is_none() {
            self.busy.end(now);
        }
        self.current
    }

    /// The entry that it handles.
    pub(crate) fn current(&self) -> Option<T> {
        self.current
    }

    /// Number of entries that wait.
    pub(crate) fn backlog(&self) -> usize {
        self.waiting.len()
    }

    /// Whether it handles no entry.
    pub(crate) fn is_idle(&self) -> bool {
        self.current.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn entries_are_handled_one_after_the_other() {
        let mut dispatcher = Dispatcher::new();
        assert!(dispatcher.ask('a', at(100)));
        assert!(!dispatcher.ask('b', at(101)));
        assert!(!dispatcher.ask('c', at(102)));
        assert_eq!(dispatcher.backlog(), 2);
        assert_eq!(dispatcher.end('a', at(106)), Some('b'));
        assert_eq!(dispatcher.end('a', at(107)), None, "it has been handled");
        assert_eq!(dispatcher.end('b', at(112)), Some('c'));
        assert_eq!(dispatcher.end('c', at(118)), None);
        assert!(dispatcher.is_idle());
        assert!(dispatcher.ask('d', at(200)));
        assert_eq!(dispatcher.busy.total_at(at(206)), at(18 + 6));
    }
}
