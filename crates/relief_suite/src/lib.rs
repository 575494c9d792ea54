//! Applications that are graphs of coarse-grained accelerator tasks: the image-processing and
//! recurrent-network suite of RELIEF (HPCA 2024), which AccelFlow's Fig. 15 uses.
//!
//! * [`dag`]: operations, tasks and their graphs.
//! * [`suite`]: the five applications.
//! * [`platform`]: accelerators, DMA engines and managers, with the origin of every value.
//! * [`simulate`]: a graph many times over under an [`Orchestrator`].
//! * [`throughput`]: possible meanings of "maximum throughput", and its bound.
//! * [`comparison`]: all of it for every application and orchestrator.
//!
//! Equal arguments give bit-identical results.
//!
//! ```
//! use accelflow_relief_suite::{Load, Orchestrator, Platform, simulate, suite};
//!
//! let canny = suite::canny();
//! let alone = Load::closed(1, 1);
//! let run = simulate(&canny, &Platform::default(), Orchestrator::Relief, &alone)?;
//! assert!(run.makespan > canny.compute_of(canny.bottleneck()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accelflow;
pub mod comparison;
pub mod dag;
mod load;
mod managed;
mod orchestrator;
mod outcome;
pub mod parameters;
pub mod platform;
mod run;
pub mod suite;
mod task_ref;
pub mod throughput;

pub use dag::Dag;
pub use load::{Arrivals, Load};
pub use orchestrator::Orchestrator;
pub use outcome::SimulationResult;
pub use platform::{Manager, Order, Payload, Platform};
pub use run::simulate;
