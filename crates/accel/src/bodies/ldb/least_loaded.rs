//! Least loaded: the core with the fewest messages.

use super::policy::BalancingPolicy;

/// A balancing policy that picks the core with the smallest load; among equals the first.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeastLoaded;

impl BalancingPolicy for LeastLoaded {
    fn name(&self) -> &'static str {
        "least_loaded"
    }

    fn pick(&mut self, _key: u64, loads: &[u32]) -> Option<usize> {
        loads
            .iter()
            .enumerate()
            .min_by_key(|(core, load)| (**load, *core))
            .map(|(core, _)| core)
    }
}
