//! Parameters of TCP accelerators.

use accelflow_units::Time;

/// The parameters of the TCP accelerators.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Longest time for which a trace waits for a message. After this time, the request ends; if it
    /// has no response yet, it ends without a response.
    pub timeout: Time,
    /// In which systems a chain of traces that waits for a message occupies a queue entry.
    pub parking: Parking,
}

/// The systems in which a chain of operations that waits for a message occupies a queue entry. The
/// entry is in the input queue of the TCP accelerator or, if all accelerators share one queue of a
/// central manager, in the shared queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parking {
    /// A waiting chain occupies an entry in systems whose accelerators execute traces, such as
    /// AccelFlow.
    #[default]
    Traces,
    /// A waiting chain occupies an entry in all systems that have accelerators.
    All,
    /// A waiting chain occupies no entry in any system: the message requests an entry when it
    /// arrives.
    None,
}

impl Parking {
    /// All choices, indexed by the numeric value of the parameter `tcp.parking`.
    pub const ALL: [Parking; 3] = [Parking::Traces, Parking::All, Parking::None];
}
