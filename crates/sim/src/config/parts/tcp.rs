//! TCP accelerators.

use accelflow_units::Time;

/// TCP accelerators.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Time-out of a trace that waits for a message; its request is then terminated.
    pub timeout: Time,
    /// Which systems keep a chain that waits for a message in a queue entry.
    pub parking: Parking,
}

/// Which systems keep a chain that waits for a message in an entry of TCP's input queue, or of the
/// queue that all accelerators share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parking {
    /// Systems with traces.
    #[default]
    Traces,
    /// All systems.
    All,
    /// No system: the message requests an entry when it arrives.
    None,
}

impl Parking {
    /// All values, indexed by the numeric value of `tcp.parking`.
    pub const ALL: [Parking; 3] = [Parking::Traces, Parking::All, Parking::None];
}
