//! Assignment of overlapping slices to rows of a timeline.

/// An assignment of slices (intervals of time) to rows of a timeline, such that overlapping slices
/// get different rows.
///
/// If the end of a slice is not known when the slice begins, take a row at the beginning
/// ([`Lanes::take`]) and free the row at the end ([`Lanes::free`]). If the ends are known, place
/// the slices in the order of their beginnings or of their ends ([`Lanes::place`]). Times may have
/// any unit.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// By row, the end of its last slice; `u64::MAX` while a slice has it.
    ends: Vec<u64>,
}

impl Lanes {
    /// Assigns a slice from `from` to `until` to the first row that is free from `from` on. Returns
    /// the index of the row, counted from 0.
    pub fn place(&mut self, from: u64, until: u64) -> usize {
        let free = self.ends.iter().position(|&end| end <= from);
        let row = free.unwrap_or(self.ends.len());
        match self.ends.get_mut(row) {
            Some(end) => *end = until,
            None => self.ends.push(until),
        }
        row
    }

    /// Reserves the first row that is free from `from` on, until [`Lanes::free`] releases the row.
    /// Returns the index of the row, counted from 0.
    pub fn take(&mut self, from: u64) -> usize {
        self.place(from, u64::MAX)
    }

    /// Releases the row with index `row`, which [`Lanes::take`] reserved for a slice that ends at
    /// `until`.
    pub fn free(&mut self, row: usize, until: u64) {
        if let Some(end) = self.ends.get_mut(row) {
            *end = until;
        }
    }
}
