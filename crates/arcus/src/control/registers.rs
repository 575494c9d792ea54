//! Calculation of a traffic shaper's registers from the rate that is promised to its flow.

use accelflow_shaping::{Clock, Registers, Unit};
use accelflow_units::Bytes;

use super::thresholds::{LONGEST_CYCLES, RATE_ERROR, SHORTEST_CYCLES};
use crate::PlatformError;

/// A rate that is promised to a flow, in bits or in messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// A rate in gigabits per second.
    GbitPerS(f64),
    /// A rate in messages per second.
    OperationsPerS(f64),
}

impl Rate {
    /// The unit of the tokens of a shaper that limits a flow to this rate: bytes or operations.
    pub const fn unit(self) -> Unit {
        match self {
            Rate::GbitPerS(_) => Unit::Bytes,
            Rate::OperationsPerS(_) => Unit::Operations,
        }
    }

    /// The rate in tokens per second. A token is a byte or an operation (a message or, if messages
    /// are cut, a segment), as [`Rate::unit`] says.
    pub fn tokens_per_s(self) -> f64 {
        match self {
            Rate::GbitPerS(rate) => rate * 1e9 / 8.0,
            Rate::OperationsPerS(rate) => rate,
        }
    }

    /// The rate in gigabits per second if all messages have `size`.
    pub fn gbit_per_s(self, size: Bytes) -> f64 {
        self.gbit_per_s_of(size.get() as f64)
    }

    /// The rate in gigabits per second if messages have `mean_bytes` bytes on average.
    pub fn gbit_per_s_of(self, mean_bytes: f64) -> f64 {
        match self {
            Rate::GbitPerS(rate) => rate,
            Rate::OperationsPerS(rate) => rate * mean_bytes * 8.0 / 1e9,
        }
    }
}

/// Calculates the registers of a shaper at `clock` that passes messages or segments of at most
/// `largest` bytes at `rate`.
///
/// For a rate of at least one token in 65,536 cycles, the refill interval is from 64 to 65,536
/// cycles: the shortest one with which the shaper's rate is within 0.01 % of `rate`, or else the
/// one with the smallest error. For a lower rate, the interval is longer, and each refill is one
/// token. The bucket is the smallest that never loses a token: a refill, plus the tokens of one
/// largest message or segment, minus one.
///
/// # Errors
/// [`PlatformError::OutOfRange`] for a rate that is too low or too high for the registers, and
/// [`PlatformError::Shaping`] for a bucket that is too large for them.
pub fn registers_for(rate: Rate, largest: Bytes, clock: Clock) -> Result<Registers, PlatformError> {
    registers_for_bursts(rate, largest, 1, clock)
}

/// Calculates registers like [`registers_for`], but with a bucket for bursts. After a pause, the
/// bucket has at least the tokens of `burst` messages or segments of the largest size, which then
/// pass at once. A `burst` of 0 counts as 1.
///
/// # Errors
/// The errors of [`registers_for`].
pub fn registers_for_bursts(
    rate: Rate,
    largest: Bytes,
    burst: u32,
    clock: Clock,
) -> Result<Registers, PlatformError> {
    let per_cycle = rate.tokens_per_s() / clock.frequency().as_hz() as f64;
    let good = per_cycle.is_finite()
        && per_cycle * f64::from(Registers::MAX) >= 1.0
        && per_cycle < f64::from(Registers::MAX) / (2.0 * LONGEST_CYCLES as f64);
    let value = rate.tokens_per_s();
    let allowed = "from 1 token per 4294967295 cycles to 32767 tokens per cycle of the shaper";
    PlatformError::unless(good, "rate in tokens/s", value, allowed)?;
    let (refill, interval) = refill_and_interval(per_cycle);
    let cost = match rate.unit() {
        Unit::Bytes => largest.get().max(1),
        Unit::Operations => 1,
    } * u64::from(burst.max(1));
    Ok(Registers::new(refill, refill + cost - 1, interval)?)
}

/// The refill in tokens and its interval in cycles for a rate of `per_cycle` tokens a cycle.
fn refill_and_interval(per_cycle: f64) -> (u64, u64) {
    if per_cycle * (LONGEST_CYCLES as f64) < 1.0 {
        // A single token, whose interval is long enough to be precise.
        return (1, (1.0 / per_cycle).round() as u64);
    }
    let error = |interval: u64| {
        let exact = per_cycle * interval as f64;
        (exact.round().max(1.0) / exact - 1.0).abs()
    };
    let mut intervals = SHORTEST_CYCLES..=LONGEST_CYCLES;
    let nearest =
        || (SHORTEST_CYCLES..=LONGEST_CYCLES).min_by(|a, b| error(*a).total_cmp(&error(*b)));
    let close = intervals.find(|interval| error(*interval) <= RATE_ERROR);
    let interval = close.or_else(nearest).unwrap_or(SHORTEST_CYCLES);
    let refill = (per_cycle * interval as f64).round().max(1.0) as u64;
    (refill, interval)
}
