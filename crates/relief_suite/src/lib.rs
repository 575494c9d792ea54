//! Simulates applications that are graphs of coarse-grained accelerator tasks: the suite of RELIEF
//! (HPCA 2024), which AccelFlow's Fig. 15 uses. The suite has three image-processing applications
//! and two recurrent neural networks.
//!
//! * [`dag`]: operations, tasks, and graphs of tasks.
//! * [`suite`]: the five applications.
//! * [`platform`]: the parameters of accelerators, DMA engines and managers.
//! * [`parameters`]: the range, default and source of each parameter.
//! * [`simulate`]: the simulation of many runs of one graph under an [`Orchestrator`].
//! * [`throughput`]: possible definitions of "maximum throughput", and the upper bound of the
//!   throughput.
//! * [`comparison`]: the results of every application under every orchestrator.
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
