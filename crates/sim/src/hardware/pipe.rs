use accelflow_units::Time;

/// The times at which the first and the last byte of a transfer reach a point of the route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// The time at which the first byte of a transfer reaches a point of the route.
    pub head: Time,
    /// The time at which the last byte of a transfer reaches a point of the route.
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
#[repr(C, align(64))]
pub(crate) struct Pipe {
    /// The last interval taken: from, until.
    last: (Time, Time),
    /// Number of intervals that have come behind others so far. Modulo the size of `older` it is
    /// the place there of the last interval when there is another one.
    next: usize,
    /// The number from which on the first intervals are forgotten.
    limit: usize,
    /// The earliest start of a reservation.
    floor: Time,
    /// The time of all reservations.
    served: Time,
    /// The intervals before the last, in order and apart from each other: a ring.
    older: [(Time, Time); KEPT],
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
        next: 0,
        limit: KEPT,
        floor: Time::ZERO,
        served: Time::ZERO,
        older: [NONE; KEPT],
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
        let later = |number: usize| {
            let (from, until) = self.interval(number);
            until.saturating_sub(from.max(now))
        };
        let later: Time = (0..self.count()).map(later).sum();
        self.served - later
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
        let (from, until) = self.last;
        if wanted > until {
            // Most transfers come after all others.
            if self.next == self.limit {
                self.forget();
            }
            self.older[self.next % KEPT] = self.last;
            self.next += 1;
            self.last = (wanted, wanted + length);
            self.served += length;
            wanted
        } else if wanted >= from {
            // Most others come while the last one is served.
            self.last.1 = until + length;
            self.served += length;
            until
        } else {
            self.take_before_last(wanted, length)
        }
    }

    /// The same for a transfer that is wanted before the last interval: it mostly comes after the
    /// one before that.
    #[inline(never)]
    fn take_before_last(&mut self, wanted: Time, length: Time) -> Time {
        let before = (self.next + KEPT - 1) % KEPT;
        let (from, until) = self.older[before];
        if self.count() < 2 || wanted < from || wanted < self.floor {
            return self.take_between(wanted, length);
        }
        let start = wanted.max(until);
        let end = start + length;
        if end > self.last.0 {
            let start = self.last.1;
            self.last.1 = start + length;
            self.served += length;
            return start;
        }
        match (start == until, end == self.last.0) {
            (true, false) => self.older[before].1 = end,
            (false, true) => self.last.0 = start,
            (false, false) if self.next < self.limit => {
                self.older[self.next % KEPT] = (start, end);
                self.next += 1;
            }
            _ => return self.take_between(wanted, length),
        }
        self.served += length;
        start
    }

    /// Like [`Pipe::take`], when earlier intervals may overlap the wanted one.
    #[inline(never)]
    fn take_between(&mut self, wanted: Time, length: Time) -> Time {
        let mut start = wanted.max(self.floor);
        let (mut number, count) = (self.count(), self.count());
        while number > 0 && self.interval(number - 1).1 > start {
            number -= 1;
        }
        while number < count {
            let (from, until) = self.interval(number);
            if start + length <= from {
                break;
            }
            start = start.max(until);
            number += 1;
        }
        if length > Time::ZERO {
            self.insert(number, (start, start + length));
            self.served += length;
        }
        start
    }

    /// Number of intervals.
    #[inline]
    fn count(&self) -> usize {
        KEPT + self.next - self.limit
    }

    /// The place in the ring of the interval number `number` of those before the last.
    #[inline]
    fn place(&self, number: usize) -> usize {
        (self.limit + 1 + number) % KEPT
    }

    /// The interval number `number`, from the first of those kept.
    #[inline]
    fn interval(&self, number: usize) -> (Time, Time) {
        match number + 1 == self.count() {
            true => self.last,
            false => self.older[self.place(number)],
        }
    }

    fn interval_mut(&mut self, number: usize) -> &mut (Time, Time) {
        match number + 1 == self.count() {
            true => &mut self.last,
            false => {
                let place = self.place(number);
                &mut self.older[place]
            }
        }
    }

    /// Marks an interval as taken, before the one number `number`, and merges it with those that it
    /// touches.
    fn insert(&mut self, number: usize, (from, until): (Time, Time)) {
        let before = number > 0 && self.interval(number - 1).1 == from;
        let after = number < self.count() && self.interval(number).0 == until;
        match (before, after) {
            (true, true) => {
                self.interval_mut(number).0 = self.interval(number - 1).0;
                self.remove(number - 1);
            }
            (true, false) => self.interval_mut(number - 1).1 = until,
            (false, true) => self.interval_mut(number).0 = from,
            (false, false) => self.insert_apart(number, (from, until)),
        }
    }

    /// Removes an interval that is not the last.
    fn remove(&mut self, number: usize) {
        for number in (1..=number).rev() {
            *self.interval_mut(number) = self.interval(number - 1);
        }
        self.limit += 1;
    }

    /// Inserts an interval that touches no other.
    fn insert_apart(&mut self, number: usize, interval: (Time, Time)) {
        let mut number = number;
        if self.next == self.limit {
            self.forget();
            number = number.saturating_sub(HALF);
        }
        let last = std::mem::replace(&mut self.last, interval);
        self.older[self.next % KEPT] = last;
        self.next += 1;
        // The new interval is the last; it moves to its place.
        for number in (number + 1..self.count()).rev() {
            let before = self.interval(number - 1);
            *self.interval_mut(number - 1) = self.interval(number);
            *self.interval_mut(number) = before;
        }
    }

    /// Forgets the first half of as many intervals as are kept.
    #[inline(always)]
    fn forget(&mut self) {
        self.floor = self.older[(self.next + HALF) % KEPT].1;
        self.limit = self.next + HALF;
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
        assert_eq!(pipe.count(), 1);
    }

    #[test]
    fn the_free_time_before_the_oldest_is_forgotten_when_many_are_kept() {
        let mut pipe = Pipe::IDLE;
        for n in 1..=KEPT as u64 {
            pipe.pass(Flow::at(ns(100 * n)), ns(10), Time::ZERO);
        }
        let start = |pipe: &mut Pipe, at| pipe.pass(Flow::at(ns(at)), ns(10), Time::ZERO).head;
        assert_eq!(pipe.count(), KEPT);
        assert_eq!(start(&mut pipe, 90), ns(90), "touches the first");
        assert_eq!(start(&mut pipe, 650), ns(650));
        assert_eq!((pipe.floor, pipe.count()), (ns(410), KEPT / 2 + 1));
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

    /// A pipe as a sorted list of intervals.
    #[derive(Default)]
    struct Listed {
        taken: Vec<(Time, Time)>,
        floor: Time,
    }

    impl Listed {
        fn take(&mut self, wanted: Time, length: Time) -> Time {
            let mut start = wanted.max(self.floor);
            for &(from, until) in &self.taken {
                if until > start && start + length > from {
                    start = until;
                }
            }
            let end = start + length;
            let touches = |&(from, until): &(Time, Time)| from == end || until == start;
            if length > Time::ZERO {
                let apart = !self.taken.iter().any(touches);
                if apart && self.taken.len() == KEPT {
                    self.floor = self.taken[HALF - 1].1;
                    self.taken.drain(..HALF);
                }
                let (mut all, mut merged) = ((start, end), Vec::new());
                for interval in self.taken.drain(..) {
                    match touches(&interval) {
                        true => all = (all.0.min(interval.0), all.1.max(interval.1)),
                        false => merged.push(interval),
                    }
                }
                merged.push(all);
                merged.sort_unstable();
                self.taken = merged;
            }
            start
        }
    }

    proptest! {
        #[test]
        fn a_ring_of_intervals_is_a_list(
            transfers in vec((0_u64..60, 0_u64..6), 1..300),
        ) {
            let (mut pipe, mut listed) = (Pipe::IDLE, Listed::default());
            let mut served = Time::ZERO;
            for (number, (offset, length)) in transfers.into_iter().enumerate() {
                let (wanted, length) = (ns(number as u64 * 2 + offset), ns(length));
                prop_assert_eq!(pipe.take(wanted, length), listed.take(wanted, length));
                served += length;
                prop_assert_eq!(pipe.carried_until(Time::MAX), served);
                let kept: Vec<_> = (0..pipe.count()).map(|place| pipe.interval(place)).collect();
                prop_assert_eq!(&kept, &listed.taken);
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
