//! Round robin: the cores in turn.

use super::policy::BalancingPolicy;

/// A balancing policy that picks the cores in turn, regardless of their loads.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    next: usize,
}

impl BalancingPolicy for RoundRobin {
    fn name(&self) -> &'static str {
        "round_robin"
    }

    fn pick(&mut self, _key: u64, loads: &[u32]) -> Option<usize> {
        if loads.is_empty() {
            return None;
        }
        // The number of cores may have changed since the last call.
        let core = self.next % loads.len();
        self.next = core + 1;
        Some(core)
    }
}
