//! The largest values of registers and clocks.

/// The largest value of a register. 32 bits are assumed, since the paper states no width and its
/// largest value has 21 bits.
pub(crate) const REGISTER_MAX: u32 = u32::MAX;

/// The highest frequency of a clock, in hertz: one cycle per picosecond.
pub(crate) const CLOCK_MAX_HZ: u64 = 1_000_000_000_000;
