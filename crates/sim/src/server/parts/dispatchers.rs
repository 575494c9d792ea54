//! The trace memory that all output dispatchers read, and the number of instructions that the
//! dispatchers have executed so far.

use accelflow_units::Time;

use crate::config::{Busy, Config};
use crate::hardware::TraceMemory;
use crate::orchestrators::Decision;

/// The trace memory, and the instructions of all output dispatchers.
pub(crate) struct Dispatchers {
    memory: TraceMemory,
    /// Whether a dispatcher is free of an entry once it has executed its instructions.
    ends_at_once: bool,
    operations: u64,
    instructions: u64,
}

impl Dispatchers {
    /// The output dispatchers of a server with `config`.
    pub(crate) fn new(config: &Config) -> Dispatchers {
        Dispatchers {
            memory: TraceMemory::new(&config.atm),
            ends_at_once: config.dispatcher.busy == Busy::Instructions,
            operations: 0,
            instructions: 0,
        }
    }

    /// Counts the instructions of a decision.
    #[inline]
    pub(crate) fn count(&mut self, decision: &Decision) {
        if decision.instructions > 0 {
            self.operations += 1;
            self.instructions += decision.instructions;
        }
    }

    /// Reads a word of the trace memory. Returns the time when it has been read.
    pub(crate) fn read_word(&mut self, now: Time) -> Time {
        self.memory.read(now)
    }

    /// Whether reads of the trace memory take time.
    pub(crate) fn reads_take_time(&self) -> bool {
        self.memory.takes_time()
    }

    /// Whether a dispatcher is free of an entry once it has executed its instructions. Otherwise it
    /// is busy with one that it forwards itself until the transfer has ended.
    #[inline]
    pub(crate) fn ends_at_once(&self) -> bool {
        self.ends_at_once
    }

    /// Mean number of instructions of an operation, if there was one.
    pub(crate) fn mean_instructions(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.instructions as f64 / self.operations as f64)
    }
}
