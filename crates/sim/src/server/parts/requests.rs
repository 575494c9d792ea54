//! The requests that have not ended, and the messages, facts, waits and core times of each. The
//! plan states these values, or the distributions from which they are drawn at random.

use accelflow_kernel::{Attributes, attribute};
use accelflow_trace::{AtmAddress, Facts};
use accelflow_units::Time;
use accelflow_workload::services::DrawnFacts;

use super::code::Code;
use super::script::{Leg, Scripts};
use crate::plan::{ChainPlan, MessageSize, PhasePlan, Plan};
use crate::server::error::{Failure, SimError};
use crate::server::run::Run;
use crate::server::state::{Cursor, Job, LegId, Payload, Request, RequestId, Slab};

/// The first of the attributes of a request from which waits of later attempts are drawn.
const ATTEMPT: u64 = 0xA773 << 48;

/// The requests in flight.
///
/// Everything random about a request is a function of its service and number alone, so it is the
/// same in every system.
pub(crate) struct Requests<'r> {
    slab: Slab<Request>,
    pub(super) plan: &'r Plan,
    pub(super) code: Code,
    pub(super) scripts: Scripts,
    seed: u64,
    /// Size of a message over its size when compressed.
    pub(super) compression_ratio: f64,
}

impl<'r> Requests<'r> {
    /// No requests.
    pub(crate) fn new(run: &Run<'r>) -> Requests<'r> {
        Requests {
            slab: Slab::new(),
            plan: run.plan,
            code: Code::new(&run.plan.image),
            scripts: Scripts::new(run.plan, run.loads.iter().map(|load| load.service)),
            seed: run.seed,
            compression_ratio: run.config.payload.compression_ratio,
        }
    }

    pub(crate) fn get(&self, id: RequestId) -> &Request {
        self.slab.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: RequestId) -> &mut Request {
        self.slab.get_mut(id)
    }

    pub(crate) fn insert(&mut self, request: Request) -> RequestId {
        self.slab.insert(request)
    }

    pub(crate) fn remove(&mut self, id: RequestId) {
        self.slab.remove(id);
    }

    /// The compiled legs of all chains.
    pub(crate) fn legs(&self) -> &[Leg] {
        self.scripts.legs()
    }

    /// A compiled leg, if there is one with this number.
    #[inline]
    pub(crate) fn leg(&self, id: LegId) -> Option<&Leg> {
        self.scripts.leg(id)
    }

    /// Number of requests in flight.
    pub(crate) fn live(&self) -> usize {
        self.slab.live()
    }

    /// The requests in flight that do not wait for remote sides, called services or pauses alone.
    pub(crate) fn at_work(&self) -> impl Iterator<Item = RequestId> {
        let at_work = self
            .slab
            .entries()
            .filter(|(_, request)| !request.is_away());
        at_work.map(|(id, _)| id)
    }

    /// The seed of the attributes of a request of this service.
    pub(crate) fn seed(&self, request: &Request) -> u64 {
        self.seed ^ (u64::from(request.service) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// The random numbers of a request.
    pub(crate) fn attributes(&self, request: &Request) -> Attributes {
        Attributes::of(self.seed(request), request.number)
    }

    /// A random number for `purpose`.
    pub(crate) fn attribute(&self, request: &Request, purpose: u64) -> u64 {
        attribute(self.seed(request), request.number, purpose)
    }

    /// The time of a core for a request outside of operations and application logic.
    pub(crate) fn outside_core(&self, request: &Request) -> Time {
        let service = &self.plan.services[usize::from(request.service)];
        service
            .spreads
            .outside_core(self.seed(request), request.number)
    }

    /// The time at the client for a request, outside of the server.
    pub(crate) fn outside_client(&self, request: &Request) -> Time {
        let service = &self.plan.services[usize::from(request.service)];
        service
            .spreads
            .outside_client(self.seed(request), request.number)
    }

    /// The message that the trace number `ordinal` of a chain handles.
    pub(crate) fn message(&self, id: RequestId, chain: &ChainPlan, ordinal: u16) -> MessageSize {
        let request = self.get(id);
        chain.message(ordinal, self.seed(request), request.number)
    }

    /// The beginning of the chain number `index` of a request's current phase, and the payload
    /// there.
    pub(crate) fn begin(&self, id: RequestId, index: u16, chain: &ChainPlan) -> (Cursor, Payload) {
        let Request { service, phase, .. } = *self.get(id);
        let entry = chain.facts.entry();
        let (cursor, compressed) = self.scripts.begin(service, phase, index, entry);
        let mut payload = Payload::new(self.message(id, chain, 0), self.compression_ratio);
        let drawn = || self.arrives_compressed(id, chain, entry);
        payload.compressed = compressed.unwrap_or_else(drawn);
        (cursor, payload)
    }

    /// The facts of the payload of a trace.
    pub(crate) fn facts<'c>(
        &self,
        id: RequestId,
        chain: &'c ChainPlan,
        trace: AtmAddress,
    ) -> DrawnFacts<'c> {
        let request = self.get(id);
        let seed = self.seed(request);
        chain.facts.of_request(trace, seed, request.number)
    }

    /// Whether the message that a trace begins with is compressed: the value that the trace tests.
    pub(crate) fn arrives_compressed(
        &self,
        id: RequestId,
        chain: &ChainPlan,
        trace: AtmAddress,
    ) -> bool {
        let facts = self.facts(id, chain, trace);
        let field = self.plan.compressed_field();
        field.and_then(|field| facts.get(field)) == Some(1)
    }

    /// How long a parked job waits for its message in the attempt number `attempt` of its chain.
    /// Each attempt has a wait of its own.
    pub(crate) fn remote_wait(&self, job: &Job, attempt: u16) -> Time {
        let request = self.get(job.request);
        let seed = self.seed(request);
        let trace = job.cursor.trace;
        let number = match attempt {
            0 => request.number,
            _ => self.attribute(request, ATTEMPT | u64::from(attempt)),
        };
        let wait = |chain| self.plan.wait(chain, trace, seed, number);
        self.chain(job).map_or(Time::ZERO, wait)
    }

    /// The core time of the application logic `mean` in the current phase of a request.
    pub(crate) fn application_time(&self, request: &Request, mean: Time) -> Time {
        let service = &self.plan.services[usize::from(request.service)];
        service.application_time(request.phase, mean, self.seed(request), request.number)
    }

    /// The current phase of a request; `None` after the last.
    pub(crate) fn phase(&self, request: &Request) -> Option<&'r PhasePlan> {
        let service = &self.plan.services[usize::from(request.service)];
        service.phases.get(usize::from(request.phase))
    }

    /// The phase after the current one; `None` in the last.
    pub(crate) fn next_phase(&self, request: &Request) -> Option<&'r PhasePlan> {
        let service = &self.plan.services[usize::from(request.service)];
        service.phases.get(usize::from(request.phase) + 1)
    }

    /// Whether the current phase is the last of the service.
    pub(crate) fn is_last_phase(&self, request: &Request) -> bool {
        let service = &self.plan.services[usize::from(request.service)];
        usize::from(request.phase) + 1 == service.phases.len()
    }

    /// The chain of `job`; `None` if its request has left the phase.
    pub(crate) fn chain(&self, job: &Job) -> Option<&'r ChainPlan> {
        match self.phase(self.get(job.request))? {
            PhasePlan::Chains(chains) => chains.get(usize::from(job.cursor.chain)),
            PhasePlan::Cpu(_) => None,
        }
    }

    /// The error for a job without a chain.
    #[cold]
    pub(crate) fn no_chain(&self, job: &Job) -> Failure {
        Box::new(SimError::Path(self.service_name(job.request)))
    }

    /// The name of the request's service.
    pub(crate) fn service_name(&self, id: RequestId) -> String {
        let service = usize::from(self.get(id).service);
        self.plan.services[service].name.clone()
    }
}
