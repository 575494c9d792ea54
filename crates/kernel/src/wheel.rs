//! The event queue for many events in the near future, which are in buckets of time.

use accelflow_units::Time;

use crate::{Calendar, EventQueue, Priority};

/// A queue of pending events (a timing wheel), delivered in the order (time, priority, sequence
/// number), as by a [`Calendar`].
///
/// Events of the next 67 us are in buckets of 16.4 ns. Each bucket is a list in the order of
/// delivery, and a bitmap finds the first bucket that has an event. So the cost of scheduling and
/// delivery does not depend on the number of pending events, as long as each bucket has few events.
/// Later events wait in a [`Calendar`], and move to their buckets as time advances.
///
/// The wheel is for models with very short steps, such as the simulated server, whose events come
/// some 70 ns apart. If event times are distributed otherwise, the order of delivery is the same,
/// but the wheel is slower: adding an event to a bucket of n events takes up to n steps.
///
/// A model must not schedule an event before [`Wheel::now`], the current time. If it does, debug
/// builds panic, and release builds deliver the event at `now`.
#[derive(Clone, Debug)]
pub struct Wheel<E> {
    /// By bucket, its first slot or [`NONE`].
    heads: Box<[u32; BUCKETS]>,
    /// A bit for each bucket: whether it has events.
    taken: [u64; WORDS],
    /// A bit for each word of `taken`: whether it is not zero.
    words: u64,
    /// The time of the first event of a bucket, and the place of its bucket; [`Time::MAX`] if no
    /// bucket has an event before that.
    next: Time,
    next_place: usize,
    slots: Vec<Slot<E>>,
    /// The first free slot or [`NONE`].
    free: u32,
    near: usize,
    /// Events at least [`BUCKETS`] buckets after that of `now`.
    far: Calendar<(Priority, E)>,
    /// The time from which on the first of them is to be in a bucket.
    far_due: Time,
    now: Time,
}

/// An event, or a free place for one.
#[derive(Clone, Copy, Debug)]
struct Slot<E> {
    at: Time,
    event: E,
    /// The next of the bucket, or of the free ones.
    next: u32,
    priority: Priority,
}

impl<E> Slot<E> {
    /// Whether the slot's event comes before one that is scheduled now at `at`.
    #[inline]
    fn is_before(&self, at: Time, priority: Priority) -> bool {
        self.at < at || self.at == at && self.priority <= priority
    }
}

/// A bucket is 2^14 ps wide.
const WIDTH_BITS: u32 = 14;
const WORDS: usize = 64;
const BUCKETS: usize = WORDS * 64;
const NONE: u32 = u32::MAX;

impl<E: Copy> Wheel<E> {
    /// Creates an empty wheel at time zero.
    pub fn new() -> Wheel<E> {
        Wheel {
            heads: Box::new([NONE; BUCKETS]),
            taken: [0; WORDS],
            words: 0,
            next: Time::MAX,
            next_place: 0,
            slots: Vec::new(),
            free: NONE,
            near: 0,
            far: Calendar::new(),
            far_due: Time::MAX,
            now: Time::ZERO,
        }
    }

    /// Adds `event`, to be delivered at the time `at`, which must not be before [`Wheel::now`].
    /// Events of the same time are delivered in the order of `priority`.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, priority: Priority, event: E) {
        debug_assert!(
            at >= self.now,
            "event: time = {} ps: must not be before {} ps, the current time",
            at.as_ps(),
            self.now.as_ps()
        );
        let at = at.max(self.now);
        if bucket_of(at) - bucket_of(self.now) < BUCKETS as u64 {
            self.add(at, priority, event);
        } else {
            self.add_far(at, priority, event);
        }
    }

    /// Removes the next event, and returns its time and the event. [`Wheel::now`] moves to this
    /// time. `None` if no event is pending.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let at = self.next;
        if at == Time::MAX {
            let event = self.pop_last()?;
            return Some((self.now, event));
        }
        let event = self.take_first(self.next_place, at);
        if at >= self.far_due {
            self.draw_near();
        }
        Some((at, event))
    }

    /// Returns the time of the next event, which stays pending; `None` if no event is pending.
    #[inline]
    pub fn peek_time(&self) -> Option<Time> {
        match self.next {
            Time::MAX => self.peek_last(),
            next => Some(next),
        }
    }

    /// Returns whether [`Wheel::advance`] may move [`Wheel::now`] to `at`. True means that no event
    /// is pending at `at` or before. False means that such an event may be pending, but need not
    /// be: this quick check does not look at each event.
    #[inline(always)]
    pub fn is_clear_until(&self, at: Time) -> bool {
        at < self.next && at < self.far_due
    }

    /// Moves [`Wheel::now`] to `at` without an event. `at` must not be before the current time, and
    /// [`Wheel::is_clear_until`] must be true for `at`.
    #[inline(always)]
    pub fn advance(&mut self, at: Time) {
        debug_assert!(
            at >= self.now && self.is_clear_until(at),
            "time = {} ps: must not be before the current time, and must be clear of events",
            at.as_ps()
        );
        self.now = at;
    }

    /// Returns the number of pending events.
    pub fn len(&self) -> usize {
        self.near + self.far.len()
    }

    /// Returns whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the current simulated time: the time to which the last [`Wheel::pop`] or
    /// [`Wheel::advance`] moved the wheel; zero before the first such call.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Takes the first event of the bucket at `place`, which is at `at` and the first of all.
    #[inline(always)]
    fn take_first(&mut self, place: usize, at: Time) -> E {
        let place = place % BUCKETS;
        let head = self.heads[place];
        let slot = &mut self.slots[head as usize];
        let (event, next) = (slot.event, slot.next);
        slot.next = self.free;
        self.free = head;
        self.heads[place] = next;
        self.near -= 1;
        self.now = at;
        if next == NONE {
            self.find_next(place);
        } else {
            self.next = self.slots[next as usize].at;
        }
        event
    }

    /// Finds the next event after the bucket at `place` has become empty.
    #[inline(always)]
    fn find_next(&mut self, place: usize) {
        let (word, bit) = (place / 64, place % 64);
        let left = self.taken[word] & !(1 << bit);
        self.taken[word] = left;
        let here = left & (u64::MAX << bit);
        let next = if here != 0 {
            word * 64 + here.trailing_zeros() as usize
        } else {
            self.words &= !(u64::from(left == 0) << word);
            // Buckets before this one are those after the last.
            let later = self.words & (u64::MAX << 1 << word);
            let words = if later != 0 { later } else { self.words };
            if words == 0 {
                self.next = Time::MAX;
                return;
            }
            let word = words.trailing_zeros() as usize;
            word * 64 + self.taken[word].trailing_zeros() as usize
        };
        self.next_place = next;
        self.next = self.slots[self.heads[next % BUCKETS] as usize].at;
    }

    /// Adds an event to its bucket, behind those that come before it.
    #[inline(always)]
    fn add(&mut self, at: Time, priority: Priority, event: E) {
        let (place, slot) = (place_of(at), self.free);
        let head = self.heads[place];
        let Some(free) = self.slots.get_mut(slot as usize) else {
            return self.add_room(at, priority, event);
        };
        self.free = free.next;
        *free = Slot {
            at,
            event,
            next: head,
            priority,
        };
        self.near += 1;
        if head == NONE {
            self.taken[place / 64] |= 1 << (place % 64);
            self.words |= 1 << (place / 64);
        } else if self.slots[head as usize].is_before(at, priority) {
            return self.add_behind(head, slot);
        }
        self.heads[place] = slot;
        if at < self.next {
            (self.next, self.next_place) = (at, place);
        }
    }

    /// Puts a slot into a list whose head comes before it.
    #[inline(never)]
    fn add_behind(&mut self, head: u32, slot: u32) {
        let Slot { at, priority, .. } = self.slots[slot as usize];
        let (mut before, mut next) = (head, self.slots[head as usize].next);
        while next != NONE && self.slots[next as usize].is_before(at, priority) {
            (before, next) = (next, self.slots[next as usize].next);
        }
        self.slots[before as usize].next = slot;
        self.slots[slot as usize].next = next;
    }

    /// Makes a slot for an event, and adds the event.
    #[cold]
    #[inline(never)]
    fn add_room(&mut self, at: Time, priority: Priority, event: E) {
        self.free = self.slots.len() as u32;
        self.slots.push(Slot {
            at,
            event,
            next: NONE,
            priority,
        });
        self.add(at, priority, event);
    }

    #[cold]
    #[inline(never)]
    fn add_far(&mut self, at: Time, priority: Priority, event: E) {
        self.far.schedule(at, priority, (priority, event));
        self.far_due = self.far_due.min(due_near(at));
    }

    /// Removes the next event when none is in a bucket, except perhaps at the end of time.
    #[cold]
    #[inline(never)]
    fn pop_last(&mut self) -> Option<E> {
        if self.near > 0 {
            return Some(self.take_first(place_of(Time::MAX), Time::MAX));
        }
        let (at, (_, event)) = self.far.pop()?;
        self.now = at;
        self.draw_near();
        Some(event)
    }

    #[cold]
    #[inline(never)]
    fn peek_last(&self) -> Option<Time> {
        match self.near {
            0 => self.far.peek_time(),
            _ => Some(Time::MAX),
        }
    }

    /// Moves far events that are now within range to their buckets.
    #[cold]
    #[inline(never)]
    fn draw_near(&mut self) {
        loop {
            let next = self.far.peek_time();
            self.far_due = next.map_or(Time::MAX, due_near);
            if next.is_none() || self.now < self.far_due {
                return;
            }
            if let Some((at, (priority, event))) = self.far.pop() {
                self.add(at, priority, event);
            }
        }
    }
}

impl<E: Copy> Default for Wheel<E> {
    fn default() -> Wheel<E> {
        Wheel::new()
    }
}

/// Schedules events at [`Priority::NORMAL`], so simultaneous ones are delivered in the order of
/// scheduling.
impl<E: Copy> EventQueue<E> for Wheel<E> {
    fn schedule(&mut self, at: Time, event: E) {
        Wheel::schedule(self, at, Priority::NORMAL, event);
    }

    fn pop(&mut self) -> Option<(Time, E)> {
        Wheel::pop(self)
    }

    fn peek_time(&self) -> Option<Time> {
        Wheel::peek_time(self)
    }

    fn len(&self) -> usize {
        Wheel::len(self)
    }

    fn now(&self) -> Time {
        Wheel::now(self)
    }
}

/// The number of the bucket of a time, from the beginning of time.
#[inline]
fn bucket_of(at: Time) -> u64 {
    at.as_ps() >> WIDTH_BITS
}

/// The first time at which an event at `at` is within the range of the buckets.
fn due_near(at: Time) -> Time {
    let first = bucket_of(at).saturating_sub(BUCKETS as u64 - 1);
    Time::from_ps(first << WIDTH_BITS)
}

/// The place of a time in the wheel.
#[inline]
fn place_of(at: Time) -> usize {
    bucket_of(at) as usize % BUCKETS
}
