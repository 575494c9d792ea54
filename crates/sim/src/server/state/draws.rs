//! Random numbers that decide whether exceptions or page faults stop operations.

use accelflow_kernel::Attributes;
use accelflow_trace::{Accel, PositionMark};

/// The first of the attributes of a request that choose the operations with an exception.
const EXCEPTIONS: u64 = 1 << 40;
/// The first of the attributes that choose the operations with a page fault.
const FAULTS: u64 = 1 << 63;

/// The attributes of a request from which it is drawn whether the operations of a job are stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    all: Attributes,
    /// From the place of the chain on.
    exceptions: Attributes,
    /// From the place of the trace on.
    faults: Attributes,
}

impl Draws {
    /// Those of a chain of a phase, in its first trace, among `all` attributes of the request.
    pub(crate) fn new(all: Attributes, phase: u16, chain: u16) -> Draws {
        let mut draws = Draws {
            all,
            exceptions: all.from(EXCEPTIONS + chain_place(phase, chain)),
            faults: all,
        };
        draws.begin_trace(phase, chain, 0);
        draws
    }

    /// Goes to the trace number `ordinal` of the chain.
    pub(crate) fn begin_trace(&mut self, phase: u16, chain: u16, ordinal: u16) {
        let trace =
            u64::from(phase) << 24 | u64::from(chain & 0xFFF) << 12 | u64::from(ordinal & 0xFFF);
        self.faults = self.all.from(FAULTS | trace << 16);
    }

    /// The attribute that decides whether the operation number `step` of the job, of `accel`,
    /// raises an exception.
    #[inline(always)]
    pub(crate) fn exception(&self, step: u16, accel: Accel) -> u64 {
        self.exceptions
            .at(u64::from(step) << 8 | accel.index() as u64)
    }

    /// The attribute that decides whether the operation of `accel` before `mark` meets a page
    /// fault.
    #[inline(always)]
    pub(crate) fn fault(&self, mark: PositionMark, accel: Accel) -> u64 {
        self.faults
            .at((mark.index() as u64) << 8 | accel.index() as u64)
    }
}

/// A number for a chain, in the attributes of its request.
pub(crate) fn chain_place(phase: u16, chain: u16) -> u64 {
    u64::from(phase) << 32 | u64::from(chain) << 24
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use accelflow_kernel::attribute;

    use super::*;

    #[test]
    fn draws_are_attributes_of_their_places() {
        let (seed, number) = (5, 77);
        let mark = PositionMark::new(9).unwrap();
        for (phase, chain, ordinal, step) in [(0, 0, 0, 1), (3, 2, 1, 40), (300, 5_000, 5_000, 9)] {
            let mut draws = Draws::new(Attributes::of(seed, number), phase, chain);
            draws.begin_trace(phase, chain, ordinal);
            let accel = Accel::Ser;
            let place = u64::from(phase) << 32
                | u64::from(chain) << 24
                | u64::from(step) << 8
                | accel.index() as u64;
            let drawn = attribute(seed, number, EXCEPTIONS + place);
            assert_eq!(draws.exception(step, accel), drawn);
            let trace = u64::from(phase) << 24
                | u64::from(chain & 0xFFF) << 12
                | u64::from(ordinal & 0xFFF);
            let operation = 9 << 8 | accel.index() as u64;
            let drawn = attribute(seed, number, FAULTS | trace << 16 | operation);
            assert_eq!(draws.fault(mark, accel), drawn);
        }
    }
}
