//! Reports the events of a server to its observer, if there is one.
//!
//! A run without an observer pays one comparison for each event and for each part of a request's
//! time. Changes of the tasks of cores, the entries of dispatchers and the lengths of queues are
//! found after each event, so the steps of a request do not report them.

use accelflow_units::Time;

use super::activity::{
    Activity, CoreWork, Execution, HardwareEvent, Queue, ServerShape, Strand, UnitName, UnitShape,
    Wait,
};
use super::engine::Engine;
use super::observer::{RequestEvent, Seen};
use super::parts::{Shared, Watching};
use super::state::{JobId, RequestId, Task, Unit};
use crate::stats::Part;

impl Unit {
    fn name(self) -> UnitName {
        UnitName {
            accel: self.accel,
            instance: usize::from(self.instance),
            share: usize::from(self.share),
        }
    }
}

impl Task {
    /// The kind of work that the task is.
    fn work(self) -> CoreWork {
        match self {
            Task::Application(_) => CoreWork::Application,
            Task::Decide(_) => CoreWork::Decision,
            Task::Enqueue(_) | Task::Again(_) => CoreWork::Start,
            Task::Handle(_) | Task::TakeOver(_) => CoreWork::Exception,
            Task::Software(_) => CoreWork::Software,
            Task::Notice => CoreWork::Notice,
            Task::Poll(_) => CoreWork::Poll,
        }
    }
}

impl<'r> Engine<'r> {
    /// Shows `observer` what happens on this server, which has the number `server`.
    pub(crate) fn observed_by(mut self, server: usize, observer: &'r Shared<'r>) -> Engine<'r> {
        let follows = observer.borrow().follows_hardware();
        let units = self.ensemble.units();
        if follows {
            self.uncore.log_links();
            observer.borrow_mut().begin(&self.hardware(server, &units));
        }
        let watching = Watching::new(server, observer, self.cores.count(), units);
        self.watching = Some(Box::new(watching));
        // An observer is shown the changes after each event.
        self.horizon = Time::ZERO;
        self
    }

    fn hardware(&self, server: usize, units: &[Unit]) -> ServerShape {
        let unit = |unit: &Unit| UnitShape {
            unit: unit.name(),
            elements: self.ensemble.station(*unit).elements(),
            whole: unit.share == 0,
        };
        ServerShape {
            server,
            cores: self.cores.count(),
            units: units.iter().map(unit).collect(),
            dma_engines: self.run.config.network.dma_engines,
            links: self.uncore.link_names(),
            central: self.manager.is_central(),
        }
    }

    /// Shows what has happened to a request.
    #[inline]
    pub(crate) fn show(
        &mut self,
        id: RequestId,
        now: Time,
        what: impl FnOnce(&Engine<'_>) -> RequestEvent,
    ) {
        if self.watching.is_none() {
            return;
        }
        let what = what(self);
        let request = self.requests.get(id);
        let seen = Seen {
            service: usize::from(request.service),
            request: request.number,
            at: now,
            what,
        };
        if let Some(watching) = &self.watching {
            watching.observer.borrow_mut().see(&seen);
        }
    }

    /// Shows what the hardware has done. Call it only if [`Engine::is_followed`].
    fn show_event(&self, of: Option<Execution>, at: Time, what: HardwareEvent) {
        if let Some(watching) = &self.watching {
            let server = watching.server;
            watching.observer.borrow_mut().act(&Activity {
                server,
                at,
                of,
                what,
            });
        }
    }

    /// Whether an observer follows the hardware.
    #[inline]
    pub(crate) fn is_followed(&self) -> bool {
        self.watching
            .as_ref()
            .is_some_and(|watching| watching.follows)
    }

    fn execution(&self, id: RequestId, job: Option<JobId>) -> Execution {
        let request = self.requests.get(id);
        Execution {
            service: usize::from(request.service),
            request: request.number,
            job,
            trace: job.map(|job| self.jobs.get(job).running_trace()),
        }
    }

    fn execution_of(&self, id: JobId) -> Option<Execution> {
        Some(self.execution(self.jobs.get(id).request, Some(id)))
    }

    /// Shows that a job has spent the time since its last charge on `part`, if an observer follows.
    #[inline(always)]
    pub(crate) fn show_part(&self, id: JobId, part: Part, now: Time) {
        if self.watching.is_some() {
            self.show_spent(id, (part, None), None, now);
        }
    }

    /// Shows that a job has spent the time since its last charge on `wait`, if an observer follows.
    #[inline(always)]
    pub(crate) fn show_waited(&self, id: JobId, wait: Wait, now: Time) {
        if self.watching.is_some() {
            self.show_spent(id, (Part::Queueing, Some(wait)), None, now);
        }
    }

    /// Shows that a job has awaited an answer since its last charge, if an observer follows.
    #[inline(always)]
    pub(crate) fn show_answered(&self, id: JobId, now: Time) {
        if self.watching.is_some() {
            let callee = self.callee(id);
            self.show_spent(id, (Part::Remote, None), callee, now);
        }
    }

    /// Shows that a job begins to await an answer, if an observer follows.
    #[inline(always)]
    pub(crate) fn show_awaits(&self, id: JobId, now: Time) {
        if self.is_followed() {
            let callee = self.callee(id);
            self.show_event(self.execution_of(id), now, HardwareEvent::Awaits { callee });
        }
    }

    /// Shows that a strand of a request goes on from where another one has come to, if an observer
    /// follows. A request does not go on from its detached chains.
    #[inline]
    pub(crate) fn show_continues(&self, id: RequestId, strand: Strand, after: Strand, now: Time) {
        let is_trace = matches!(strand, Strand::Trace(_));
        if self.is_followed() && (is_trace || !self.requests.get(id).is_part) {
            let of = self.execution(id, None);
            self.show_event(Some(of), now, HardwareEvent::Continues { strand, after });
        }
    }

    /// Shows that a request goes on from where one of its jobs has come to, if an observer follows.
    #[inline]
    pub(crate) fn show_request_continues(&self, job: JobId, now: Time) {
        if self.is_followed() {
            let request = self.jobs.get(job).request;
            self.show_continues(request, Strand::Request, Strand::Trace(job), now);
        }
    }

    /// Shows that a job goes on from where another job has come to, if an observer follows.
    #[inline]
    pub(crate) fn show_job_continues(&self, job: JobId, after: JobId, now: Time) {
        if self.is_followed() {
            let request = self.jobs.get(job).request;
            self.show_continues(request, Strand::Trace(job), Strand::Trace(after), now);
        }
    }

    /// The index of the service that a job calls, if it is simulated.
    fn callee(&self, id: JobId) -> Option<usize> {
        let chain = self.requests.chain(self.jobs.get(id));
        chain.and_then(|chain| chain.calls)
    }

    /// Shows that a job has spent the time since its last charge on `part`. `callee` is the index
    /// of the service whose answer it awaited.
    #[inline(never)]
    fn show_spent(
        &self,
        id: JobId,
        (part, wait): (Part, Option<Wait>),
        callee: Option<usize>,
        now: Time,
    ) {
        if !self.is_followed() {
            return;
        }
        let job = self.jobs.get(id);
        let spends = HardwareEvent::Spends {
            part,
            from: job.path.since,
            until: now,
            wait,
            callee,
            core: usize::from(self.requests.get(job.request).core),
            unit: Some(job.unit.name()),
        };
        self.show_event(self.execution_of(id), now, spends);
        if wait == Some(Wait::Input) {
            let operates = HardwareEvent::Operates(job.unit.name());
            self.show_event(self.execution_of(id), now, operates);
        }
    }

    /// Shows that a request, or its trace `job`, has spent the time since `since` on its core: on
    /// `parts`, the last of them first, each up to the time given; before that it waited.
    pub(crate) fn show_spent_on_core(
        &self,
        (id, job): (RequestId, Option<JobId>),
        since: Time,
        parts: &[(Part, Time)],
        now: Time,
    ) {
        let mut lengths = Vec::with_capacity(parts.len() + 1);
        let mut rest = now - since;
        for &(part, most) in parts {
            let time = most.min(rest);
            rest = rest - time;
            lengths.push((part, None, time));
        }
        lengths.push((Part::Queueing, Some(Wait::Core), rest));
        let mut from = since;
        for (part, wait, time) in lengths.into_iter().rev() {
            let spends = HardwareEvent::Spends {
                part,
                from,
                until: from + time,
                wait,
                callee: None,
                core: usize::from(self.requests.get(id).core),
                unit: None,
            };
            from += time;
            self.show_event(Some(self.execution(id, job)), now, spends);
        }
    }

    /// Shows that a request has spent the time since its arrival at the client and on the network
    /// to the server, if an observer follows.
    pub(crate) fn show_came_from_client(&self, id: RequestId, now: Time) {
        if self.is_followed() {
            let request = self.requests.get(id);
            let spends = HardwareEvent::Spends {
                part: Part::Remote,
                from: request.arrived,
                until: now,
                wait: None,
                callee: None,
                core: usize::from(request.core),
                unit: None,
            };
            self.show_event(Some(self.execution(id, None)), now, spends);
        }
    }

    /// Shows that the element of a job is free.
    #[inline(always)]
    pub(crate) fn show_freed(&self, id: JobId, now: Time) {
        if self.watching.is_some() {
            self.show_free(id, now);
        }
    }

    #[inline(never)]
    fn show_free(&self, id: JobId, now: Time) {
        if self.is_followed() {
            let freed = HardwareEvent::Freed(self.jobs.get(id).unit.name());
            self.show_event(self.execution_of(id), now, freed);
        }
    }

    /// Shows that an A-DMA engine moves data of a job until `until`.
    #[inline(always)]
    pub(crate) fn show_moves(&mut self, id: JobId, now: Time, until: Time) {
        if self.watching.is_some() {
            self.show_moving(id, now, until);
        }
    }

    #[inline(never)]
    fn show_moving(&mut self, id: JobId, now: Time, until: Time) {
        if self.is_followed() {
            let of = self.execution_of(id);
            self.show_event(of, now, HardwareEvent::Moves(until));
            self.show_links(of, now);
        }
    }

    /// Shows a visit of the manager.
    #[inline]
    pub(crate) fn show_visit(&self, id: Option<JobId>, now: Time, (from, until): (Time, Time)) {
        if self.is_followed() {
            let of = id.and_then(|id| self.execution_of(id));
            self.show_event(of, now, HardwareEvent::Manages { from, until });
        }
    }

    /// Shows the reservations of links since the last call.
    pub(crate) fn show_links(&mut self, of: Option<Execution>, now: Time) {
        for (link, from, until) in self.uncore.take_links() {
            self.show_event(of, now, HardwareEvent::Carries { link, from, until });
        }
    }

    /// Shows the changes since the previous event.
    pub(crate) fn show_changes(&mut self, now: Time) {
        if !self.is_followed() {
            return;
        }
        self.show_links(None, now);
        let Some(mut watching) = self.watching.take() else {
            return;
        };
        let mut events = self.changed_tasks(&mut watching);
        events.extend(self.changed_dispatchers(&mut watching));
        let Watching { units, lengths, .. } = &mut *watching;
        let mut place = 0;
        self.for_each_queue(units, now, |queue, length| {
            if place == lengths.len() {
                lengths.push(0);
            }
            if lengths[place] != length {
                lengths[place] = length;
                events.push((None, HardwareEvent::Length(queue, length)));
            }
            place += 1;
        });
        self.watching = Some(watching);
        for (of, what) in events {
            self.show_event(of, now, what);
        }
    }

    fn changed_tasks(
        &self,
        watching: &mut Watching<'_>,
    ) -> Vec<(Option<Execution>, HardwareEvent)> {
        let mut events = Vec::new();
        for (core, shown) in watching.tasks.iter_mut().enumerate() {
            let running = self.cores.running(core);
            let number = running.map(|(number, _)| number);
            if *shown == number {
                continue;
            }
            *shown = number;
            let work = running.map(|(_, task)| task.work());
            let of = running.and_then(|(_, task)| self.execution_of_task(task));
            events.push((of, HardwareEvent::Runs { core, work }));
        }
        events
    }

    fn execution_of_task(&self, task: Task) -> Option<Execution> {
        match task {
            Task::Application(request) => Some(self.execution(request, None)),
            Task::Decide(job)
            | Task::Enqueue(job)
            | Task::Again(job)
            | Task::Handle(job)
            | Task::TakeOver(job)
            | Task::Software(job) => self.execution_of(job),
            Task::Notice | Task::Poll(_) => None,
        }
    }

    fn changed_dispatchers(
        &self,
        watching: &mut Watching<'_>,
    ) -> Vec<(Option<Execution>, HardwareEvent)> {
        let mut events = Vec::new();
        for (unit, shown) in watching.units.iter().zip(&mut watching.dispatched) {
            let current = self.ensemble.station(*unit).dispatcher.current();
            if *shown != current {
                *shown = current;
                let of = current.and_then(|job| self.execution_of(job));
                events.push((of, HardwareEvent::Dispatches(unit.name())));
            }
        }
        events
    }

    /// Calls `each` with every queue and its length, in the same order in every call.
    fn for_each_queue(&self, units: &[Unit], now: Time, mut each: impl FnMut(Queue, usize)) {
        each(Queue::Dma, self.dma.backlog());
        each(Queue::Manager, self.manager.backlog(now));
        for unit in units {
            let station = self.ensemble.station(*unit);
            each(Queue::Input(unit.name()), station.backlog());
            each(Queue::Dispatcher(unit.name()), station.dispatcher.backlog());
        }
        if self.manager.is_central() {
            for accel in self.run.plan.image.accelerators() {
                each(Queue::Central(accel), self.manager.waiting(accel));
            }
        }
        for core in 0..self.cores.count() {
            each(Queue::Core(core), self.cores.waiting(core));
        }
    }
}
