//! The registers of one rate limiter, and the traffic that they allow.

use accelflow_units::{Cycles, Frequency};

use crate::error::ShapingError;
use crate::limits::REGISTER_MAX;
use crate::timing::Clock;

/// The unit that a token of a token bucket stands for: a byte or an operation (ARCUS, section 4.2:
/// "shaping Gbps or IOPS").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A token stands for a byte of a message.
    Bytes,
    /// A token stands for a message of any size. A split message costs one token per segment, since
    /// the accelerator processes each segment as a message.
    Operations,
}

impl Unit {
    /// Both units of tokens: bytes, and operations.
    pub const ALL: [Unit; 2] = [Unit::Bytes, Unit::Operations];

    /// Returns the other unit of tokens: operations for bytes, and bytes for operations.
    pub const fn other(self) -> Unit {
        match self {
            Unit::Bytes => Unit::Operations,
            Unit::Operations => Unit::Bytes,
        }
    }

    /// Returns the name of the unit in files and on command lines: `bytes` or `operations`.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Operations => "operations",
        }
    }
}

/// The registers of a token bucket that limits a flow (ARCUS, section 4.2): `Refill_Rate` and
/// `Bkt_Size` in tokens, and the interval between refills in clock cycles.
///
/// The refill is added after every interval, but a bucket never has more tokens than its size. So a
/// refill larger than the bucket adds at most the bucket's size, as in the first row of the paper's
/// Table 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Registers {
    refill: u32,
    bucket: u32,
    interval: u32,
}

impl Registers {
    /// The largest value of a register. A width of 32 bits is assumed: ARCUS states none, and its
    /// largest printed value has 21 bits.
    pub const MAX: u32 = REGISTER_MAX;

    /// Creates registers that add `refill` tokens every `interval` cycles to a bucket of `bucket`
    /// tokens.
    ///
    /// # Errors
    /// [`ShapingError::ZeroRefill`], [`ShapingError::ZeroBucket`] or [`ShapingError::ZeroInterval`]
    /// for a value of 0, and [`ShapingError::RegisterOverflow`] above [`Registers::MAX`].
    pub fn new(refill: u64, bucket: u64, interval: u64) -> Result<Registers, ShapingError> {
        Ok(Registers {
            refill: register("refill", refill, ShapingError::ZeroRefill)?,
            bucket: register("bucket", bucket, ShapingError::ZeroBucket)?,
            interval: register("interval", interval, ShapingError::ZeroInterval)?,
        })
    }

    /// The smallest limits on accelerator time: a rate of 1e-9 seconds per second (one token, 1 ns,
    /// each second) and a burst of 1e-9 seconds (one token).
    pub const MIN_ACCELERATOR_S: f64 = 1e-9;

    /// The largest rate of accelerator time, in seconds per second: the use of 400 accelerators. At
    /// this rate, the default burst ([`Registers::BURST_S`]) still fits a token bucket.
    pub const MAX_ACCELERATOR_S_PER_S: f64 = 400.0;

    /// The largest burst of accelerator time, in seconds. Its tokens, one for each nanosecond,
    /// still fit a register.
    pub const MAX_BURST_ACCELERATOR_S: f64 = 4.0;

    /// How far a rate may be off, as a share, for a refill to fit the bucket: the paper's 1 %.
    const MOST_OFF: f64 = 0.01;

    /// The time, in seconds, that determines the default burst of a limit: the burst is the number
    /// of tokens that the limit's rate yields in this time.
    pub const BURST_S: f64 = 0.01;

    /// Creates registers that limit the use of accelerators to `s_per_s` seconds of accelerator
    /// time per second. A token is a nanosecond of accelerator time. The largest burst is `burst_s`
    /// seconds of accelerator time; `None` means the default burst ([`Registers::BURST_S`]).
    ///
    /// # Errors
    /// The errors of [`Registers::for_rate`].
    pub fn for_accelerator_time(
        s_per_s: f64,
        burst_s: Option<f64>,
        clock: Clock,
    ) -> Result<Registers, ShapingError> {
        let tokens_per_s = s_per_s * 1e9;
        let burst = match burst_s {
            Some(burst) => (burst * 1e9).round(),
            None => (tokens_per_s * Registers::BURST_S).max(1.0),
        };
        Registers::for_rate(tokens_per_s, burst as u64, clock)
    }

    /// Creates registers for a rate of `tokens_per_s` tokens per second with the clock `clock`, and
    /// bursts of `bucket` tokens. The refill divided by the interval is the rate in tokens per
    /// cycle, within a millionth. The fraction is the first convergent of the rate's continued
    /// fraction with this precision. If no such fraction fits the registers and the bucket, the
    /// nearest one that fits is used.
    ///
    /// # Errors
    /// [`ShapingError::ImpossibleRate`] for a rate that is not above 0, too low for the longest
    /// interval, or so high that a refill would overflow the bucket; and if no fraction that fits
    /// is within a hundredth of the rate. Also the errors of [`Registers::new`].
    pub fn for_rate(
        tokens_per_s: f64,
        bucket: u64,
        clock: Clock,
    ) -> Result<Registers, ShapingError> {
        let per_cycle = tokens_per_s / clock.frequency().as_hz() as f64;
        let impossible = ShapingError::ImpossibleRate {
            tokens_per_s,
            bucket,
        };
        if !per_cycle.is_finite() || per_cycle < 0.5 / f64::from(Registers::MAX) {
            return Err(impossible);
        }
        let (mut refill, mut interval) = nearest_fraction(per_cycle, u64::from(Registers::MAX));
        if refill > bucket {
            (refill, interval) = nearest_fraction(per_cycle, bucket);
        }
        let kept = refill as f64 / interval as f64 / per_cycle;
        if refill > bucket || (kept - 1.0).abs() > Registers::MOST_OFF {
            return Err(impossible);
        }
        Registers::new(refill, bucket, interval)
    }

    /// The registers with these values, of which none is zero.
    pub(crate) const fn of_nonzero(refill: u32, bucket: u32, interval: u32) -> Registers {
        Registers {
            refill,
            bucket,
            interval,
        }
    }

    /// Returns the number of tokens that a refill adds, if the bucket has room for them.
    pub const fn refill(self) -> u32 {
        self.refill
    }

    /// Returns the size of the bucket in tokens, which is the largest burst.
    pub const fn bucket(self) -> u32 {
        self.bucket
    }

    /// Returns the number of clock cycles from one refill to the next.
    pub const fn interval(self) -> Cycles {
        Cycles(self.interval as u64)
    }

    /// Returns the largest number of tokens that an interval can add: the smaller of refill and
    /// bucket size.
    pub fn tokens_per_interval(self) -> u32 {
        self.refill.min(self.bucket)
    }

    /// Returns the highest sustained rate at the clock frequency `clock`, in tokens per second.
    ///
    /// A flow that always has messages to send reaches this rate if no refill overflows the bucket.
    /// A refill does not overflow the bucket if the bucket also has room for the leftover tokens,
    /// which are too few for the flow's next message.
    pub fn tokens_per_s(self, clock: Frequency) -> f64 {
        let tokens = u128::from(self.tokens_per_interval()) * u128::from(clock.as_hz());
        tokens as f64 / f64::from(self.interval)
    }

    /// Returns the highest sustained rate at the clock frequency `clock`, in gigabits (10^9 bits)
    /// per second, if a token is a byte.
    pub fn gbit_per_s(self, clock: Frequency) -> f64 {
        let bits = u128::from(self.tokens_per_interval()) * 8 * u128::from(clock.as_hz());
        bits as f64 / (f64::from(self.interval) * 1e9)
    }

    /// Returns the largest number of tokens that can be spent within `window` successive cycles: a
    /// full bucket in the first cycle, and the refills in the other cycles. The number of refills
    /// is the number of the other cycles divided by the interval, rounded up, since a refill can
    /// follow the burst directly.
    pub fn most_within(self, window: Cycles) -> u64 {
        match window.0 {
            0 => 0,
            cycles => {
                let refills = (cycles - 1).div_ceil(u64::from(self.interval));
                u64::from(self.tokens_per_interval())
                    .saturating_mul(refills)
                    .saturating_add(u64::from(self.bucket))
            }
        }
    }
}

/// Returns the first convergent of the continued fraction of `value` that is within a millionth of
/// it, or else the nearest fraction whose parts fit registers, the upper one at most `most`. No
/// part is zero.
fn nearest_fraction(value: f64, most: u64) -> (u64, u64) {
    let register = u64::from(Registers::MAX);
    let error = |(upper, lower): (u64, u64)| (upper as f64 / lower as f64 / value - 1.0).abs();
    let (mut before, mut last) = ((1, 0), (value as u64, 1));
    let mut rest = value.fract();
    while last.0 == 0 || error(last) > 1e-6 {
        let whole = (1.0 / rest).floor();
        // There is no rest, or one that floats cannot tell from none.
        if last.0 > 0 && whole > 1e12 {
            break;
        }
        rest = (1.0 / rest).fract();
        // Each part grows by that of the last convergent, as often as there is room.
        let uppers = times(most.min(register), last.0, before.0);
        let room = times(register, last.1, before.1).min(uppers);
        let found = |times| (times * last.0 + before.0, times * last.1 + before.1);
        if whole > room as f64 {
            let between = found(room);
            if room > 0 && (last.0 == 0 || error(between) < error(last)) {
                last = between;
            }
            break;
        }
        (before, last) = (last, found(whole as u64));
    }
    last
}

/// Returns how often `step` can be added to `part` within `most`: any number of times if it is 0.
fn times(most: u64, step: u64, part: u64) -> u64 {
    most.saturating_sub(part)
        .checked_div(step)
        .unwrap_or(u64::MAX)
}

fn register(name: &'static str, value: u64, zero: ShapingError) -> Result<u32, ShapingError> {
    if value == 0 {
        return Err(zero);
    }
    u32::try_from(value).map_err(|_| ShapingError::RegisterOverflow {
        register: name,
        value,
    })
}
