//! Accelerators that do the work of others when they are idle.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::engine::Engine;
use super::state::{Job, JobId, Unit};
use crate::config::Reuse;

impl Engine<'_> {
    /// Where `job` goes for an operation of `accel`: there, or with `accelerator.reuse` `idle`,
    /// while that has no free element, to the least loaded accelerator that has.
    ///
    /// "To improve utilization, one could reuse the accelerators for other tasks when they are
    /// idle" (AccelFlow, section VII.B.4).
    pub(super) fn host_for(&self, job: JobId, accel: Accel) -> Unit {
        let unit = |accel: Accel| Unit {
            accel,
            instance: self.instance_for(job, accel),
            part: self.jobs.get(job).part,
        };
        let own = unit(accel);
        let reuse = self.run.config.accelerator.reuse == Reuse::Idle;
        if !reuse || !is_flexible(accel) || self.has_free_element(own) {
            return own;
        }
        let others = Accel::ALL.into_iter().filter(|&it| is_flexible(it));
        let free = others.map(unit).filter(|it| self.has_free_element(*it));
        let least = free.min_by_key(|it| self.stations[self.place_of(*it)].load());
        least.unwrap_or(own)
    }

    /// Whether it has an element that nothing runs on and nothing is on its way to.
    fn has_free_element(&self, unit: Unit) -> bool {
        let station = &self.stations[self.place_of(unit)];
        (station.load() as u64) < station.elements()
    }

    /// How long the operation of `job` computes where it is.
    pub(super) fn compute_there(&self, job: &Job) -> Time {
        let time = self.compute(job.accel, job.operation.core, job.operation.input);
        match job.host == job.accel {
            true => time,
            false => time.scale(1.0 / self.run.config.accelerator.reuse_speed),
        }
    }
}

/// What does operations of other kinds and has its own done elsewhere. TCP holds connections, and
/// LdB is with the cores.
fn is_flexible(accel: Accel) -> bool {
    !matches!(accel, Accel::Tcp | Accel::Ldb)
}
