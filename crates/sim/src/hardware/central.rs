use std::collections::{BTreeMap, VecDeque};

use accelflow_trace::Accel;
use accelflow_units::Time;

/// The queue that the elements of all accelerators share, and the elements that its manager knows
/// to be free.
///
/// An entry is taken from its reservation, before its data has arrived, until its data has left for
/// an element. Ready tasks are ordered by laxity: by the latest time at which they may start and
/// still meet their deadline. A task that has just been produced may be promoted before waiting
/// ones, as RELIEF (HPCA 2024) does, if that makes none of them late.
#[derive(Clone, Debug)]
pub(crate) struct CentralQueue<T> {
    used: usize,
    /// Entries of joins that wait for arms.
    joins: usize,
    /// Entries of traces that must not continue yet.
    barred: usize,
    entries: usize,
    overflow: VecDeque<T>,
    overflow_used: usize,
    overflow_entries: usize,
    ready: Vec<BTreeMap<(Time, u64), T>>,
    /// Elements that the manager knows to be free, by accelerator and instance.
    free: Vec<Vec<usize>>,
    elements: [usize; Accel::MOST],
    sequence: u64,
}

impl<T: Copy> CentralQueue<T> {
    /// A queue of `entries`, an overflow area of `overflow_entries` and, by [`Accel::index`],
    /// `instances` with `elements` each.
    pub(crate) fn new(
        entries: usize,
        overflow_entries: usize,
        elements: [usize; Accel::MOST],
        instances: [usize; Accel::MOST],
    ) -> Self {
        CentralQueue {
            used: 0,
            joins: 0,
            barred: 0,
            entries,
            overflow: VecDeque::new(),
            overflow_used: 0,
            overflow_entries,
            ready: Accel::EVERY.map(|_| BTreeMap::new()).into(),
            free: (0..Accel::MOST)
                .map(|index| vec![elements[index]; instances[index]])
                .collect(),
            elements,
            sequence: 0,
        }
    }

    /// Takes an entry, if one is free.
    pub(crate) fn reserve(&mut self) -> bool {
        let free = self.used < self.entries;
        self.used += usize::from(free);
        free
    }

    /// Takes an entry for a join, if one is free and another is not taken by a join: an operation
    /// in the overflow area may be an arm, and waits for an entry.
    pub(crate) fn reserve_for_join(&mut self) -> bool {
        let free = self.joins + 1 < self.entries && self.reserve();
        self.joins += usize::from(free);
        free
    }

    /// Notes that all arms have arrived at an entry of [`CentralQueue::reserve_for_join`].
    pub(crate) fn joined(&mut self) {
        self.joins -= 1;
    }

    /// Notes that a trace in an entry must not continue yet.
    pub(crate) fn bar(&mut self) {
        self.barred += 1;
    }

    /// Notes that a trace of [`CentralQueue::bar`] may continue.
    pub(crate) fn unbar(&mut self) {
        self.barred -= 1;
    }

    /// Whether operations in the overflow area wait for entries of traces that must not continue.
    /// The other entries are those of joins, whose arms may be in the overflow area.
    pub(crate) fn is_barred(&self) -> bool {
        self.barred > 0 && !self.overflow.is_empty() && self.barred + self.joins == self.used
    }

    /// Exchanges a trace that must not continue with the next overflow entry, which is returned.
    pub(crate) fn change_places(&mut self) -> Option<T> {
        self.unbar();
        let moves_up = self.release();
        self.overflow_used += 1;
        moves_up
    }

    /// Takes an entry of the overflow area, if one is free.
    pub(crate) fn reserve_overflow(&mut self) -> bool {
        let free = self.overflow_used < self.overflow_entries;
        self.overflow_used += usize::from(free);
        free
    }

    /// Marks a reserved overflow entry as filled, and returns the entry that moves up, if one does.
    pub(crate) fn spilled(&mut self, task: T) -> Option<T> {
        self.overflow.push_back(task);
        self.refill()
    }

    /// Frees an entry whose data has left, and returns the overflow entry that moves up.
    pub(crate) fn release(&mut self) -> Option<T> {
        self.used -= 1;
        self.refill()
    }

    /// Gives up a reserved overflow entry that was never filled.
    pub(crate) fn release_overflow(&mut self) {
        self.overflow_used -= 1;
    }

    fn refill(&mut self) -> Option<T> {
        if self.overflow.is_empty() || !self.reserve() {
            return None;
        }
        self.overflow_used -= 1;
        self.overflow.pop_front()
    }

    /// Marks a reserved entry as ready for `accel`; it should start by `latest`.
    pub(crate) fn ready(&mut self, task: T, accel: Accel, latest: Time) {
        self.sequence += 1;
        self.ready[accel.index()].insert((latest, self.sequence), task);
    }

    /// Notes that an element of an instance of `accel` has become free.
    pub(crate) fn freed(&mut self, accel: Accel, instance: u8) {
        self.free[accel.index()][usize::from(instance)] += 1;
    }

    /// Takes an element of the instance of `accel` with the most free ones, the first of equals.
    fn take(&mut self, accel: Accel) -> Option<u8> {
        let free = &mut self.free[accel.index()];
        let most = free.iter().copied().max().filter(|&most| most > 0)?;
        let instance = free.iter().position(|&count| count == most)?;
        free[instance] -= 1;
        Some(instance as u8)
    }

    /// Gives a free element of `accel` to the ready task with the least laxity. Returns the task
    /// and the instance.
    pub(crate) fn pick(&mut self, accel: Accel) -> Option<(T, u8)> {
        if self.ready[accel.index()].is_empty() {
            return None;
        }
        let instance = self.take(accel)?;
        let (_, task) = self.ready[accel.index()].pop_first()?;
        Some((task, instance))
    }

    /// Gives a free element of `accel` to a task that its producer can forward, before waiting
    /// tasks. Returns the instance; `None` if that would make a waiting task late that could still
    /// start in time.
    pub(crate) fn promote(
        &mut self,
        accel: Accel,
        latest: Time,
        runtime: Time,
        now: Time,
    ) -> Option<u8> {
        let index = accel.index();
        let others: usize = self.free[index].iter().sum::<usize>().checked_sub(1)?;
        let mut ahead = self.ready[index].range(..(latest, 0)).skip(others);
        if ahead.any(|(&(other, _), _)| other > now && now + runtime > other) {
            return None;
        }
        self.take(accel)
    }

    /// Number of ready tasks that wait for an element of `accel`.
    pub(crate) fn waiting(&self, accel: Accel) -> usize {
        self.ready[accel.index()].len()
    }

    /// Whether nothing is queued or running.
    pub(crate) fn is_idle(&self) -> bool {
        self.used == 0
            && self.overflow_used == 0
            && self
                .free
                .iter()
                .zip(self.elements)
                .all(|(free, elements)| free.iter().all(|&free| free == elements))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// As many elements and instances of each accelerator.
    fn central<T: Copy>(
        entries: usize,
        overflow_entries: usize,
        elements: usize,
        instances: usize,
    ) -> CentralQueue<T> {
        let (elements, instances) = ([elements; Accel::MOST], [instances; Accel::MOST]);
        CentralQueue::new(entries, overflow_entries, elements, instances)
    }

    #[test]
    fn tasks_of_all_accelerators_share_the_entries() {
        let mut queue = central::<char>(2, 1, 1, 1);
        assert!(queue.reserve() && queue.reserve() && !queue.reserve());
        assert!(queue.reserve_overflow() && !queue.reserve_overflow());
        queue.ready('a', Accel::Tcp, at(9));
        queue.ready('b', Accel::Tcp, at(9));
        assert_eq!(queue.pick(Accel::Tcp), Some(('a', 0)));
        // Nothing is ready for Decr: what waits for TCP holds the entries.
        assert_eq!(queue.pick(Accel::Tcp), None, "the one element is taken");
        assert_eq!(queue.spilled('c'), None, "a's data has not left");
        assert_eq!(queue.release(), Some('c'));
        assert!(!queue.reserve());
        queue.ready('c', Accel::Decr, at(9));
        assert_eq!(
            Accel::ALL
                .map(|accel| queue.waiting(accel))
                .iter()
                .sum::<usize>(),
            2
        );
        assert_eq!(queue.pick(Accel::Decr), Some(('c', 0)));
        assert_eq!(queue.release(), None);
        assert!(queue.reserve());
    }

    #[test]
    fn the_least_laxity_goes_first_and_equals_in_order() {
        let mut queue = central(9, 0, 4, 1);
        for (task, latest) in [('a', 7), ('b', 5), ('c', 5), ('d', 6)] {
            assert!(queue.reserve());
            queue.ready(task, Accel::Ser, at(latest));
        }
        let picks = (0..5).map_while(|_| queue.pick(Accel::Ser));
        let order: Vec<_> = picks.map(|(task, _)| task).collect();
        assert_eq!(order, ['b', 'c', 'd', 'a']);
    }

    #[test]
    fn an_element_is_free_when_the_manager_knows() {
        let mut queue = central::<char>(9, 0, 1, 1);
        assert_eq!(queue.promote(Accel::Rpc, at(0), at(1), at(0)), Some(0));
        assert_eq!(queue.promote(Accel::Rpc, at(0), at(1), at(0)), None);
        assert!(!queue.is_idle());
        queue.freed(Accel::Rpc, 0);
        assert!(queue.is_idle());
        assert_eq!(queue.promote(Accel::Rpc, at(0), at(1), at(0)), Some(0));
    }

    #[test]
    fn forwarding_may_not_make_a_more_urgent_task_late() {
        let promoted = |runtime, latest| {
            let mut queue = central(9, 0, 1, 1);
            assert!(queue.reserve());
            queue.ready('a', Accel::Ser, at(100));
            queue.promote(Accel::Ser, latest, runtime, at(90)).is_some()
        };
        assert!(promoted(at(10), at(200)), "a starts at 100, just in time");
        assert!(!promoted(at(11), at(200)));
        assert!(promoted(at(11), at(99)), "it is the more urgent one");
        // What is late already loses nothing more.
        let mut queue = central(9, 0, 1, 1);
        assert!(queue.reserve());
        queue.ready('a', Accel::Ser, at(90));
        assert_eq!(queue.promote(Accel::Ser, at(200), at(11), at(90)), Some(0));
        // Nor does what has another free element.
        let mut queue = central(9, 0, 2, 1);
        assert!(queue.reserve());
        queue.ready('a', Accel::Ser, at(100));
        assert_eq!(queue.promote(Accel::Ser, at(200), at(11), at(90)), Some(0));
    }

    #[test]
    fn the_instance_with_the_most_free_elements_is_given_the_next() {
        let mut queue = central::<char>(9, 0, 2, 2);
        let mut next = || queue.promote(Accel::Ser, at(0), at(1), at(0));
        assert_eq!([next(), next(), next()], [Some(0), Some(1), Some(0)]);
        queue.freed(Accel::Ser, 0);
        queue.freed(Accel::Ser, 0);
        let mut next = || queue.promote(Accel::Ser, at(0), at(1), at(0));
        assert_eq!(
            [next(), next(), next(), next()],
            [Some(0), Some(0), Some(1), None]
        );
    }
}
