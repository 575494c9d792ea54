//! Amounts of data and the rates at which they move.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::Time;

/// A number of bytes: the size of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Creates a size of `kib` times 1,024 bytes. The size must be below 2^64 bytes: a greater one
    /// overflows, which panics in debug builds and wraps around in release builds.
    pub const fn from_kib(kib: u64) -> Bytes {
        Bytes(kib * 1024)
    }

    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number of bytes by which this size exceeds `limit`; zero if it does not exceed
    /// `limit`.
    pub const fn beyond(self, limit: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(limit.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(sizes: I) -> Bytes {
        sizes.fold(Bytes(0), Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < 1024 => write!(f, "{n} B"),
            n => write!(f, "{:.1} KiB", n as f64 / 1024.0),
        }
    }
}

const PS_PER_S: u64 = 1_000_000_000_000;

/// A data rate in bytes per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(u64);

impl Bandwidth {
    /// Creates a data rate of `rate` bytes per second; `None` for zero.
    pub const fn from_bytes_per_s(rate: u64) -> Option<Bandwidth> {
        if rate == 0 {
            None
        } else {
            Some(Bandwidth(rate))
        }
    }

    /// Returns the data rate in bytes per second.
    pub const fn as_bytes_per_s(self) -> u64 {
        self.0
    }

    /// Returns the time to transfer `size` bytes at this data rate, rounded up to a picosecond;
    /// [`Time::MAX`] if it is too large.
    pub fn transfer(self, size: Bytes) -> Time {
        if let Some(product) = size.0.checked_mul(PS_PER_S) {
            return Time::from_ps(product.div_ceil(self.0));
        }
        let ps = (u128::from(size.0) * u128::from(PS_PER_S)).div_ceil(u128::from(self.0));
        Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

/// A [`Bandwidth`] with its time per byte, which is computed once so that many transfer times can
/// be calculated without a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    rate: Bandwidth,
    /// The time of a byte in picoseconds, if it is whole; 0 if it is not.
    byte_ps: u64,
}

impl Pace {
    /// Creates the pace of the data rate `rate`, and computes the time per byte.
    pub fn new(rate: Bandwidth) -> Pace {
        let byte_ps = match PS_PER_S % rate.0 {
            0 => PS_PER_S / rate.0,
            _ => 0,
        };
        Pace { rate, byte_ps }
    }

    /// Returns the time to transfer `size` bytes, the same as that of [`Bandwidth::transfer`]. The
    /// method is faster: it divides only if the time per byte is not a whole number of picoseconds.
    #[inline]
    pub fn transfer(self, size: Bytes) -> Time {
        match self.byte_ps {
            0 => self.rate.transfer(size),
            byte_ps => Time::from_ps(size.0.saturating_mul(byte_ps)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kilobyte_at_100_gb_per_s_takes_ten_ns() {
        let rate = Bandwidth::from_bytes_per_s(100_000_000_000).unwrap();
        assert_eq!(rate.transfer(Bytes(1_000)), Time::from_ns(10));
        assert_eq!(rate.transfer(Bytes(1)), Time::from_ps(10));
        assert_eq!(rate.transfer(Bytes(0)), Time::ZERO);
    }

    #[test]
    fn a_pace_is_its_rate() {
        for rate in [1, 3, 1_000, 38_400_000_000, 100_000_000_000, u64::MAX] {
            let rate = Bandwidth::from_bytes_per_s(rate).unwrap();
            for size in [0, 1, 63, 64, 2_047, 1 << 24, 1 << 40, u64::MAX] {
                let size = Bytes(size);
                assert_eq!(Pace::new(rate).transfer(size), rate.transfer(size));
            }
        }
    }

    #[test]
    fn beyond_is_what_does_not_fit() {
        assert_eq!(Bytes(2_500).beyond(Bytes::from_kib(2)), Bytes(452));
        assert_eq!(Bytes(100).beyond(Bytes::from_kib(2)), Bytes(0));
    }
}
