//! The clock and the latencies of the traffic shaper.

use accelflow_units::{Cycles, Frequency, Time};

use crate::error::ShapingError;
use crate::limits::CLOCK_MAX_HZ;

/// A clock that converts between clock cycles and times. Cycle 0 begins at time zero.
///
/// The beginning of each cycle is rounded up to a whole picosecond. Different cycles begin at
/// different times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock(Frequency);

impl Clock {
    /// The highest frequency of a clock, in hertz: one cycle per picosecond.
    pub const MAX_HZ: u64 = CLOCK_MAX_HZ;

    /// The clock of the FPGA in ARCUS's prototype: 250 MHz (section 5.1).
    pub const PAPER: Clock = match Frequency::from_hz(250_000_000) {
        Some(frequency) => Clock(frequency),
        None => unreachable!(),
    };

    /// Creates a clock of `hz` hertz.
    ///
    /// # Errors
    /// [`ShapingError::ZeroClock`] for 0, and [`ShapingError::FastClock`] above [`Clock::MAX_HZ`].
    pub fn from_hz(hz: u64) -> Result<Clock, ShapingError> {
        let frequency = Frequency::from_hz(hz).ok_or(ShapingError::ZeroClock)?;
        if hz > Clock::MAX_HZ {
            return Err(ShapingError::FastClock { hz });
        }
        Ok(Clock(frequency))
    }

    /// Returns the frequency of the clock.
    pub const fn frequency(self) -> Frequency {
        self.0
    }

    /// Returns the time at which `cycle` begins; [`Time::MAX`] if that time is too large to be
    /// represented.
    pub fn edge(self, cycle: Cycles) -> Time {
        cycle.at(self.0)
    }

    /// Returns the last cycle that begins at `time` or earlier.
    pub fn begun(self, time: Time) -> Cycles {
        Cycles(self.whole_cycles(time.as_ps()))
    }

    /// Returns the first cycle that begins at `time` or later.
    pub fn next(self, time: Time) -> Cycles {
        // An edge is rounded up, so it is at or after `time` if the true edge is after the
        // picosecond before.
        Cycles(match time.as_ps() {
            0 => 0,
            ps => self.whole_cycles(ps - 1) + 1,
        })
    }

    fn whole_cycles(self, ps: u64) -> u64 {
        // The clock is at most MAX_HZ, so the quotient is at most `ps`.
        let cycles = u128::from(ps) * u128::from(self.0.as_hz()) / u128::from(Clock::MAX_HZ);
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }
}

/// The clock and the latencies of the traffic shaper's hardware. The defaults are those of ARCUS's
/// prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The clock in whose cycles tokens are refilled and segments are granted.
    pub clock: Clock,
    /// The time from the grant of a segment until it reaches the accelerator. Default 36 ns (ARCUS,
    /// section 5.3.1), which is 9 cycles of 250 MHz.
    pub shaping_latency: Time,
    /// The time from writing registers until they take effect. Default 10 us (ARCUS, section 5.3.1:
    /// several round trips over PCIe).
    pub reconfiguration: Time,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            clock: Clock::PAPER,
            shaping_latency: Time::from_ns(36),
            reconfiguration: Time::from_us(10),
        }
    }
}
