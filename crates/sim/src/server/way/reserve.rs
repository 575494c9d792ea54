//! The reception of messages by the RPC processor: its schema map, and the memory that it reserves
//! for messages.

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::parts::Admission;
use crate::server::state::{By, Event, RequestId, Start};
use crate::stats::{Fallback, Part};

impl Engine<'_> {
    /// Whether the elements of `accel` know the function of a request. Only a whole RPC processor
    /// has a schema map.
    #[inline]
    pub(crate) fn knows_function(&self, request: RequestId, accel: Accel) -> bool {
        accel != Accel::Rpc || self.processor.knows(self.requests.get(request).service)
    }

    /// Reserves memory for the message that starts a trace. Returns whether there was room. If not,
    /// the sender sends it again later, or gives up and the request is terminated.
    pub(crate) fn has_memory(&mut self, start: Start, now: Time) -> Result<bool, Failure> {
        if !self.processor.limits_memory() {
            return Ok(true);
        }
        let (id, size) = (start.job, self.first_input(start)?);
        let request = self.jobs.get(id).request;
        match self.processor.reserve(request, id, size, now) {
            Admission::Held => return Ok(true),
            Admission::Again(at) => {
                self.count_fallback(request, Fallback::Nack);
                self.schedule(at, Event::Resent(start.by, start.job));
            }
            Admission::Refused => {
                self.count_fallback(request, Fallback::Nack);
                self.release_held(id, now);
                self.schedule(now, Event::Terminated(id));
            }
        }
        Ok(false)
    }

    /// A message comes again after a NACK.
    pub(crate) fn resent(&mut self, start: Start, now: Time) -> Result<(), Failure> {
        self.spend(start.job, Part::Remote, now);
        match start.by {
            By::Message | By::Enqueue => self.start_on_accelerators(start.job, true, now),
            By::Answer => match self.has_memory(start, now)? {
                true => self.answer_came(start.job, now),
                false => Ok(()),
            },
        }
    }
}
