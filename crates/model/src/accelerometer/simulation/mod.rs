//! The simulation of offloads, event by event: threads on cores, an interface, an accelerator and
//! its queue.
//!
//! The equations of the parent module add up means. Here the same kernels are simulated: a request
//! alternates between the service's own work and a kernel, on a core of a host; each accelerator
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

use super::scenario::Scenario;

/// Simulates requests of `scenario` on hosts that each have its cycles per second. A request calls
/// kernels of all kinds, drawn at random in proportion to their offloads.
///
/// # Errors
/// The errors of [`Scenario::evaluate`], except for an accelerator that is overloaded; and
/// [`Refusal`] for a run with no or too many requests, hosts, threads or kernels, and for queues
/// with different numbers of hosts.
pub fn simulate(scenario: &Scenario, run: &Run) -> Result<Measured, Refusal> {
    let setup = setup::Setup::new(scenario, run)?;
    Ok(engine::Engine::new(&setup, run).run())
}
