//! The choice of the entry that is the next to leave a queue of an accelerator.

use accelflow_units::Time;

use crate::hardware::{Element, Entry};
use crate::orchestrators::QueueName;
use crate::server::engine::Engine;
use crate::server::parts::Seen;
use crate::server::state::{JobId, Unit};

/// Calls a method of the station at `$unit` with the policy that picks the entry that leaves a
/// queue.
macro_rules! picking {
    ($engine:ident, $unit:ident, $overflow:literal, $now:ident, $method:ident($($argument:expr),*)) => {{
        let name = queue($unit, $overflow);
        let (policies, now) = (&mut $engine.policies, $now);
        let seen = Seen { jobs: &$engine.jobs, requests: &$engine.requests, now };
        let station = $engine.ensemble.station_mut($unit);
        station.$method($($argument,)* |queue| policies.pick(name, queue, seen))
    }};
}

impl Engine<'_> {
    /// Starts the next ready entry of `unit` on an idle element.
    pub(crate) fn start_next(&mut self, unit: Unit, now: Time) -> Option<(JobId, Element)> {
        picking!(self, unit, false, now, start(now))
    }

    /// Gives a free input entry of `unit` to the next overflow entry.
    pub(crate) fn refill_next(&mut self, unit: Unit, now: Time) -> Option<JobId> {
        picking!(self, unit, true, now, refill())
    }

    /// Gives up a reserved input entry of `unit`. Returns the overflow entry that moves up.
    pub(crate) fn release_input(&mut self, unit: Unit, now: Time) -> Option<JobId> {
        picking!(self, unit, true, now, release_input())
    }

    /// Gives the input entry of a trace of `unit` that must not continue to an overflow entry,
    /// which is returned.
    pub(crate) fn change_places(&mut self, unit: Unit, now: Time) -> Option<JobId> {
        picking!(self, unit, true, now, change_places())
    }

    /// Fills a reserved overflow entry of `unit`. Returns the overflow entry that moves up.
    pub(crate) fn spill_entry(
        &mut self,
        unit: Unit,
        entry: Entry<JobId>,
        now: Time,
    ) -> Option<JobId> {
        picking!(self, unit, true, now, spilled(entry, now))
    }
}

fn queue(unit: Unit, overflow: bool) -> QueueName {
    QueueName {
        accel: unit.accel,
        instance: unit.instance,
        overflow,
    }
}
