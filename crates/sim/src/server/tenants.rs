//! Tenants: how many of their traces run, and those that wait for one of them to end.

use std::collections::VecDeque;

use accelflow_units::Time;

use super::engine::Engine;
use super::state::{Job, JobId};
use super::{Load, SimError};
use crate::stats::{Part, TenantStats};

/// A tenant of the server.
#[derive(Clone, Debug, Default)]
pub(super) struct Tenant {
    pub stats: TenantStats,
    running: u64,
    /// What was to start while the limit was reached, and since when it waits.
    waiting: VecDeque<(Waiting, Time)>,
}

/// A trace that is to start.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiting {
    /// By a core's Enqueue.
    Enqueue(JobId),
    /// By a message from a client.
    Message(JobId),
    /// By a message that a trace is parked for.
    Answer(JobId),
}

impl Waiting {
    pub(super) fn job(self) -> JobId {
        match self {
            Waiting::Enqueue(job) | Waiting::Message(job) | Waiting::Answer(job) => job,
        }
    }
}

/// The tenants of `loads`, each once.
pub(super) fn tenants(loads: &[Load]) -> Vec<Tenant> {
    let mut numbers: Vec<u16> = loads.iter().map(|load| load.tenant).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let tenant = |number| Tenant {
        stats: TenantStats {
            tenant: number,
            ..TenantStats::default()
        },
        ..Tenant::default()
    };
    numbers.into_iter().map(tenant).collect()
}

impl Engine<'_> {
    /// Whether a trace may start: "if a counter for a tenant reaches a threshold N, no new trace
    /// for the tenant can be initiated" (AccelFlow, section IV.D). If not, it waits its turn.
    /// A tenant that is shaped asks once the shaper has let the trace pass.
    pub(super) fn may_run(&mut self, start: Waiting, now: Time) -> Result<bool, SimError> {
        if self.shape(start, now)? {
            return Ok(false);
        }
        Ok(self.within_limit(start, now))
    }

    pub(super) fn within_limit(&mut self, start: Waiting, now: Time) -> bool {
        let limit = self.run.config.tenant.max_traces;
        let tenant = self.tenant_of(start.job());
        if limit > 0 && (tenant.running >= limit || !tenant.waiting.is_empty()) {
            tenant.waiting.push_back((start, now));
            tenant.stats.waited += 1;
            return false;
        }
        self.count_start(start.job());
        true
    }

    fn count_start(&mut self, job: JobId) {
        self.tenant_of(job).begin();
        self.jobs.get_mut(job).counted = true;
    }

    /// An arm of a fork runs beside its trace. It is no new trace, so it does not wait, but what
    /// it holds counts: `arm` has been given its parent's mark that says so.
    pub(super) fn count_arm(&mut self, arm: &Job) {
        if arm.counted {
            let tenant = self.requests.get(arm.request).tenant;
            self.tenants[usize::from(tenant)].begin();
        }
    }

    /// A trace has ended, waits for a message, or runs on a core from here on.
    pub(super) fn trace_ended(&mut self, id: JobId) {
        let job = self.jobs.get_mut(id);
        if !std::mem::take(&mut job.counted) {
            return;
        }
        let index = self.requests.get(job.request).tenant;
        let tenant = &mut self.tenants[usize::from(index)];
        tenant.running -= 1;
        if !tenant.waiting.is_empty() {
            self.admissible.push(index);
        }
    }

    /// Starts what waited for `tenant` to have fewer traces running.
    pub(super) fn admit_waiting(&mut self, tenant: u16, now: Time) -> Result<(), SimError> {
        let limit = self.run.config.tenant.max_traces;
        loop {
            let tenant = &mut self.tenants[usize::from(tenant)];
            if tenant.running >= limit {
                return Ok(());
            }
            let Some((start, since)) = tenant.waiting.pop_front() else {
                return Ok(());
            };
            tenant.stats.waiting_time += now - since;
            self.count_start(start.job());
            self.spend(start.job(), Part::Queueing, now);
            self.begin_trace(start, now)?;
        }
    }

    /// Starts what has waited.
    pub(super) fn begin_trace(&mut self, start: Waiting, now: Time) -> Result<(), SimError> {
        match start {
            Waiting::Enqueue(job) => self.enqueue_by_core(job, false, now),
            Waiting::Message(job) => self.admit_message(job, now),
            Waiting::Answer(job) => self.resume_parked(job, now),
        }
    }

    /// Traces that wait for their tenants' others to end, or for tokens.
    pub(super) fn held_back(&self) -> usize {
        let limited: usize = self.tenants.iter().map(|tenant| tenant.waiting.len()).sum();
        limited + self.shaped.waiting()
    }

    /// Where the tenant called `number` is in the engine's list.
    pub(super) fn tenant_index(&self, number: u16) -> u16 {
        let found = self
            .tenants
            .binary_search_by_key(&number, |tenant| tenant.stats.tenant);
        found.unwrap_or(0) as u16
    }

    fn tenant_of(&mut self, job: JobId) -> &mut Tenant {
        let request = self.jobs.get(job).request;
        let tenant = self.requests.get(request).tenant;
        &mut self.tenants[usize::from(tenant)]
    }
}

impl Tenant {
    fn begin(&mut self) {
        self.running += 1;
        self.stats.started += 1;
        self.stats.peak_running = self.stats.peak_running.max(self.running);
    }
}
