//! Parameters of output dispatchers.

use accelflow_units::Bandwidth;

/// The parameters of output dispatchers, which start the next operation of a request after each
/// operation (AccelFlow, sections V.2 and VII.B.2): numbers of instructions, and how long an entry
/// of an output queue occupies a dispatcher.
#[derive(Clone, Debug, PartialEq)]
pub struct DispatcherConfig {
    /// Number of instructions that a dispatcher executes for every operation. The instructions for
    /// branches, loads, ends and transformations are added.
    pub plain: u64,
    /// Number of instructions to resolve a branch.
    pub branch: u64,
    /// Number of instructions to load the next word from the trace memory.
    pub load_atm: u64,
    /// Number of instructions to end a trace: move the result to memory and notify the core.
    pub end: u64,
    /// Number of instructions to transform the format of 2 KiB of payload. A remainder of less than
    /// 2 KiB counts as 2 KiB.
    pub transform: u64,
    /// Number of instructions that a dispatcher executes per clock cycle.
    pub ipc: f64,
    /// When a dispatcher that handles an entry becomes free for the next one.
    pub busy: Busy,
    /// Rate of the dispatcher's engine for format transformations; `None` if a transformation takes
    /// no time beyond its instructions.
    pub transform_rate: Option<Bandwidth>,
}

/// The time at which an output dispatcher that handles an entry of its queue becomes free for the
/// next entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Busy {
    /// The dispatcher is free when it has executed the instructions for the entry.
    Instructions,
    /// The dispatcher is free when the A-DMA engine confirms that the entry has been moved. An
    /// entry that the manager or a core handles leaves the dispatcher when the instructions are
    /// executed.
    #[default]
    UntilConfirmed,
}

impl Busy {
    /// Both choices, indexed by the numeric value of the parameter `dispatcher.busy`.
    pub const ALL: [Busy; 2] = [Busy::Instructions, Busy::UntilConfirmed];
}
