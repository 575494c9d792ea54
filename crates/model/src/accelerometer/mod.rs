//! The Accelerometer model (Sriraman and Dhanotia, ASPLOS 2020, section 3), in closed form.
//!
//! A host spends C cycles a second, of which the share alpha in a *kernel*: a function that an
//! accelerator could do, such as compression. n times a second the host offloads it; each time
//! costs cycles to set up (o0), to move the data across the interface (L), to wait in the
//! accelerator's queue (Q) and perhaps to switch threads (o1), and the accelerator works A times
//! as fast as the host. *Speedup* is the host's cycles before over after (C / C_S): how much more
//! the same host serves. *Latency reduction* is a request's cycles before over after (C / C_L).
//!
//! Which costs count in which ratio depends on the threading and on the place of the accelerator:
//! [`Design::coefficients`] is the table of the paper's eight equations. On it stand
//!
//! * [`Point`], one evaluation, and [`batch`], millions of them;
//! * [`Offload::lucrative`], the sizes for which an offload pays (equations 2, 4 and 7);
//! * [`SizeCdf`], the share of offloads of these sizes; [`Station`], their wait in the queue;
//! * [`Scenario`], a service with one accelerator or several, with everything above;
//! * [`simulation`], the same kernel simulated event by event, for effects that the equations leave
//!   out;
//! * [`uncertainty`], intervals and sensitivities of its results.
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
    HostCost, Kernel, KernelOutcome, Limit, Losses, Outcome, Queueing, RELATION_TOLERANCE, Scaling,
    Scenario, Selection, Transfer,
};
pub use sizes::{Interpolation, SizeCdf};
