//! The control plane of a server whose accelerators tenants share (ARCUS, section 4.3): promises in,
//! rates for the shaper out.
//!
//! Everything is counted in accelerator time, in seconds each second: a request takes its *time* of the
//! server's *capacity*. As in the rest of this crate there is no clock: the caller counts what happens
//! in each period.
//!
//! * [`Slo`] is a promise: a rate in a share of all periods, and a percentile of latencies.
//! * [`ControlPlane`] admits or refuses promises, watches them, and adjusts the rates: Algorithm 1.
//! * [`TenantStatus`] is a row of the PerFlowStatusTable, with a [`Verdict`].
//!
//! `accelflow-arcus` has the control plane of the paper's PCIe platform, whose capacity depends on paths
//! and patterns. A server on cores has one resource, the time that it works for requests.
//!
//! ```
//! use accelflow_shaping::control::{ControlPlane, ControlSettings, Slo};
//! use accelflow_units::Time;
//!
//! let settings = ControlSettings::new(2.0); // two cores
//! let mut plane = ControlPlane::new(settings, ["web", "batch"])?;
//! let slo = Slo::new(20_000.0, Time::from_us(50));
//! plane.promise(0, slo)?; // one accelerator second a second
//! let refused = plane.promise(1, slo).expect_err("1.6 may be promised");
//! assert_eq!(
//!     refused.to_string(),
//!     "tenant 'batch': 20000 requests/s of 50 us take 1 s of accelerators a second: 0.6 are left \
//!      (12000 requests/s) of 1.6 that may be promised",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod numbers;
mod parameters;
mod plane;
mod slo;
mod status;

pub use parameters::PARAMETERS;
pub use plane::{ControlPlane, ControlSettings, Counters};
pub use slo::{ControlError, LatencySlo, Limit, Slo};
pub use status::{TenantStatus, Verdict};
