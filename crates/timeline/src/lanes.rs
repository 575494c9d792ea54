//! Rows for slices that overlap.

/// The rows of a group of slices. Slices that overlap get different rows.
///
/// There are two ways of use. Either take a row when a slice begins and free it when the slice ends
/// ([`Lanes::take`], [`Lanes::free`]), or place slices whose ends are known ([`Lanes::place`]), in
/// the order of their beginnings or of their ends. Times may have any unit.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// By row, the end of its last slice; `u64::MAX` while a slice has it.
    ends: Vec<u64>,
}

impl Lanes {
    /// Takes the first row that is free from `from` on, for a slice that ends at `until`. Returns
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

    /// Takes the first row that is free from `from` on, until [`Lanes::free`]. Returns its number.
    pub fn take(&mut self, from: u64) -> usize {
        self.place(from, u64::MAX)
    }

    /// Frees `row`, whose slice ends at `until`.
    pub fn free(&mut self, row: usize, until: u64) {
        if let Some(end) = self.ends.get_mut(row) {
            *end = until;
        }
    }
}
