use std::collections::VecDeque;

use accelflow_kernel::BusyTime;
use accelflow_units::Time;

/// One accelerator: input queue with its overflow area, processing elements, output queue.
///
/// `T` names what is queued. An input entry is taken from the moment it is reserved (its data may
/// still be under way) until a processing element loads it; an output entry from the end of the
/// operation until its data has left.
#[derive(Clone, Debug)]
pub(crate) struct Station<T> {
    ready: VecDeque<T>,
    overflow: VecDeque<T>,
    blocked: VecDeque<T>,
    input_used: usize,
    input_entries: usize,
    overflow_used: usize,
    overflow_entries: usize,
    output_used: usize,
    output_entries: usize,
    idle: usize,
    dispatcher_free: Time,
    pub(crate) busy: BusyTime,
    /// Time with at least one processing element busy.
    pub(crate) any: BusyTime,
    pub(crate) operations: u64,
    pub(crate) work: Time,
    pub(crate) peak_input: usize,
}

impl<T: Copy> Station<T> {
    pub(crate) fn new(pes: usize, input: usize, overflow: usize, output: usize) -> Station<T> {
        Station {
            ready: VecDeque::with_capacity(input),
            overflow: VecDeque::new(),
            blocked: VecDeque::new(),
            input_used: 0,
            input_entries: input,
            overflow_used: 0,
            overflow_entries: overflow,
            output_used: 0,
            output_entries: output,
            idle: pes,
            dispatcher_free: Time::ZERO,
            busy: BusyTime::new(Time::ZERO),
            any: BusyTime::new(Time::ZERO),
            operations: 0,
            work: Time::ZERO,
            peak_input: 0,
        }
    }

    /// Takes an input entry, if one is free.
    pub(crate) fn reserve_input(&mut self) -> bool {
        let free = self.input_used < self.input_entries;
        self.input_used += usize::from(free);
        self.peak_input = self.peak_input.max(self.input_used);
        free
    }

    /// Takes an entry of the overflow area, if one is free.
    pub(crate) fn reserve_overflow(&mut self) -> bool {
        let free = self.overflow_used < self.overflow_entries;
        self.overflow_used += usize::from(free);
        free
    }

    /// Marks a reserved input entry as ready.
    pub(crate) fn ready(&mut self, entry: T) {
        self.ready.push_back(entry);
    }

    /// Marks a reserved overflow entry as waiting for an input entry; the entry to move into the
    /// input queue now, if one is free there.
    pub(crate) fn spilled(&mut self, entry: T) -> Option<T> {
        self.overflow.push_back(entry);
        self.refill()
    }

    /// The next ready entry for an idle processing element, whose input entry becomes free.
    pub(crate) fn start(&mut self, now: Time) -> Option<T> {
        if self.idle == 0 {
            return None;
        }
        let entry = self.ready.pop_front()?;
        self.idle -= 1;
        self.input_used -= 1;
        if self.busy.busy() == 0 {
            self.any.begin(now);
        }
        self.busy.begin(now);
        Some(entry)
    }

    /// The overflow entry that a free input entry is given to.
    pub(crate) fn refill(&mut self) -> Option<T> {
        if self.overflow.is_empty() || !self.reserve_input() {
            return None;
        }
        self.overflow_used -= 1;
        self.overflow.pop_front()
    }

    /// An operation has ended: whether its result has an output entry. If not, the result waits
    /// in the processing element, which stays taken.
    pub(crate) fn deposit(&mut self, entry: T, now: Time) -> bool {
        self.operations += 1;
        if self.output_used < self.output_entries {
            self.output_used += 1;
            self.free_element(now);
            true
        } else {
            self.blocked.push_back(entry);
            false
        }
    }

    /// The data of an output entry has left; the blocked result that is given the entry.
    pub(crate) fn withdraw(&mut self, now: Time) -> Option<T> {
        match self.blocked.pop_front() {
            Some(entry) => {
                self.free_element(now);
                Some(entry)
            }
            None => {
                self.output_used -= 1;
                None
            }
        }
    }

    /// Serves one dispatcher operation after those before it; when it is done.
    pub(crate) fn dispatch(&mut self, duration: Time, now: Time) -> Time {
        self.dispatcher_free = self.dispatcher_free.max(now) + duration;
        self.dispatcher_free
    }

    /// Entries that wait for a processing element.
    pub(crate) fn backlog(&self) -> usize {
        self.ready.len() + self.overflow_used
    }

    /// Whether nothing is queued or running.
    pub(crate) fn is_idle(&self) -> bool {
        self.input_used == 0
            && self.overflow_used == 0
            && self.output_used == 0
            && self.busy.busy() == 0
    }

    fn free_element(&mut self, now: Time) {
        self.idle += 1;
        self.busy.end(now);
        if self.busy.busy() == 0 {
            self.any.end(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn an_input_entry_is_taken_from_its_reservation_to_the_load() {
        let mut station = Station::new(1, 2, 0, 1);
        assert!(station.reserve_input() && station.reserve_input());
        assert!(!station.reserve_input());
        station.ready('a');
        assert_eq!(station.start(at(1)), Some('a'));
        assert!(station.reserve_input());
        assert!(!station.reserve_input());
        assert_eq!(station.peak_input, 2);
    }

    #[test]
    fn entries_start_in_the_order_in_which_they_are_ready() {
        let mut station = Station::new(2, 3, 0, 2);
        for entry in ['a', 'b', 'c'] {
            assert!(station.reserve_input());
            station.ready(entry);
        }
        assert_eq!(station.start(at(0)), Some('a'));
        assert_eq!(station.start(at(0)), Some('b'));
        assert_eq!(station.start(at(0)), None, "both elements are busy");
        assert_eq!(station.backlog(), 1);
        assert!(station.deposit('b', at(5)));
        assert_eq!(station.start(at(5)), Some('c'));
    }

    #[test]
    fn overflow_entries_move_up_in_order_when_an_input_entry_is_free() {
        let mut station = Station::new(1, 1, 2, 1);
        assert!(station.reserve_input());
        assert!(station.reserve_overflow() && station.reserve_overflow());
        assert!(!station.reserve_overflow());
        assert_eq!(station.spilled('b'), None);
        assert_eq!(station.spilled('c'), None);
        station.ready('a');
        assert_eq!(station.refill(), None, "the input queue is full");
        assert_eq!(station.start(at(0)), Some('a'));
        assert_eq!(station.refill(), Some('b'));
        assert!(!station.reserve_input(), "the entry is b's");
        assert!(station.reserve_overflow(), "b's place is free");
        assert_eq!(station.refill(), None);
    }

    #[test]
    fn an_entry_that_spills_into_a_queue_with_room_moves_up_at_once() {
        let mut station = Station::new(1, 1, 1, 1);
        assert!(station.reserve_overflow());
        assert_eq!(station.spilled('a'), Some('a'));
        station.ready('a');
        assert_eq!(station.start(at(0)), Some('a'));
        assert!(station.deposit('a', at(1)));
        assert_eq!(station.withdraw(at(2)), None);
        assert!(station.is_idle());
    }

    #[test]
    fn a_result_without_an_output_entry_keeps_its_element() {
        let mut station = Station::new(2, 2, 0, 1);
        for entry in ['a', 'b'] {
            assert!(station.reserve_input());
            station.ready(entry);
            assert_eq!(station.start(at(0)), Some(entry));
        }
        assert!(station.deposit('a', at(10)));
        assert!(!station.deposit('b', at(10)));
        assert_eq!(station.busy.busy(), 1);
        // The entry passes from a to b, and b's element is free.
        assert_eq!(station.withdraw(at(15)), Some('b'));
        assert_eq!(station.busy.busy(), 0);
        assert!(!station.is_idle());
        assert_eq!(station.withdraw(at(20)), None);
        assert!(station.is_idle());
        assert_eq!(station.busy.total_at(at(20)), at(10 + 15));
        assert_eq!(station.any.total_at(at(20)), at(15));
        assert_eq!(station.operations, 2);
    }

    #[test]
    fn the_dispatcher_serves_one_after_the_other() {
        let mut station = Station::<char>::new(1, 1, 0, 1);
        assert_eq!(station.dispatch(at(6), at(100)), at(106));
        assert_eq!(station.dispatch(at(6), at(101)), at(112));
        assert_eq!(station.dispatch(at(6), at(112)), at(118));
        assert_eq!(station.dispatch(at(6), at(200)), at(206));
    }
}
