//! The component that asks the orchestrator for decisions. If the orchestrator keeps state during a
//! simulation, its [`Session`] is asked instead.

use accelflow_units::Time;

use super::known::Known;
use super::requests::Requests;
use super::script::Leg;
use super::tenancy::Tenancy;
use crate::config::DispatchPolicy;
use crate::hardware::{Entry, InputQueue};
use crate::orchestrators::{
    Completion, Decision, PolicyError, Properties, QueueName, Queueing, Session, Simulated, Waiting,
};
use crate::server::error::{Failure, SimError};
use crate::server::run::Run;
use crate::server::state::{Job, JobId, LegId, Slab};

/// The session of the orchestrator, if it has one. Its first failure is kept, and the engine ends
/// the run for it after the event.
pub(crate) struct Policies {
    session: Option<Box<dyn Session>>,
    /// Without a session, the decisions that need not be asked for.
    known: Known,
    /// Whether the session decides which entry leaves a queue next.
    orders: bool,
    deadlines: bool,
    /// Whether each decision must visit the manager.
    central: bool,
    failed: Option<PolicyError>,
    /// The numbers of the tenants, by index.
    tenants: Vec<u16>,
    /// Room for the entries that a session chooses from.
    waiting: Vec<Waiting>,
}

/// The state that the choice of a queue entry may use.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'e, 'r> {
    /// The executions of traces that have not ended.
    pub jobs: &'e Slab<Job>,
    /// The requests that have arrived and have not ended.
    pub requests: &'e Requests<'r>,
    /// The current simulated time.
    pub now: Time,
}

impl Policies {
    /// Makes the decision maker of `run`, and returns the fixed properties.
    pub(crate) fn new(
        run: &Run<'_>,
        tenancy: &Tenancy,
    ) -> Result<(Policies, Properties), SimError> {
        let plan = run.plan;
        let services = plan.services.iter();
        let services: Vec<&str> = services.map(|service| service.name.as_str()).collect();
        let accelerators = plan.accelerator_names();
        let accelerators: Vec<&str> = accelerators.iter().map(String::as_str).collect();
        let mut session = run.orchestrator.session(&Simulated {
            config: run.config,
            links: &plan.links,
            services: &services,
            accelerators: &accelerators,
        })?;
        let mut properties = match &mut session {
            Some(session) => session.properties()?,
            None => run.orchestrator.properties(run.config),
        };
        if !properties.accelerated {
            properties = Properties {
                policy: properties.policy,
                ..Properties::software(run.config)
            };
        }
        let orders = session
            .as_ref()
            .is_some_and(|session| session.orders_queues());
        let deadlines = match &session {
            // Entries are kept in the order in which they became ready.
            Some(session) if orders => {
                properties.policy = DispatchPolicy::Fifo;
                session.needs_deadlines()
            }
            _ => properties.policy.has_deadlines(),
        };
        let policies = Policies {
            known: Known::default(),
            session,
            orders,
            deadlines,
            central: properties.queueing == Queueing::Central,
            failed: None,
            tenants: tenancy.stats().iter().map(|stats| stats.tenant).collect(),
            waiting: Vec::new(),
        };
        Ok((policies, properties))
    }

    /// Asks for the decisions about completions before `legs` that need to be asked for only once.
    pub(crate) fn learn(&mut self, run: &Run<'_>, legs: &[Leg]) {
        if self.session.is_none() {
            self.known = Known::new(run, self.central, legs);
        }
    }

    /// The decision about a completion before `leg`, of a payload that is `large` or not, and
    /// whether the dispatcher alone handles it, if they are known.
    #[inline]
    pub(crate) fn known(&self, leg: LegId, large: bool) -> Option<&(Decision, bool)> {
        self.known.get(leg, large)
    }

    /// Whether the output dispatcher handles `decision` alone, without manager and core.
    pub(crate) fn is_alone(&self, decision: &Decision) -> bool {
        decision.is_alone() && !self.central
    }

    /// Whether software sets deadlines of operations.
    pub(crate) fn has_deadlines(&self) -> bool {
        self.deadlines
    }

    /// Whether entries of queues need to know how long they are expected to take.
    pub(crate) fn needs_estimates(&self) -> bool {
        self.deadlines || self.orders
    }

    /// Ends the run if the session has failed.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match &self.failed {
            None => Ok(()),
            Some(error) => Err(Box::new(error.clone().into())),
        }
    }

    /// Decides who handles `completion`.
    #[inline]
    pub(crate) fn decide(
        &mut self,
        run: &Run<'_>,
        completion: &Completion,
    ) -> Result<Decision, Failure> {
        let Some(session) = &mut self.session else {
            let (config, links) = (run.config, &run.plan.links);
            return Ok(run.orchestrator.decide(completion, config, links));
        };
        let decision = session.decide(completion).map_err(SimError::from)?;
        if self.central && decision.manager.is_none() {
            // The manager would never learn that an element is free.
            let why = "manager of a decision = none: must be a visit to the manager, as all \
                       accelerators share its queue";
            let error = PolicyError::new(format!("{}: {why}", run.orchestrator.id()));
            return Err(Box::new(error.into()));
        }
        Ok(decision)
    }

    /// Whether the session decides which entry leaves a queue next.
    pub(crate) fn order_queues(&self) -> bool {
        self.orders
    }

    /// The place of the entry of `queue` that leaves it next.
    #[inline]
    pub(crate) fn pick(
        &mut self,
        name: QueueName,
        queue: &InputQueue<JobId>,
        seen: Seen<'_, '_>,
    ) -> usize {
        if self.orders {
            self.choose(name, queue, seen)
        } else {
            0
        }
    }

    #[cold]
    fn choose(&mut self, name: QueueName, queue: &InputQueue<JobId>, seen: Seen<'_, '_>) -> usize {
        match &mut self.session {
            Some(session) if self.failed.is_none() => {
                let waiting = |entry: &Entry<JobId>| Waiting {
                    service: entry.owner.service,
                    tenant: number(&self.tenants, entry.owner.tenant),
                    priority: entry.priority,
                    arrived: seen.requests.get(seen.jobs.get(entry.item).request).arrived,
                    due: entry.due,
                    expected: entry.work,
                };
                self.waiting.clear();
                self.waiting.extend(queue.iter().map(waiting));
                let chosen = session.choose(&name, &self.waiting, seen.now);
                let chosen = chosen.and_then(|place| in_range(place, queue.len()));
                chosen.unwrap_or_else(|error| {
                    self.failed = Some(error);
                    0
                })
            }
            _ => 0,
        }
    }
}

fn in_range(place: usize, length: usize) -> Result<usize, PolicyError> {
    if place < length {
        return Ok(place);
    }
    let why = format!("choose = {place}: must be the index of a waiting entry, below {length}");
    Err(PolicyError::new(why))
}

/// The ID of the tenant with an index.
fn number(tenants: &[u16], index: u16) -> u16 {
    tenants.get(usize::from(index)).copied().unwrap_or(index)
}
