//! Messages between services.

use accelflow_units::Time;

/// The call that the response to a called request answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The number of the caller's server.
    pub server: usize,
    /// The number of the call on that server.
    pub call: u64,
    /// The time of the response on the network, if the caller is on another server.
    pub back: Time,
}

/// A request that a service sends to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invocation {
    /// Index of the service that is called.
    pub service: u16,
    /// Number of the request within that service, from which its attributes are derived.
    pub number: u64,
    /// Whether the request from outside that it is a part of arrived after the warm-up.
    pub measured: bool,
    /// The call to answer.
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
    /// The number of the server.
    pub server: usize,
    /// The time at which the message arrives.
    pub at: Time,
    /// The message.
    pub message: CallMessage,
}
