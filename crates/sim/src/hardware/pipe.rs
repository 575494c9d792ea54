use std::cmp::Ordering;

use accelflow_units::Time;

/// The times at which the first and the last byte of a transfer reach a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub head: Time,
    pub tail: Time,
}

impl Flow {
    /// A flow whose bytes are all there at `now`.
    pub(crate) fn at(now: Time) -> Flow {
        Flow {
            head: now,
            tail: now,
        }
    }

    /// The flow delayed by `delay`.
    pub(crate) fn after(self, delay: Time) -> Flow {
        Flow {
            head: self.head + delay,
            tail: self.tail + delay,
        }
    }
}

/// A resource that serves one transfer at a time: a link, the port of a cache slice, a memory
/// controller.
///
/// A transfer reserves its whole route at once, some resources for a later time. Each reservation
/// gets the first free interval that is long enough, so an early transfer does not wait for a later
/// one that reserved first.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Pipe {
    /// The last interval taken: from, until.
    last: (Time, Time),
    /// Number of intervals.
    count: usize,
    /// The intervals before the last, in order and apart from each other.
    taken: [(Time, Time); KEPT],
    /// The earliest start of a reservation.
    floor: Time,
    /// The time served in intervals that are forgotten.
    forgotten: Time,
}

/// Number of intervals that a pipe remembers. With more, the first half is forgotten, together with
/// the free time between, which lies in the past unless many transfers are in flight.
const KEPT: usize = 8;
const HALF: usize = KEPT / 2;
/// The last interval before there is one: nothing comes while it lasts.
const NONE: (Time, Time) = (Time::MAX, Time::ZERO);

impl Pipe {
    pub(crate) const IDLE: Pipe = Pipe {
        last: NONE,
        count: 0,
        taken: [(Time::ZERO, Time::ZERO); KEPT],
        floor: Time::ZERO,
        forgotten: Time::ZERO,
    };

    /// Serves `flow` for `length`, cut-through: a byte goes out `latency` after it came in, while
    /// others still come in. A slow flow leaves gaps that others may use.
    #[inline(always)]
    pub(crate) fn pass(&mut self, flow: Flow, length: Time, latency: Time) -> Flow {
        let start = self.take(flow.head, length);
        Flow {
            head: start + latency,
            tail: (start + length).max(flow.tail) + latency,
        }
    }

    /// The time served until `now`, without later reservations.
    pub(crate) fn carried_until(&self, now: Time) -> Time {
        let until_now = |&(from, until): &(Time, Time)| until.min(now).saturating_sub(from);
        let mut pipe = *self;
        let kept: Time = pipe.all().iter().map(until_now).sum();
        self.forgotten + kept
    }

    /// Takes the first free interval of `length` from `wanted` on. Returns its beginning.
    #[inline(always)]
    pub(super) fn take(&mut self, wanted: Time, length: Time) -> Time {
        if length == Time::ZERO {
            return self.take_between(wanted, length);
        }
        self.take_some(wanted, length)
    }

    /// The same for a `length` that is not zero.
    #[inline(always)]
    pub(super) fn take_some(&mut self, wanted: Time, length: Time) -> Time {
        if wanted > self.last.1 {
            // Most transfers come after all others.
            if self.count == KEPT {
                self.forget();
            }
            // Before the first interval this changes a place that is not used yet.
            self.taken[self.count.wrapping_sub(1) % KEPT] = self.last;
            self.last = (wanted, wanted + length);
            self.count += 1;
            wanted
        } else if wanted >= self.last.0 {
            // Most others come while the last one is served.
            let start = self.last.1;
            self.last.1 += length;
            start
        } else {
            self.take_before_last(wanted, length)
        }
    }

    /// The same for a transfer that is wanted before the last interval: it mostly comes after the one
    /// before that.
    #[inline(never)]
    fn take_before_last(&mut self, wanted: Time, length: Time) -> Time {
        let Some(place) = self.count.checked_sub(2) else {
            return self.take_between(wanted, length);
        };
        let (from, until) = self.taken[place % KEPT];
        if wanted < from || wanted < self.floor {
            return self.take_between(wanted, length);
        }
        let start = wanted.max(until);
        let end = start + length;
        match (start == until, end.cmp(&self.last.0)) {
            (_, Ordering::Greater) => {
                let start = self.last.1;
                self.last.1 += length;
                return start;
            }
            (true, Ordering::Less) => self.taken[place % KEPT].1 = end,
            (false, Ordering::Equal) => self.last.0 = start,
            (false, Ordering::Less) if self.count < KEPT => {
                self.taken[(place + 1) % KEPT] = (start, end);
                self.count += 1;
            }
            _ => return self.take_between(wanted, length),
        }
        start
    }

    /// Like [`Pipe::take`], when earlier intervals may overlap the wanted one.
    #[inline(never)]
    fn take_between(&mut self, wanted: Time, length: Time) -> Time {
        let mut start = wanted.max(self.floor);
        let mut place = self.all().len();
        while place > 0 && self.taken[place - 1].1 > start {
            place -= 1;
        }
        while let Some(&(from, until)) = self.taken[..self.count].get(place) {
            if start + length <= from {
                break;
            }
            start = start.max(until);
            place += 1;
        }
        if length > Time::ZERO {
            self.insert(place, (start, start + length));
            self.last = self.taken[self.count - 1];
        }
        start
    }

    /// All intervals, in order.
    fn all(&mut self) -> &[(Time, Time)] {
        if let Some(last) = self.count.checked_sub(1) {
            self.taken[last] = self.last;
        }
        &self.taken[..self.count]
    }

    /// Marks an interval as taken in `taken`, which has all, and merges it with those that it
    /// touches.
    fn insert(&mut self, place: usize, (from, until): (Time, Time)) {
        let before = place > 0 && self.taken[place - 1].1 == from;
        let after = place < self.count && self.taken[place].0 == until;
        match (before, after) {
            (true, true) => {
                self.taken[place - 1].1 = self.taken[place].1;
                self.taken.copy_within(place + 1..self.count, place);
                self.count -= 1;
            }
            (true, false) => self.taken[place - 1].1 = until,
            (false, true) => self.taken[place].0 = from,
            (false, false) => {
                let mut place = place;
                if self.count == KEPT {
                    self.forget();
                    place = place.saturating_sub(HALF);
                }
                if place < self.count {
                    self.taken.copy_within(place..self.count, place + 1);
                }
                self.taken[place] = (from, until);
                self.count += 1;
            }
        }
    }

    /// Forgets the first half of as many intervals as are kept.
    fn forget(&mut self) {
        let (first, last) = self.taken.split_at_mut(HALF);
        self.floor = first[HALF - 1].1;
        self.forgotten += first.iter().map(|&(from, until)| until - from).sum();
        first.copy_from_slice(last);
        self.count = HALF;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    fn flow(head: u64, tail: u64) -> Flow {
        Flow {
            head: ns(head),
            tail: ns(tail),
        }
    }

    #[test]
    fn latencies_add_up_and_the_slowest_pipe_sets_the_pace() {
        let (mut fast, mut slow, mut last) = (Pipe::IDLE, Pipe::IDLE, Pipe::IDLE);
        let first = fast.pass(Flow::at(ns(100)), ns(10), ns(3));
        assert_eq!(first, flow(103, 113));
        let second = slow.pass(first, ns(40), ns(5));
        assert_eq!(second, flow(108, 148));
        assert_eq!(last.pass(second, ns(10), ns(3)), flow(111, 151));
    }

    #[test]
    fn a_transfer_waits_for_those_before_it() {
        let mut pipe = Pipe::IDLE;
        pipe.pass(Flow::at(ns(0)), ns(10), ns(1));
        assert_eq!(pipe.pass(Flow::at(ns(9)), ns(10), ns(1)), flow(11, 21));
        assert_eq!(pipe.pass(Flow::at(ns(20)), ns(10), ns(1)), flow(21, 31));
        assert_eq!(pipe.pass(Flow::at(ns(31)), ns(10), ns(1)), flow(32, 42));
    }

    #[test]
    fn an_early_transfer_does_not_wait_for_a_late_one() {
        let mut pipe = Pipe::IDLE;
        let start = |pipe: &mut Pipe, at, length| {
            let passed = pipe.pass(Flow::at(ns(at)), ns(length), Time::ZERO);
            passed.head.as_ps() / 1_000
        };
        assert_eq!(start(&mut pipe, 100, 10), 100);
        assert_eq!(start(&mut pipe, 120, 10), 120);
        // Ends as the one at 100 begins; a nanosecond more would be in its way.
        assert_eq!(start(&mut pipe, 80, 20), 80);
        assert_eq!(start(&mut pipe, 79, 2), 110);
        assert_eq!(start(&mut pipe, 79, 1), 79);
        // Between two, exactly.
        assert_eq!(start(&mut pipe, 105, 8), 112);
        assert_eq!(start(&mut pipe, 70, 10), 130);
        // Without a length nothing is taken, but what is taken is in the way.
        assert_eq!(start(&mut pipe, 85, 0), 140);
        assert_eq!(start(&mut pipe, 50, 0), 50);
        assert_eq!(start(&mut pipe, 69, 10), 69);
        assert_eq!(pipe.count, 1);
    }

    #[test]
    fn the_free_time_before_the_oldest_is_forgotten_when_many_are_kept() {
        let mut pipe = Pipe::IDLE;
        for n in 1..=KEPT as u64 {
            pipe.pass(Flow::at(ns(100 * n)), ns(10), Time::ZERO);
        }
        let start = |pipe: &mut Pipe, at| pipe.pass(Flow::at(ns(at)), ns(10), Time::ZERO).head;
        assert_eq!(pipe.count, KEPT);
        assert_eq!(start(&mut pipe, 90), ns(90), "touches the first");
        assert_eq!(start(&mut pipe, 650), ns(650));
        assert_eq!((pipe.floor, pipe.count), (ns(410), KEPT / 2 + 1));
        assert_eq!(start(&mut pipe, 20), ns(410));
        assert_eq!(start(&mut pipe, 495), ns(510));
    }

    proptest! {
        #[test]
        fn the_way_behind_all_others_is_the_way_between_them(
            transfers in vec((0_u64..40, 0_u64..6), 1..200),
        ) {
            let (mut fast, mut slow) = (Pipe::IDLE, Pipe::IDLE);
            for (number, (offset, length)) in transfers.into_iter().enumerate() {
                // Later and later, but not in order.
                let (wanted, length) = (ns(number as u64 * 2 + offset), ns(length));
                prop_assert_eq!(fast.take(wanted, length), slow.take_between(wanted, length));
                prop_assert_eq!(fast.carried_until(wanted), slow.carried_until(wanted));
            }
        }
    }

    #[test]
    fn only_what_was_served_counts() {
        let mut pipe = Pipe::IDLE;
        pipe.pass(Flow::at(ns(5)), ns(10), ns(1));
        assert_eq!(pipe.carried_until(ns(12)), ns(7));
        assert_eq!(pipe.carried_until(ns(15)), ns(10));
        assert_eq!(pipe.carried_until(ns(90)), ns(10));
    }
}
