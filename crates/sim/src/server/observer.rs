//! The interface of observers of a simulation.

use accelflow_trace::AtmAddress;
use accelflow_units::Time;

use super::activity::{Activity, ServerShape};

/// Receives the events of a simulation, in the order of simulated time.
pub trait Observer {
    /// Called when something has happened to a request.
    fn see(&mut self, seen: &Seen);

    /// Called when the simulation of a server begins. Servers that are simulated together begin
    /// together.
    fn begin(&mut self, _server: &ServerShape) {}

    /// Whether [`Observer::act`] is called, which makes a simulation slower.
    fn follows_hardware(&self) -> bool {
        false
    }

    /// Called when the hardware of a server has done something. Times of a server's activities
    /// never decrease; [`crate::HardwareEvent::Carries`], [`crate::HardwareEvent::Moves`] and
    /// [`crate::HardwareEvent::Manages`] are reported in advance.
    fn act(&mut self, _activity: &Activity) {}
}

/// An event of a simulated request and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Index of the request's service.
    pub service: usize,
    /// Number of the request within the service.
    pub request: u64,
    /// The simulated time of the event.
    pub at: Time,
    /// What happened to the request.
    pub what: RequestEvent,
}

/// What happened to a simulated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEvent {
    /// The request has arrived.
    Arrived,
    /// A phase of application logic has ended that took this core time.
    Application(Time),
    /// A message has been sent, and its answer is awaited.
    Sent(Awaited),
    /// The awaited answer has arrived.
    Answered(Awaited),
    /// The request has ended, with or without a response.
    Responded {
        /// Whether the request failed: its response is an error, or it ended without a response.
        error: bool,
        /// Index of the chain of the current phase that has sent the response; `None` if no chain
        /// has.
        chain: Option<usize>,
    },
}

/// The answer to a message, for which a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// Index of the phase that sent the message.
    pub phase: usize,
    /// Index of the chain, within the phase, that sent the message.
    pub chain: usize,
    /// The trace that receives the answer.
    pub trace: AtmAddress,
    /// Whether the answer is compressed.
    pub compressed: bool,
}
