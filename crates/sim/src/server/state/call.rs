//! The requests and responses that services send to each other.

use accelflow_units::Time;

/// The call that a response to another service answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The ID of the caller's server.
    pub server: usize,
    /// The ID of the call on the caller's server.
    pub call: u64,
    /// Time that the response takes on the network; zero if the caller is on the same server.
    pub back: Time,
}

/// A request that a service sends to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invocation {
    /// Index in the plan of the service that is called.
    pub service: u16,
    /// ID of the request among those of the called service. The request's random numbers are
    /// derived from it.
    pub number: u64,
    /// Whether statistics include the call: true if the client's request that caused the call
    /// arrived after the warm-up and is among the counted requests of its load.
    pub measured: bool,
    /// The call that the response to this request answers.
    pub caller: Caller,
}

/// A message from a service to another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallMessage {
    Request(Invocation),
    /// The response to the call with this number.
    Response(u64),
}

/// A message to another server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    /// The ID of the server that receives the message.
    pub server: usize,
    /// The simulated time at which the message arrives.
    pub at: Time,
    /// The request or the response that the message carries.
    pub message: CallMessage,
}
