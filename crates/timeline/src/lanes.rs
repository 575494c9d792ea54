//! Rows for slices that overlap.

/// Assigns slices that overlap to different rows: as many rows as slices overlap at most.
///
/// Slices are placed either when they begin and are freed when they end ([`Lanes::take`],
/// [`Lanes::free`]), or once their ends are known ([`Lanes::place`]), and then in the order of
/// their beginnings or of their ends.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// By row, the end of its last slice; `u64::MAX` while a slice has it.
    ends: Vec<u64>,
}

impl Lanes {
    /// Takes the first row that is free from `from` on, for a slice that ends at `until`.
    pub fn place(&mut self, from: u64, until: u64) -> usize {
        let free = self.ends.iter().position(|&end| end <= from);
        let row = free.unwrap_or(self.ends.len());
        match self.ends.get_mut(row) {
            Some(end) => *end = until,
            None => self.ends.push(until),
        }
        row
    }

    /// Takes the first row that is free from `from` on, until it is freed.
    pub fn take(&mut self, from: u64) -> usize {
        self.place(from, u64::MAX)
    }

    /// The slice of `row` ends.
    pub fn free(&mut self, row: usize, until: u64) {
        if let Some(end) = self.ends.get_mut(row) {
            *end = until;
        }
    }
}
