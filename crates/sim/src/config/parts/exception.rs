//! Parameters of exceptions that stop an accelerator.

use accelflow_units::Time;

/// The parameters of exceptions that stop an accelerator and interrupt a core (AccelFlow, section
/// IV.A).
#[derive(Clone, Debug, PartialEq)]
pub struct ExceptionConfig {
    /// Mean number of exceptions per million operations on processing elements, in addition to page
    /// faults.
    pub per_million: f64,
    /// Time of the operating system to handle an exception other than a page fault, without the
    /// time to take the interrupt.
    pub handling: Time,
    /// Share of exceptions other than page faults after which a core continues the trace in
    /// software, 0 to 1.
    pub fall_back_share: f64,
}
