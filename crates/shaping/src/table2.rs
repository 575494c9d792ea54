//! Table 2 of the paper: the registers for 1 to 1,000 Gbit/s.

use crate::{Clock, Registers};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The rate that the paper sets these registers for, in gigabits a second.
    pub paper_gbit_per_s: f64,
    /// The registers, with tokens of a byte.
    pub registers: Registers,
}

impl Row {
    const fn new(paper_gbit_per_s: f64, refill: u32, bucket: u32, interval: u32) -> Row {
        Row {
            paper_gbit_per_s,
            registers: Registers::of_nonzero(refill, bucket, interval),
        }
    }

    /// The rate that the registers give at the paper's clock, in gigabits a second.
    pub fn gbit_per_s(self) -> f64 {
        self.registers.gbit_per_s(Clock::PAPER.frequency())
    }
}

/// The four rows.
///
/// In the first the refill is larger than the bucket, which caps it: 512 bytes every 4 us. Each rate
/// is 1.024 times the printed one.
pub const ROWS: [Row; 4] = [
    Row::new(1.0, 1_024, 512, 1_000),
    Row::new(10.0, 4_096, 4_096, 800),
    Row::new(100.0, 16_384, 65_536, 320),
    Row::new(1_000.0, 32_768, 1_048_576, 64),
];
