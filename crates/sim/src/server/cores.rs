//! What cores do: application logic, decisions, and traces in software.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::SimError;
use super::engine::Engine;
use super::state::{CoreId, Event, Held, JobId, Letter, RequestId, Task};
use crate::config::{Looks, SoftwareBalancing};
use crate::hardware::{SliceEnd, TaskStart};
use crate::orchestrators::{Next, Notification};
use crate::plan::PhasePlan;
use crate::stats::Part;

impl Engine<'_> {
    /// Starts the current phase of a request; without one, the request has ended.
    pub(super) fn start_phase(&mut self, id: RequestId, now: Time) -> Result<(), SimError> {
        let request = *self.requests.get(id);
        match self.phase(&request) {
            None => {
                let spent = request.spent;
                self.respond(id, &spent, now);
                self.request_ended(id);
                Ok(())
            }
            Some(PhasePlan::Cpu(time)) => {
                let own = self.run.config.application_time(*time);
                let cpu = self.run.config.core.context_switch + own;
                let duration = self.application(id, cpu);
                self.push_task(request.core, Task::Application(id), duration, now);
                Ok(())
            }
            Some(PhasePlan::Chains(_)) => self.start_chains(id, now),
        }
    }

    /// The duration of an application task: `cpu` of its own, and starting the chains after it.
    fn application(&mut self, id: RequestId, cpu: Time) -> Time {
        let start = self.start_cost(id);
        self.orchestration.cores += start;
        let request = self.requests.get_mut(id);
        request.cpu = cpu;
        request.overhead += start;
        cpu + start
    }

    /// What the application task before a phase of chains spends on starting them.
    fn start_cost(&self, id: RequestId) -> Time {
        let mut request = *self.requests.get(id);
        request.phase += 1;
        match self.phase(&request) {
            Some(PhasePlan::Chains(chains)) => {
                self.run.orchestrator.start(self.run.config) * chains.len() as u64
            }
            _ => Time::ZERO,
        }
    }

    fn start_chains(&mut self, id: RequestId, now: Time) -> Result<(), SimError> {
        let request = *self.requests.get(id);
        let Some(PhasePlan::Chains(chains)) = self.phase(&request) else {
            return Ok(());
        };
        let entry = self.requests.get_mut(id);
        entry.outstanding = chains.len() as u16;
        entry.overhead = Time::ZERO;
        let first = request.phase == 0;
        let mut jobs = Vec::with_capacity(chains.len());
        for (index, chain) in chains.iter().enumerate() {
            let job = self.new_job(id, index as u16, chain)?;
            if !first && self.run.orchestrator.accelerated() {
                let input = self.jobs.get(job).operation.input;
                self.new_buffer(job, input);
            }
            self.inherit(job, now);
            jobs.push(job);
        }
        self.free_given(id);
        if !self.run.orchestrator.accelerated() {
            // The thread that the application ran in goes on with the first; each of the others
            // goes before what waits, so the last of them is put there first.
            jobs[1..].reverse();
        }
        for job in jobs {
            if self.run.orchestrator.accelerated() {
                self.start_on_accelerators(job, first, now)?;
            } else {
                self.run_software(job, !first, now)?;
            }
        }
        Ok(())
    }

    /// An execution has ended and its core knows.
    pub(super) fn notified(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        self.spend(id, Part::Communication, now);
        if self.run.orchestrator.software_queues() {
            let core = self.requests.get(self.jobs.get(id).request).core;
            self.post(core, Letter::Ended(id), now);
            return Ok(());
        }
        self.told(id, now)
    }

    /// The core sees that an execution has ended.
    pub(super) fn told(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        self.follow(id, now);
        let request = self.jobs.get(id).request;
        self.give_buffer(id);
        self.remove_job(id);
        let core = self.requests.get(request).core;
        let cost = self.tell_core(core, now);
        self.orchestration.cores += cost;
        self.requests.get_mut(request).overhead = cost;
        self.execution_ended(request, false, now)
    }

    /// One execution less; with the last one the request goes on to its next phase. `running`
    /// says that its thread has the core already.
    pub(super) fn execution_ended(
        &mut self,
        id: RequestId,
        running: bool,
        now: Time,
    ) -> Result<(), SimError> {
        let request = self.requests.get_mut(id);
        request.outstanding -= 1;
        if request.outstanding > 0 {
            return Ok(());
        }
        if request.terminated {
            self.request_ended(id);
            return Ok(());
        }
        request.phase += 1;
        let request = *request;
        match self.phase(&request) {
            Some(PhasePlan::Cpu(time)) if running => {
                let own = self.run.config.application_time(*time);
                let duration = self.application(id, own);
                self.resume_task(request.core, Task::Application(id), duration, now);
                Ok(())
            }
            _ => self.start_phase(id, now),
        }
    }

    /// Puts a job's trace on its core, up to the trace's end or until it waits for a message.
    pub(super) fn run_software(
        &mut self,
        id: JobId,
        running: bool,
        now: Time,
    ) -> Result<(), SimError> {
        self.trace_ended(id);
        let duration = self.software(id, now)?;
        let core = self.requests.get(self.jobs.get(id).request).core;
        let switch = if running {
            Time::ZERO
        } else {
            self.run.config.core.context_switch
        };
        let duration = switch + duration;
        self.jobs.get_mut(id).software = duration;
        if running {
            self.resume_task(core, Task::Software(id), duration, now);
        } else {
            self.push_task(core, Task::Software(id), duration, now);
        }
        Ok(())
    }

    /// Executes the trace of a job in software: its core time, with the job left where it ends or
    /// waits. Arms of forks are executed one after the other.
    fn software(&mut self, root: JobId, now: Time) -> Result<Time, SimError> {
        let mut total = Time::ZERO;
        let mut left = vec![root];
        let mut met = Vec::new();
        while let Some(id) = left.pop() {
            let mut job = *self.jobs.get(id);
            while let (Next::Forward(accel), false) = (job.next, job.meets) {
                self.log(&job, true, now);
                total += self.run.config.tax_time(job.operation.core);
                job.due = self.advance_deadline(&job);
                self.totals.on_cores[accel.index()] += 1;
                job.balances |= self.balances(&job);
                let output = job.operation.output;
                let (read, arms) = self.read_all(&mut job)?;
                let kib = output.get() as f64 / 1024.0;
                let transform = self.run.config.core.transform_per_kib;
                total += transform.scale(kib * f64::from(read.transforms));
                left.extend(arms.into_iter().map(|arm| self.add_arm(root, arm)));
            }
            *self.jobs.get_mut(id) = job;
            met.push(id);
            left.extend(self.meet_in_software(root, id, &mut met)?);
        }
        Ok(total)
    }

    /// A task or its time slice has ended, if the task is still the one that was started as number
    /// `number`.
    pub(super) fn core_done(
        &mut self,
        core: CoreId,
        number: u64,
        now: Time,
    ) -> Result<(), SimError> {
        let index = usize::from(core);
        if self.slice_done(core, number, now) {
            return Ok(());
        }
        if let Some(task) = self.cores[index].finish(number, now) {
            let polls = self.run.orchestrator.software_queues();
            if polls {
                self.look_between_tasks(core, task, now);
            }
            self.task_done(task, now)?;
            let started = self.cores[index].start(now);
            self.started(core, started);
            if polls {
                self.look_when_idle(core, now);
            }
        }
        Ok(())
    }

    /// Whether it is not a task but its time slice that ends.
    fn slice_done(&mut self, core: CoreId, number: u64, now: Time) -> bool {
        let index = usize::from(core);
        let polled = self.polling_waits(core, now);
        match self.cores[index].slice_ends(number, polled, now) {
            SliceEnd::None => return false,
            SliceEnd::GoesOn(slice) => self.started(core, Some(slice)),
            SliceEnd::Behind(task) => {
                self.switch_back(task, now);
                if self.run.orchestrator.software_queues() {
                    self.look_between_tasks(core, task, now);
                }
                let started = self.cores[index].start(now);
                self.started(core, started);
            }
        }
        true
    }

    /// A task whose time slice has ended will need a context switch to go on.
    fn switch_back(&mut self, task: Task, now: Time) {
        let switch = self.run.config.core.context_switch;
        self.uncore.core_runs(switch, now);
        match task {
            Task::Application(request) => self.requests.get_mut(request).cpu += switch,
            Task::Software(job) => self.jobs.get_mut(job).software += switch,
            _ => self.orchestration.cores += switch,
        }
    }

    fn task_done(&mut self, task: Task, now: Time) -> Result<(), SimError> {
        match task {
            Task::Application(request) => {
                self.spend_application(request, now);
                self.requests.get_mut(request).phase += 1;
                self.start_phase(request, now)
            }
            Task::Decide(job) => {
                self.spend(job, Part::Cores, now);
                if self.run.orchestrator.software_queues() {
                    self.pushed(Event::Fetched(job), now);
                    return Ok(());
                }
                self.forward(job, now)
            }
            Task::Software(job) => self.software_done(job, now),
            Task::Enqueue(job) => {
                self.spend(job, Part::Cores, now);
                self.enqueue_by_core(job, true, now)
            }
            Task::Handle(job) => {
                self.resume_element(job, now);
                Ok(())
            }
            Task::TakeOver(job) => self.take_over(job, now),
            Task::Notice => Ok(()),
            Task::Look(core) => self.looked(core, now),
        }
    }

    fn software_done(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        self.spend_software(id, now);
        let running = !self.balanced_in_software(id);
        let arms = self.take_arms(id);
        for &arm in &arms {
            self.inherit_from(arm, id);
        }
        for job in std::iter::once(id).chain(arms) {
            let done = *self.jobs.get(job);
            match done.next {
                _ if done.meets => self.come_from_core(job, now)?,
                Next::Park => {
                    self.free_buffer(job);
                    self.jobs.get_mut(job).held = self.where_software_waits();
                    self.await_message(job, now);
                }
                _ => {
                    if done.accel == Accel::Tcp {
                        self.respond_if_last(&done, now);
                    }
                    self.follow(job, now);
                    self.remove_job(job);
                    self.execution_ended(done.request, running, now)?;
                }
            }
        }
        Ok(())
    }

    /// "Using a software or hardware algorithm, a load balancer picks a core to execute the
    /// function" (AccelFlow, section II): if LdB was in the trace that a core has executed, it
    /// gives the request to a core, its own before equals; whether to another. With
    /// `core.software_balancing` none it stays on the core that its message was steered to.
    fn balanced_in_software(&mut self, id: JobId) -> bool {
        let job = self.jobs.get_mut(id);
        if !std::mem::take(&mut job.balances) {
            return false;
        }
        let request = job.request;
        match self.run.config.core.software_balancing {
            SoftwareBalancing::Same => self.balance(request, self.requests.get(request).core),
            SoftwareBalancing::None => false,
        }
    }

    /// A trace that fell back to a core is continued by the accelerators with the next message.
    fn where_software_waits(&self) -> Held {
        if self.run.orchestrator.accelerated() {
            Held::Nowhere
        } else {
            Held::Core
        }
    }

    /// Nothing is left to do for a request.
    fn request_ended(&mut self, id: RequestId) {
        let request = self.requests.get(id);
        if request.balanced {
            self.cores[usize::from(request.core)].disown();
        }
        self.free_given(id);
        self.requests.remove(id);
    }

    pub(super) fn push_task(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.uncore.core_runs(duration, now);
        let started = self.cores[usize::from(core)].push(task, duration, now);
        self.started(core, started);
    }

    /// Goes on with the thread that has the core. Called while its last task ends, so the core
    /// starts it next, unless an interrupt waits.
    pub(super) fn resume_task(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.uncore.core_runs(duration, now);
        let started = self.cores[usize::from(core)].resume(task, duration, now);
        self.started(core, started);
    }

    /// Gives a core to another thread before those that wait.
    pub(super) fn push_task_first(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.uncore.core_runs(duration, now);
        let started = self.cores[usize::from(core)].push_first(task, duration, now);
        self.started(core, started);
    }

    /// Interrupts a core with a task.
    pub(super) fn interrupt_core(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        self.uncore.core_runs(duration, now);
        let policy = self.run.config.core.interrupt_policy;
        let started = self.cores[usize::from(core)].interrupt(policy, task, duration, now);
        self.started(core, started);
    }

    /// Gives a core what a completion asks of it.
    pub(super) fn ask_core(&mut self, core: CoreId, task: Task, duration: Time, now: Time) {
        if self.run.orchestrator.interrupts() {
            self.interrupt_core(core, task, duration, now);
        } else if self.run.orchestrator.software_queues() {
            self.post(core, Letter::Ask(task, duration), now);
        } else {
            self.push_task(core, task, duration, now);
        }
    }

    /// Charges a core for being told that a trace has ended: how long.
    pub(super) fn tell_core(&mut self, core: CoreId, now: Time) -> Time {
        let mut cost = self.run.orchestrator.notified(self.run.config);
        let notification = self.run.orchestrator.notification();
        let sleeps = self.cores[usize::from(core)].idle_since().is_some();
        if notification == Notification::Flag && sleeps && self.looks() == Looks::WhenWoken {
            cost += self.run.config.core.wake;
        }
        if cost > Time::ZERO && notification == Notification::Interrupt {
            self.interrupt_core(core, Task::Notice, cost, now);
        } else if cost > Time::ZERO {
            self.push_task(core, Task::Notice, cost, now);
        }
        cost
    }

    fn looks(&self) -> Looks {
        self.run.config.core.notification
    }

    /// Whether cores that have nothing else to do poll flags.
    pub(super) fn polls(&self) -> bool {
        let orchestrator = self.run.orchestrator;
        let flag = orchestrator.notification() == Notification::Flag;
        orchestrator.accelerated() && flag && self.looks() == Looks::Always
    }

    /// When a core next looks for a notification that arrives at `at`.
    pub(super) fn when_seen(&self, core: CoreId, at: Time) -> Time {
        let period = self.run.config.core.notice_period.as_ps();
        let flag = self.run.orchestrator.notification() == Notification::Flag;
        if !flag || self.looks() != Looks::Periodically || period == 0 {
            return at;
        }
        // Timers of cores are set off evenly over the period.
        let offset = period / self.cores.len() as u64 * u64::from(core);
        let since = (at.as_ps() + period - offset) % period;
        at + Time::from_ps((period - since) % period)
    }

    fn started(&mut self, core: CoreId, started: Option<TaskStart>) {
        if let Some(TaskStart { ends, number }) = started {
            self.schedule(ends, Event::CoreDone(core, number));
        }
    }
}
