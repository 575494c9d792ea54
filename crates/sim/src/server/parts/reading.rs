//! Counts of what is read of a trace.

/// Counts of the fields of a trace that were read up to the next operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub branches: u8,
    pub loads: u8,
    pub transforms: u8,
}

impl std::ops::AddAssign for Reading {
    fn add_assign(&mut self, other: Reading) {
        self.branches += other.branches;
        self.loads += other.loads;
        self.transforms += other.transforms;
    }
}
