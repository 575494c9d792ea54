//! Output dispatchers.

use accelflow_units::Bandwidth;

/// Output dispatchers (sections V.2 and VII.B.2): their instructions, and the time that an entry
/// occupies them.
#[derive(Clone, Debug, PartialEq)]
pub struct DispatcherConfig {
    /// Instructions for every operation.
    pub plain: u64,
    /// Instructions for each branch.
    pub branch: u64,
    /// Instructions to load the next word from the trace memory.
    pub load_atm: u64,
    /// Instructions to end a trace, which move the result to memory and notify the core.
    pub end: u64,
    /// Instructions to transform 2 KiB.
    pub transform: u64,
    /// Instructions per cycle.
    pub ipc: f64,
    /// The time for which an entry occupies a dispatcher.
    pub busy: Busy,
    /// Rate of the transformation engine; `None` if a transformation takes only its instructions.
    pub transform_rate: Option<Bandwidth>,
}

/// The time for which an entry occupies the output dispatcher that forwards it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Busy {
    /// Until its instructions end.
    Instructions,
    /// Until the A-DMA engine confirms that the entry has been moved.
    #[default]
    UntilConfirmed,
}

impl Busy {
    /// All values, indexed by the numeric value of `dispatcher.busy`.
    pub const ALL: [Busy; 2] = [Busy::Instructions, Busy::UntilConfirmed];
}
