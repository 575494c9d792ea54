//! Conversions of data rates and clock frequencies from and to the units of parameters.

use accelflow_units::{Bandwidth, Frequency};

const ONE_GB_PER_S: f64 = 1e9;

pub(super) fn gb(rate: Bandwidth) -> f64 {
    rate.as_bytes_per_s() as f64 / ONE_GB_PER_S
}

/// Ranges keep rates and clocks above zero, so the fallbacks are never taken.
pub(super) fn rate(gb_per_s: f64) -> Bandwidth {
    Bandwidth::from_bytes_per_s((gb_per_s * ONE_GB_PER_S).round() as u64).unwrap_or(ONE_BYTE_PER_S)
}

pub(super) fn hertz(ghz: f64) -> Frequency {
    Frequency::from_hz((ghz * 1e9).round() as u64).unwrap_or(ONE_HERTZ)
}

pub(super) const ONE_BYTE_PER_S: Bandwidth = match Bandwidth::from_bytes_per_s(1) {
    Some(rate) => rate,
    None => unreachable!(),
};
pub(super) const ONE_HERTZ: Frequency = match Frequency::from_hz(1) {
    Some(clock) => clock,
    None => unreachable!(),
};
