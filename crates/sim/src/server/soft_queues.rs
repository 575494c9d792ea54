//! Queues in memory between accelerators and cores: what is put there, and who looks when.
//!
//! A core's polling thread runs whenever the core has nothing else to do, and between two tasks
//! if its last look was a period ago. The queues carry descriptors: payloads stay in the output
//! entries of their accelerators, as in all systems whose cores hand on.

use accelflow_units::Time;

use super::SimError;
use super::engine::Engine;
use super::state::{CoreId, Event, JobId, Letter, Task};
use crate::stats::Part;

impl Engine<'_> {
    /// An accelerator puts something into the queue of a core.
    pub(super) fn post(&mut self, core: CoreId, letter: Letter, now: Time) {
        self.soft_queues[usize::from(core)].push(letter);
        self.look_when_idle(core, now);
    }

    /// A core that has nothing else to do looks, if there is something to find. Its polling thread
    /// has run since it became idle, or is being switched to.
    pub(super) fn look_when_idle(&mut self, core: CoreId, now: Time) {
        let index = usize::from(core);
        let queue = &self.soft_queues[index];
        if queue.is_empty() || self.cores[index].idle_since().is_none() {
            return;
        }
        let from = queue.polled_from(self.run.config.core.context_switch);
        self.look(core, from.saturating_sub(now), now);
    }

    /// Whether the polling thread of a core waits for the end of a time slice.
    pub(super) fn polling_waits(&self, core: CoreId, now: Time) -> bool {
        let queue = self.soft_queues.get(usize::from(core));
        queue.is_some_and(|queue| !queue.is_empty() && queue.due(now))
    }

    /// A task has left the core. If others wait, the polling thread comes before them when it is
    /// its time.
    pub(super) fn look_between_tasks(&mut self, core: CoreId, task: Task, now: Time) {
        let index = usize::from(core);
        // Neither a look nor an interrupt is another thread.
        if matches!(task, Task::Look(_) | Task::Handle(_)) {
            return;
        }
        self.soft_queues[index].thread_left(now);
        if self.cores[index].load() > 0 && self.soft_queues[index].due(now) {
            self.look(core, self.run.config.core.context_switch, now);
        }
    }

    fn look(&mut self, core: CoreId, switch: Time, now: Time) {
        let config = &self.run.config.cohort;
        self.soft_queues[usize::from(core)].look(config.poll_period, now);
        let duration = switch + config.poll;
        self.orchestration.cores += duration;
        self.push_task_first(core, Task::Look(core), duration, now);
    }

    /// A look has ended: what it has found is done in turn, after what waits already.
    pub(super) fn looked(&mut self, core: CoreId, now: Time) -> Result<(), SimError> {
        for letter in self.soft_queues[usize::from(core)].take() {
            match letter {
                Letter::Ask(task, duration) => self.push_task(core, task, duration, now),
                Letter::Ended(job) => {
                    self.spend(job, Part::Cores, now);
                    self.told(job, now)?;
                }
            }
        }
        Ok(())
    }

    /// A core has put `job` into an accelerator's queue: `event` happens when that has seen it.
    pub(super) fn pushed(&mut self, event: Event, now: Time) {
        self.schedule(now + self.run.config.cohort.engine, event);
    }

    /// An accelerator has seen a job that a core hands on.
    pub(super) fn fetched(&mut self, job: JobId, now: Time) -> Result<(), SimError> {
        self.spend(job, Part::Communication, now);
        self.forward(job, now)
    }
}
