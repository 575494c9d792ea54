//! ARCUS's traffic shaper, and the traces that wait for its tokens.

use std::collections::VecDeque;

use accelflow_shaping::{FlowConfig, FlowId, Message, Shaper, ShapingError, Timing};
use accelflow_units::Time;

use crate::config::ShapingOrder;
use crate::server::error::SimError;
use crate::server::run::Load;
use crate::server::state::Start;

/// The traffic shaper before the ensemble, with a flow for each tenant that is shaped.
#[derive(Clone, Debug)]
pub(super) struct Shaping {
    shaper: Shaper,
    /// By tenant.
    flows: Vec<Option<FlowId>>,
    /// By flow.
    queues: Vec<Queue>,
    order: ShapingOrder,
    /// The time of the next scheduled check of the shaper; [`Time::MAX`] for never.
    look: Time,
}

/// Traces that wait for the tokens of a flow.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// Index of the tenant.
    tenant: usize,
    /// The trace that was offered to the shaper. Only one is offered at a time, so the order of the
    /// others is decided when this one has passed.
    offered: Option<Waiting>,
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
    pub flow: FlowId,
    /// The trace that it starts and the time since which that has waited.
    pub started: Option<(Start, Time)>,
    pub released: Time,
}

impl Queue {
    /// Adds a waiting trace. A request whose first trace has passed holds resources until its last
    /// trace ends, and a tenant may send first traces without end. So traces of requests that have
    /// begun go before first traces.
    fn push(&mut self, waiting: Waiting, order: ShapingOrder) {
        let begins = matches!(waiting.start, Start::Message(_));
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
            order,
            look: Time::MAX,
        };
        for (index, &tenant) in numbers.iter().enumerate() {
            let flow = match flow_config(loads, tenant)? {
                None => None,
                Some(config) => {
                    let flow = shaping.shaper.add_flow(Time::ZERO, config);
                    shaping.queues.push(Queue {
                        tenant: index,
                        ..Queue::default()
                    });
                    Some(refused(tenant, flow)?)
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
            self.shaper.offer(now, flow, next.message)?;
        }
        Ok(())
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
        let at = self.shaper.next_grant().filter(|&at| at < self.look)?;
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

/// The shaper of all loads of `tenant`.
fn flow_config(loads: &[Load], tenant: u16) -> Result<Option<FlowConfig>, SimError> {
    let mut of_tenant = loads.iter().filter(|load| load.tenant == tenant);
    let first = of_tenant.next().and_then(|load| load.shaping);
    if of_tenant.any(|load| load.shaping != first) {
        return Err(SimError::ShapingDiffers(tenant));
    }
    Ok(first)
}

/// Adds the tenant to an error of the shaper.
pub(super) fn refused<T>(tenant: u16, result: Result<T, ShapingError>) -> Result<T, SimError> {
    result.map_err(|error| SimError::Shaping { tenant, error })
}
