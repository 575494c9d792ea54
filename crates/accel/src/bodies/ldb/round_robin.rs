//! Round robin: one core after the other.

use super::policy::Policy;

/// Takes the cores in turn, whatever their loads.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    next: usize,
}

impl Policy for RoundRobin {
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
