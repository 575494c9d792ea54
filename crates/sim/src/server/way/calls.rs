//! Calls between services: sending a request to another service, and receiving its response.

use accelflow_kernel::Priority;
use accelflow_units::Time;

use crate::plan::ChainPlan;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::observer::RequestEvent;
use crate::server::parts::round_trip;
use crate::server::state::{
    CallMessage, Caller, Envelope, Event, Invocation, Job, JobId, RequestId,
};

/// The first of the attributes of a request that are numbers of the requests it sends.
const CALLED: u64 = 0xCA11 << 48;
/// The first of the attributes of a called request that are its times on the network.
const ON_NETWORK: u64 = 0x0E70 << 48;
/// The bit that numbers of called requests have, and those of requests from outside do not.
const CALLED_NUMBER: u64 = 1 << 63;

impl Engine<'_> {
    /// Sends a request to the service with the index `callee`, for whose response `id` waits. The
    /// callee, or a service that it calls, may need a queue entry of this server.
    pub(crate) fn call(&mut self, id: JobId, callee: usize, now: Time) {
        let server = self.run.plan.services[callee].server;
        let number = self.called_number(self.jobs.get(id));
        self.show(self.jobs.get(id).request, now, |_| RequestEvent::Called {
            service: callee,
            request: number,
        });
        let [there, back] = self.times_on_network(self.jobs.get(id), server, number);
        let due = now + self.run.config.tcp.timeout;
        let caller = self.calls.begin(id, due, back);
        self.look_at_calls();
        self.bar(id, now);
        let job = self.jobs.get(id);
        let request = self.requests.get(job.request);
        self.measures.count_call(request);
        let invocation = Invocation {
            service: callee as u16,
            number,
            measured: request.measured,
            caller,
        };
        self.send(server, CallMessage::Request(invocation), now, there);
    }

    /// The times of the request number `number`, which `job` sends to the server number `server`,
    /// and of its response on the network. They are a function of the number alone, so they are the
    /// same in every system.
    fn times_on_network(&self, job: &Job, server: usize, number: u64) -> [Time; 2] {
        let chain = self.requests.chain(job);
        let Some(chain) = chain.filter(|_| !self.calls.is_here(server)) else {
            return [Time::ZERO; 2];
        };
        let seed = self.requests.seed(self.requests.get(job.request));
        let one_way = self.run.plan.one_way(chain);
        [0, 2].map(|index| one_way.draw(seed, number, ON_NETWORK | index))
    }

    /// The number of the request that `job` sends: a function of its own request, phase, chain,
    /// trace and attempt alone, so it is the same in every system.
    fn called_number(&self, job: &Job) -> u64 {
        let (request, cursor) = (self.requests.get(job.request), job.cursor);
        let attempt = self.attempt_of(job);
        let place = u64::from(request.phase & 0xFFF) << 36
            | u64::from(cursor.chain & 0xFFF) << 24
            | (cursor.trace.index() as u64 & 0xFFFF) << 8
            | u64::from(attempt & 0xFF);
        self.requests.attribute(request, CALLED | place) | CALLED_NUMBER
    }

    /// Sends a message to a service of the server number `server`. To another server it takes
    /// `time`.
    fn send(&mut self, server: usize, message: CallMessage, now: Time, time: Time) {
        if self.calls.is_here(server) {
            self.receive(message, now);
            return;
        }
        // The other server may answer before the next event of this one.
        self.horizon = Time::ZERO;
        self.calls.post(Envelope {
            server,
            at: now + time,
            message,
        });
    }

    /// Takes a message to a service of this server that arrives at `at`.
    pub(crate) fn receive(&mut self, message: CallMessage, at: Time) {
        let event = match message {
            CallMessage::Request(invocation) => Event::Invoked(self.calls.keep(invocation)),
            CallMessage::Response(call) => Event::Returned(call as u32),
        };
        self.schedule(at, event);
    }

    /// A request of another service arrives.
    pub(crate) fn invoked(&mut self, index: u32, now: Time) -> Result<(), Failure> {
        let invocation = self.calls.take(index);
        let arrival = self.arrivals.called(&invocation, now);
        let mut request = self.new_request(&arrival, invocation.number, now);
        request.caller = Some(invocation.caller);
        self.measures.count_arrival(&request, now);
        self.measures.enter(now);
        self.read_use(now);
        let id = self.requests.insert(request);
        self.show(id, now, |_| RequestEvent::Invoked);
        self.start_phase(id, now)
    }

    /// Delivers the response of a request to the service that called it, if one did.
    pub(crate) fn answer_caller(&mut self, id: RequestId, now: Time) {
        if let Some(Caller { server, call, back }) = self.requests.get(id).caller {
            self.send(server, CallMessage::Response(call), now, back);
        }
    }

    /// The response to a call arrives. After the time-out it has no effect.
    pub(crate) fn returned(&mut self, call: u32, now: Time) -> Result<(), Failure> {
        let Some(job) = self.calls.answer(call) else {
            return Ok(());
        };
        let request = self.requests.get(self.jobs.get(job).request);
        self.measures.count_answer(request);
        self.unbar(job);
        self.answered(job, now)
    }

    /// Schedules a check of the calls that may time out. If a response and a time-out coincide, the
    /// response counts.
    fn look_at_calls(&mut self) {
        if let Some(due) = self.calls.plan_look() {
            self.calendar.schedule(due, Priority::LAST, Event::CallsDue);
        }
    }

    /// Times out the calls whose responses have not come in time.
    pub(crate) fn calls_due(&mut self, now: Time) {
        self.calls.looked();
        while let Some(job) = self.calls.time_out(now) {
            let request = self.requests.get(self.jobs.get(job).request);
            self.measures.count_call_timeout(request);
            self.unbar(job);
            self.timed_out(job, now);
        }
        self.look_at_calls();
    }

    /// The time that a job waits for its message on idle servers.
    pub(crate) fn expected_wait(&self, job: &Job) -> Time {
        let Some(chain) = self.requests.chain(job) else {
            return Time::ZERO;
        };
        match chain.calls {
            Some(callee) => self.expected_call(chain, callee),
            None => self.run.plan.typical_wait(chain, job.cursor.trace),
        }
    }

    /// The time from a call of `chain` to its response on idle servers.
    pub(crate) fn expected_call(&self, chain: &ChainPlan, callee: usize) -> Time {
        let there = self.calls.expected(callee);
        there + round_trip(self.run.plan, self.calls.server(), chain)
    }
}
