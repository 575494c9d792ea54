//! Time, clock cycles and frequencies.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

const PS_PER_NS: u64 = 1_000;
const PS_PER_US: u64 = 1_000_000;
const PS_PER_S: u64 = 1_000_000_000_000;

/// An instant or a duration, as a whole number of picoseconds.
///
/// Picoseconds represent one clock cycle at 2.4 GHz (417 ps) to within 0.1 %. The 64 bits cover 213
/// days. The results of the operators `+`, `-` and `*` must lie between zero and [`Time::MAX`]:
/// others overflow, which panics in debug builds and wraps around in release builds. Division by a
/// number rounds down to a picosecond, and panics if the number is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// Zero: the start of a simulation, or a duration of no time.
    pub const ZERO: Time = Time(0);
    /// The largest representable time: about 213 days.
    pub const MAX: Time = Time(u64::MAX);

    /// Creates a time of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Creates a time of `ns` nanoseconds. The time must not exceed [`Time::MAX`]: a greater one
    /// overflows, which panics in debug builds and wraps around in release builds.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns * PS_PER_NS)
    }

    /// Creates a time of `us` microseconds. The time must not exceed [`Time::MAX`]: a greater one
    /// overflows, which panics in debug builds and wraps around in release builds.
    pub const fn from_us(us: u64) -> Time {
        Time(us * PS_PER_US)
    }

    /// Creates a time of `ns` nanoseconds, rounded to the nearest picosecond; zero if `ns` is
    /// negative or NaN, and [`Time::MAX`] if it is too large.
    pub fn from_ns_f64(ns: f64) -> Time {
        Time(nearest(ns * PS_PER_NS as f64))
    }

    /// Creates a time of `s` seconds, rounded to the nearest picosecond; zero if `s` is negative or
    /// NaN, and [`Time::MAX`] if it is too large.
    pub fn from_s_f64(s: f64) -> Time {
        Time(nearest(s * PS_PER_S as f64))
    }

    /// Creates a time of `ps` picoseconds, rounded to the nearest whole picosecond; zero if `ps` is
    /// negative or NaN, and [`Time::MAX`] if it is too large.
    #[inline(always)]
    pub fn from_ps_f64(ps: f64) -> Time {
        Time(nearest(ps))
    }

    /// Returns the time in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Returns the time in nanoseconds, for reports.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / PS_PER_NS as f64
    }

    /// Returns the time in microseconds, for reports.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / PS_PER_US as f64
    }

    /// Returns the time in seconds, for reports.
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Returns the sum of this time and `other`, at most [`Time::MAX`].
    pub fn saturating_add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }

    /// Returns the time from `earlier` to this instant; zero if `earlier` is later.
    pub const fn saturating_sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }

    /// Returns this duration times `factor`, rounded to the nearest picosecond; zero if `factor` is
    /// negative or NaN, and [`Time::MAX`] if the result is too large.
    #[inline(always)]
    pub fn scale(self, factor: f64) -> Time {
        Time(nearest(float(self.0) * factor))
    }
}

/// The nearest float. For most numbers the processor has an instruction.
#[inline(always)]
fn float(number: u64) -> f64 {
    match i64::try_from(number) {
        Ok(number) => number as f64,
        Err(_) => float_of_large(number),
    }
}

#[cold]
#[inline(never)]
fn float_of_large(number: u64) -> f64 {
    number as f64
}

/// The nearest whole number, halves away from zero; 0 for negative numbers and NaN, and the largest
/// for those beyond it.
#[inline(always)]
fn nearest(number: f64) -> u64 {
    /// Added to a float that is smaller than half of it, it leaves no place for a fraction: the sum
    /// is rounded to a whole number, halves to even, which is in the lower bits.
    const SHIFT: f64 = (1_u64 << 52) as f64;
    const MOST: u64 = (SHIFT / 2.0).to_bits();
    // The bits of floats are ordered like the floats, and those of negative ones are larger.
    if number.to_bits() >= MOST {
        return nearest_of_any(number);
    }
    let shifted = number + SHIFT;
    let below = number - (shifted - SHIFT) >= 0.5;
    shifted.to_bits() - SHIFT.to_bits() + u64::from(below)
}

#[cold]
#[inline(never)]
fn nearest_of_any(number: f64) -> u64 {
    number.round() as u64
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, times: u64) -> Time {
        Time(self.0 * times)
    }
}

impl Div<u64> for Time {
    type Output = Time;
    fn div(self, parts: u64) -> Time {
        Time(self.0 / parts)
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Time>>(times: I) -> Time {
        times.fold(Time::ZERO, Add::add)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0 ns"),
            ps if ps < PS_PER_US => write!(f, "{:.1} ns", self.as_ns_f64()),
            ps if ps < 1_000 * PS_PER_US => write!(f, "{:.2} us", self.as_us_f64()),
            _ => write!(f, "{:.3} ms", self.as_us_f64() / 1e3),
        }
    }
}

/// A number of clock cycles. [`Cycles::at`] converts the number to a [`Time`] with a [`Frequency`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cycles(pub u64);

impl Cycles {
    /// Returns the duration of this number of cycles at the frequency `clock`, rounded up to a
    /// picosecond; [`Time::MAX`] if it is too large.
    pub fn at(self, clock: Frequency) -> Time {
        let ps = (u128::from(self.0) * u128::from(PS_PER_S)).div_ceil(u128::from(clock.0));
        Time(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

/// A clock frequency in hertz, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(u64);

impl Frequency {
    /// Creates a frequency of `hz` hertz; `None` for zero.
    pub const fn from_hz(hz: u64) -> Option<Frequency> {
        if hz == 0 { None } else { Some(Frequency(hz)) }
    }

    /// Returns the frequency in hertz.
    pub const fn as_hz(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_cycles_at_2_4_ghz_are_33_ns() {
        let clock = Frequency::from_hz(2_400_000_000).unwrap();
        assert_eq!(Cycles(80).at(clock), Time::from_ps(33_334));
        assert_eq!(Cycles(60).at(clock), Time::from_ns(25));
    }

    #[test]
    fn the_nearest_whole_number_is_that_of_the_library() {
        let beside = |number: f64| [number.next_down(), number, number.next_up()];
        let numbers = (0..64).flat_map(|bits| {
            let power = 2.0_f64.powi(bits);
            [
                power / 8.0,
                power - 0.5,
                power,
                power + 0.5,
                power * 1.37,
                -power,
            ]
        });
        let special = [
            0.0,
            -0.0,
            -0.4,
            -0.6,
            f64::NAN,
            f64::INFINITY,
            f64::MAX,
            1e-300,
        ];
        for number in numbers.flat_map(beside).chain(special) {
            assert_eq!(nearest(number), number.round() as u64, "{number:e}");
        }
    }

    #[test]
    fn conversions_round_to_the_nearest_picosecond() {
        assert_eq!(Time::from_ns_f64(1.0006), Time::from_ps(1_001));
        assert_eq!(Time::from_ns_f64(-3.0), Time::ZERO);
        assert_eq!(Time::from_ns(3).scale(0.5), Time::from_ps(1_500));
        assert_eq!(
            Time::from_us(1).saturating_sub(Time::from_us(2)),
            Time::ZERO
        );
    }

    #[test]
    fn times_print_in_the_unit_a_reader_expects() {
        assert_eq!(Time::from_ns(33).to_string(), "33.0 ns");
        assert_eq!(Time::from_us(1).to_string(), "1.00 us");
        assert_eq!(Time::from_us(12_500).to_string(), "12.500 ms");
    }
}
