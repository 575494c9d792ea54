//! The trace memory and the counts that all output dispatchers share.

use accelflow_units::Time;

use crate::config::Config;
use crate::hardware::TraceMemory;
use crate::orchestrators::Decision;

/// The trace memory, and the instructions of all output dispatchers.
pub(crate) struct Dispatchers {
    memory: TraceMemory,
    operations: u64,
    instructions: u64,
}

impl Dispatchers {
    /// The output dispatchers of a server with `config`.
    pub(crate) fn new(config: &Config) -> Dispatchers {
        Dispatchers {
            memory: TraceMemory::new(&config.atm),
            operations: 0,
            instructions: 0,
        }
    }

    /// Counts the instructions of a decision.
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

    /// Mean number of instructions of an operation, if there was one.
    pub(crate) fn mean_instructions(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.instructions as f64 / self.operations as f64)
    }
}
