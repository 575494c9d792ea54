use std::collections::VecDeque;

use accelflow_kernel::BusyTime;
use accelflow_units::Time;

/// The pool of A-DMA engines: a transfer takes the first free one or waits in order.
#[derive(Clone, Debug)]
pub(crate) struct Dma<T> {
    free: usize,
    waiting: VecDeque<(T, Time)>,
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

    /// Asks for an engine; whether `transfer` has one now.
    pub(crate) fn request(&mut self, transfer: T, duration: Time, now: Time) -> bool {
        if self.free == 0 {
            self.waiting.push_back((transfer, duration));
            return false;
        }
        self.free -= 1;
        self.busy.begin(now);
        true
    }

    /// Ends a transfer; the next one that gets its engine, and how long it takes.
    pub(crate) fn release(&mut self, now: Time) -> Option<(T, Time)> {
        match self.waiting.pop_front() {
            Some(next) => Some(next),
            None => {
                self.free += 1;
                self.busy.end(now);
                None
            }
        }
    }

    /// Transfers that wait for an engine.
    pub(crate) fn backlog(&self) -> usize {
        self.waiting.len()
    }
}
