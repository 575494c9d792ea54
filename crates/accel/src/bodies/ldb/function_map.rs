//! The function map: messages go to the core that has just run their function (Cerebros, section
//! 4.3).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::bound::Bound;
use super::policy::BalancingPolicy;

/// A balancing policy that sends a message to a core that has just run the message's function. Of
/// several such cores it picks the least loaded one. If there is no such core, or each has reached
/// a bound on its load, it picks the least loaded of all cores. Ties are broken round robin.
///
/// The key of a message ([`Job::affinity`](crate::Job::affinity)) identifies its function. A table
/// lists the functions of the latest messages of each core: of one message by default, as in
/// Cerebros (MICRO 2021). Clones share the table.
///
/// In Cerebros a core takes a message only when the core is free. Here every core has a queue, and
/// a core's load is the number of messages that the core has to process. The bound is 1.25 times
/// the mean load of the cores, including the new message, rounded up, as for
/// [`Affinity`](super::Affinity).
#[derive(Clone, Debug)]
pub struct FunctionMap {
    table: Arc<Mutex<Table>>,
    depth: usize,
    bound: Bound,
}

#[derive(Debug, Default)]
struct Table {
    /// For each core the keys of its latest messages, the most recent first.
    latest: Vec<VecDeque<u64>>,
    /// The core at which the search starts, so that equally loaded cores take turns.
    next: usize,
}

impl FunctionMap {
    /// Creates a policy that remembers the functions of the last `depth` messages of each core. A
    /// `depth` of 0 counts as 1.
    pub fn new(depth: usize) -> FunctionMap {
        FunctionMap {
            table: Arc::default(),
            depth: depth.max(1),
            bound: Bound::default(),
        }
    }
}

impl Default for FunctionMap {
    /// The paper's depth of 1: only the function that a core has just run.
    fn default() -> FunctionMap {
        FunctionMap::new(1)
    }
}

impl BalancingPolicy for FunctionMap {
    fn name(&self) -> &'static str {
        "function_map"
    }

    fn pick(&mut self, key: u64, loads: &[u32]) -> Option<usize> {
        let cores = loads.len();
        let capacity = self.bound.capacity(loads)?;
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.latest.resize_with(cores, VecDeque::new);
        let turn = |core: usize| (core + cores - table.next % cores) % cores;
        let has_run = |core: &usize| table.latest[*core].contains(&key);
        let has_room = |core: &usize| u64::from(loads[*core]) < capacity;
        let core = (0..cores)
            .filter(has_room)
            .filter(has_run)
            .min_by_key(|core| (loads[*core], turn(*core)))
            .or_else(|| (0..cores).min_by_key(|core| (loads[*core], turn(*core))))?;
        let latest = &mut table.latest[core];
        latest.truncate(self.depth - 1);
        latest.push_front(key);
        table.next = core + 1;
        Some(core)
    }
}
