//! Queues in memory between accelerators and cores, which a thread of each core polls.
//!
//! The polling thread of a core runs whenever the core has nothing else to do, and between two
//! tasks if its last poll was at least `cohort.poll_period_ns` ago. The queues carry descriptors: a
//! payload stays in the accelerator's output queue, as in all systems in which cores start the next
//! operation.

use accelflow_units::Time;

use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{CoreId, CoreMessage, Event, JobId, Task};
use crate::stats::Part;

impl Engine<'_> {
    /// An accelerator puts a message into the queue of a core.
    pub(crate) fn post(&mut self, core: CoreId, message: CoreMessage, now: Time) {
        self.cores.software_queue(core).push(message);
        self.poll_when_idle(core, now);
    }

    /// An idle core polls its queue, if there is something in it. The polling thread has the core
    /// already, or a context switch brings it there.
    pub(crate) fn poll_when_idle(&mut self, core: CoreId, now: Time) {
        let switch = self.run.config.core.context_switch;
        if !self.cores.is_idle(core) {
            return;
        }
        let queue = self.cores.software_queue(core);
        if !queue.is_empty() {
            let from = queue.polled_from(switch);
            self.poll(core, from.saturating_sub(now), now);
        }
    }

    /// A task has left the core. If a poll is due, the polling thread comes before the tasks that
    /// wait.
    pub(crate) fn poll_between_tasks(&mut self, core: CoreId, task: Task, now: Time) {
        // Neither a poll nor an interrupt is another thread.
        if matches!(task, Task::Poll(_) | Task::Handle(_)) {
            return;
        }
        let loaded = self.cores.is_loaded(core);
        let queue = self.cores.software_queue(core);
        queue.thread_left(now);
        if loaded && queue.due(now) {
            self.poll(core, self.run.config.core.context_switch, now);
        }
    }

    fn poll(&mut self, core: CoreId, switch: Time, now: Time) {
        let config = &self.run.config.cohort;
        let queue = self.cores.software_queue(core);
        queue.poll(config.poll_period, now);
        let duration = switch + config.poll;
        self.measures.charge_cores(duration);
        self.push_task_first(core, Task::Poll(core), duration, now);
    }

    /// A poll has ended: its messages are handled in turn, after the tasks that wait.
    pub(crate) fn polled(&mut self, core: CoreId, now: Time) -> Result<(), Failure> {
        for message in self.cores.software_queue(core).take() {
            match message {
                CoreMessage::Ask(task, duration) => self.push_task(core, task, duration, now),
                CoreMessage::Ended(job) => {
                    self.spend(job, Part::Cores, now);
                    self.see_end(job, now)?;
                }
            }
        }
        Ok(())
    }

    /// A core has put a job into an accelerator's queue: `event` happens when the accelerator has
    /// seen it.
    pub(crate) fn hand_to_accelerator(&mut self, event: Event, now: Time) {
        self.schedule(now + self.run.config.cohort.engine, event);
    }

    /// An accelerator has seen a job from a core.
    pub(crate) fn fetched(&mut self, job: JobId, now: Time) -> Result<(), Failure> {
        self.spend(job, Part::Communication, now);
        self.forward(job, now)
    }
}
