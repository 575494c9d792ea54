//! The work of output dispatchers and of the central manager after an operation.

use accelflow_units::Time;

use crate::config::Resubmission;
use crate::orchestrators::ManagerVisit;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{Event, JobId, Task, Unit};
use crate::stats::Part;

impl Engine<'_> {
    /// A job asks the dispatcher of `unit`, if the decision takes a dispatcher time: it `takes`
    /// some, and perhaps `reads` the trace memory. Returns when it has decided, unless that is
    /// scheduled or the job waits.
    #[inline(always)]
    pub(crate) fn ask_dispatcher(
        &mut self,
        id: JobId,
        unit: Unit,
        (takes, reads): (Time, bool),
        now: Time,
    ) -> Option<Time> {
        if takes == Time::ZERO {
            return Some(now);
        }
        if !self.ensemble.dispatcher_of(unit).ask(id, now) {
            return None;
        }
        if reads && self.dispatchers.reads_take_time() {
            self.dispatch(id, now);
            return None;
        }
        Some(now + takes)
    }

    /// The dispatcher handles a job: it reads the trace memory, word by word, and then executes its
    /// instructions.
    #[inline(never)]
    pub(crate) fn dispatch(&mut self, id: JobId, now: Time) {
        let job = self.jobs.get_mut(id);
        if job.reads > 0 && self.dispatchers.reads_take_time() {
            job.reads -= 1;
            let there = self.dispatchers.read_word(now);
            self.schedule(there, Event::WordRead(id));
        } else {
            let decided = now + job.decision.dispatcher;
            self.schedule(decided, Event::Dispatched(id));
        }
    }

    /// The dispatcher has executed its instructions; the manager is next, if the decision needs it,
    /// then the core.
    #[inline(never)]
    pub(crate) fn dispatched(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.dispatched_at_once(id, now)
    }

    /// The same at the end of a step that goes on with it.
    #[inline(always)]
    pub(crate) fn dispatched_at_once(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.show_part(id, Part::Dispatcher, now);
        let job = self.jobs.get_mut(id);
        job.path.spend(Part::Dispatcher, now);
        let unit = job.unit;
        if !job.alone {
            return self.dispatched_with_others(id, now);
        }
        if self.dispatchers.ends_at_once() {
            self.end_dispatch(unit, id, now);
        }
        self.show_part(id, Part::Manager, now);
        self.forward_at_once(id, now)
    }

    /// The dispatcher has executed its instructions, and is not the only one to handle a job.
    #[inline(never)]
    fn dispatched_with_others(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.end_instructions(id, now);
        match self.jobs.get(id).decision.manager {
            Some(visit) => {
                self.visit_manager(visit, Event::Managed(id), now);
                Ok(())
            }
            None => self.managed(id, now),
        }
    }

    /// "Once the engine confirms the transfer end, the dispatcher clears the output queue entry and
    /// terminates the operation" (AccelFlow, section V.2): until then it is busy with a job that it
    /// forwards itself (`dispatcher.busy`). A job for the manager or a core leaves it now.
    fn end_instructions(&mut self, id: JobId, now: Time) {
        let job = self.jobs.get(id);
        let forwards = job.decision.manager.is_none() && job.decision.core == Time::ZERO;
        if !forwards || self.dispatchers.ends_at_once() {
            self.end_dispatch(job.unit, id, now);
        }
    }

    /// The data of a job has left its output entry at `unit`.
    #[inline(always)]
    pub(crate) fn withdraw(&mut self, id: JobId, unit: Unit, now: Time) {
        self.ensemble.withdraw(unit, now);
        self.end_dispatch(unit, id, now);
    }

    /// The dispatcher of `unit` has finished a job, unless it had before, and handles the next.
    #[inline(always)]
    fn end_dispatch(&mut self, unit: Unit, id: JobId, now: Time) {
        let dispatcher = self.ensemble.dispatcher_of(unit);
        if let Some(next) = dispatcher.end(id, now) {
            self.dispatch(next, now);
        }
    }

    /// Visits the manager, which serves one visit after the other; `event` happens when its
    /// decision takes effect.
    pub(crate) fn visit_manager(&mut self, visit: ManagerVisit, event: Event, now: Time) {
        let decided = self.manager.visit(visit, now);
        self.measures.charge_manager(visit.occupancy);
        if self.is_followed() {
            let until = self.manager.free_from();
            let job = event.job();
            self.show_visit(job, now, (until - visit.occupancy, until));
        }
        self.schedule(decided, event);
    }

    /// A core has decided, and submits the rest of a job's chain: to the manager again
    /// (`relief.resubmission`), or straight to the next accelerator.
    pub(crate) fn resubmit(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        let visit = self.properties.submission;
        match visit.filter(|_| self.run.config.relief.resubmission == Resubmission::Visit) {
            Some(visit) => {
                self.visit_manager(visit, Event::Resubmitted(id), now);
                Ok(())
            }
            None => self.forward(id, now),
        }
    }

    /// The manager has accepted the rest of a job's chain.
    pub(crate) fn resubmitted(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.spend(id, Part::Manager, now);
        self.forward(id, now)
    }

    /// The manager has decided; the core is next, if the decision needs it.
    pub(crate) fn managed(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.spend(id, Part::Manager, now);
        let job = self.jobs.get(id);
        let (decision, accel, unit) = (job.decision, job.accel, job.unit);
        let core = self.requests.get(job.request).core;
        self.free_central_element(unit);
        self.measures
            .charge_cores(decision.background + decision.core);
        if decision.background > Time::ZERO {
            self.ask_core(core, Task::Notice, decision.background, now);
        }
        if decision.core > Time::ZERO {
            self.ask_core(core, Task::Decide(id), decision.core, now);
        } else {
            self.forward(id, now)?;
        }
        self.grant(accel, now);
        Ok(())
    }
}
