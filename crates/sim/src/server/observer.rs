//! Observers of a simulation, and the events of requests.

use accelflow_trace::AtmAddress;
use accelflow_units::Time;

use super::activity::{Activity, ServerShape};

/// A receiver of the events of a simulation, in the order of simulated time. In
/// [`compare::observe`](crate::compare::observe), groups of servers that have nothing to do with
/// each other are simulated one after the other, and each begins at time 0.
pub trait Observer {
    /// Receives an event of a request, when it happens.
    fn see(&mut self, seen: &Seen);

    /// Receives a description of a server's hardware, if [`Observer::follows_hardware`] returns
    /// `true`. The method is called once for each simulated server, before the first event of any
    /// server that is simulated together with it.
    fn begin(&mut self, _server: &ServerShape) {}

    /// Returns whether the observer also follows the hardware: [`Observer::begin`] and
    /// [`Observer::act`] are then called, which makes a simulation slower. The default is `false`.
    fn follows_hardware(&self) -> bool {
        false
    }

    /// Receives an activity of a server's hardware. The times [`Activity::at`] of a server never
    /// decrease. [`crate::HardwareEvent::Carries`], [`crate::HardwareEvent::Moves`] and
    /// [`crate::HardwareEvent::Manages`] are reported when the work is scheduled, and state when it
    /// will begin or end.
    fn act(&mut self, _activity: &Activity) {}
}

/// An event of a simulated request, and the simulated time at which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Index, in the plan, of the request's service.
    pub service: usize,
    /// Sequence number of the request within its service, from 0. Requests that services send to
    /// each other have a random ID with the highest bit set instead.
    pub request: u64,
    /// The simulated time of the event, since the start of the simulation.
    pub at: Time,
    /// What happened to the request.
    pub what: RequestEvent,
}

/// The kinds of events of a simulated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEvent {
    /// The request has arrived from a client. Time at the client that a recording states comes
    /// after this event.
    Arrived,
    /// The request has arrived from another service. An earlier [`RequestEvent::Called`] of the
    /// calling request has stated the ID of the request that has now arrived.
    Invoked,
    /// A phase of application logic, which took this core time without context switches, has ended.
    Application(Time),
    /// The request has sent a message, and waits for the answer.
    Sent(Awaited),
    /// The message of the preceding [`RequestEvent::Sent`] of this request is a request to a
    /// simulated service.
    Called {
        /// Index, in the plan, of the called service.
        service: usize,
        /// The ID of the sent request, as in [`Seen::request`].
        request: u64,
    },
    /// The answer for which the request waited has arrived.
    Answered(Awaited),
    /// The answer for which the request waited has not arrived in time
    /// ([`TcpConfig::timeout`](crate::config::TcpConfig::timeout)). [`RequestEvent::Terminated`]
    /// follows when the request's core learns of the time-out, unless the request has had its
    /// response or has been terminated before.
    TimedOut(Awaited),
    /// The request was answered with a response.
    Responded {
        /// Whether the response is an error.
        error: bool,
        /// Index, within the request's current phase, of the chain that has sent the response, or
        /// whose last allowed attempt has failed; `None` if the request is answered at the end of a
        /// last phase that sends no message.
        chain: Option<usize>,
    },
    /// The request has ended without a response, because a message did not arrive in time or was
    /// refused for lack of memory. Such a request has no response time.
    Terminated {
        /// Index of the chain whose message did not come, within the request's current phase.
        chain: usize,
    },
}

/// The answer to a message that a request has sent, for which a trace (sequence of operations) of
/// the request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// Index, in the service's path, of the phase that sent the message.
    pub phase: usize,
    /// Index of the chain, within the phase, that sent the message.
    pub chain: usize,
    /// The address of the first word of the trace that receives the answer.
    pub trace: AtmAddress,
    /// Whether the answer is compressed.
    pub compressed: bool,
}
