//! Counts of what an output dispatcher reads from a trace.

/// Counts of what an output dispatcher reads from a trace up to the next operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// Number of branches resolved up to the next operation.
    pub branches: u8,
    /// Number of words loaded from the trace memory up to the next operation.
    pub loads: u8,
    /// Number of format transformations of the payload up to the next operation.
    pub transforms: u8,
}

impl std::ops::AddAssign for Reading {
    fn add_assign(&mut self, other: Reading) {
        self.branches += other.branches;
        self.loads += other.loads;
        self.transforms += other.transforms;
    }
}
