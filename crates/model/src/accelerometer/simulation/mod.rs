//! The simulation of offloads, event by event: threads on cores, an interface, an accelerator and
//! its queue.
//!
//! The equations of the parent module add up means. Here the same kernel is simulated: a request
//! alternates between the service's own work and a kernel, on a core of a host; the accelerator
//! takes the kernels from the hosts first come, first served; waiting threads are switched as the
//! [`Design`](super::Design) states. The simulation includes effects that the equations leave out:
//! cores idle when all threads wait, responses wait for a busy core, and a faster host sends more
//! to the same accelerator.

mod engine;
mod host;
mod run;
mod setup;

pub use run::{Measured, Offered, Run, Spread};

use accelflow_parameters::Refusal;

use super::quantity::CyclesPerSecond;
use super::scenario::Kernel;

/// Runs `kernel` on hosts with `host` cycles per second.
///
/// # Errors
/// The errors of [`Scenario::evaluate`](super::Scenario::evaluate), and [`Refusal`] for a run with
/// no or too many requests, hosts, threads or kernels.
pub fn simulate(kernel: &Kernel, host: CyclesPerSecond, run: &Run) -> Result<Measured, Refusal> {
    let setup = setup::Setup::new(kernel, host, run)?;
    Ok(engine::Engine::new(&setup, run).run())
}
