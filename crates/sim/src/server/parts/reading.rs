//! Counts of what is read of a trace.

/// Counts of the fields of a trace that were read up to the next operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// Number of branches resolved.
    pub branches: u8,
    /// Number of words loaded from the trace memory.
    pub loads: u8,
    /// Number of transformations of the payload.
    pub transforms: u8,
}

impl std::ops::AddAssign for Reading {
    fn add_assign(&mut self, other: Reading) {
        self.branches += other.branches;
        self.loads += other.loads;
        self.transforms += other.transforms;
    }
}
