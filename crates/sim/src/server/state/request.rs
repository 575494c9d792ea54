//! A request that has not ended.

use accelflow_units::Time;

use super::call::Caller;
use super::ids::CoreId;
use super::path::Path;
use crate::hardware::Owner;
use crate::stats::Part;

/// A request on its way through its service's path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Index of the service in the plan.
    pub service: u16,
    /// Sequence number of the request within the service, from 0. A request from another service
    /// has a random ID with the highest bit set instead. The request's random numbers are derived
    /// from this number.
    pub number: u64,
    /// The simulated time at which the request arrived.
    pub arrived: Time,
    /// The call of another service that has sent the request; `None` for requests from clients.
    pub caller: Option<Caller>,
    /// Index of the current phase in the service's path.
    pub phase: u16,
    /// Number of executions of traces in the current phase that have not ended.
    pub outstanding: u16,
    /// Number of the executions in `outstanding` that wait for a message, or for the end of the
    /// pause before a retry. A request on its way from its client counts as one execution.
    pub remote: u16,
    /// Index of the core that handles the request.
    pub core: CoreId,
    /// Whether an operation of LdB has chosen the core.
    pub balanced: bool,
    /// Whether statistics include the request: true if it, or the client's request that caused it,
    /// arrived after the warm-up and is among the counted requests of its load.
    pub measured: bool,
    /// Whether the response has been sent, or the request has been terminated without one; always
    /// true if `is_part` is true.
    pub responded: bool,
    /// Whether this value stands for a detached chain of a request instead of the request itself.
    /// Neither the request's phase nor its response waits for a detached chain.
    pub is_part: bool,
    /// Whether a time-out, a refused message or an error has ended the request: chains in flight
    /// finish, but no further phase and no further attempt starts.
    pub terminated: bool,
    /// Index of the tenant among those of the server.
    pub tenant: u16,
    /// Priority of the request in queues that are ordered by priority; a higher value goes first.
    pub priority: u8,
    /// The time when the response is due; [`Time::MAX`] without an SLO.
    pub due: Time,
    /// Index of the TCP accelerator's instance that handles the request's connection.
    pub tcp: u8,
    /// The time since the request's arrival, broken down by kind of work or wait.
    pub path: Path,
    /// Core time of the current task of application logic, including context switches and the time
    /// from `cold`.
    pub cpu: Time,
    /// Additional core time of the next application logic, because the core last ran another
    /// service's code.
    pub cold: Time,
    /// Core time to notice the end of the last phase and to start the chains of the next one.
    pub overhead: Time,
}

impl Request {
    /// Whether the request waits only for remote sides, called services or pauses before attempts.
    pub(crate) fn is_away(&self) -> bool {
        self.remote > 0 && self.remote >= self.outstanding
    }

    /// The owner of the state that a processing element holds after serving it.
    pub(crate) fn owner(&self) -> Owner {
        Owner {
            tenant: self.tenant,
            service: self.service,
        }
    }

    /// Charges the time of the application task that has ended. Time beyond the task's own is
    /// first the overhead, which was in the core's queue before it.
    pub(crate) fn spend_application(&mut self, now: Time) {
        let parts = [(Part::Cpu, self.cpu), (Part::Cores, self.overhead)];
        self.path.spend_up_to(parts, now);
        self.overhead = Time::ZERO;
    }
}
