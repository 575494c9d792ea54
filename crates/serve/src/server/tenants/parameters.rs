//! The constants of tenants' traffic shapers and of the control plane's thread.

use std::time::Duration;

use accelflow_parameters::{Kind, Parameter, Provenance};

use crate::config::SHAPING_CLOCK_HZ;

/// The interval of the refills that the control plane writes, in cycles of the shaping clock.
pub(super) const INTERVAL: u64 = 100;
/// The time for which a full bucket of the control plane lasts at its tenant's rate, in seconds.
pub(super) const BURST_S: f64 = 0.005;
/// The smallest size of a bucket of the control plane, in promised requests.
pub(super) const LEAST_REQUESTS: f64 = 2.0;
/// The smallest relative change of a rate for which new registers are written.
pub(super) const WORTH: f64 = 0.01;
/// The interval at which requests that wait without a thread check for new registers.
pub(super) const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// All constants of the traffic shapers that limit tenants, and of the thread that runs the control
/// plane for SLOs, with their sources. The constants of the control plane's algorithm are in
/// [`accelflow_shaping::control::PARAMETERS`].
pub const PARAMETERS: &[Parameter] = &[
    constant(
        "shaping.clock",
        SHAPING_CLOCK_HZ as f64,
        "Hz",
        "operating systems wake threads no more precisely than a microsecond",
        "The paper's FPGA has 250 MHz (arcus.shaping.clock).",
    ),
    constant(
        "control.interval_cycles",
        INTERVAL as f64,
        "cycles",
        "refills every 100 us, as often as a thread can be woken for them",
        "",
    ),
    constant(
        "control.burst_s",
        BURST_S,
        "s",
        "a bucket of the control plane holds what its tenant may use in this time",
        "Bursts of all tenants together are no longer than that.",
    ),
    constant(
        "control.least_requests",
        LEAST_REQUESTS,
        "requests",
        "a bucket of the control plane holds at least two promised requests",
        "With room for one, a request predicted to take longer than promised would have to wait.",
    ),
    constant(
        "control.worth",
        WORTH,
        "",
        "smaller relative changes of a rate are not written",
        "Half of arcus.control.worth: a write takes a lock here, not a round trip over PCIe.",
    ),
    constant(
        "control.looks_every_s",
        LOOKS_EVERY.as_millis() as f64 / 1e3,
        "s",
        "how soon requests that wait without a thread notice new registers",
        "",
    ),
];

/// A number that cannot be set.
const fn constant(
    key: &'static str,
    value: f64,
    unit: &'static str,
    source: &'static str,
    why: &'static str,
) -> Parameter {
    Parameter {
        key,
        unit,
        kind: Kind::Fixed,
        default: value,
        provenance: Provenance::Assumed,
        source,
        why,
    }
}
