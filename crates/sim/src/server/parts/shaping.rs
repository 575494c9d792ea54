//! ARCUS's traffic shaper, and the traces that wait for its tokens.

use std::collections::VecDeque;

use accelflow_shaping::{
    Clock, FlowConfig, FlowId, Message, Registers, Shaper, ShapingError, Timing, Unit,
};
use accelflow_units::{Cycles, Time};

use super::accounts::{Accounts, TimeLimit};
use crate::config::ShapingOrder;
use crate::server::error::SimError;
use crate::server::run::{Limits, Load};
use crate::server::state::{By, JobId, Start};

/// The traffic shaper before the ensemble, with a flow for each tenant that is shaped.
#[derive(Clone, Debug)]
pub(super) struct Shaping {
    shaper: Shaper,
    /// By tenant.
    flows: Vec<Option<FlowId>>,
    /// By flow.
    queues: Vec<Queue>,
    /// Of traces of tenants that are limited in accelerator time.
    accounts: Accounts,
    /// Whether any tenant is.
    in_time: bool,
    order: ShapingOrder,
    /// The time of the next scheduled check of the shaper; [`Time::MAX`] for never.
    look: Time,
}

/// Traces that wait for the tokens of a flow.
#[derive(Clone, Debug)]
struct Queue {
    /// Index of the tenant.
    tenant: usize,
    /// The trace that was offered to the shaper. Only one is offered at a time, so the order of the
    /// others is decided when this one has passed. With a limit on accelerator time it is offered
    /// when it has paid for what it is predicted to take.
    offered: Option<Waiting>,
    time: Option<TimeLimit>,
    /// When the first trace can pay more of that; [`Time::MAX`] if it has paid.
    pays: Time,
    /// Traces of requests that have passed with an earlier trace.
    begun: VecDeque<Waiting>,
    /// First traces of requests; with `tenant.shaping_order` asking, all traces.
    new: VecDeque<Waiting>,
}

/// A trace that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: Start,
    since: Time,
    message: Message,
}

/// A message that has passed the shaper.
pub(super) struct Passed {
    /// The tenant's flow in the shaper.
    pub flow: FlowId,
    /// The trace that was offered to the shaper with this message, and the time since which the
    /// trace has waited; `None` if no trace was offered.
    pub started: Option<(Start, Time)>,
    /// The time at which the trace may start.
    pub released: Time,
}

impl Queue {
    fn new(tenant: usize, time: Option<Registers>) -> Queue {
        Queue {
            tenant,
            offered: None,
            time: time.map(TimeLimit::new),
            pays: Time::MAX,
            begun: VecDeque::new(),
            new: VecDeque::new(),
        }
    }

    /// Adds a waiting trace. A request whose first trace has passed holds resources until its last
    /// trace ends, and a tenant may send first traces without end. So traces of requests that have
    /// begun go before first traces.
    fn push(&mut self, waiting: Waiting, order: ShapingOrder) {
        let begins = waiting.start.by == By::Message;
        match (order, begins) {
            (ShapingOrder::BegunFirst, false) => self.begun.push_back(waiting),
            _ => self.new.push_back(waiting),
        }
    }

    fn next(&mut self) -> Option<Waiting> {
        self.begun.pop_front().or_else(|| self.new.pop_front())
    }

    fn len(&self) -> usize {
        usize::from(self.offered.is_some()) + self.begun.len() + self.new.len()
    }
}

impl Shaping {
    /// Makes the shaper for the tenants `numbers`, as their loads require.
    pub(super) fn new(
        loads: &[Load],
        numbers: &[u16],
        order: ShapingOrder,
    ) -> Result<Shaping, SimError> {
        let mut shaping = Shaping {
            shaper: Shaper::new(Timing::default()),
            flows: Vec::new(),
            queues: Vec::new(),
            accounts: Accounts::default(),
            in_time: false,
            order,
            look: Time::MAX,
        };
        for (index, &tenant) in numbers.iter().enumerate() {
            let flow = match limits(loads, tenant)? {
                Limits {
                    flow: None,
                    time: None,
                } => None,
                Limits { flow, time } => {
                    let config = flow.map_or_else(unlimited, Ok);
                    let added =
                        config.and_then(|config| shaping.shaper.add_flow(Time::ZERO, config));
                    shaping.queues.push(Queue::new(index, time));
                    shaping.in_time |= time.is_some();
                    Some(refused(tenant, added)?)
                }
            };
            shaping.flows.push(flow);
        }
        Ok(shaping)
    }

    /// The flow of a tenant, if it is shaped.
    pub(super) fn flow_of(&self, tenant: u16) -> Option<FlowId> {
        self.flows[usize::from(tenant)]
    }

    /// The index of the tenant of a flow.
    pub(super) fn tenant_of(&self, flow: FlowId) -> usize {
        self.queues[flow.0].tenant
    }

    /// Adds a trace to the queue of its flow.
    pub(super) fn queue(
        &mut self,
        flow: FlowId,
        start: Start,
        message: Message,
        now: Time,
    ) -> Result<(), ShapingError> {
        let waiting = Waiting {
            start,
            since: now,
            message,
        };
        self.queues[flow.0].push(waiting, self.order);
        self.offer_next(flow, now)
    }

    /// Offers the shaper the next trace of a flow, if the last one has passed.
    pub(super) fn offer_next(&mut self, flow: FlowId, now: Time) -> Result<(), ShapingError> {
        let queue = &mut self.queues[flow.0];
        if queue.offered.is_none()
            && let Some(next) = queue.next()
        {
            queue.offered = Some(next);
            self.pay(flow, now)?;
        }
        Ok(())
    }

    /// Lets the first trace of a flow pay for its accelerator time, if that is limited, and offers
    /// it to the shaper once it has paid.
    fn pay(&mut self, flow: FlowId, now: Time) -> Result<(), ShapingError> {
        let queue = &mut self.queues[flow.0];
        let Some(first) = queue.offered else {
            return Ok(());
        };
        if let Some(limit) = &mut queue.time {
            let clock = self.shaper.timing().clock;
            let (job, input, cycle) = (first.start.job, first.message.size, clock.next(now));
            match limit.pay(input, cycle) {
                Some(paid) => self.accounts.open(job, flow.0, input, paid),
                None => {
                    queue.pays = pays_at(limit, clock, cycle);
                    return Ok(());
                }
            }
            queue.pays = Time::MAX;
        }
        self.shaper.offer(now, flow, first.message)
    }

    /// Lets the first traces pay for which tokens of accelerator time have come. Errors have the
    /// index of the tenant.
    pub(super) fn pay_due(&mut self, now: Time) -> Result<(), (usize, ShapingError)> {
        if !self.in_time {
            return Ok(());
        }
        for flow in 0..self.queues.len() {
            if self.queues[flow].pays <= now {
                let tenant = self.queues[flow].tenant;
                self.pay(FlowId(flow), now)
                    .map_err(|error| (tenant, error))?;
            }
        }
        Ok(())
    }

    /// Whether a tenant is limited in accelerator time.
    #[inline(always)]
    pub(super) fn limits_time(&self) -> bool {
        self.in_time
    }

    /// Accounts the time of an operation on an idle element to a trace. Returns the index of its
    /// tenant, if that is limited in accelerator time.
    pub(super) fn spend(&mut self, job: JobId, time: Time) -> Option<usize> {
        let queue = self.accounts.spend(job, time)?;
        Some(self.queues[queue].tenant)
    }

    /// Accounts the time of an arm to the trace that has forked it.
    pub(super) fn share(&mut self, trace: JobId, arm: JobId) {
        if self.in_time {
            self.accounts.share(trace, arm);
        }
    }

    /// Settles the accelerator time of a trace that has ended. Returns whether it was accounted.
    pub(super) fn settle(&mut self, job: JobId, now: Time) -> bool {
        if !self.in_time {
            return false;
        }
        let Some(account) = self.accounts.close(job) else {
            return false;
        };
        let queue = &mut self.queues[account.queue];
        if let Some(limit) = &mut queue.time {
            let clock = self.shaper.timing().clock;
            let cycle = clock.next(now);
            limit.settle(&account, cycle);
            queue.pays = pays_at(limit, clock, cycle);
        }
        true
    }

    /// Takes a message that passes the shaper. If the message was split, the trace starts with its
    /// last segment.
    pub(super) fn poll(&mut self, now: Time) -> Option<Passed> {
        // The shaper refuses only times that run backwards.
        while let Ok(Some(segment)) = self.shaper.poll(now) {
            if segment.last {
                let passed = self.queues[segment.flow.0].offered.take();
                return Some(Passed {
                    flow: segment.flow,
                    started: passed.map(|waiting| (waiting.start, waiting.since)),
                    released: segment.released,
                });
            }
        }
        None
    }

    /// Schedules a check of the shaper for its next grant. Returns its time, if that is before the
    /// scheduled one.
    pub(super) fn plan_look(&mut self) -> Option<Time> {
        let pays = self.queues.iter().map(|queue| queue.pays).min();
        let paid = pays.filter(|&at| self.in_time && at < Time::MAX);
        let next = self.shaper.next_grant().into_iter().chain(paid).min();
        let at = next.filter(|&at| at < self.look)?;
        self.look = at;
        Some(at)
    }

    /// Whether the check scheduled for `now` is due. If not, an earlier one has replaced it.
    pub(super) fn look_is_due(&mut self, now: Time) -> bool {
        if now < self.look {
            return false;
        }
        self.look = Time::MAX;
        true
    }

    /// Number of traces that wait for tokens.
    pub(super) fn waiting(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }
}

/// When the first trace in line can pay more; [`Time::MAX`] if nothing is to be paid.
fn pays_at(limit: &TimeLimit, clock: Clock, cycle: Cycles) -> Time {
    limit
        .ready(cycle)
        .map_or(Time::MAX, |cycle| clock.edge(cycle))
}

/// A flow whose tokens never run out: it passes as fast as the arbiter grants.
fn unlimited() -> Result<FlowConfig, ShapingError> {
    let most = u64::from(Registers::MAX);
    Ok(FlowConfig::new(
        Unit::Operations,
        Registers::new(most, most, 1)?,
    ))
}

/// The limits of all loads of `tenant`.
fn limits(loads: &[Load], tenant: u16) -> Result<Limits, SimError> {
    let mut of_tenant = loads.iter().filter(|load| load.tenant == tenant);
    let first = of_tenant
        .next()
        .map_or(Limits::default(), |load| load.shaping);
    if of_tenant.any(|load| load.shaping != first) {
        return Err(SimError::ShapingDiffers(tenant));
    }
    Ok(first)
}

/// Adds the tenant to an error of the shaper.
pub(super) fn refused<T>(tenant: u16, result: Result<T, ShapingError>) -> Result<T, SimError> {
    result.map_err(|error| SimError::Shaping { tenant, error })
}
