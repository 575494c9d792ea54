use std::collections::VecDeque;

use accelflow_kernel::BusyTime;
use accelflow_shaping::dispatch::{DispatchPolicy, Elements, Entry, InputQueue, Owner, Placed};
use accelflow_units::Time;

use super::dispatcher::Dispatcher;

/// The numbers of elements and queue entries of an accelerator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Number of processing elements of an accelerator instance.
    pub elements: usize,
    /// Number of entries of the instance's input queue.
    pub input: usize,
    /// Number of entries of the instance's overflow area.
    pub overflow: usize,
    /// Number of entries of the instance's output queue.
    pub output: usize,
}

impl Sizes {
    /// The share with index `share` of `shares` equal shares; the first shares get the remainder.
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

/// The preparation that the element given to an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Whether the element must wipe its state before the operation, because the state belongs to
    /// another tenant.
    pub wipes: bool,
    /// Whether the element must load the state of the operation's service before the operation.
    pub reloads: bool,
}

/// Chooses the place of the entry that leaves a queue next: 0, unless a policy of the user decides.
pub(crate) trait Pick<T>: FnOnce(&InputQueue<T>) -> usize {}

impl<T, F: FnOnce(&InputQueue<T>) -> usize> Pick<T> for F {}

/// One instance of an accelerator: input queue with its overflow area, processing elements, output
/// queue.
///
/// `T` identifies an entry. An input entry is taken from its reservation, before its data has
/// arrived, until a processing element loads it; an output entry from the end of the operation
/// until its data has left.
#[derive(Clone, Debug)]
pub(crate) struct Station<T> {
    ready: InputQueue<T>,
    /// The overflow area: entries that come after those of `ready`.
    overflow: InputQueue<T>,
    blocked: VecDeque<(T, Owner)>,
    input_used: usize,
    /// Input entries of joins that wait for arms.
    joins: usize,
    /// Input entries of traces that must not continue yet.
    barred: usize,
    /// Entries, of the input queue or the overflow area, of traces that wait for messages.
    parked: usize,
    input_entries: usize,
    overflow_used: usize,
    overflow_entries: usize,
    output_used: usize,
    output_entries: usize,
    /// The owners of the state in idle elements. The element that became idle last is taken first.
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
    pub(crate) peak_input: usize,
    /// Number of traces that fell back to a core because queue and overflow area were full.
    pub(crate) turned_away: u64,
}

impl<T: Copy + PartialEq> Station<T> {
    pub(crate) fn new(sizes: Sizes, policy: DispatchPolicy) -> Station<T> {
        Station {
            ready: InputQueue::new(policy, sizes.input),
            overflow: InputQueue::new(policy, sizes.overflow),
            blocked: VecDeque::new(),
            input_used: 0,
            joins: 0,
            barred: 0,
            parked: 0,
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
            peak_input: 0,
            turned_away: 0,
        }
    }

    /// Takes an input entry, if one is free.
    #[inline(always)]
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

    /// Notes that all arms have arrived at an entry of [`Station::reserve_for_join`].
    pub(crate) fn joined(&mut self) {
        self.joins -= 1;
    }

    /// Notes that a trace in a reserved entry waits for a message.
    pub(crate) fn park(&mut self) {
        self.parked += 1;
    }

    /// Notes that a trace of [`Station::park`] waits no longer.
    pub(crate) fn unpark(&mut self) {
        self.parked -= 1;
    }

    /// Notes that a trace in an input entry must not continue yet.
    pub(crate) fn bar(&mut self) {
        self.barred += 1;
    }

    /// Notes that a trace of [`Station::bar`] may continue.
    pub(crate) fn unbar(&mut self) {
        self.barred -= 1;
    }

    /// Whether operations in the overflow area wait for input entries of traces that must not
    /// continue. The other input entries are those of joins, whose arms may be in the overflow
    /// area.
    pub(crate) fn is_barred(&self) -> bool {
        self.barred > 0 && !self.overflow.is_empty() && self.barred + self.joins == self.input_used
    }

    /// Exchanges a trace that must not continue with the next overflow entry, which is returned.
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
    pub(crate) fn start(&mut self, now: Time, pick: impl Pick<T>) -> Option<(T, Element)> {
        if !self.can_start() {
            return None;
        }
        let place = pick(&self.ready);
        let entry = self.ready.take(place)?;
        Some((entry.item, self.begin(entry.owner, now)?))
    }

    /// Whether an entry is ready and an element idle.
    #[inline]
    pub(crate) fn can_start(&self) -> bool {
        !self.idle.is_empty() && !self.ready.is_empty()
    }

    /// Starts an entry of `owner` that becomes ready in a reserved input entry, if no other waits
    /// and an element is idle. Equivalent to [`Station::ready`] and [`Station::start`] in that
    /// case.
    #[inline(always)]
    pub(crate) fn start_at_once(&mut self, owner: Owner, now: Time) -> Option<Element> {
        match self.ready.is_empty() {
            true => self.begin(owner, now),
            false => None,
        }
    }

    /// Gives an idle element to an entry of `owner`.
    #[inline(always)]
    fn begin(&mut self, owner: Owner, now: Time) -> Option<Element> {
        let held = self.idle.pop()?;
        self.input_used -= 1;
        if self.busy.busy() == 0 {
            self.any.begin(now);
        }
        self.busy.begin(now);
        Some(Element {
            wipes: held.is_some_and(|held| held.tenant != owner.tenant),
            reloads: held != Some(owner),
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

    /// Whether entries in the overflow area wait for input entries.
    #[inline]
    pub(crate) fn has_overflow(&self) -> bool {
        !self.overflow.is_empty()
    }

    /// Ends an operation. Returns whether its result got an output entry. If not, the result waits
    /// in the element, which stays taken.
    #[inline(always)]
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
    #[inline(always)]
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

    /// The load by which instances are chosen: operations that wait, are in transit, or hold an
    /// element. Traces that wait for messages need no element yet.
    pub(crate) fn load(&self) -> usize {
        let entries = self.input_used + self.overflow_used - self.parked;
        entries + self.elements as usize - self.idle.len()
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

    #[inline(always)]
    fn free_element(&mut self, owner: Owner, now: Time) {
        self.idle.push(Some(owner));
        self.busy.end(now);
        if self.busy.busy() == 0 {
            self.any.end(now);
        }
    }
}

#[cfg(test)]
mod tests;
