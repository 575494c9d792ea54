//! Table 2 of ARCUS: the registers for 1 to 1,000 Gbit/s.

use crate::Registers;

/// The registers in the four rows of ARCUS, Table 2, where a token is a byte.
///
/// In the first row, the refill of 1,024 bytes is larger than the bucket of 512 bytes. So the
/// traffic is limited to 512 bytes every 4 us. At the paper's clock, each row yields 1.024 times
/// the printed rate.
pub const ROWS: [Registers; 4] = [
    Registers::of_nonzero(1_024, 512, 1_000),
    Registers::of_nonzero(4_096, 4_096, 800),
    Registers::of_nonzero(16_384, 65_536, 320),
    Registers::of_nonzero(32_768, 1_048_576, 64),
];
