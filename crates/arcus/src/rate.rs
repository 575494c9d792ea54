//! Bandwidths from rates in floating point.

use accelflow_units::Bandwidth;

/// Converts a rate in gigabits per second to a bandwidth, of at least 1 byte per second.
pub fn gbit_per_s(rate: f64) -> Bandwidth {
    bandwidth(rate * 1e9 / 8.0)
}

/// Converts a rate in bytes per second to a bandwidth, of at least 1 byte per second.
pub(crate) fn bandwidth(bytes_per_s: f64) -> Bandwidth {
    const LEAST: Bandwidth = match Bandwidth::from_bytes_per_s(1) {
        Some(rate) => rate,
        None => unreachable!(),
    };
    Bandwidth::from_bytes_per_s(bytes_per_s as u64).unwrap_or(LEAST)
}
