//! The start and the end of tasks on cores.

use accelflow_units::Time;

use crate::hardware::{SliceEnd, TaskStart};
use crate::orchestrators::CoreRequests;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{CoreId, CoreMessage, Event, Task};
use crate::stats::Part;

/// The caches get the data of a longer task in parts of this length: all at once, it would hold up
/// everybody else's accesses to memory.
const FILLED_AT_ONCE: Time = Time::from_us(10_000);

impl Engine<'_> {
    /// Adds a task behind the others.
    pub(crate) fn push_task(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.core_runs(duration, now);
        let started = self.cores.push(core, task, duration, now);
        self.task_started(core, started);
    }

    /// Adds a task of the thread that has the core. Its last task ends now, so the core starts this
    /// one next, unless an interrupt waits.
    pub(crate) fn resume_task(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.core_runs(duration, now);
        let started = self.cores.resume(core, task, duration, now);
        self.task_started(core, started);
    }

    /// Adds a task of another thread before those that wait.
    pub(crate) fn push_task_first(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.core_runs(duration, now);
        let started = self.cores.push_first(core, task, duration, now);
        self.task_started(core, started);
    }

    /// Interrupts a core with a task.
    pub(crate) fn interrupt_core(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.core_runs(duration, now);
        let started = self.cores.interrupt(core, task, duration, now);
        self.task_started(core, started);
    }

    /// Gives a core a task that a completion requires.
    pub(crate) fn ask_core(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        match self.properties.requests {
            CoreRequests::Interrupt => self.interrupt_core(core, task, duration, now),
            CoreRequests::RunQueue => self.push_task(core, task, duration, now),
            CoreRequests::SoftwareQueue => self.post(core, CoreMessage::Ask(task, duration), now),
        }
    }

    /// Brings the data of a task that runs for `duration` into the caches, that of a long task part
    /// by part.
    fn core_runs(&mut self, duration: Time, now: Time) {
        let parts = duration.as_ps() / FILLED_AT_ONCE.as_ps();
        let later = u32::try_from(parts.saturating_sub(1)).unwrap_or(u32::MAX);
        let at_once = duration - FILLED_AT_ONCE * u64::from(later);
        self.uncore.core_runs(at_once, now);
        self.schedule_fills(later, now);
    }

    /// Brings the data of one part of a long task into the caches, of which `parts` are left.
    pub(crate) fn core_fills(&mut self, parts: u32, now: Time) {
        self.uncore.core_runs(FILLED_AT_ONCE, now);
        self.schedule_fills(parts - 1, now);
    }

    fn schedule_fills(&mut self, parts: u32, now: Time) {
        if parts > 0 {
            self.schedule(now + FILLED_AT_ONCE, Event::CoreFills(parts));
        }
    }

    fn task_started(&mut self, core: CoreId, started: Option<TaskStart>) {
        if let Some(TaskStart { ends, number }) = started {
            self.schedule(ends, Event::CoreDone(core, number));
        }
    }

    /// The task that was started as number `number`, or its time slice, has ended, unless it has
    /// been preempted.
    pub(crate) fn core_done(
        &mut self,
        core: CoreId,
        number: u32,
        now: Time,
    ) -> Result<(), Failure> {
        if self.slice_done(core, number, now) {
            return Ok(());
        }
        if let Some(task) = self.cores.finish(core, number, now) {
            let polls = self.has_software_queues();
            if polls {
                self.poll_between_tasks(core, task, now);
            }
            self.task_done(task, now)?;
            let started = self.cores.start(core, now);
            self.task_started(core, started);
            if polls {
                self.poll_when_idle(core, now);
            }
        }
        Ok(())
    }

    /// Ends a time slice. Returns whether the time slice has ended, and not the task.
    fn slice_done(&mut self, core: CoreId, number: u32, now: Time) -> bool {
        match self.cores.end_slice(core, number, now) {
            SliceEnd::None => return false,
            SliceEnd::GoesOn(slice) => self.task_started(core, Some(slice)),
            SliceEnd::Behind(task) => {
                self.charge_switch(task, now);
                if self.has_software_queues() {
                    self.poll_between_tasks(core, task, now);
                }
                let started = self.cores.start(core, now);
                self.task_started(core, started);
            }
        }
        true
    }

    /// Charges a task whose time slice has ended the context switch that it needs to go on.
    fn charge_switch(&mut self, task: Task, now: Time) {
        let switch = self.run.config.core.context_switch;
        self.core_runs(switch, now);
        match task {
            Task::Application(request) => self.requests.get_mut(request).cpu += switch,
            Task::Software(job) => self.jobs.get_mut(job).software += switch,
            _ => self.measures.charge_cores(switch),
        }
    }

    fn task_done(&mut self, task: Task, now: Time) -> Result<(), Failure> {
        match task {
            Task::Application(request) => self.application_done(request, now),
            Task::Software(job) => self.software_done(job, now),
            Task::TakeOver(job) => self.take_over(job, now),
            Task::Poll(core) => self.polled(core, now),
            Task::Notice => Ok(()),
            Task::Handle(job) => {
                self.resume_element(job, now);
                Ok(())
            }
            Task::Again(job) => self.begun_again(job, now),
            Task::Enqueue(job) => {
                self.spend(job, Part::Cores, now);
                self.enqueue_by_core(job, true, now)
            }
            Task::Decide(job) => {
                self.spend(job, Part::Cores, now);
                if self.has_software_queues() {
                    self.hand_to_accelerator(Event::Fetched(job), now);
                    return Ok(());
                }
                self.resubmit(job, now)
            }
        }
    }
}
