//! Addition of a workload's connections to a simulation plan: which service calls which, on which
//! servers services run, network times, and retries.

use accelflow_parameters::Refusal;
use accelflow_sim::plan::{Plan, Retry};
use accelflow_units::Time;
use accelflow_workload::file::{Chain, Workload};
use accelflow_workload::services::Service;

/// `plan` of `services` with the calls, servers, network and retries of `workload`. A chain that
/// calls a service which is not simulated keeps its waits.
///
/// # Errors
/// [`Refusal`] for invalid settings, such as a retry of the chain that receives a request.
pub(crate) fn connected(
    mut plan: Plan,
    workload: &Workload,
    services: &[Service],
) -> Result<Plan, Refusal> {
    if let Some(network) = &workload.defaults.network {
        plan = plan.with_one_way(network.distribution());
    }
    let place_of = |name: &str| services.iter().position(|service| service.name() == name);
    let mut servers: Vec<Option<&str>> = Vec::new();
    for (index, service) in services.iter().enumerate() {
        let Some(stated) = workload.service(service.name()) else {
            continue;
        };
        let server = stated.server.as_deref();
        let number = servers.iter().position(|known| *known == server);
        let number = number.unwrap_or_else(|| {
            servers.push(server);
            servers.len() - 1
        });
        plan = plan.on_server(index, number)?;
        for (phase, chain, of_file) in stated.chains() {
            if of_file.is_detached() {
                plan = plan.with_detached(index, phase, chain)?;
            }
            if let Some(network) = &of_file.network {
                plan = plan.with_chain_one_way(index, phase, chain, network.distribution())?;
            }
            let callee = of_file.calls.as_deref().and_then(place_of);
            if let Some(callee) = callee {
                plan = plan.with_call(index, phase, chain, callee)?;
            }
            if let Some(retry) = retry_of(of_file) {
                plan = plan.with_retry(index, phase, chain, retry)?;
            }
        }
    }
    Ok(plan)
}

fn retry_of(chain: &Chain) -> Option<Retry> {
    let stated = chain.retry?;
    Some(Retry {
        odds: stated.odds.0,
        attempts: u16::from(stated.attempts),
        backoff: Time::from_ns_f64(stated.backoff_us.0 * 1e3),
    })
}
