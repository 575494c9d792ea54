//! The start and the end of tasks on cores.

use accelflow_units::Time;

use crate::hardware::{SliceEnd, TaskStart};
use crate::orchestrators::CoreRequests;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{CoreId, CoreMessage, Event, Task};
use crate::stats::Part;

impl Engine<'_> {
    /// Adds a task behind the others.
    pub(crate) fn push_task(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.uncore.core_runs(duration, now);
        let started = self.cores.push(core, task, duration, now);
        self.task_started(core, started);
    }

    /// Adds a task of the thread that has the core. Its last task ends now, so the core starts this
    /// one next, unless an interrupt waits.
    pub(crate) fn resume_task(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.uncore.core_runs(duration, now);
        let started = self.cores.resume(core, task, duration, now);
        self.task_started(core, started);
    }

    /// Adds a task of another thread before those that wait.
    pub(crate) fn push_task_first(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.uncore.core_runs(duration, now);
        let started = self.cores.push_first(core, task, duration, now);
        self.task_started(core, started);
    }

    /// Interrupts a core with a task.
    pub(crate) fn interrupt_core(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.uncore.core_runs(duration, now);
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
        self.uncore.core_runs(switch, now);
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
                self.forward(job, now)
            }
        }
    }
}
