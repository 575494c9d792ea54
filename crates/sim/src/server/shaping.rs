//! Tenants behind ARCUS's traffic shaper: traces that wait for tokens.

use std::collections::VecDeque;

use accelflow_shaping::{FlowConfig, FlowId, Message, Shaper, ShapingError, Timing};
use accelflow_units::{Bytes, Time};

use super::engine::Engine;
use super::state::Event;
use super::tenants::{Tenant, Waiting};
use super::{Load, SimError};
use crate::config::ShapingOrder;
use crate::stats::Part;

/// The shaper in front of the ensemble: a flow for each tenant that is shaped.
#[derive(Clone, Debug)]
pub(super) struct Shaped {
    shaper: Shaper,
    /// By tenant.
    flows: Vec<Option<FlowId>>,
    /// By flow.
    queues: Vec<Queue>,
    /// For when the next look at the shaper is scheduled; [`Time::MAX`] for never.
    look: Time,
}

/// What waits for the tokens of a flow.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// The index of its tenant.
    tenant: usize,
    /// The one whose tokens the shaper looks for. The shaper sees no other, so that what comes
    /// next is decided when it has passed.
    first: Option<Asked>,
    /// Traces of requests of which others have passed.
    begun: VecDeque<Asked>,
    /// First traces; with `tenant.shaping_order` 0 all.
    new: VecDeque<Asked>,
}

/// A trace that asks to start.
#[derive(Clone, Copy, Debug)]
struct Asked {
    start: Waiting,
    since: Time,
    message: Message,
}

impl Queue {
    /// A request of which a trace has passed holds what it got until its last trace ends, and a
    /// tenant that keeps asking for more has no end of first traces. So those of requests that
    /// have begun go before them.
    fn push(&mut self, asked: Asked, order: ShapingOrder) {
        let begins = matches!(asked.start, Waiting::Message(_));
        match (order, begins) {
            (ShapingOrder::BegunFirst, false) => self.begun.push_back(asked),
            _ => self.new.push_back(asked),
        }
    }

    fn next(&mut self) -> Option<Asked> {
        self.begun.pop_front().or_else(|| self.new.pop_front())
    }

    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.begun.len() + self.new.len()
    }
}

impl Shaped {
    pub(super) fn new(loads: &[Load], tenants: &[Tenant]) -> Result<Shaped, SimError> {
        let mut shaped = Shaped {
            shaper: Shaper::new(Timing::default()),
            flows: Vec::new(),
            queues: Vec::new(),
            look: Time::MAX,
        };
        for (index, tenant) in tenants.iter().enumerate() {
            let tenant = tenant.stats.tenant;
            let flow = match one_shaping(loads, tenant)? {
                None => None,
                Some(config) => {
                    let flow = shaped.shaper.add_flow(Time::ZERO, config);
                    shaped.queues.push(Queue {
                        tenant: index,
                        ..Queue::default()
                    });
                    Some(refused(tenant, flow)?)
                }
            };
            shaped.flows.push(flow);
        }
        Ok(shaped)
    }

    /// Traces that wait for tokens.
    pub(super) fn waiting(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }
}

/// The shaping that all loads of `tenant` give.
fn one_shaping(loads: &[Load], tenant: u16) -> Result<Option<FlowConfig>, SimError> {
    let mut of_tenant = loads.iter().filter(|load| load.tenant == tenant);
    let first = of_tenant.next().and_then(|load| load.shaping);
    if of_tenant.any(|load| load.shaping != first) {
        return Err(SimError::ShapingDiffers(tenant));
    }
    Ok(first)
}

fn refused<T>(tenant: u16, result: Result<T, ShapingError>) -> Result<T, SimError> {
    result.map_err(|error| SimError::Shaping { tenant, error })
}

impl Engine<'_> {
    /// Queues a trace that is to start at the shaper of its tenant, if it has one; whether it has.
    pub(super) fn shape(&mut self, start: Waiting, now: Time) -> Result<bool, SimError> {
        let request = self.jobs.get(start.job()).request;
        let index = usize::from(self.requests.get(request).tenant);
        let Some(flow) = self.shaped.flows[index] else {
            return Ok(false);
        };
        let message = Message {
            tag: u64::from(start.job()),
            size: self.first_input(start)?.max(Bytes(1)),
        };
        let asked = Asked {
            start,
            since: now,
            message,
        };
        let order = self.run.config.tenant.shaping_order;
        self.shaped.queues[flow.0].push(asked, order);
        self.offer_next(flow, now)?;
        self.look_at_shaper();
        Ok(true)
    }

    /// Offers the shaper what comes next in a flow, if it has let pass what it had of it.
    fn offer_next(&mut self, flow: FlowId, now: Time) -> Result<(), SimError> {
        let queue = &mut self.shaped.queues[flow.0];
        if queue.first.is_none()
            && let Some(next) = queue.next()
        {
            queue.first = Some(next);
            let tenant = self.tenants[queue.tenant].stats.tenant;
            refused(tenant, self.shaped.shaper.offer(now, flow, next.message))?;
        }
        Ok(())
    }

    /// What the first operation of a trace reads.
    fn first_input(&self, start: Waiting) -> Result<Bytes, SimError> {
        let mut job = *self.jobs.get(start.job());
        if let Waiting::Answer(_) = start {
            self.read(&mut job, &mut Vec::new())?;
        }
        Ok(job.operation.input)
    }

    /// Schedules a look at the shaper for when it lets the next trace pass.
    fn look_at_shaper(&mut self) {
        if let Some(at) = self.shaped.shaper.next_grant()
            && at < self.shaped.look
        {
            self.shaped.look = at;
            self.schedule(at, Event::Grants);
        }
    }

    /// Takes what has passed the shaper. Of a message that was split, the trace starts with the
    /// last piece.
    pub(super) fn grant_due(&mut self, now: Time) -> Result<(), SimError> {
        // An earlier look has replaced this one.
        if now < self.shaped.look {
            return Ok(());
        }
        self.shaped.look = Time::MAX;
        // The shaper refuses nothing here but times that run backwards.
        while let Ok(Some(segment)) = self.shaped.shaper.poll(now) {
            if !segment.last {
                continue;
            }
            let queue = &mut self.shaped.queues[segment.flow.0];
            if let Some(passed) = queue.first.take() {
                let stats = &mut self.tenants[queue.tenant].stats;
                stats.shaped += 1;
                stats.shaping_time += segment.released - passed.since;
                self.schedule(segment.released, Event::Released(passed.start));
            }
            self.offer_next(segment.flow, now)?;
        }
        self.look_at_shaper();
        Ok(())
    }

    /// A trace has passed the shaper: it starts, unless its tenant has too many running.
    pub(super) fn released(&mut self, start: Waiting, now: Time) -> Result<(), SimError> {
        self.spend(start.job(), Part::Queueing, now);
        if self.within_limit(start, now) {
            self.begin_trace(start, now)?;
        }
        Ok(())
    }
}
