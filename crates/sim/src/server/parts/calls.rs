//! Calls between services: the unanswered ones, and the requests on their way to called services.

use std::collections::VecDeque;

use accelflow_units::Time;

use crate::server::state::{Caller, Envelope, Invocation, JobId, Slab};

/// The calls of the services of one server.
pub(crate) struct Calls {
    /// The ID of the server.
    server: usize,
    /// By service, the time on idle servers from the arrival of a call to its response; empty if it
    /// is not needed.
    expected: Vec<Time>,
    /// Number of the first of `open`.
    first: u64,
    /// The calls by number, from the oldest that waits. They time out in this order.
    open: VecDeque<Call>,
    /// Whether a check of the time-outs is scheduled.
    watched: bool,
    /// Requests on their way to services of this server.
    under_way: Slab<Invocation>,
    /// Messages to other servers.
    outbox: Vec<Envelope>,
}

/// A call.
#[derive(Clone, Copy, Debug)]
struct Call {
    /// The job that waits for the response.
    job: JobId,
    /// When it times out.
    due: Time,
    /// The response is there.
    answered: bool,
}

impl Calls {
    /// No calls of services of the server number `server`.
    pub(crate) fn new(server: usize, expected: Vec<Time>) -> Calls {
        Calls {
            server,
            expected,
            first: 0,
            open: VecDeque::new(),
            watched: false,
            under_way: Slab::new(),
            outbox: Vec::new(),
        }
    }

    /// The time on idle servers from the arrival of a call of the service with the index `callee`
    /// to its response.
    pub(crate) fn expected(&self, callee: usize) -> Time {
        self.expected.get(callee).copied().unwrap_or(Time::ZERO)
    }

    /// Begins a call for `job` that times out at `due`. Returns the destination of the response,
    /// which is on the network for `back`.
    pub(crate) fn begin(&mut self, job: JobId, due: Time, back: Time) -> Caller {
        let call = self.first + self.open.len() as u64;
        self.open.push_back(Call {
            job,
            due,
            answered: false,
        });
        Caller {
            server: self.server,
            call,
            back,
        }
    }

    /// Ends a call with its response. `call` is the lower half of its number. Returns the job that
    /// has waited for it; `None` if the call has timed out.
    pub(crate) fn answer(&mut self, call: u32) -> Option<JobId> {
        // Calls that have timed out wrap to indices beyond all others.
        let index = call.wrapping_sub(self.first as u32);
        let call = self.open.get_mut(index as usize)?;
        call.answered = true;
        let job = call.job;
        self.forget_answered();
        Some(job)
    }

    /// The job that waits for the response to the call number `call`; `None` if it no longer waits.
    pub(crate) fn waiting(&self, call: u64) -> Option<JobId> {
        let index = call.checked_sub(self.first)?;
        let call = self.open.get(index as usize)?;
        (!call.answered).then_some(call.job)
    }

    /// Ends a call that has timed out by `now`. Returns the job that has waited for it.
    pub(crate) fn time_out(&mut self, now: Time) -> Option<JobId> {
        let call = self.open.front().filter(|call| call.due <= now)?;
        let job = call.job;
        self.open.pop_front();
        self.first += 1;
        self.forget_answered();
        Some(job)
    }

    /// Schedules a check of the time-outs, unless one is scheduled. Returns its time.
    pub(crate) fn plan_look(&mut self) -> Option<Time> {
        let due = self.open.front().map(|call| call.due)?;
        (!std::mem::replace(&mut self.watched, true)).then_some(due)
    }

    /// Notes that the scheduled check of the time-outs is done.
    pub(crate) fn looked(&mut self) {
        self.watched = false;
    }

    /// The jobs that wait for responses, in the order of their calls.
    pub(crate) fn jobs(&self) -> impl DoubleEndedIterator<Item = JobId> {
        let open = self.open.iter().filter(|call| !call.answered);
        open.map(|call| call.job)
    }

    /// Stores a request in transit to a service of this server. Returns its index.
    pub(crate) fn keep(&mut self, invocation: Invocation) -> u32 {
        self.under_way.insert(invocation)
    }

    /// Takes a request that has arrived.
    pub(crate) fn take(&mut self, index: u32) -> Invocation {
        let invocation = *self.under_way.get(index);
        self.under_way.remove(index);
        invocation
    }

    /// Whether `server` is the number of this server.
    pub(crate) fn is_here(&self, server: usize) -> bool {
        server == self.server
    }

    /// The number of this server.
    pub(crate) fn server(&self) -> usize {
        self.server
    }

    /// Hands a message to the network.
    pub(crate) fn post(&mut self, envelope: Envelope) {
        self.outbox.push(envelope);
    }

    /// Whether there are messages to other servers.
    pub(crate) fn has_posted(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Takes the messages to other servers, in the order in which they were sent.
    pub(crate) fn take_posted(&mut self) -> Vec<Envelope> {
        std::mem::take(&mut self.outbox)
    }

    fn forget_answered(&mut self) {
        while self.open.front().is_some_and(|call| call.answered) {
            self.open.pop_front();
            self.first += 1;
        }
    }
}
