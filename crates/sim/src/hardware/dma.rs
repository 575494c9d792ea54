use std::collections::VecDeque;

use accelflow_kernel::BusyTime;
use accelflow_units::Time;

/// The pool of A-DMA engines. A transfer takes a free engine, or waits in the order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Dma<T> {
    free: usize,
    waiting: VecDeque<T>,
    pub(crate) busy: BusyTime,
}

impl<T: Copy> Dma<T> {
    pub(crate) fn new(engines: usize) -> Dma<T> {
        Dma {
            free: engines,
            waiting: VecDeque::new(),
            busy: BusyTime::new(Time::ZERO),
        }
    }

    /// Requests an engine. Returns whether `transfer` gets one at once.
    pub(crate) fn request(&mut self, transfer: T, now: Time) -> bool {
        if self.free == 0 {
            self.waiting.push_back(transfer);
            return false;
        }
        self.begin(now);
        true
    }

    /// Whether an engine is free.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.free > 0
    }

    /// Gives a transfer a free engine.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time) {
        self.free -= 1;
        self.busy.begin(now);
    }

    /// Ends a transfer when none waits.
    #[inline(always)]
    pub(crate) fn end(&mut self, now: Time) {
        self.free += 1;
        self.busy.end(now);
    }

    /// Ends a transfer, and returns the waiting one that gets its engine.
    pub(crate) fn next(&mut self) -> Option<T> {
        self.waiting.pop_front()
    }

    /// Number of transfers that wait for an engine.
    #[inline(always)]
    pub(crate) fn backlog(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    fn release(pool: &mut Dma<char>, now: Time) -> Option<char> {
        match pool.backlog() {
            0 => {
                pool.end(now);
                None
            }
            _ => pool.next(),
        }
    }

    #[test]
    fn a_transfer_waits_when_all_engines_are_taken() {
        let mut pool = Dma::new(2);
        assert!(pool.request('a', at(0)));
        assert!(pool.request('b', at(0)));
        assert!(!pool.request('c', at(1)));
        assert!(!pool.request('d', at(2)));
        assert_eq!(pool.backlog(), 2);
        assert_eq!(release(&mut pool, at(10)), Some('c'));
        assert_eq!(release(&mut pool, at(10)), Some('d'));
        assert_eq!(release(&mut pool, at(14)), None);
        assert!(pool.request('e', at(14)));
        assert_eq!(release(&mut pool, at(15)), None);
        assert_eq!(release(&mut pool, at(16)), None);
        // Two engines for 10 ns, then 4 and 6, then 1.
        assert_eq!(pool.busy.total_at(at(30)), at(20 + 4 + 6 + 1));
    }
}
