//! The queue for many events in the near future: buckets of time.

use accelflow_units::Time;

use crate::{Calendar, EventQueue, Priority};

/// Pending events in the total order (time, priority, sequence number), as in a [`Calendar`].
///
/// Events of the next 67 us are in buckets of 16.4 ns, each a list in the order of delivery; a
/// bitmap finds the first bucket that has one. So the cost of scheduling and delivery does not
/// depend on the number of pending events, as long as a bucket has few. Later events wait in a
/// calendar, and move to their buckets as time advances.
///
/// It is for models with microscopic steps, such as the simulated server, whose events come some
/// 70 ns apart. Any other distribution of times gives the same order, more slowly: a bucket with n
/// events takes up to n steps to add one.
///
/// Scheduling before [`Wheel::now`] is a bug of the model, as in a calendar.
#[derive(Clone, Debug)]
pub struct Wheel<E> {
    /// By bucket, its first slot or [`NONE`].
    heads: Box<[u32; BUCKETS]>,
    /// A bit for each bucket: whether it has events.
    taken: [u64; WORDS],
    /// A bit for each word of `taken`: whether it is not zero.
    words: u64,
    slots: Vec<Slot<E>>,
    /// The first free slot or [`NONE`].
    free: u32,
    near: usize,
    /// Events at least [`BUCKETS`] buckets after that of `now`.
    far: Calendar<(Priority, E)>,
    /// The number of the bucket of the first of them, or `u64::MAX`.
    far_bucket: u64,
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
    /// An empty wheel at time zero.
    pub fn new() -> Wheel<E> {
        Wheel {
            heads: Box::new([NONE; BUCKETS]),
            taken: [0; WORDS],
            words: 0,
            slots: Vec::new(),
            free: NONE,
            near: 0,
            far: Calendar::new(),
            far_bucket: u64::MAX,
            now: Time::ZERO,
        }
    }

    /// Adds `event` to happen at `at`, which is not before [`Wheel::now`].
    pub fn schedule(&mut self, at: Time, priority: Priority, event: E) {
        debug_assert!(
            at >= self.now,
            "an event at {at:?} was scheduled at {:?}",
            self.now
        );
        let at = at.max(self.now);
        if bucket_of(at) - bucket_of(self.now) < BUCKETS as u64 {
            self.add(at, priority, event);
        } else {
            self.add_far(at, priority, event);
        }
    }

    /// Removes the next event and moves [`Wheel::now`] to its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let Some(bucket) = self.first() else {
            return self.pop_far();
        };
        let head = self.heads[bucket];
        let Slot {
            at, event, next, ..
        } = self.slots[head as usize];
        self.heads[bucket] = next;
        if next == NONE {
            let word = bucket / 64;
            self.taken[word] &= !(1 << (bucket % 64));
            self.words &= !(u64::from(self.taken[word] == 0) << word);
        }
        self.slots[head as usize].next = self.free;
        self.free = head;
        self.near -= 1;
        self.now = at;
        if self.far_bucket - bucket_of(at) < BUCKETS as u64 {
            self.draw_near();
        }
        Some((at, event))
    }

    /// The time of the next event.
    pub fn peek_time(&self) -> Option<Time> {
        let time_of = |bucket: usize| self.slots[self.heads[bucket] as usize].at;
        self.first().map(time_of).or_else(|| self.far.peek_time())
    }

    /// The number of pending events.
    pub fn len(&self) -> usize {
        self.near + self.far.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time of the last event popped; zero before the first.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The first bucket with events, from that of `now` on.
    #[inline]
    fn first(&self) -> Option<usize> {
        let start = place_of(self.now);
        let word = start / 64;
        let here = self.taken[word] & (u64::MAX << (start % 64));
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        // Buckets before that of `now` are those after the last.
        let later = self.words & (u64::MAX << 1 << word);
        let words = if later != 0 { later } else { self.words };
        if words == 0 {
            return None;
        }
        let word = words.trailing_zeros() as usize;
        Some(word * 64 + self.taken[word].trailing_zeros() as usize)
    }

    /// Adds an event to its bucket, behind those that come before it.
    #[inline]
    fn add(&mut self, at: Time, priority: Priority, event: E) {
        let bucket = place_of(at);
        let head = self.heads[bucket];
        let slot = self.store(Slot {
            at,
            event,
            next: head,
            priority,
        });
        self.near += 1;
        if head == NONE {
            self.taken[bucket / 64] |= 1 << (bucket % 64);
            self.words |= 1 << (bucket / 64);
        } else if self.slots[head as usize].is_before(at, priority) {
            self.add_behind(head, slot);
            return;
        }
        self.heads[bucket] = slot;
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

    #[inline]
    fn store(&mut self, content: Slot<E>) -> u32 {
        let slot = self.free;
        match self.slots.get_mut(slot as usize) {
            Some(place) => {
                self.free = place.next;
                *place = content;
                slot
            }
            None => self.store_behind(content),
        }
    }

    #[cold]
    #[inline(never)]
    fn store_behind(&mut self, content: Slot<E>) -> u32 {
        self.slots.push(content);
        (self.slots.len() - 1) as u32
    }

    #[cold]
    #[inline(never)]
    fn add_far(&mut self, at: Time, priority: Priority, event: E) {
        self.far.schedule(at, priority, (priority, event));
        self.far_bucket = self.far_bucket.min(bucket_of(at));
    }

    /// Removes the next event when no bucket has one.
    #[cold]
    fn pop_far(&mut self) -> Option<(Time, E)> {
        let (at, (_, event)) = self.far.pop()?;
        self.now = at;
        self.draw_near();
        Some((at, event))
    }

    /// Moves far events that are now within range to their buckets.
    #[cold]
    fn draw_near(&mut self) {
        loop {
            let next = self.far.peek_time();
            self.far_bucket = next.map_or(u64::MAX, bucket_of);
            if self.far_bucket - bucket_of(self.now) >= BUCKETS as u64 {
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

/// The place of a time in the wheel.
#[inline]
fn place_of(at: Time) -> usize {
    bucket_of(at) as usize % BUCKETS
}
