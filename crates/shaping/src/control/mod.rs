//! The control plane of a server whose accelerators are shared by tenants (ARCUS, section 4.3). It
//! admits SLOs of tenants, called promises, and sets the rates of the traffic shapers.
//!
//! The *capacity* of the server and the rates of tenants are in accelerator seconds per second:
//! seconds of accelerator time that may be used in a second. The *time* of a request is the
//! accelerator time that it takes. As in the rest of this crate there is no clock; the caller
//! counts the events of each period.
//!
//! * [`Slo`] is a promise: a request rate to be met in at least a given share of all periods, and a
//!   latency percentile.
//! * [`ControlPlane`] admits or refuses promises, watches them, and adjusts the rates (Algorithm
//!   1).
//! * [`TenantStatus`] is a row of ARCUS's PerFlowStatusTable, with a [`Verdict`].
//!
//! The crate `accelflow-arcus` has the control plane of the paper's PCIe platform, whose capacity
//! depends on paths and traffic patterns. A server without accelerator hardware has one resource:
//! the time that the cores work for requests.
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
//!     "tenant 'batch': requests_per_s = 20000: must be at most 12000 for requests of 50 us: \
//!      20000 of them need 1 s of accelerator time per second, but only 0.6 s are left of the \
//!      1.6 s that may be promised",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod numbers;
mod parameters;
mod plane;
mod slo;
mod status;

pub use parameters::PARAMETERS;
pub use plane::{ControlPlane, ControlSettings};
pub use slo::{ControlError, LatencySlo, Limit, Slo};
pub use status::{Counters, TenantStatus, Verdict};
