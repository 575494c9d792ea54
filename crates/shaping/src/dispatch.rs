//! The input dispatcher of an accelerator: the order in which it loads ready entries.
//!
//! This code has no clock and no processing elements, so simulated accelerators and worker pools
//! for real messages both use it.

use std::collections::VecDeque;

use accelflow_units::Time;

/// The order in which the input dispatcher of an accelerator loads the ready entries of its input
/// queue into processing elements (AccelFlow, section IV.C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DispatchPolicy {
    /// Entries are loaded in the order in which they became ready.
    #[default]
    Fifo,
    /// Entries with the highest priority level are loaded first; within a level, in the order in
    /// which they became ready.
    Priority,
    /// Entries are loaded in the order in which they became ready, with exchanges: an entry that
    /// would miss its deadline may change places with an earlier entry that has enough slack
    /// (section IV.C).
    Deadline,
    /// Entries with the earliest deadline are loaded first; among equals, in the order in which
    /// they became ready: "prioritizes those requests that are closer to their deadline" (section
    /// VII.A.3). Entries without a deadline come last.
    Edf,
}

impl DispatchPolicy {
    /// All dispatch policies. The index of a policy is its number in the parameter
    /// `scheduling.policy`.
    pub const ALL: [DispatchPolicy; 4] = [
        DispatchPolicy::Fifo,
        DispatchPolicy::Priority,
        DispatchPolicy::Deadline,
        DispatchPolicy::Edf,
    ];

    /// Returns the name of the policy in commands and results, such as `fifo`.
    pub const fn name(self) -> &'static str {
        match self {
            DispatchPolicy::Fifo => "fifo",
            DispatchPolicy::Priority => "priority",
            DispatchPolicy::Deadline => "deadline",
            DispatchPolicy::Edf => "edf",
        }
    }

    /// Returns whether the policy uses deadlines.
    pub const fn has_deadlines(self) -> bool {
        matches!(self, DispatchPolicy::Deadline | DispatchPolicy::Edf)
    }

    /// Returns the number of the policy, which is its index in [`DispatchPolicy::ALL`].
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the policy with the index `number` in [`DispatchPolicy::ALL`]; the first policy if
    /// there is no such index.
    pub fn of_number(number: f64) -> DispatchPolicy {
        let mut all = DispatchPolicy::ALL.into_iter();
        all.find(|policy| f64::from(policy.number()) == number)
            .unwrap_or_default()
    }

    /// Returns the policy called `name`; `None` if no policy has this name.
    pub fn named(name: &str) -> Option<DispatchPolicy> {
        DispatchPolicy::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
    }
}

/// The tenant and the service whose state a processing element holds, or to which a queue entry
/// belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The index of the tenant among the tenants of the server.
    pub tenant: u16,
    /// The index of the service among the services that run on the server; 0 if there is only one.
    pub service: u16,
}

/// An entry of an input queue that is ready to be loaded into a processing element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<T> {
    /// The queued item, such as the identifier of a trace.
    pub item: T,
    /// The tenant and the service to which the entry belongs.
    pub owner: Owner,
    /// The priority level of the entry. Under [`DispatchPolicy::Priority`], the highest level is
    /// loaded first; other policies ignore the level.
    pub priority: u8,
    /// The deadline of the entry's operation; [`Time::MAX`] without a deadline.
    pub due: Time,
    /// The expected time of the entry's operation on a processing element.
    pub work: Time,
}

/// The state of an accelerator's processing elements, from which the dispatcher estimates when
/// operations end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// The number of processing elements; at least 1.
    pub count: u64,
    /// Whether at least one processing element is idle.
    pub idle: bool,
    /// The sum of the remaining times of all running operations.
    pub remaining: Time,
}

/// The place that [`InputQueue::push`] has given to a new entry: the policy's normal place, the
/// place of an earlier entry (exchanged), or the end of the queue although the entry will be late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// The entry is where the policy puts it, without an exchange.
    InOrder,
    /// The entry has changed places with an earlier entry, so that both meet their deadlines
    /// ([`DispatchPolicy::Deadline`]).
    Exchanged,
    /// The entry is at the end of the queue, where it is expected to miss its deadline, since no
    /// exchange helps ([`DispatchPolicy::Deadline`]).
    Late,
}

/// The ready entries of an accelerator's input queue, in the order of a [`DispatchPolicy`].
#[derive(Clone, Debug)]
pub struct InputQueue<T> {
    policy: DispatchPolicy,
    entries: VecDeque<Entry<T>>,
}

impl<T> InputQueue<T> {
    /// Creates an empty queue with memory for `capacity` entries. The queue may hold more entries.
    pub fn new(policy: DispatchPolicy, capacity: usize) -> InputQueue<T> {
        InputQueue {
            policy,
            entries: VecDeque::with_capacity(capacity),
        }
    }

    /// Returns the number of ready entries in the queue.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the queue has no ready entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the total time that the operations of all entries in the queue are expected to take
    /// on processing elements.
    pub fn work(&self) -> Time {
        self.entries.iter().map(|entry| entry.work).sum()
    }

    /// Removes and returns the entry to be loaded next; `None` if the queue is empty.
    pub fn pop(&mut self) -> Option<Entry<T>> {
        self.entries.pop_front()
    }

    /// Removes and returns the entry with the index `place`; `None` if there is none. Index 0 is
    /// the entry that [`InputQueue::pop`] removes. This is for a policy that chooses an entry when
    /// a processing element loads one.
    pub fn take(&mut self, place: usize) -> Option<Entry<T>> {
        match place {
            0 => self.entries.pop_front(),
            _ => self.entries.remove(place),
        }
    }

    /// Iterates over the entries, beginning with the one to be loaded next.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Entry<T>> {
        self.entries.iter()
    }

    /// Inserts an entry at the place that the policy chooses, and returns how the place was chosen.
    /// Only [`DispatchPolicy::Deadline`] uses `elements` and `now`, the current time.
    pub fn push(&mut self, entry: Entry<T>, elements: Elements, now: Time) -> Placed {
        match self.policy {
            DispatchPolicy::Fifo => {
                self.entries.push_back(entry);
                Placed::InOrder
            }
            DispatchPolicy::Priority => {
                // Higher levels are in front, so the queue is sorted.
                let behind = |other: &Entry<T>| other.priority >= entry.priority;
                let place = self.entries.partition_point(behind);
                self.entries.insert(place, entry);
                Placed::InOrder
            }
            DispatchPolicy::Deadline => self.push_by_deadline(entry, elements, now),
            DispatchPolicy::Edf => {
                let before = |other: &Entry<T>| other.due <= entry.due;
                let place = self.entries.partition_point(before);
                self.entries.insert(place, entry);
                Placed::InOrder
            }
        }
    }

    /// "The input dispatcher reads its deadline and estimates whether it will meet its deadline.
    /// If it will not, the dispatcher checks earlier requests. If any has a large slack, the
    /// dispatcher can change the processing order so that both requests meet deadlines."
    fn push_by_deadline(&mut self, new: Entry<T>, elements: Elements, now: Time) -> Placed {
        let (last, due) = (self.entries.len(), new.due);
        self.entries.push_back(new);
        if elements.idle || due == Time::MAX || self.ends(last, elements, now) <= due {
            return Placed::InOrder;
        }
        // Tries the nearest entry first, since the exchange delays it the least.
        for earlier in (0..last).rev() {
            self.entries.swap(earlier, last);
            if self.all_meet(earlier, last, elements, now) {
                return Placed::Exchanged;
            }
            self.entries.swap(earlier, last);
        }
        Placed::Late
    }

    /// Whether both entries meet their deadlines after `earlier` and `last` have been exchanged,
    /// and the exchange makes no entry between them miss its deadline.
    fn all_meet(&self, earlier: usize, last: usize, elements: Elements, now: Time) -> bool {
        let meets = |place: usize| self.ends(place, elements, now) <= self.entries[place].due;
        let longer = self.entries[earlier].work > self.entries[last].work;
        meets(earlier)
            && meets(last)
            && (!longer
                || (earlier + 1..last)
                    .all(|place| meets(place) || self.missed(place, last, elements, now, earlier)))
    }

    /// Whether the entry at `place` would also have missed its deadline without the exchange.
    fn missed(
        &self,
        place: usize,
        last: usize,
        elements: Elements,
        now: Time,
        earlier: usize,
    ) -> bool {
        let (new, old) = (self.entries[earlier].work, self.entries[last].work);
        let delay = Time::from_ps((new.as_ps() - old.as_ps()) / elements.count);
        self.ends(place, elements, now).saturating_sub(delay) > self.entries[place].due
    }

    /// The expected end of the operation at `place`, if the work before it is spread over all
    /// elements.
    fn ends(&self, place: usize, elements: Elements, now: Time) -> Time {
        let ahead: Time = self.entries.range(..place).map(|entry| entry.work).sum();
        now + (elements.remaining + ahead) / elements.count + self.entries[place].work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner {
        tenant: 0,
        service: 0,
    };

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    fn entry(item: char, due_ns: u64, work_ns: u64) -> Entry<char> {
        Entry {
            item,
            owner: OWNER,
            priority: 0,
            due: at(due_ns),
            work: at(work_ns),
        }
    }

    fn order(queue: &mut InputQueue<char>) -> String {
        std::iter::from_fn(|| queue.pop().map(|entry| entry.item)).collect()
    }

    /// Two busy elements with 20 ns to go in all, at 100 ns.
    fn deadline(entries: &[Entry<char>]) -> (String, Vec<Placed>) {
        let elements = Elements {
            count: 2,
            idle: false,
            remaining: at(20),
        };
        let mut queue = InputQueue::new(DispatchPolicy::Deadline, 8);
        let placed = entries
            .iter()
            .map(|&entry| queue.push(entry, elements, at(100)))
            .collect();
        (order(&mut queue), placed)
    }

    #[test]
    fn fifo_keeps_the_order_whatever_the_entries_say() {
        let mut queue = InputQueue::new(DispatchPolicy::Fifo, 8);
        let elements = Elements {
            count: 1,
            idle: false,
            remaining: at(9),
        };
        for (item, priority) in [('a', 0), ('b', 7), ('c', 3)] {
            let entry = Entry {
                priority,
                ..entry(item, 0, 5)
            };
            assert_eq!(queue.push(entry, elements, at(50)), Placed::InOrder);
        }
        assert_eq!(order(&mut queue), "abc");
    }

    #[test]
    fn an_entry_taken_from_anywhere_leaves_the_order_of_the_others() {
        let mut queue = InputQueue::new(DispatchPolicy::Fifo, 8);
        let elements = Elements {
            count: 1,
            idle: false,
            remaining: at(9),
        };
        for item in "abcd".chars() {
            queue.push(entry(item, 0, 5), elements, at(50));
        }
        assert_eq!(
            queue.iter().map(|entry| entry.item).collect::<String>(),
            "abcd"
        );
        assert_eq!(queue.take(2).map(|entry| entry.item), Some('c'));
        assert_eq!(queue.take(3), None);
        assert_eq!(queue.take(0).map(|entry| entry.item), Some('a'));
        assert_eq!(order(&mut queue), "bd");
    }

    #[test]
    fn higher_levels_go_first_and_a_level_is_fifo() {
        let mut queue = InputQueue::new(DispatchPolicy::Priority, 8);
        let elements = Elements {
            count: 1,
            idle: false,
            remaining: at(9),
        };
        for (item, priority) in [('a', 1), ('b', 0), ('c', 2), ('d', 1), ('e', 2), ('f', 0)] {
            let entry = Entry {
                priority,
                ..entry(item, 0, 5)
            };
            queue.push(entry, elements, at(50));
        }
        assert_eq!(order(&mut queue), "ceadbf");
    }

    #[test]
    fn the_earliest_deadline_goes_first_whoever_has_slack() {
        let mut queue = InputQueue::new(DispatchPolicy::Edf, 8);
        let elements = Elements {
            count: 1,
            idle: false,
            remaining: at(9),
        };
        let forever = |item| Entry {
            due: Time::MAX,
            ..entry(item, 0, 5)
        };
        let first = [forever('a'), entry('b', 900, 5), entry('c', 30, 50)];
        for entry in first.into_iter().chain([entry('d', 900, 1), forever('e')]) {
            assert_eq!(queue.push(entry, elements, at(50)), Placed::InOrder);
        }
        assert_eq!(order(&mut queue), "cbdae");
    }

    #[test]
    fn an_entry_that_meets_its_deadline_stays_behind_the_others() {
        // a takes from 110 to 140; b starts at (20 + 30) / 2 = 25, ends 10 later: at 135.
        let slack = entry('a', 1_000, 30);
        let (order, placed) = deadline(&[slack, entry('b', 135, 10)]);
        assert_eq!(order, "ab");
        assert_eq!(placed, [Placed::InOrder, Placed::InOrder]);
    }

    #[test]
    fn an_entry_that_would_miss_its_deadline_changes_places_with_one_that_has_slack() {
        let (order, placed) = deadline(&[entry('a', 1_000, 30), entry('b', 134, 10)]);
        assert_eq!(order, "ba");
        assert_eq!(placed, [Placed::InOrder, Placed::Exchanged]);
    }

    #[test]
    fn slack_is_large_if_the_deadline_is_met_in_the_later_place() {
        // In b's place a starts at (20 + 10) / 2 = 15 and ends at 145.
        assert_eq!(
            deadline(&[entry('a', 145, 30), entry('b', 134, 10)]).0,
            "ba"
        );
        let (order, placed) = deadline(&[entry('a', 144, 30), entry('b', 134, 10)]);
        assert_eq!(order, "ab");
        assert_eq!(placed, [Placed::InOrder, Placed::Late]);
    }

    #[test]
    fn the_nearest_entry_whose_place_is_early_enough_gives_it_up() {
        // c ends at 100 + (20 + 40) / 2 + 10 = 140 behind both, at 130 in b's place.
        let earlier = [entry('a', 1_000, 20), entry('b', 1_000, 20)];
        let with = |due| deadline(&[earlier[0], earlier[1], entry('c', due, 10)]).0;
        assert_eq!(with(140), "abc");
        assert_eq!(with(139), "acb");
        assert_eq!(with(130), "acb");
        assert_eq!(with(129), "cba");
        assert_eq!(with(120), "cba");
        assert_eq!(with(119), "abc", "not even the first place is early enough");
    }

    #[test]
    fn nobody_between_the_two_comes_to_miss_a_deadline() {
        // x ends at 100 + (20 + 10) / 2 + 10 = 125; with c's 30 before it instead of a's 10, at
        // 135. c itself ends at 140 in the first place and at 150 behind x.
        let c = entry('c', 145, 30);
        let with = |due| deadline(&[entry('a', 1_000, 10), entry('x', due, 10), c]).0;
        assert_eq!(with(135), "cxa");
        assert_eq!(with(134), "axc");
        // Who misses it in any place does not keep the others from meeting theirs.
        assert_eq!(with(100), "cxa");
    }

    #[test]
    fn without_deadlines_or_with_an_idle_element_the_order_is_kept() {
        let forever = |item| Entry {
            due: Time::MAX,
            ..entry(item, 0, 30)
        };
        assert_eq!(deadline(&[forever('a'), forever('b')]).0, "ab");
        // Without a deadline slack has no end.
        assert_eq!(deadline(&[forever('a'), entry('b', 120, 10)]).0, "ba");
        let mut queue = InputQueue::new(DispatchPolicy::Deadline, 8);
        let idle = Elements {
            count: 2,
            idle: true,
            remaining: at(20),
        };
        assert_eq!(
            queue.push(entry('a', 0, 10), idle, at(100)),
            Placed::InOrder
        );
    }
}
