//! Single requests on an idle simulated server, operation by operation.

use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::Operated;
use accelflow_sim::{Config, Load, Run, simulate_logged};
use accelflow_trace::Image;
use accelflow_units::Bytes;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::services::{Service, social_network};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};

use crate::error::{ScenarioError, engine};
use crate::rules;
use crate::setup::memory;
use crate::walks::find_service;

/// An operation of a request: (phase, chain, trace, accelerator, whether a core executed it).
pub type SimulatedOperation = (usize, usize, String, &'static str, bool);

/// The operations of one invocation of a service of SocialNetwork on an idle server, in the order
/// of simulated time.
///
/// # Errors
/// [`ScenarioError`] for an unknown service or system.
pub fn simulated_operations(
    service: &str,
    system: &str,
) -> Result<Vec<SimulatedOperation>, ScenarioError> {
    let all = social_network().map_err(engine)?;
    find_service(&all, service)?;
    let image = memory()?;
    let log = idle_log(&all, &image, service, system, SizePreset::SocialNetwork, 1)?;
    let row = |operation: &Operated| {
        (
            operation.phase,
            operation.chain,
            image.name(operation.trace).to_owned(),
            operation.accel.name(),
            operation.on_core,
        )
    };
    Ok(log.iter().map(row).collect())
}

/// The payloads of all operations of `requests` invocations of each service of SocialNetwork, with
/// the payload sizes called `sizes`: (accelerator, size before, size after).
///
/// # Errors
/// [`ScenarioError`] for unknown sizes.
pub fn simulated_payloads(
    sizes: &str,
    requests: u64,
) -> Result<Vec<(&'static str, Bytes, Bytes)>, ScenarioError> {
    let sizes: SizePreset = rules::chosen("sizes", sizes)?;
    let all = social_network().map_err(engine)?;
    let image = memory()?;
    let mut found = Vec::new();
    for service in &all {
        let log = idle_log(&all, &image, service.name(), "accelflow", sizes, requests)?;
        let row = |operation: &Operated| {
            let [before, after] = [operation.sizes[0], operation.sizes[1]];
            (operation.accel.name(), before, after)
        };
        found.extend(log.iter().map(row));
    }
    Ok(found)
}

/// The operations of `requests` invocations of a service, one at a time on an idle server.
fn idle_log(
    services: &[Service],
    image: &Image,
    name: &str,
    system: &str,
    sizes: SizePreset,
    requests: u64,
) -> Result<Vec<Operated>, ScenarioError> {
    let profile = Profile::paper(services, image, &PaperOptions::default()).map_err(engine)?;
    let plan = Plan::new(&profile, image, &PayloadSizes::preset(sizes)).map_err(engine)?;
    let place = services.iter().position(|service| service.name() == name);
    let rarely = ArrivalProcess::Poisson { rate_rps: 1.0 };
    let load = Load::new(place.unwrap_or(0), rarely, requests, 0);
    let (_, log) = simulate_logged(&Run {
        config: &Config::default(),
        plan: &plan,
        orchestrator: orchestrator(system).map_err(engine)?,
        loads: &[load],
        seed: 1,
    })
    .map_err(engine)?;
    Ok(log)
}
