//! The interface of observers of a simulation.

use accelflow_trace::AtmAddress;
use accelflow_units::Time;

use super::activity::{Activity, ServerShape};

/// An observer of a simulation. It is called in the order of simulated time.
pub trait Observer {
    /// Called when something has happened to a request.
    fn see(&mut self, seen: &Seen);

    /// Called when a server of the run begins. Servers that are simulated together begin together.
    fn begin(&mut self, _server: &ServerShape) {}

    /// Whether [`Observer::act`] is called, which makes a run slower.
    fn follows_hardware(&self) -> bool {
        false
    }

    /// Called when the hardware of a server has done something. Times of a server's activities
    /// never decrease; [`crate::Deed::Carries`], [`crate::Deed::Moves`] and
    /// [`crate::Deed::Manages`] are reported in advance.
    fn act(&mut self, _activity: &Activity) {}
}

/// An event of a request and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Index of the service.
    pub service: usize,
    /// Number of the request within the service.
    pub request: u64,
    /// The time of the event.
    pub at: Time,
    /// The event.
    pub what: Happening,
}

/// An event of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The request arrives.
    Arrived,
    /// A phase of application logic has ended that took this core time.
    Application(Time),
    /// A message is sent, and its answer is awaited.
    Sent(Awaited),
    /// The answer has arrived.
    Answered(Awaited),
    /// The request has its response, or ends without one.
    Responded {
        /// Whether the response is an error, or there is none.
        error: bool,
        /// The chain of the current phase that has sent it; none if the phase sends nothing.
        chain: Option<usize>,
    },
}

/// An answer that a request awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The phase.
    pub phase: usize,
    /// The chain within the phase.
    pub chain: usize,
    /// The trace that receives the answer.
    pub trace: AtmAddress,
    /// Whether the answer is compressed.
    pub compressed: bool,
}
