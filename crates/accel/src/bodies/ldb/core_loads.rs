//! The load of each core.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The load of each core: the number of messages that the core has to process. The code that runs
/// the cores keeps the loads up to date. Clones share the loads.
#[derive(Clone, Debug, Default)]
pub struct CoreLoads(Arc<[AtomicU32]>);

impl CoreLoads {
    /// Creates the loads of `cores` cores, all 0.
    pub fn idle(cores: usize) -> CoreLoads {
        CoreLoads((0..cores).map(|_| AtomicU32::new(0)).collect())
    }

    /// Returns the number of cores.
    pub fn cores(&self) -> usize {
        self.0.len()
    }

    /// Sets the load of the core with index `core` to `load` messages. Does nothing if there is no
    /// such core.
    pub fn set(&self, core: usize, load: u32) {
        if let Some(slot) = self.0.get(core) {
            slot.store(load, Ordering::Relaxed);
        }
    }

    /// Replaces the content of `into` by the current load of each core, in the order of cores.
    pub fn snapshot(&self, into: &mut Vec<u32>) {
        into.clear();
        into.extend(self.0.iter().map(|load| load.load(Ordering::Relaxed)));
    }
}
