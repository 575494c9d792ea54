//! TCP accelerators.

use accelflow_units::Time;

/// The parameters of the TCP accelerators.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Time for which a trace waits for a message at most; then its request is ended.
    pub timeout: Time,
    /// In which systems a chain that waits for a message occupies a queue entry.
    pub parking: Parking,
}

/// In which systems a chain that waits for a message occupies an entry: of the TCP accelerator's
/// input queue, or of the queue that all accelerators share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parking {
    /// A waiting chain occupies an entry in systems with traces.
    #[default]
    Traces,
    /// A waiting chain occupies an entry in all systems.
    All,
    /// A waiting chain occupies no entry in any system: the message requests one when it arrives.
    None,
}

impl Parking {
    /// All choices, indexed by the numeric value of the parameter `tcp.parking`.
    pub const ALL: [Parking; 3] = [Parking::Traces, Parking::All, Parking::None];
}
