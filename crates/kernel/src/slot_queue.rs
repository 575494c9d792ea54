//! The fast event queue: a fixed set of slots with at most one pending event each.

use std::fmt;

use accelflow_units::Time;

use crate::EventQueue;

/// A queue of pending events for at most 16,384 slots, delivered in the order (time, slot).
///
/// A slot is a source of events that has at most one pending event, such as a server that will
/// finish its work or a generator that will fire. The queue stores only the time and the slot of an
/// event, as `picoseconds << 14 | slot` in one `u64`; the model itself keeps the meaning of the
/// event. **Simultaneous events are delivered lowest slot first**, independent of the order of
/// scheduling, so the numbering of the slots is part of the model.
///
/// The limits are [`SlotQueue::MAX_SLOTS`] slots, and times before [`SlotQueue::HORIZON`] (50 bits
/// of picoseconds, 1,126 s). A model should check its configuration against these limits at the
/// start. [`crate::Calendar`] has neither limit.
///
/// The slot queue is for models of a few hundred slots that do little work per event. For such
/// models it is 1.8 times as fast as the calendar (`benches/kernel_m2`). The simulated server uses
/// a [`crate::Wheel`] instead, for three reasons. One request has several pending events (a
/// time-out and the message that the request waits for), and a saturated run has more requests than
/// there are slots. Runs may be longer than the horizon. Delivery of simultaneous events in the
/// order of slots would change the results.
///
/// A model must schedule neither before [`SlotQueue::now`] nor for a slot that already has a
/// pending event. If it does, debug builds panic. Release builds deliver an event scheduled before
/// `now` at `now`, and deliver both events of a slot that already had one.
#[derive(Clone, Debug)]
pub struct SlotQueue {
    /// As in the calendar: the root is the last entry of group 0, the children of position `p`
    /// are group `p - 2`.
    keys: Box<[[u64; 4]]>,
    slots: usize,
    end: usize,
    hole: bool,
    now: Time,
    #[cfg(debug_assertions)]
    pending: Box<[bool]>,
}

const SLOT_BITS: u32 = 14;
const ROOT: usize = 3;
const EMPTY: u64 = u64::MAX;

/// The error for a [`SlotQueue`] with more than [`SlotQueue::MAX_SLOTS`] slots, which cannot be
/// created. Holds the number of slots that was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySlots(pub usize);

impl fmt::Display for TooManySlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "slots = {}: must be at most {}",
            self.0,
            SlotQueue::MAX_SLOTS
        )
    }
}

impl std::error::Error for TooManySlots {}

impl SlotQueue {
    /// The largest number of slots of a [`SlotQueue`]: 16,384.
    pub const MAX_SLOTS: usize = 1 << SLOT_BITS;
    /// The simulated time before which all events must lie: 2^50 - 1 ps, about 1,126 s.
    pub const HORIZON: Time = Time::from_ps((1 << (64 - SLOT_BITS)) - 1);

    /// Creates an empty queue at time zero for slots `0..slots`.
    ///
    /// # Errors
    /// [`TooManySlots`] for more than [`SlotQueue::MAX_SLOTS`] slots.
    pub fn new(slots: usize) -> Result<SlotQueue, TooManySlots> {
        if slots > SlotQueue::MAX_SLOTS {
            return Err(TooManySlots(slots));
        }
        Ok(SlotQueue {
            keys: vec![[EMPTY; 4]; (slots + ROOT) / 4 + 1].into_boxed_slice(),
            slots,
            end: ROOT,
            hole: false,
            now: Time::ZERO,
            #[cfg(debug_assertions)]
            pending: vec![false; slots].into_boxed_slice(),
        })
    }

    /// Schedules the event of `slot` for the time `at`, which must not be before
    /// [`SlotQueue::now`].
    ///
    /// # Panics
    /// If `at` is at or after [`SlotQueue::HORIZON`], or `slot` is not one of the queue's slots:
    /// such an event would otherwise silently be confused with another one.
    #[inline]
    pub fn schedule(&mut self, at: Time, slot: u16) {
        assert!(
            at < SlotQueue::HORIZON,
            "time = {} ps: must be before {} ps, the horizon of a slot queue",
            at.as_ps(),
            SlotQueue::HORIZON.as_ps()
        );
        assert!(
            usize::from(slot) < self.slots,
            "slot = {slot}: must be below {}, the number of slots",
            self.slots
        );
        debug_assert!(
            at >= self.now,
            "event of slot {slot}: time = {} ps: must not be before {} ps, the current time",
            at.as_ps(),
            self.now.as_ps()
        );
        self.mark(slot, true);
        let key = at.max(self.now).as_ps() << SLOT_BITS | u64::from(slot);
        if self.hole {
            self.hole = false;
            self.settle_from_root(key);
        } else {
            self.append(key);
        }
    }

    /// Removes the next event, and returns its time and its slot. [`SlotQueue::now`] moves to this
    /// time. `None` if no event is pending.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, u16)> {
        if self.hole {
            self.close_hole();
        }
        let key = self.keys[0][ROOT];
        if key == EMPTY {
            return None;
        }
        self.hole = true;
        self.now = time_of(key);
        let slot = (key as usize % SlotQueue::MAX_SLOTS) as u16;
        self.mark(slot, false);
        Some((self.now, slot))
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

    #[cfg(debug_assertions)]
    fn mark(&mut self, slot: u16, pending: bool) {
        let was = std::mem::replace(&mut self.pending[usize::from(slot)], pending);
        assert!(
            !(was && pending),
            "slot = {slot}: must be a slot without a pending event"
        );
    }

    #[cfg(not(debug_assertions))]
    fn mark(&mut self, _slot: u16, _pending: bool) {}

    fn close_hole(&mut self) {
        self.hole = false;
        self.end -= 1;
        let key = std::mem::replace(&mut self.keys[self.end / 4][self.end % 4], EMPTY);
        if self.end > ROOT {
            self.settle_from_root(key);
        }
    }

    #[inline]
    fn settle_from_root(&mut self, key: u64) {
        let mut at = ROOT;
        while let Some(children) = self.keys.get(at - 2) {
            let (lane, least) = smallest(children);
            if least >= key {
                break;
            }
            self.keys[at / 4][at % 4] = least;
            at = (at - 2) * 4 + lane;
        }
        self.keys[at / 4][at % 4] = key;
    }

    fn append(&mut self, key: u64) {
        let mut at = self.end;
        self.end += 1;
        while at > ROOT {
            let parent = at / 4 + 2;
            let above = self.keys[parent / 4][parent % 4];
            if above <= key {
                break;
            }
            self.keys[at / 4][at % 4] = above;
            at = parent;
        }
        self.keys[at / 4][at % 4] = key;
    }
}

impl EventQueue<u16> for SlotQueue {
    fn schedule(&mut self, at: Time, slot: u16) {
        SlotQueue::schedule(self, at, slot);
    }

    fn pop(&mut self) -> Option<(Time, u16)> {
        SlotQueue::pop(self)
    }

    fn peek_time(&self) -> Option<Time> {
        SlotQueue::peek_time(self)
    }

    fn len(&self) -> usize {
        SlotQueue::len(self)
    }

    fn now(&self) -> Time {
        SlotQueue::now(self)
    }
}

fn time_of(key: u64) -> Time {
    Time::from_ps(key >> SLOT_BITS)
}

#[inline]
fn smallest(keys: &[u64; 4]) -> (usize, u64) {
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
