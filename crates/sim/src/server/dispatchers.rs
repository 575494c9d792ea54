//! Output dispatchers at work: one entry after the other, and until when.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::engine::Engine;
use super::state::{Event, JobId, Unit};
use crate::config::Busy;

impl Engine<'_> {
    /// An entry asks the dispatcher of its output queue; where no dispatcher decides, nobody.
    pub(super) fn ask_dispatcher(&mut self, id: JobId, now: Time) {
        let job = *self.jobs.get(id);
        if job.decision.dispatcher == Time::ZERO {
            self.schedule(now, Event::Dispatched(id));
        } else if self.station(job.unit().whole()).dispatcher.ask(id, now) {
            self.dispatch(id, now);
        }
    }

    /// The dispatcher handles an entry: it reads the trace memory, word by word, and executes its
    /// instructions.
    pub(super) fn dispatch(&mut self, id: JobId, now: Time) {
        let job = self.jobs.get_mut(id);
        if job.reads > 0 && self.trace_memory.takes_time() {
            job.reads -= 1;
            let there = self.trace_memory.read(now);
            self.schedule(there, Event::Looked(id));
        } else {
            let decided = now + job.decision.dispatcher;
            self.schedule(decided, Event::Dispatched(id));
        }
    }

    /// The dispatcher has executed its instructions. "Once the engine confirms the transfer end,
    /// the dispatcher clears the output queue entry and terminates the operation" (AccelFlow,
    /// section V.2): so long it is busy with what it hands on itself (`dispatcher.busy`). What it
    /// leaves to the manager or a core is theirs from here on.
    pub(super) fn instructions_end(&mut self, id: JobId, now: Time) {
        let job = self.jobs.get(id);
        let hands_on = job.decision.manager.is_none() && job.decision.core == Time::ZERO;
        let waits = hands_on && self.run.config.dispatcher.busy == Busy::UntilConfirmed;
        if !waits {
            self.end_dispatch(job.unit(), id, now);
        }
    }

    /// For how long the dispatchers of an accelerator have been busy.
    pub(super) fn dispatching(&self, accel: Accel, now: Time) -> Time {
        let of_type = self.stations_of(accel).iter();
        of_type.map(|it| it.dispatcher.busy.total_at(now)).sum()
    }

    /// The dispatcher of `unit` is done with an entry, if it was not before, and goes on.
    pub(super) fn end_dispatch(&mut self, unit: Unit, id: JobId, now: Time) {
        if let Some(next) = self.station(unit.whole()).dispatcher.end(id, now) {
            self.dispatch(next, now);
        }
    }
}
