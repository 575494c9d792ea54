//! The position of one execution in the trace memory.

use accelflow_trace::{
    Accel, Action, AtmAddress, Facts, Fault, Image, Link, PositionMark, Transform, step,
};

/// A trace and its position mark, as a queue entry has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    trace: AtmAddress,
    address: AtmAddress,
    mark: PositionMark,
    entered: bool,
}

/// The next element of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    Enter,
    Call {
        accel: Accel,
        receives: bool,
    },
    Transform(Transform),
    /// A second execution starts at the cursor. `scatter` is true if a join waits for both.
    Fork {
        arm: Cursor,
        scatter: bool,
    },
    Join,
    Notify,
}

impl Cursor {
    /// The start of the trace `name`.
    pub(super) fn at(image: &Image, name: &str) -> Option<Cursor> {
        let entry = image.entry(name)?;
        Some(Cursor {
            trace: entry,
            address: entry,
            mark: PositionMark::START,
            entered: false,
        })
    }

    /// The name of the trace.
    pub(super) fn trace(self, image: &Image) -> &str {
        image.name(self.trace)
    }

    /// Returns the next element for these facts, and the cursor after it. After [`Next::Enter`] the
    /// cursor is in the trace that is entered.
    pub(super) fn next<F: Facts + ?Sized>(
        mut self,
        image: &Image,
        facts: &F,
    ) -> Result<(Next, Cursor), Fault> {
        if !self.entered {
            self.entered = true;
            return Ok((Next::Enter, self));
        }
        loop {
            let word = image.word(self.address)?;
            let found = step(word, self.mark, image.predicates(), facts)?;
            let first = self.mark == PositionMark::START && self.address == self.trace;
            self.mark = found.next;
            let fork = |mark, scatter| Next::Fork {
                arm: Cursor { mark, ..self },
                scatter,
            };
            let next = match found.action {
                Action::Forward(accel) => Next::Call {
                    accel,
                    receives: accel == Accel::Tcp && first,
                },
                Action::Transform(change) => Next::Transform(change),
                Action::Fork { arm } => fork(arm, false),
                Action::Scatter { arm } => fork(arm, true),
                Action::Join => Next::Join,
                Action::Notify => Next::Notify,
                Action::LoadAtm { address, link } => {
                    (self.address, self.mark) = (address, PositionMark::START);
                    if link == Link::Continue {
                        continue;
                    }
                    self.trace = address;
                    Next::Enter
                }
            };
            return Ok((next, self));
        }
    }
}
