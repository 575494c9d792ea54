//! The choice of the accelerator, and of its instance, that executes an operation.

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::config::{FallBackWhen, Reuse};
use crate::server::engine::Engine;
use crate::server::state::{CoreId, Job, JobId, RequestId, Unit};

/// The attributes of a request from which LdB draws cores.
const LDB_DRAWS: [u64; 2] = [1 << 42, (1 << 42) + 1];

impl Engine<'_> {
    /// The accelerator that executes an operation of `accel` for `job`. With `accelerator.reuse`
    /// idle, and while `accel` has no free element, it is the least loaded other that has one.
    ///
    /// "To improve utilization, one could reuse the accelerators for other tasks when they are
    /// idle" (AccelFlow, section VII.B.4).
    pub(crate) fn host_for(&self, job: JobId, accel: Accel) -> Unit {
        let share = self.jobs.get(job).unit.share;
        let unit = |accel: Accel| {
            let instance = self.instance_for(job, accel);
            self.ensemble.unit(accel, instance, share)
        };
        let own = unit(self.run.config.element_of(accel));
        let reuse = self.run.config.accelerator.reuse == Reuse::Idle;
        if !reuse || !is_flexible(accel) || self.has_free_element(own) {
            return own;
        }
        let others = Accel::ALL.into_iter().filter(|&other| is_flexible(other));
        let free = others.map(unit).filter(|unit| self.has_free_element(*unit));
        let least = free.min_by_key(|unit| self.ensemble.station(*unit).load());
        least.unwrap_or(own)
    }

    /// Whether the core of `job`, idle now, would end its operation of `accel` sooner than the
    /// accelerator, by what the entries ahead of it take if they are like it. False unless
    /// `accelerator.fallback` is sooner.
    pub(crate) fn core_is_sooner(&self, id: JobId, accel: Accel) -> bool {
        let config = self.run.config;
        if config.accelerator.fallback == FallBackWhen::Full {
            return false;
        }
        let job = self.jobs.get(id);
        let unit = self.host_for(id, accel);
        let core = self.requests.get(job.request).core;
        if !self.has(unit.accel) || !self.cores.is_idle(core) {
            return false;
        }
        let station = self.ensemble.station(unit);
        let (load, elements) = (station.load() as u64, station.elements());
        let operation = job.operation;
        let compute = self.timing.compute(accel, operation.core, operation.input);
        let turns = (load + 1).saturating_sub(elements) as f64 / elements as f64;
        let there = compute + compute.scale(turns);
        let here = config.core.context_switch + config.tax_time(operation.core);
        here < there
    }

    /// Whether the chip has `accel`.
    pub(crate) fn has(&self, accel: Accel) -> bool {
        self.ensemble.instances_of(accel) > 0
    }

    /// Whether `unit` has an element that no operation runs on or is in transit to.
    fn has_free_element(&self, unit: Unit) -> bool {
        if !self.has(unit.accel) {
            return false;
        }
        let station = self.ensemble.station(unit);
        (station.load() as u64) < station.elements()
    }

    /// How long the operation of `job` computes where it is.
    #[inline(always)]
    pub(crate) fn compute_there(&self, job: &Job) -> Time {
        let operation = job.operation;
        let time = self
            .timing
            .compute(job.accel, operation.core, operation.input);
        let own =
            job.unit.accel == job.accel || job.unit.accel == self.run.config.element_of(job.accel);
        match own {
            true => time,
            false => time.scale(1.0 / self.run.config.accelerator.reuse_speed),
        }
    }

    /// The instance of `accel` for `job`. Responses leave by the TCP of the connection, which has
    /// its state; otherwise it is the least loaded instance, the first of equals.
    pub(crate) fn instance_for(&self, id: JobId, accel: Accel) -> u8 {
        let instances = self.ensemble.instances_of(accel);
        if instances == 1 {
            return 0;
        }
        let job = self.jobs.get(id);
        let request = self.requests.get(job.request);
        if accel == Accel::Tcp && self.requests.is_last_phase(request) {
            return request.tcp;
        }
        let unit = |instance: usize| self.ensemble.unit(accel, instance as u8, job.unit.share);
        let load = |&instance: &usize| self.ensemble.station(unit(instance)).load();
        let least = (0..instances).min_by_key(load);
        least.map_or(0, |instance| instance as u8)
    }

    /// Whether the operation of a job assigns its request to a core: LdB's in the first phase.
    /// Responses go to the core that has sent the message.
    pub(crate) fn balances(&self, job: &Job) -> bool {
        job.accel == Accel::Ldb && job.phase == 0
    }

    /// Assigns a request to a core by LdB; among equals it takes the first from `first` on. Returns
    /// whether the core changes. A request that several arms balance has the core of the last one.
    pub(crate) fn balance(&mut self, id: RequestId, first: CoreId) -> bool {
        let request = self.requests.get(id);
        let draws = LDB_DRAWS.map(|purpose| self.requests.attribute(request, purpose));
        let service = request.service;
        if request.balanced {
            self.cores.unassign(request.core);
        }
        let (core, warm) = self.cores.assign(service, draws, first);
        let cold = self.run.config.core.cold_code;
        let request = self.requests.get_mut(id);
        request.balanced = true;
        request.cold = if warm { Time::ZERO } else { cold };
        std::mem::replace(&mut request.core, core) != core
    }
}

/// Whether an accelerator can do operations of other types, and others can do its own. Not TCP,
/// which has connections, and not LdB, which is next to the cores.
fn is_flexible(accel: Accel) -> bool {
    !matches!(accel, Accel::Tcp | Accel::Ldb)
}
