//! The general event queue: any number of pending events of any `Copy` type.

use accelflow_units::Time;

use crate::{EventQueue, Priority};

/// A queue of pending events of a simulation, delivered in the order (time, priority, sequence
/// number).
///
/// Among events of the same time, those with the lowest [`Priority`] come first. Among events of
/// the same time and priority, the one that was scheduled first comes first. No two events compare
/// equal, so equal calls of `schedule` and `pop` give an equal order of delivery.
///
/// A model must not schedule an event before [`Calendar::now`], the current time. If it does, debug
/// builds panic, and release builds deliver the event at `now`, in the order of its priority and
/// sequence number.
///
/// Events cannot be cancelled. A model that needs to cancel events keeps a generation number in its
/// state and, on delivery, ignores events of older generations.
///
/// The queue is a 4-ary heap of 128-bit sort keys (time, priority, sequence number), with the
/// events in a slab. Its memory grows with the largest number of events ever pending, and is
/// reused. [`Calendar::pop`] leaves a hole at the root of the heap, which the next
/// [`Calendar::schedule`] fills. So a `pop` followed by a `schedule`, the usual case, costs one
/// descent of the heap, not two.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    /// Keys in groups of siblings, [`EMPTY`] where there is none. The root is the last entry of
    /// group 0, whose other entries stay empty; then the children of position `p` are exactly
    /// group `p - 2`, and a group is one cache line.
    keys: Vec<[u128; 4]>,
    /// For each position of `keys`, the index of its event in `events`.
    slots: Vec<[u32; 4]>,
    events: Vec<E>,
    free: Vec<u32>,
    /// One past the last occupied position.
    end: usize,
    /// Whether the root was popped and not yet replaced.
    hole: bool,
    sequence: u64,
    now: Time,
}

const ROOT: usize = 3;
const EMPTY: u128 = u128::MAX;
const SEQUENCE_BITS: u32 = 56;

impl<E: Copy> Calendar<E> {
    /// Creates an empty calendar at time zero.
    pub fn new() -> Calendar<E> {
        Calendar::with_capacity(64)
    }

    /// Creates an empty calendar at time zero, with memory for `events` pending events.
    pub fn with_capacity(events: usize) -> Calendar<E> {
        let groups = (events + ROOT) / 4 + 1;
        let mut keys = Vec::with_capacity(groups);
        let mut slots = Vec::with_capacity(groups);
        keys.push([EMPTY; 4]);
        slots.push([0; 4]);
        Calendar {
            keys,
            slots,
            events: Vec::with_capacity(events),
            free: Vec::with_capacity(events),
            end: ROOT,
            hole: false,
            sequence: 0,
            now: Time::ZERO,
        }
    }

    /// Adds `event`, to be delivered at the time `at`, which must not be before [`Calendar::now`].
    /// Events of the same time are delivered in the order of `priority`.
    pub fn schedule(&mut self, at: Time, priority: Priority, event: E) {
        debug_assert!(
            at >= self.now,
            "event: time = {} ps: must not be before {} ps, the current time",
            at.as_ps(),
            self.now.as_ps()
        );
        let rank = u64::from(priority.0) << SEQUENCE_BITS | self.sequence;
        let key = u128::from(at.max(self.now).as_ps()) << 64 | u128::from(rank);
        self.sequence += 1;
        let slot = self.store(event);
        if self.hole {
            self.hole = false;
            self.settle_from_root(key, slot);
        } else {
            self.append(key, slot);
        }
    }

    /// Removes the next event, and returns its time and the event. [`Calendar::now`] moves to this
    /// time. `None` if no event is pending.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.close_hole();
        if self.end == ROOT {
            return None;
        }
        self.now = time_of(self.keys[0][ROOT]);
        let slot = self.slots[0][ROOT];
        self.hole = true;
        self.free.push(slot);
        Some((self.now, self.events[slot as usize]))
    }

    /// Returns the time of the next event, which stays pending; `None` if no event is pending.
    pub fn peek_time(&self) -> Option<Time> {
        let key = if self.hole {
            self.keys
                .get(1)
                .map_or(EMPTY, |children| smallest(children).1)
        } else {
            self.keys[0][ROOT]
        };
        (key != EMPTY).then(|| time_of(key))
    }

    /// Returns the number of pending events.
    pub fn len(&self) -> usize {
        self.end - ROOT - usize::from(self.hole)
    }

    /// Returns whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the current simulated time: the time of the last event popped, or zero before the
    /// first event.
    pub fn now(&self) -> Time {
        self.now
    }

    fn store(&mut self, event: E) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.events[slot as usize] = event;
            return slot;
        }
        self.events.push(event);
        (self.events.len() - 1) as u32
    }

    /// Fills the hole at the root with the last entry.
    fn close_hole(&mut self) {
        if !self.hole {
            return;
        }
        self.hole = false;
        self.end -= 1;
        let (group, lane) = (self.end / 4, self.end % 4);
        let key = std::mem::replace(&mut self.keys[group][lane], EMPTY);
        if self.end > ROOT {
            self.settle_from_root(key, self.slots[group][lane]);
        }
    }

    fn settle_from_root(&mut self, key: u128, slot: u32) {
        let mut at = ROOT;
        while let Some(children) = self.keys.get(at - 2) {
            let (lane, least) = smallest(children);
            if least >= key {
                break;
            }
            let child = (at - 2) * 4 + lane;
            self.put(at, least, self.slots[at - 2][lane]);
            at = child;
        }
        self.put(at, key, slot);
    }

    fn append(&mut self, key: u128, slot: u32) {
        let mut at = self.end;
        self.end += 1;
        if at / 4 == self.keys.len() {
            self.keys.push([EMPTY; 4]);
            self.slots.push([0; 4]);
        }
        while at > ROOT {
            let parent = at / 4 + 2;
            let above = self.keys[parent / 4][parent % 4];
            if above <= key {
                break;
            }
            self.put(at, above, self.slots[parent / 4][parent % 4]);
            at = parent;
        }
        self.put(at, key, slot);
    }

    fn put(&mut self, at: usize, key: u128, slot: u32) {
        self.keys[at / 4][at % 4] = key;
        self.slots[at / 4][at % 4] = slot;
    }
}

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Calendar<E> {
        Calendar::new()
    }
}

/// Schedules events at [`Priority::NORMAL`], so simultaneous ones are delivered in the order of
/// scheduling.
impl<E: Copy> EventQueue<E> for Calendar<E> {
    fn schedule(&mut self, at: Time, event: E) {
        Calendar::schedule(self, at, Priority::NORMAL, event);
    }

    fn pop(&mut self) -> Option<(Time, E)> {
        Calendar::pop(self)
    }

    fn peek_time(&self) -> Option<Time> {
        Calendar::peek_time(self)
    }

    fn len(&self) -> usize {
        Calendar::len(self)
    }

    fn now(&self) -> Time {
        Calendar::now(self)
    }
}

fn time_of(key: u128) -> Time {
    Time::from_ps((key >> 64) as u64)
}

fn smallest(keys: &[u128; 4]) -> (usize, u128) {
    let low = if keys[1] < keys[0] {
        (1, keys[1])
    } else {
        (0, keys[0])
    };
    let high = if keys[3] < keys[2] {
        (3, keys[3])
    } else {
        (2, keys[2])
    };
    if high.1 < low.1 { high } else { low }
}
