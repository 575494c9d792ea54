//! Simulation of single requests on an idle server, operation by operation.

use accelflow_parameters::Refusal;
use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::Operated;
use accelflow_sim::{Config, Load, Run, simulate_logged};
use accelflow_trace::Image;
use accelflow_units::Bytes;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::services::Service;
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

use crate::checked::Checked;
use crate::error::{ScenarioError, engine};
use crate::setup::{Setup, memory};
use crate::walks::find_service;

/// One datacenter tax operation (such as encryption) of a simulated request: (index of the phase,
/// index of the chain in the phase, name of the trace, name of the accelerator, whether a core
/// executed the operation).
pub type SimulatedOperation = (usize, usize, String, &'static str, bool);

/// Simulates one request to the SocialNetwork service called `service` on an idle server with
/// default parameters. Returns the request's datacenter tax operations in the order of their ends;
/// those that a core executes are listed when the core gets their trace. `system` is the identifier
/// of an orchestrator, such as `accelflow`.
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
    let log = idle_log(&all, &image, service, system)?;
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

/// The payload sizes of one datacenter tax operation (such as encryption): (name of the
/// accelerator, size before the operation, size after the operation).
pub type OperationPayload = (String, Bytes, Bytes);

impl Checked {
    /// Simulates `requests` requests to each service that clients call. Returns the payload sizes
    /// of all operations of these requests and of the requests that they cause to other services.
    ///
    /// All services run on one server with the parameters of the first chip, under the system
    /// AccelFlow. Requests are so rare, one a second on average, that they find the server idle.
    ///
    /// # Errors
    /// [`ScenarioError`] if `requests` is 0, for a recording that does not fit the workload, for
    /// the profile `measured` without a recording, or for a scenario that the simulator cannot run.
    pub fn payloads(&self, requests: u64) -> Result<Vec<OperationPayload>, ScenarioError> {
        let Some(server) = self.servers.first() else {
            return Err(Refusal::new("chips", "[]", "must have at least one chip").into());
        };
        let setup = Setup::new(self, server)?;
        let plan = setup.plan.clone().on_one_server();
        let called_by_clients = setup.rate_shares().iter().enumerate();
        let called_by_clients = called_by_clients.filter(|(_, share)| **share > 0.0);
        let mut found = Vec::new();
        for (service, _) in called_by_clients {
            let (_, log) = simulate_logged(&Run {
                config: server,
                plan: &plan,
                orchestrator: orchestrator("accelflow").map_err(engine)?,
                loads: &[Load::new(service, RARELY, requests, 0)],
                seed: self.resolved.seed,
            })
            .map_err(engine)?;
            let row = |operation: &Operated| {
                let name = self.image.accel_name(operation.accel).to_owned();
                (name, operation.sizes[0], operation.sizes[1])
            };
            found.extend(log.iter().map(row));
        }
        Ok(found)
    }
}

/// Arrivals so rare that each request ends before the next arrives.
const RARELY: ArrivalProcess = ArrivalProcess::Poisson { rate_rps: 1.0 };

/// The operations of one invocation of a service of SocialNetwork on an idle server.
fn idle_log(
    services: &[Service],
    image: &Image,
    name: &str,
    system: &str,
) -> Result<Vec<Operated>, ScenarioError> {
    let profile = Profile::paper(services, image, &PaperOptions::default()).map_err(engine)?;
    let sizes = PayloadSizes::preset(SizePreset::SocialNetwork);
    let plan = Plan::new(&profile, image, &sizes).map_err(engine)?;
    let place = services.iter().position(|service| service.name() == name);
    let load = Load::new(place.unwrap_or(0), RARELY, 1, 0);
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
