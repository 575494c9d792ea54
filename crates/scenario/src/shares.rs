//! The request rates of single services, and the check that each service's rate and number of
//! requests are allowed.

use accelflow_parameters::{Refusal, number_text, quoted};
use accelflow_workload::file::Workload;
use accelflow_workload::services::Service;

use crate::checked::Checked;
use crate::error::{ScenarioError, engine};
use crate::limits::{MAX_RATE_RPS, MIN_RATE_RPS};
use crate::own::Own;
use crate::resolved::Resolved;
use crate::scenario::Scenario;

impl Checked {
    /// Returns the name and the mean rate, in requests per second, of each simulated service that
    /// has requests from clients.
    ///
    /// # Errors
    /// [`ScenarioError`] for a workload that cannot be read.
    pub fn service_rates_rps(&self) -> Result<Vec<(&str, f64)>, ScenarioError> {
        let workload = self.scenario.workload.workload().map_err(engine)?;
        let shares = rate_shares(
            &self.scenario,
            workload.as_ref(),
            &self.resolved,
            &self.services,
        );
        let names = self.services.iter().map(Service::name);
        let rates = shares.iter().map(|share| self.resolved.rate_rps * share);
        Ok(names
            .zip(rates)
            .filter(|(_, rate_rps)| *rate_rps > 0.0)
            .collect())
    }
}

/// The factor on the mean rate of each of `services`.
pub(crate) fn rate_shares(
    scenario: &Scenario,
    workload: &Workload,
    resolved: &Resolved,
    services: &[Service],
) -> Vec<f64> {
    let scaled = scenario.rate_rps.is_some();
    let shares = workload.rate_shares(&resolved.rates, scaled);
    // The check has refused other names.
    let shares = shares.unwrap_or_else(|| vec![1.0; workload.services.len()]);
    let share = |service: &Service| {
        let given = &scenario.rates_rps;
        if !given.is_empty() {
            let rate_rps = given.get(service.name()).copied().unwrap_or(0.0);
            return rate_rps / resolved.rate_rps;
        }
        let mut all = workload.services.iter().zip(&shares);
        let own = all.find(|(stated, _)| stated.name == service.name());
        own.map_or(1.0, |(_, share)| *share)
    };
    services.iter().map(share).collect()
}

/// Refuses rates of single services that are out of range, services without any requests, and
/// numbers of requests so small that a service has no counted ones.
pub(crate) fn check_requests(
    scenario: &Scenario,
    workload: &Workload,
    resolved: &Resolved,
    services: &[Service],
) -> Result<(), ScenarioError> {
    if resolved.warmup_requests >= resolved.requests {
        let allowed = format!(
            "must be less than the number of requests ({})",
            resolved.requests
        );
        return Err(Refusal::new("warmup", resolved.warmup_requests, allowed).into());
    }
    let shares = rate_shares(scenario, workload, resolved, services);
    let own = Own { scenario, workload };
    for (service, share) in services.iter().zip(shares) {
        let name = service.name();
        if share == 0.0 {
            check_called(workload, services, name)?;
            continue;
        }
        check_rate(resolved, name, share)?;
        let stated = workload.service(name);
        let times = stated.and_then(|stated| own.number_of_times(stated));
        if resolved.by_rate && counted_by_rate(resolved, share, times) < 1.0 {
            let enough = (1.0 / share).ceil() * 2.0;
            if resolved.requests as f64 >= enough {
                let allowed = format!(
                    "must leave a request of {name}, which gets only {} times the requests, in \
                     proportion to its rate",
                    number_text(share)
                );
                return Err(Refusal::new("warmup", resolved.warmup_requests, allowed).into());
            }
            let allowed = format!(
                "must be at least {}: {name} gets only {} times this number, in proportion to its \
                 rate",
                number_text(enough),
                number_text(share)
            );
            return Err(Refusal::new("requests", resolved.requests, allowed).into());
        }
        if times.is_none() {
            check_duration(resolved, name, share)?;
        }
    }
    Ok(())
}

/// The number of counted requests of a service that has `share` of the requests. If the workload
/// states the `times` of requests, there are no more of them, and a tenth is the warm-up at most.
fn counted_by_rate(resolved: &Resolved, share: f64, times: Option<u64>) -> f64 {
    let of_service = |count: u64| (count as f64 * share).round();
    let (requests, warmup) = (
        of_service(resolved.requests),
        of_service(resolved.warmup_requests),
    );
    match times {
        Some(times) => requests.min(times as f64) - warmup.min((times / 10) as f64),
        None => requests - warmup,
    }
}

/// Refuses more requests than arrive in [`LONGEST_S`].
fn check_duration(resolved: &Resolved, name: &str, share: f64) -> Result<(), ScenarioError> {
    let (requests, rate_rps) = match resolved.by_rate {
        true => (resolved.requests as f64 * share, resolved.rate_rps * share),
        false => (resolved.requests as f64, resolved.rate_rps * share),
    };
    if requests <= rate_rps * LONGEST_S {
        return Ok(());
    }
    let most = (resolved.requests as f64 * (rate_rps * LONGEST_S / requests)).floor();
    let allowed = format!(
        "must be at most {}: the requests to {name} then arrive in 50 days, at {} a second",
        number_text(most),
        number_text((rate_rps * 1e6).round() / 1e6)
    );
    Err(Refusal::new("requests", resolved.requests, allowed).into())
}

/// The longest time in which the requests of a simulation may arrive: 50 days.
const LONGEST_S: f64 = 50.0 * 86_400.0;

/// Refuses a service without a rate that no simulated service calls.
fn check_called(
    workload: &Workload,
    services: &[Service],
    name: &str,
) -> Result<(), ScenarioError> {
    let calls = |caller: &&accelflow_workload::file::Service| {
        let mut chains = caller.chains();
        chains.any(|(_, _, chain)| chain.calls.as_deref() == Some(name))
    };
    let callers = workload.services.iter().filter(calls);
    let callers: Vec<&str> = callers.map(|caller| caller.name.as_str()).collect();
    if services
        .iter()
        .any(|service| callers.contains(&service.name()))
    {
        return Ok(());
    }
    let allowed = format!(
        "must be simulated together with a service that calls it ({}), or have a rate in rates_rps \
         or, without rates_rps, in the workload: it has no requests of its own",
        callers.join(", ")
    );
    Err(Refusal::new("service", quoted(name), allowed).into())
}

fn check_rate(resolved: &Resolved, name: &str, share: f64) -> Result<(), ScenarioError> {
    let rate_rps = resolved.rate_rps * share;
    let (least, most) = (MIN_RATE_RPS / share, MAX_RATE_RPS / share);
    let bound = match (rate_rps < MIN_RATE_RPS, rate_rps > MAX_RATE_RPS) {
        (true, _) => format!("at least {}", number_text(least)),
        (_, true) => format!("at most {}", number_text(most)),
        _ => return Ok(()),
    };
    let allowed = format!(
        "must be {bound}: the rate of {name} is {} times this mean rate",
        number_text(share)
    );
    Err(Refusal::number("rate_rps", resolved.rate_rps, allowed).into())
}
