//! Tenants: the number of their running traces, and the traces that wait to start.

use std::collections::VecDeque;

use accelflow_shaping::FlowId;
use accelflow_units::Time;

use super::shaping::{Passed, Shaping, refused};
use crate::config::Config;
use crate::server::error::SimError;
use crate::server::run::{Load, Run};
use crate::server::state::{JobId, Start};
use crate::stats::TenantStats;

/// The tenants of the server, and the traffic shaper before them.
pub(crate) struct Tenancy {
    /// In the order of their numbers.
    tenants: Vec<Tenant>,
    /// The most traces of a tenant that may run at once; 0 for no limit.
    limit: u64,
    /// Indices of tenants with fewer traces running than before, and others that wait.
    admissible: Vec<u16>,
    shaping: Shaping,
}

/// A tenant of the server.
#[derive(Clone, Debug, Default)]
struct Tenant {
    stats: TenantStats,
    running: u64,
    /// Traces that wait because of the limit, and since when.
    waiting: VecDeque<(Start, Time)>,
}

impl Tenant {
    fn begin(&mut self) {
        self.running += 1;
        self.stats.started += 1;
        self.stats.peak_running = self.stats.peak_running.max(self.running);
    }
}

impl Tenancy {
    /// The tenants of the loads of `run`.
    pub(crate) fn new(run: &Run<'_>) -> Result<Tenancy, SimError> {
        let Config { tenant: config, .. } = run.config;
        let tenants = tenants(run.loads);
        let numbers: Vec<u16> = tenants.iter().map(|tenant| tenant.stats.tenant).collect();
        Ok(Tenancy {
            shaping: Shaping::new(run.loads, &numbers, config.shaping_order)?,
            tenants,
            limit: config.max_traces,
            admissible: Vec::new(),
        })
    }

    /// Number of tenants.
    pub(crate) fn count(&self) -> usize {
        self.tenants.len()
    }

    /// Index of the tenant with the number `number`.
    pub(crate) fn index_of(&self, number: u16) -> u16 {
        let number_of = |tenant: &Tenant| tenant.stats.tenant;
        let found = self.tenants.binary_search_by_key(&number, number_of);
        found.unwrap_or(0) as u16
    }

    /// Statistics of all tenants, in the order of their numbers.
    pub(crate) fn stats(&self) -> Vec<TenantStats> {
        self.tenants.iter().map(|tenant| tenant.stats).collect()
    }

    /// The traffic shaper's flow of a tenant, if it is shaped.
    pub(crate) fn flow_of(&self, tenant: u16) -> Option<FlowId> {
        self.shaping.flow_of(tenant)
    }

    /// Queues a trace at the traffic shaper.
    pub(crate) fn shape(
        &mut self,
        flow: FlowId,
        start: Start,
        message: accelflow_shaping::Message,
        now: Time,
    ) -> Result<(), SimError> {
        let tenant = self.shaping.tenant_of(flow);
        let offered = self.shaping.queue(flow, start, message, now);
        refused(self.tenants[tenant].stats.tenant, offered)
    }

    /// The time to check the traffic shaper, if that is earlier than the next scheduled check.
    pub(crate) fn plan_look(&mut self) -> Option<Time> {
        self.shaping.plan_look()
    }

    /// Whether the check of the traffic shaper scheduled for `now` is still due.
    pub(crate) fn look_is_due(&mut self, now: Time) -> bool {
        self.shaping.look_is_due(now)
    }

    /// Takes a trace that passes the traffic shaper, with the time when it is released.
    pub(crate) fn next_passed(&mut self, now: Time) -> Result<Option<(Start, Time)>, SimError> {
        let paid = self.shaping.pay_due(now);
        paid.or_else(|(tenant, error)| refused(self.tenants[tenant].stats.tenant, Err(error)))?;
        while let Some(Passed {
            flow,
            started,
            released,
        }) = self.shaping.poll(now)
        {
            let tenant = &mut self.tenants[self.shaping.tenant_of(flow)].stats;
            if let Some((_, since)) = started {
                tenant.shaped += 1;
                tenant.shaping_time = tenant.shaping_time.saturating_add(released - since);
            }
            refused(tenant.tenant, self.shaping.offer_next(flow, now))?;
            if let Some((start, _)) = started {
                return Ok(Some((start, released)));
            }
        }
        Ok(None)
    }

    /// Whether a trace of a tenant may start: "if a counter for a tenant reaches a threshold N, no
    /// new trace for the tenant can be initiated" (AccelFlow, section IV.D). If not, it waits.
    pub(crate) fn admit(&mut self, tenant: u16, start: Start, now: Time) -> bool {
        let limit = self.limit;
        let tenant = &mut self.tenants[usize::from(tenant)];
        if limit > 0 && (tenant.running >= limit || !tenant.waiting.is_empty()) {
            tenant.waiting.push_back((start, now));
            tenant.stats.waited += 1;
            return false;
        }
        tenant.begin();
        true
    }

    /// Counts the arm of a fork in addition to its trace. It is not a new trace, so it does not
    /// wait.
    pub(crate) fn begin_arm(&mut self, tenant: u16) {
        self.tenants[usize::from(tenant)].begin();
    }

    /// Accounts the accelerator time of an arm to the trace that has forked it.
    pub(crate) fn share_account(&mut self, trace: JobId, arm: JobId) {
        self.shaping.share(trace, arm);
    }

    /// Whether a tenant is limited in accelerator time.
    #[inline(always)]
    pub(crate) fn limits_time(&self) -> bool {
        self.shaping.limits_time()
    }

    /// Accounts time of a processing element to a trace, if its tenant is limited in accelerator
    /// time. The trace pays `due` for it.
    #[inline(never)]
    pub(crate) fn spend(&mut self, job: JobId, time: Time, due: Time) {
        if let Some(tenant) = self.shaping.spend(job, due) {
            let stats = &mut self.tenants[tenant].stats;
            stats.accelerator_time += time;
            stats.charged_time += due;
        }
    }

    /// Settles the accelerator time of a trace that has ended, if its tenant is limited in it.
    /// Returns whether others may pass earlier or later for that.
    pub(crate) fn settle(&mut self, job: JobId, now: Time) -> bool {
        self.shaping.settle(job, now)
    }

    /// Notes that a trace of a tenant has ended, waits for a message, or continues in software.
    pub(crate) fn end(&mut self, index: u16) {
        let tenant = &mut self.tenants[usize::from(index)];
        tenant.running -= 1;
        if !tenant.waiting.is_empty() {
            self.admissible.push(index);
        }
    }

    /// Whether no tenant has fewer traces running than before, and others that wait.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.admissible.is_empty()
    }

    /// Takes the index of a tenant with fewer traces running than before, and others that wait.
    pub(crate) fn next_admissible(&mut self) -> Option<u16> {
        self.admissible.pop()
    }

    /// Starts a trace that waits for `tenant` to have fewer traces running, if it may.
    pub(crate) fn next_waiting(&mut self, tenant: u16, now: Time) -> Option<Start> {
        let tenant = &mut self.tenants[usize::from(tenant)];
        if tenant.running >= self.limit {
            return None;
        }
        let (start, since) = tenant.waiting.pop_front()?;
        let stats = &mut tenant.stats;
        stats.waiting_time = stats.waiting_time.saturating_add(now - since);
        tenant.begin();
        Some(start)
    }

    /// The traces that wait for others of their tenants to end, in the order of the tenants and of
    /// their waits.
    pub(crate) fn waiting_for_limit(&self) -> impl DoubleEndedIterator<Item = Start> {
        let tenants = self.tenants.iter();
        tenants.flat_map(|tenant| tenant.waiting.iter().map(|&(start, _)| start))
    }

    /// Number of traces that wait for others of their tenants to end, or for tokens.
    pub(crate) fn waiting(&self) -> usize {
        let limited: usize = self.tenants.iter().map(|tenant| tenant.waiting.len()).sum();
        limited + self.shaping.waiting()
    }
}

/// The tenants of `loads`, in the order of their numbers.
fn tenants(loads: &[Load]) -> Vec<Tenant> {
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
