//! Rows for slices that overlap.

/// Assigns slices (intervals of time) to numbered rows of a timeline, so that overlapping slices
/// get different rows.
///
/// Use it in one of two ways. Take a row when a slice begins and free it when the slice ends
/// ([`Lanes::take`], [`Lanes::free`]). Or place slices whose ends are known ([`Lanes::place`]), in
/// the order of their beginnings or of their ends. Times may have any unit.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// By row, the end of its last slice; `u64::MAX` while a slice has it.
    ends: Vec<u64>,
}

impl Lanes {
    /// Assigns a slice from `from` to `until` to the first row that is free from `from` on. Returns
    /// the number of the row, from 0.
    pub fn place(&mut self, from: u64, until: u64) -> usize {
        let free = self.ends.iter().position(|&end| end <= from);
        let row = free.unwrap_or(self.ends.len());
        match self.ends.get_mut(row) {
            Some(end) => *end = until,
            None => self.ends.push(until),
        }
        row
    }

    /// Reserves the first row that is free from `from` on, until [`Lanes::free`] releases it.
    /// Returns the number of the row, from 0.
    pub fn take(&mut self, from: u64) -> usize {
        self.place(from, u64::MAX)
    }

    /// Releases `row`, which [`Lanes::take`] reserved for a slice that now ends at `until`.
    pub fn free(&mut self, row: usize, until: u64) {
        if let Some(end) = self.ends.get_mut(row) {
            *end = until;
        }
    }
}
