//! Messages between services.

use accelflow_units::Time;

/// The call that a response to another service answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The ID of the caller's server.
    pub server: usize,
    /// The ID of the call on the caller's server.
    pub call: u64,
    /// The time of the response on the network; zero if the caller is on the same server.
    pub back: Time,
}

/// A request that a service sends to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invocation {
    /// Index of the service that is called.
    pub service: u16,
    /// ID of the request within the called service, from which its random numbers are derived.
    pub number: u64,
    /// Whether the client's request that caused the call counts: it arrived after the warm-up.
    pub measured: bool,
    /// The call that the response must answer.
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
    /// The time at which the message arrives.
    pub at: Time,
    /// The message.
    pub message: CallMessage,
}
