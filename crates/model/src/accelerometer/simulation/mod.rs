//! Offloads that run, event by event: threads on cores, an interface, an accelerator and its queue.
//!
//! The equations of the parent module add up means. Here the same kernel is executed: a request is
//! the service's own work and a kernel, some times in turn, on a core of a host; the accelerator
//! takes the kernels from the hosts first come, first served; threads that wait are switched as the
//! [`Design`](super::Design) says. What the equations leave out happens by itself: cores idle when all
//! threads wait, responses wait for a busy core, a faster host sends more to the same accelerator.

mod engine;
mod host;
mod run;
mod setup;

pub use run::{Measured, Offered, Run, Spread};

use accelflow_parameters::Refusal;

use super::quantity::CyclesPerSecond;
use super::scenario::Kernel;

/// Runs `kernel` on hosts of `host` cycles a second.
///
/// # Errors
/// [`Refusal`] for what [`Scenario::evaluate`](super::Scenario::evaluate) refuses, and for a run
/// without requests, hosts, threads or kernels, or of more than there is room for.
pub fn simulate(kernel: &Kernel, host: CyclesPerSecond, run: &Run) -> Result<Measured, Refusal> {
    let setup = setup::Setup::new(kernel, host, run)?;
    Ok(engine::Engine::new(&setup, run).run())
}
