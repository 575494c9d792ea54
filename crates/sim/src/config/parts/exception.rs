//! Exceptions that stop an accelerator.

use accelflow_units::Time;

/// Exceptions that stop an accelerator and interrupt a core (section IV.A).
#[derive(Clone, Debug, PartialEq)]
pub struct ExceptionConfig {
    /// Exceptions for a million operations.
    pub per_million: f64,
    /// Time of the operating system to handle one, without the interrupt.
    pub handling: Time,
    /// Share of exceptions after which the core continues in software.
    pub fall_back_share: f64,
}
