//! The simulation of offloads, event by event: threads on cores, an interface, accelerators and
//! their queues.
//!
//! The equations of Accelerometer add up means. Here the same kernels are simulated. A request
//! alternates between the service's own work and a kernel call, on a core of a host. An accelerator
//! with a queue ([`Queueing::Station`](super::Queueing::Station)) serves the offloads of all hosts
//! first come, first served. If Q is given instead, each offload waits for exactly this time, and
//! any number of offloads are served at once. The [`Design`](super::Design) states when a core
//! switches threads. The simulation includes effects that the equations leave out: cores idle when
//! all threads wait, responses wait for a busy core, and a faster host sends more offloads to the
//! same accelerator.

mod engine;
mod host;
mod run;
mod setup;

pub use run::{Measured, Offered, Run, Spread};

use accelflow_parameters::Refusal;

use super::scenario::Scenario;

/// Simulates requests of `scenario` on `run.hosts` hosts (or as many as the accelerator's queue
/// states), each with the cycles per second of the scenario's host. A request makes
/// `run.kernels_per_request` kernel calls. The kernel of each call is drawn at random, in
/// proportion to the kernels' possible offloads per second. An accelerator of unknown acceleration
/// works in no time, unless its queue states the time. The throughput is then that of an ideal
/// accelerator, and the latency of requests that wait for it is unknown.
///
/// # Errors
/// [`Refusal`] for
///
/// * a value that [`Scenario::evaluate`] refuses as out of range, missing or contradictory, and a
///   kernel without offloads;
/// * with [`Selection::Lucrative`](super::Selection::Lucrative), every error of
///   [`Scenario::evaluate`], such as an accelerator that is overloaded at a load of 1;
/// * no or too many requests, hosts, threads or kernel calls, and a load out of range;
/// * queues that state different or fractional numbers of hosts, more than a million hosts, or a
///   `service_scv` other than 0 or 1;
/// * a kernel with [`Kernel::rides_on`](super::Kernel::rides_on);
/// * a run that is longer than the simulated clock can count.
pub fn simulate(scenario: &Scenario, run: &Run) -> Result<Measured, Refusal> {
    let setup = setup::Setup::new(scenario, run)?;
    Ok(engine::Engine::new(&setup, run).run())
}
