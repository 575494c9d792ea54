use std::collections::VecDeque;

use accelflow_kernel::BusyTime;
use accelflow_shaping::dispatch::{Elements, Entry, InputQueue, Owner, Placed, Policy};
use accelflow_units::Time;

use super::dispatcher::Dispatcher;

/// The numbers of elements and queue entries of an accelerator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub elements: usize,
    pub input: usize,
    pub overflow: usize,
    pub output: usize,
}

impl Sizes {
    /// The share number `share` of `shares` equal ones; the first shares get the remainder.
    pub(crate) fn share(&self, share: usize, shares: usize) -> Sizes {
        let of = |all: usize| all / shares + usize::from(share < all % shares);
        Sizes {
            elements: of(self.elements),
            input: of(self.input),
            overflow: of(self.overflow),
            output: of(self.output),
        }
    }
}

/// An operation that an element starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Started<T> {
    pub item: T,
    /// The element holds the state of another tenant.
    pub wipes: bool,
    /// The element does not hold the state of this service.
    pub reloads: bool,
}

/// Names the place of the entry of a queue that leaves it next: 0, unless a policy of the
/// user's chooses.
pub(crate) trait Pick<T>: FnOnce(&InputQueue<T>) -> usize {}

impl<T, F: FnOnce(&InputQueue<T>) -> usize> Pick<T> for F {}

/// One instance of an accelerator: input queue with its overflow area, processing elements, output
/// queue.
///
/// `T` identifies an entry. An input entry is taken from the moment it is reserved (its data may
/// still be under way) until a processing element loads it; an output entry from the end of the
/// operation until its data has left.
#[derive(Clone, Debug)]
pub(crate) struct Station<T> {
    ready: InputQueue<T>,
    /// Continues the order of `ready`.
    overflow: InputQueue<T>,
    blocked: VecDeque<(T, Owner)>,
    input_used: usize,
    /// Input entries of joins that wait for arms.
    joins: usize,
    /// Input entries of traces that may not go on yet.
    barred: usize,
    input_entries: usize,
    overflow_used: usize,
    overflow_entries: usize,
    output_used: usize,
    output_entries: usize,
    /// Whose state idle elements hold; the one that became idle last is taken first.
    idle: Vec<Option<Owner>>,
    elements: u64,
    /// Number of operations that run, and the sum of the times at which they are to end.
    running: u64,
    ends: Time,
    pub(crate) dispatcher: Dispatcher<T>,
    pub(crate) busy: BusyTime,
    /// Time with at least one processing element busy.
    pub(crate) any: BusyTime,
    pub(crate) operations: u64,
    pub(crate) work: Time,
    pub(crate) peak_input: usize,
    /// Number of traces that fell back to a core because queue and overflow area were full.
    pub(crate) turned_away: u64,
}

impl<T: Copy + PartialEq> Station<T> {
    pub(crate) fn new(sizes: Sizes, policy: Policy) -> Station<T> {
        Station {
            ready: InputQueue::new(policy, sizes.input),
            overflow: InputQueue::new(policy, sizes.overflow),
            blocked: VecDeque::new(),
            input_used: 0,
            joins: 0,
            barred: 0,
            input_entries: sizes.input,
            overflow_used: 0,
            overflow_entries: sizes.overflow,
            output_used: 0,
            output_entries: sizes.output,
            idle: vec![None; sizes.elements],
            elements: sizes.elements as u64,
            running: 0,
            ends: Time::ZERO,
            dispatcher: Dispatcher::new(),
            busy: BusyTime::new(Time::ZERO),
            any: BusyTime::new(Time::ZERO),
            operations: 0,
            work: Time::ZERO,
            peak_input: 0,
            turned_away: 0,
        }
    }

    /// Takes an input entry, if one is free.
    pub(crate) fn reserve_input(&mut self) -> bool {
        let free = self.input_used < self.input_entries;
        self.input_used += usize::from(free);
        self.peak_input = self.peak_input.max(self.input_used);
        free
    }

    /// Takes an input entry for a join, if one is free and another is not taken by a join: an
    /// operation in the overflow area may be an arm, and waits for an input entry.
    pub(crate) fn reserve_for_join(&mut self) -> bool {
        let free = self.joins + 1 < self.input_entries && self.reserve_input();
        self.joins += usize::from(free);
        free
    }

    /// All arms have arrived at an entry of [`Station::reserve_for_join`].
    pub(crate) fn joined(&mut self) {
        self.joins -= 1;
    }

    /// A trace in an input entry may not go on yet.
    pub(crate) fn bar(&mut self) {
        self.barred += 1;
    }

    /// A trace of [`Station::bar`] may go on.
    pub(crate) fn unbar(&mut self) {
        self.barred -= 1;
    }

    /// Whether operations in the overflow area wait for input entries of traces that may not go on.
    /// The other input entries are those of joins, whose arms may be in the overflow area.
    pub(crate) fn is_barred(&self) -> bool {
        self.barred > 0 && !self.overflow.is_empty() && self.barred + self.joins == self.input_used
    }

    /// A trace that may not go on changes places with the next overflow entry, which is returned.
    pub(crate) fn change_places(&mut self, pick: impl Pick<T>) -> Option<T> {
        self.unbar();
        let moves_up = self.release_input(pick);
        self.overflow_used += 1;
        moves_up
    }

    /// Takes an entry of the overflow area, if one is free.
    pub(crate) fn reserve_overflow(&mut self) -> bool {
        let free = self.overflow_used < self.overflow_entries;
        self.overflow_used += usize::from(free);
        free
    }

    /// Marks a reserved input entry as ready, and returns where the dispatcher puts it.
    pub(crate) fn ready(&mut self, entry: Entry<T>, now: Time) -> Placed {
        let elements = Elements {
            count: self.elements,
            idle: !self.idle.is_empty() && self.ready.is_empty(),
            remaining: self.ends.saturating_sub(now * self.running),
        };
        self.ready.push(entry, elements, now)
    }

    /// Gives up a reserved input entry that was never ready, and returns the overflow entry that
    /// moves up.
    pub(crate) fn release_input(&mut self, pick: impl Pick<T>) -> Option<T> {
        self.input_used -= 1;
        self.refill(pick)
    }

    /// Gives up a reserved overflow entry that was never filled.
    pub(crate) fn release_overflow(&mut self) {
        self.overflow_used -= 1;
    }

    /// Marks a reserved overflow entry as filled, and returns the entry that moves up if an input
    /// entry is free.
    ///
    /// Entries move up in the order of the policy, which counts the whole input queue before them.
    pub(crate) fn spilled(&mut self, entry: Entry<T>, now: Time, pick: impl Pick<T>) -> Option<T> {
        let elements = Elements {
            count: self.elements,
            idle: false,
            remaining: self.ends.saturating_sub(now * self.running) + self.ready.work(),
        };
        self.overflow.push(entry, elements, now);
        self.refill(pick)
    }

    /// Starts the ready entry that `pick` names on an idle element; its input entry becomes free.
    pub(crate) fn start(&mut self, now: Time, pick: impl Pick<T>) -> Option<Started<T>> {
        if !self.can_start() {
            return None;
        }
        let place = pick(&self.ready);
        let entry = self.ready.take(place)?;
        self.begin(&entry, now)
    }

    /// Whether an entry is ready and an element idle.
    #[inline]
    pub(crate) fn can_start(&self) -> bool {
        !self.idle.is_empty() && !self.ready.is_empty()
    }

    /// Starts an entry that is ready now, of a reserved input entry, if no other waits and an element
    /// is idle. It is what [`Station::ready`] and [`Station::start`] do then.
    pub(crate) fn start_at_once(&mut self, entry: &Entry<T>, now: Time) -> Option<Started<T>> {
        if self.idle.is_empty() || !self.ready.is_empty() {
            return None;
        }
        self.begin(entry, now)
    }

    /// Gives an idle element to an entry.
    #[inline]
    fn begin(&mut self, entry: &Entry<T>, now: Time) -> Option<Started<T>> {
        let held = self.idle.pop()?;
        self.input_used -= 1;
        if self.busy.busy() == 0 {
            self.any.begin(now);
        }
        self.busy.begin(now);
        Some(Started {
            item: entry.item,
            wipes: held.is_some_and(|owner| owner.tenant != entry.owner.tenant),
            reloads: held != Some(entry.owner),
        })
    }

    /// Notes that a started operation will end at `end`.
    pub(crate) fn runs_until(&mut self, end: Time) {
        self.running += 1;
        self.ends += end;
    }

    /// Notes that the operation that was to end at `end` has stopped or ended.
    pub(crate) fn stops(&mut self, end: Time) {
        self.running -= 1;
        self.ends = self.ends.saturating_sub(end);
    }

    /// Frees an element whose operation has stopped without a result.
    pub(crate) fn abandon(&mut self, owner: Owner, now: Time) {
        self.free_element(owner, now);
    }

    /// Gives a free input entry to the overflow entry that `pick` names, and returns that.
    pub(crate) fn refill(&mut self, pick: impl Pick<T>) -> Option<T> {
        if self.overflow.is_empty() || !self.reserve_input() {
            return None;
        }
        self.overflow_used -= 1;
        let place = pick(&self.overflow);
        self.overflow.take(place).map(|entry| entry.item)
    }

    /// Ends an operation: whether its result has an output entry. If not, the result waits in the
    /// element, which stays taken.
    pub(crate) fn deposit(&mut self, entry: T, owner: Owner, now: Time) -> bool {
        self.operations += 1;
        if self.output_used < self.output_entries {
            self.output_used += 1;
            self.free_element(owner, now);
            true
        } else {
            self.blocked.push_back((entry, owner));
            false
        }
    }

    /// Frees an output entry whose data has left, and returns the blocked result that gets it.
    pub(crate) fn withdraw(&mut self, now: Time) -> Option<T> {
        match self.blocked.pop_front() {
            Some((entry, owner)) => {
                self.free_element(owner, now);
                Some(entry)
            }
            None => {
                self.output_used -= 1;
                None
            }
        }
    }

    /// Entries that wait for a processing element.
    pub(crate) fn backlog(&self) -> usize {
        self.ready.len() + self.overflow_used
    }

    /// Results that wait in their elements for an output entry.
    pub(crate) fn blocked(&self) -> usize {
        self.blocked.len()
    }

    /// Operations that wait, are on their way, or hold an element: the load by which instances are
    /// chosen.
    pub(crate) fn load(&self) -> usize {
        self.input_used + self.overflow_used + self.elements as usize - self.idle.len()
    }

    /// Number of elements.
    pub(crate) fn elements(&self) -> u64 {
        self.elements
    }

    /// Whether nothing is queued or running.
    pub(crate) fn is_idle(&self) -> bool {
        self.input_used == 0
            && self.overflow_used == 0
            && self.output_used == 0
            && self.busy.busy() == 0
            && self.dispatcher.is_idle()
    }

    fn free_element(&mut self, owner: Owner, now: Time) {
        self.idle.push(Some(owner));
        self.busy.end(now);
        if self.busy.busy() == 0 {
            self.any.end(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Owner = Owner {
        tenant: 1,
        service: 1,
    };

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    fn station<T: Copy + PartialEq>(
        elements: usize,
        input: usize,
        overflow: usize,
        output: usize,
    ) -> Station<T> {
        let sizes = Sizes {
            elements,
            input,
            overflow,
            output,
        };
        Station::new(sizes, Policy::Fifo)
    }

    fn of<T>(item: T, owner: Owner) -> Entry<T> {
        Entry {
            item,
            owner,
            priority: 0,
            due: Time::MAX,
            work: Time::ZERO,
        }
    }

    fn first<T>(_: &InputQueue<T>) -> usize {
        0
    }

    impl Station<char> {
        fn is_ready(&mut self, item: char) {
            self.ready(of(item, ME), at(0));
        }

        fn spills(&mut self, item: char) -> Option<char> {
            self.spilled(of(item, ME), at(0), first)
        }

        fn next(&mut self, now: Time) -> Option<char> {
            self.start(now, first).map(|started| started.item)
        }
    }

    #[test]
    fn an_input_entry_is_taken_from_its_reservation_to_the_load() {
        let mut station = station(1, 2, 0, 1);
        assert!(station.reserve_input() && station.reserve_input());
        assert!(!station.reserve_input());
        station.is_ready('a');
        assert_eq!(station.next(at(1)), Some('a'));
        assert!(station.reserve_input());
        assert!(!station.reserve_input());
        assert_eq!(station.peak_input, 2);
    }

    #[test]
    fn entries_start_in_the_order_in_which_they_are_ready() {
        let mut station = station(2, 3, 0, 2);
        for entry in ['a', 'b', 'c'] {
            assert!(station.reserve_input());
            station.is_ready(entry);
        }
        assert_eq!(station.next(at(0)), Some('a'));
        assert_eq!(station.next(at(0)), Some('b'));
        assert_eq!(station.next(at(0)), None, "both elements are busy");
        assert_eq!(station.backlog(), 1);
        assert!(station.deposit('b', ME, at(5)));
        assert_eq!(station.next(at(5)), Some('c'));
    }

    #[test]
    fn overflow_entries_move_up_in_order_when_an_input_entry_is_free() {
        let mut station = station(1, 1, 2, 1);
        assert!(station.reserve_input());
        assert!(station.reserve_overflow() && station.reserve_overflow());
        assert!(!station.reserve_overflow());
        assert_eq!(station.spills('b'), None);
        assert_eq!(station.spills('c'), None);
        station.is_ready('a');
        assert_eq!(station.refill(first), None, "the input queue is full");
        assert_eq!(station.next(at(0)), Some('a'));
        assert_eq!(station.refill(first), Some('b'));
        assert!(!station.reserve_input(), "the entry is b's");
        assert!(station.reserve_overflow(), "b's place is free");
        assert_eq!(station.refill(first), None);
    }

    #[test]
    fn an_entry_that_spills_into_a_queue_with_room_moves_up_at_once() {
        let mut station = station(1, 1, 1, 1);
        assert!(station.reserve_overflow());
        assert_eq!(station.spills('a'), Some('a'));
        station.is_ready('a');
        assert_eq!(station.next(at(0)), Some('a'));
        assert!(station.deposit('a', ME, at(1)));
        assert_eq!(station.withdraw(at(2)), None);
        assert!(station.is_idle());
    }

    #[test]
    fn a_result_without_an_output_entry_keeps_its_element() {
        let mut station = station(2, 2, 0, 1);
        for entry in ['a', 'b'] {
            assert!(station.reserve_input());
            station.is_ready(entry);
            assert_eq!(station.next(at(0)), Some(entry));
        }
        assert!(station.deposit('a', ME, at(10)));
        assert!(!station.deposit('b', ME, at(10)));
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
    fn an_entry_given_up_goes_to_the_oldest_in_the_overflow_area() {
        let mut station = station(1, 1, 2, 1);
        assert!(station.reserve_input() && station.reserve_overflow());
        assert_eq!(station.spills('b'), None);
        assert!(station.reserve_overflow());
        assert_eq!(station.release_input(first), Some('b'));
        assert!(!station.reserve_input());
        station.release_overflow();
        station.is_ready('b');
        assert_eq!(station.next(at(0)), Some('b'));
        assert_eq!(station.load(), 1);
    }

    #[test]
    fn whoever_picks_finds_the_queues_as_they_are() {
        let mut station = station(1, 2, 2, 1);
        let items = |queue: &InputQueue<char>| queue.iter().map(|e| e.item).collect::<String>();
        for entry in ['a', 'b'] {
            assert!(station.reserve_input());
            station.is_ready(entry);
        }
        for entry in ['c', 'd'] {
            assert!(station.reserve_overflow());
            assert_eq!(station.spills(entry), None);
        }
        let last = |expected: &'static str| {
            move |queue: &InputQueue<char>| {
                assert_eq!(items(queue), expected);
                queue.len() - 1
            }
        };
        let started = station.start(at(0), last("ab")).map(|started| started.item);
        assert_eq!(started, Some('b'));
        assert_eq!(station.refill(last("cd")), Some('d'));
        let never = |_: &InputQueue<char>| unreachable!("no entry can leave");
        assert_eq!(station.start(at(0), never), None, "the element is busy");
        assert_eq!(station.refill(never), None, "the input queue is full");
    }

    #[test]
    fn nobody_gets_past_what_waits_in_the_overflow_area() {
        let mut station = station(1, 2, 3, 1);
        assert!(station.reserve_input() && station.reserve_input());
        for entry in ['c', 'd', 'e'] {
            assert!(station.reserve_overflow());
            assert_eq!(station.spills(entry), None);
        }
        station.is_ready('a');
        station.is_ready('b');
        for (running, refilled) in [('a', 'c'), ('b', 'd'), ('c', 'e')] {
            assert_eq!(station.next(at(0)), Some(running));
            assert_eq!(station.refill(first), Some(refilled));
            assert!(!station.reserve_input(), "{refilled} has the entry");
            station.is_ready(refilled);
            assert!(station.deposit(running, ME, at(1)));
            assert_eq!(station.withdraw(at(1)), None);
        }
    }

    #[test]
    fn the_overflow_area_drains_in_the_order_of_the_policy() {
        let sizes = Sizes {
            elements: 1,
            input: 1,
            overflow: 3,
            output: 1,
        };
        // One operation runs until 50 ns and one of 10 ns is ready. a and b, at 30 ns, are then to
        // take from 60 to 70 and to 80 ns.
        let drained = |policy, entries: [(char, u8, u64); 3]| -> String {
            let mut station = Station::new(sizes, policy);
            let work = at(10);
            let entry = |item, priority, due_ns| Entry {
                priority,
                due: at(due_ns),
                work,
                ..of(item, ME)
            };
            for running in [true, false] {
                assert!(station.reserve_input());
                station.ready(entry('-', 9, 1_000), at(0));
                if running {
                    assert_eq!(station.next(at(0)), Some('-'));
                    station.runs_until(at(50));
                }
            }
            for (item, priority, due_ns) in entries {
                assert!(station.reserve_overflow());
                assert_eq!(
                    station.spilled(entry(item, priority, due_ns), at(30), first),
                    None
                );
            }
            let mut order = String::new();
            while station.input_used > 0 {
                station.input_used -= 1;
                order.extend(station.refill(first));
            }
            order
        };
        let priorities = [('a', 1, 1_000), ('b', 2, 1_000), ('c', 1, 1_000)];
        assert_eq!(drained(Policy::Fifo, priorities), "abc");
        assert_eq!(drained(Policy::Priority, priorities), "bac");
        let due = |last| [('a', 0, 1_000), ('b', 0, 1_000), ('c', 0, last)];
        assert_eq!(drained(Policy::Deadline, due(90)), "abc");
        assert_eq!(drained(Policy::Deadline, due(89)), "acb");
        assert_eq!(drained(Policy::Deadline, due(79)), "cba");
        assert_eq!(drained(Policy::Deadline, due(69)), "abc", "late anywhere");
    }

    #[test]
    fn an_element_knows_whose_state_it_holds() {
        let other_service = Owner { service: 2, ..ME };
        let other_tenant = Owner { tenant: 2, ..ME };
        let mut station = station(1, 1, 0, 1);
        let mut begin = |owner| {
            assert!(station.reserve_input());
            station.ready(of('a', owner), at(0));
            let started = station.start(at(0), first).map(|s| (s.wipes, s.reloads));
            assert!(station.deposit('a', owner, at(0)));
            assert_eq!(station.withdraw(at(0)), None);
            started
        };
        // Nobody's state needs no wiping, but the service's is to be loaded.
        assert_eq!(begin(ME), Some((false, true)));
        assert_eq!(begin(ME), Some((false, false)));
        assert_eq!(begin(other_service), Some((false, true)));
        assert_eq!(begin(other_tenant), Some((true, true)));
        assert_eq!(begin(other_tenant), Some((false, false)));
    }

    #[test]
    fn what_remains_of_running_operations_counts_for_deadlines() {
        let sizes = Sizes {
            elements: 1,
            input: 3,
            overflow: 0,
            output: 3,
        };
        let due = |item, due_ns| Entry {
            due: at(due_ns),
            work: at(10),
            ..of(item, ME)
        };
        // One operation runs until 50 ns; at 30 ns the next one starts 20 ns later.
        for (deadline, placed) in [(60, Placed::InOrder), (59, Placed::Late)] {
            let mut station = Station::new(sizes, Policy::Deadline);
            assert!(station.reserve_input() && station.reserve_input());
            assert_eq!(station.ready(due('a', 0), at(0)), Placed::InOrder);
            assert_eq!(station.next(at(0)), Some('a'));
            station.runs_until(at(50));
            assert_eq!(station.ready(due('b', deadline), at(30)), placed);
        }
    }
}
