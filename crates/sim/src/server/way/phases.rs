//! The phases of a request: chains of traces, and application logic between them.

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::plan::{ChainPlan, PhasePlan};
use crate::server::activity::Strand;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::observer::RequestEvent;
use crate::server::state::{Job, JobId, Path, Request, RequestId, Task};
use crate::stats::Part;

impl Engine<'_> {
    /// Starts the current phase of a request; after the last one, the request has ended.
    pub(crate) fn start_phase(&mut self, id: RequestId, now: Time) -> Result<(), Failure> {
        let request = self.requests.get(id);
        let core = request.core;
        match self.requests.phase(request) {
            None => {
                let spent = request.path.spent;
                self.respond(id, None, &spent, now);
                self.end_request(id);
                Ok(())
            }
            Some(PhasePlan::Cpu(mean)) => {
                let own = self.own_time(request, *mean);
                let cpu = self.run.config.core.context_switch + own;
                let duration = self.application(id, cpu);
                self.push_task(core, Task::Application(id), duration, now);
                Ok(())
            }
            Some(PhasePlan::Chains(chains)) => self.start_chains(id, chains, now),
        }
    }

    /// The core time of the application logic `mean` in the current phase of `request`.
    fn own_time(&self, request: &Request, mean: Time) -> Time {
        let time = self.requests.application_time(request, mean);
        self.run.config.application_time(time)
    }

    /// The duration of an application task: `cpu`, and the time to start the chains after it.
    fn application(&mut self, id: RequestId, cpu: Time) -> Time {
        let start = self.start_cost(id);
        self.measures.charge_cores(start);
        let request = self.requests.get_mut(id);
        let cpu = cpu + std::mem::take(&mut request.cold);
        request.cpu = cpu;
        request.overhead += start;
        cpu + start
    }

    /// Core time of the application task to start the chains of the next phase.
    fn start_cost(&self, id: RequestId) -> Time {
        match self.requests.next_phase(self.requests.get(id)) {
            Some(PhasePlan::Chains(chains)) => self.properties.start * chains.len() as u64,
            _ => Time::ZERO,
        }
    }

    fn start_chains(
        &mut self,
        id: RequestId,
        chains: &[ChainPlan],
        now: Time,
    ) -> Result<(), Failure> {
        let accelerated = self.properties.accelerated;
        let waited = chains.iter().filter(|chain| !chain.detached).count();
        let request = self.requests.get_mut(id);
        request.outstanding = waited as u16;
        request.overhead = Time::ZERO;
        let (whole, first) = (id, request.phase == 0);
        let mut jobs = std::mem::take(&mut self.started);
        for (index, chain) in chains.iter().enumerate() {
            let id = match chain.detached {
                true => self.part(whole),
                false => whole,
            };
            let job = self.new_job(id, index as u16, chain)?;
            if !first && accelerated {
                let input = self.jobs.get(job).operation.input;
                self.new_buffer(job, input);
            }
            let path = Path {
                since: now,
                ..self.requests.get(id).path
            };
            self.jobs.get_mut(job).path = path;
            self.show_continues(id, Strand::Trace(job), Strand::Request, now);
            if chain.retry.is_some() {
                self.retries.begin(id, index as u16, 0, path);
            }
            jobs.push(job);
        }
        self.free_thread_buffers(id);
        if !accelerated {
            // The thread of the application goes on with the first chain. Each of the others is
            // put before the tasks that wait, so the last of them is put there first.
            jobs[1..].reverse();
        }
        for &job in &jobs {
            if accelerated {
                self.start_on_accelerators(job, first, now)?;
            } else {
                self.run_software(job, !first, now)?;
            }
        }
        jobs.clear();
        self.started = jobs;
        match waited {
            0 => self.next_phase(id, false, now),
            _ => Ok(()),
        }
    }

    /// Creates the part of a request that runs a detached chain. It has the attributes of the
    /// request and ends with the chain.
    fn part(&mut self, whole: RequestId) -> RequestId {
        self.requests.insert(Request {
            caller: None,
            outstanding: 1,
            remote: 0,
            balanced: false,
            responded: true,
            is_part: true,
            ..*self.requests.get(whole)
        })
    }

    /// Creates a job at the beginning of a chain.
    pub(crate) fn new_job(
        &mut self,
        id: RequestId,
        index: u16,
        chain: &ChainPlan,
    ) -> Result<JobId, Failure> {
        let request = self.requests.get(id);
        let share = self.ensemble.share_of(request.tenant);
        let unit = self.ensemble.unit(Accel::Tcp, request.tcp, share);
        let attributes = self.requests.attributes(request);
        let (cursor, payload) = self.requests.begin(id, index, chain);
        let job = Job::new((id, request), attributes, cursor, unit, payload);
        let job = self.jobs.insert(job);
        let read = self.jobs.get_mut(job);
        self.requests.read(read, &mut Vec::new())?;
        read.unit = self.ensemble.unit(read.accel, unit.instance, share);
        let request = self.requests.get(id);
        read.deadline = self.deadlines.of_chain(request, self.calendar.now());
        if self.manager.is_central() {
            let left = self.time_left(self.jobs.get(job))?;
            self.jobs.get_mut(job).left = left;
        }
        Ok(job)
    }

    /// The application task of a request has ended.
    pub(crate) fn application_done(&mut self, id: RequestId, now: Time) -> Result<(), Failure> {
        self.show(id, now, |engine| {
            let request = engine.requests.get(id);
            RequestEvent::Application(match engine.requests.phase(request) {
                Some(PhasePlan::Cpu(mean)) => engine.own_time(request, *mean),
                _ => Time::ZERO,
            })
        });
        if self.is_followed() {
            let request = self.requests.get(id);
            let parts = [(Part::Cpu, request.cpu), (Part::Cores, request.overhead)];
            self.show_spent_on_core((id, None), request.path.since, &parts, now);
        }
        let request = self.requests.get_mut(id);
        request.spend_application(now);
        request.phase += 1;
        self.start_phase(id, now)
    }

    /// An execution of a chain of the current phase has ended; after the last one, the request goes
    /// on to its next phase. `running`: whether its thread has the core.
    pub(crate) fn execution_ended(
        &mut self,
        id: RequestId,
        chain: u16,
        running: bool,
        now: Time,
    ) -> Result<(), Failure> {
        if self.retries.any() && self.goes_again(id, chain, now) {
            return Ok(());
        }
        let request = self.requests.get_mut(id);
        request.outstanding -= 1;
        if request.outstanding > 0 {
            return Ok(());
        }
        if request.terminated || request.is_part {
            self.end_request(id);
            return Ok(());
        }
        self.next_phase(id, running, now)
    }

    /// A request goes on to its next phase. `running`: whether its thread has the core.
    fn next_phase(&mut self, id: RequestId, running: bool, now: Time) -> Result<(), Failure> {
        let request = self.requests.get_mut(id);
        request.phase += 1;
        let core = request.core;
        match self.requests.phase(self.requests.get(id)) {
            Some(PhasePlan::Cpu(mean)) if running => {
                let own = self.own_time(self.requests.get(id), *mean);
                let duration = self.application(id, own);
                self.resume_task(core, Task::Application(id), duration, now);
                Ok(())
            }
            _ => self.start_phase(id, now),
        }
    }

    /// Removes a request that has nothing left to do.
    fn end_request(&mut self, id: RequestId) {
        let request = self.requests.get(id);
        if request.balanced {
            self.cores.unassign(request.core);
        }
        self.free_thread_buffers(id);
        self.processor.release(id);
        self.requests.remove(id);
    }
}
