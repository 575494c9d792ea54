//! The Accelerometer model (Sriraman and Dhanotia, ASPLOS 2020, section 3), in closed form.
//!
//! A host has C cycles per second. It spends the share alpha of them in a *kernel*, a function that
//! an accelerator could do, such as compression. The host offloads the kernel n times per second.
//! Each offload costs cycles for setup (o0), moving the data across the interface (L), waiting in
//! the accelerator's queue (Q) and possibly switching threads (o1). The accelerator is A times as
//! fast as the host. *Speedup* is the ratio of the host's cycles before and after (C / C_S).
//! *Latency reduction* is the ratio of a request's cycles before and after (C / C_L).
//!
//! The threading design and the accelerator's placement determine which costs count in which ratio.
//! [`Design::coefficients`] is the table of the paper's eight equations. The other items build on
//! this table:
//!
//! * [`Point`]: one evaluation of the equations; [`batch`]: millions of evaluations;
//! * [`Offload::lucrative`]: the sizes for which an offload pays (equations 2, 4 and 7);
//! * [`SizeCdf`]: the distribution of offload sizes; [`Station`]: the wait of offloads in the
//!   queue;
//! * [`Scenario`]: a service with one accelerator or several, with everything above;
//! * [`simulation`]: a scenario simulated event by event, for effects that the equations leave out;
//! * [`uncertainty`]: how much the results of a scenario vary with uncertain inputs;
//! * [`parameters`]: the inputs that have a default, with their ranges and sources.
//!
//! ```
//! use accelflow_model::accelerometer::{
//!     CyclesPerSecond, Design, MeanCycles, OffloadsPerSecond, Placement, Point, Threading,
//! };
//!
//! // Case study 1 (Table 6): encryption by AES-NI in Cache1.
//! let design = Design::new(Threading::Sync, Placement::OnChip, None)?;
//! let point = Point {
//!     kernel_share: 0.165844,
//!     offload_rate: OffloadsPerSecond(298_951.0) / CyclesPerSecond(2.0e9),
//!     setup: MeanCycles(10.0),
//!     interface: MeanCycles(3.0),
//!     thread_switch: MeanCycles(0.0),
//!     acceleration: 6.0,
//! };
//! assert_eq!(format!("{:.2}", 100.0 * (point.speedup(design) - 1.0)), "15.78");
//! # Ok::<(), accelflow_model::Refusal>(())
//! ```

pub mod batch;
mod design;
mod granularity;
pub mod parameters;
mod point;
mod quantity;
mod queueing;
mod scenario;
pub mod simulation;
mod sizes;
pub mod uncertainty;

pub use design::{Coefficients, Design, Placement, Threading};
pub use granularity::{Lucrative, Offload};
pub use point::Point;
pub use quantity::{CyclesPerSecond, MeanCycles, OffloadsPerCycle, OffloadsPerSecond};
pub use queueing::{Approximation, Station, erlang_c};
pub use scenario::{
    HostCost, Kernel, KernelResult, Limit, Losses, Queueing, RELATION_TOLERANCE, Scaling, Scenario,
    ScenarioResult, Selection, Transfer,
};
pub use sizes::{Interpolation, SizeCdf};
