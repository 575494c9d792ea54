//! A simulated host whose tenants share accelerators, the mechanisms of sharing, and the control
//! plane of ARCUS (Zhao, Shu, Lim, Fan, Anderson, Gao and Enright Jerger, "ARCUS: SLO Management
//! for Accelerators in the Cloud with Traffic Shaping").
//!
//! * [`Platform`] is the hardware: a PCIe link with packets and credits, DMA engines, accelerators,
//!   Ethernet ports, storage.
//! * [`Flow`] is one VM's traffic on one [`Path`].
//! * [`Mechanism`] says how flows share accelerators: without shaping, by the host's software, by a
//!   scheduler on the device, or by ARCUS's shaper (the crate `accelflow-shaping`).
//! * [`simulate`] runs flows on a platform under a mechanism and returns a [`RunResult`].
//! * [`control`] is the control plane: profiles, admission, planning, Algorithm 1.
//! * [`plan`] reads plan files, admits their flows and simulates them.
//! * [`experiments`] are the paper's experiments.
//!
//! ```
//! use accelflow_arcus::{Accelerator, Arrivals, Curve, Flow, Mechanism, Path, Platform, Settings, simulate};
//! use accelflow_units::{Bandwidth, Bytes, Time};
//!
//! let peak = Bandwidth::from_bytes_per_s(5_000_000_000).ok_or("a rate")?;
//! let setup = Time::from_ns(100);
//! let platform = Platform::prototype(vec![Accelerator::new("cipher", Curve::Saturating { setup, peak })]);
//! let flow = |size| Flow::new(0, Path::FunctionCall, Bytes(size), Arrivals::Backlogged);
//! let flows = [flow(4_096), flow(8_192)];
//! let result = simulate(&platform, &flows, &Mechanism::NoShaping, &Settings::lasting(Time::from_us(500)))?;
//! // Turns go message by message, so the larger messages take two thirds.
//! assert!((result.gbit_per_s(1) / result.gbit_per_s(0) - 2.0).abs() < 0.05);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod control;
mod engine;
mod error;
pub mod experiments;
mod flow;
mod hardware;
mod mechanism;
pub mod parameters;
pub mod plan;
mod platform;
mod rate;
mod results;
mod usage;

pub use engine::{Action, Controller, Counters, Settings, simulate, simulate_with};
pub use error::PlatformError;
pub use flow::{Answers, Arrivals, Flow, Path, Sizes};
pub use hardware::{
    Accelerator, Begun, Curve, Direction, Egress, Generation, Law, Operation, Packet, PcieConfig,
    Sent, SoftwareConfig, SoftwareRate, Storage, StorageConfig, Transfer,
};
pub use mechanism::{Mechanism, Order};
pub use platform::{DmaConfig, FRAME_OVERHEAD, Platform};
pub use rate::gbit_per_s;
pub use results::{Completion, FlowResult, RunResult};
pub use usage::Usage;
