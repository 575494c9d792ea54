//! The SLOs of a comparison's services.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;

use super::threads::until_ended;
use crate::config::Config;
use crate::orchestrators::AccelFlow;
use crate::plan::{Plan, ServicePlan};
use crate::server::{Load, Run, SimError, Watch, simulate_servers_watched};

/// What the SLOs of the services of a comparison follow from.
pub(super) struct Terms<'c> {
    pub(super) config: &'c Config,
    pub(super) plan: &'c Plan,
    /// The SLO of individual services.
    pub(super) stated: &'c BTreeMap<String, Time>,
    /// The SLO of services that are not in `stated`, as a multiple of the mean response time on an
    /// idle server.
    pub(super) factor: Option<f64>,
    /// Factors that replace `factor` for individual services.
    pub(super) factors: &'c BTreeMap<String, f64>,
}

/// The SLO of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slo {
    /// The service has no SLO.
    Absent,
    /// The longest acceptable response time.
    Within(Time),
    /// A multiple of the response time on an idle server, which answers no request of the service.
    Unanswered,
}

impl Slo {
    /// The longest acceptable response time, if it is known.
    pub(super) fn time(self) -> Option<Time> {
        match self {
            Slo::Within(time) => Some(time),
            Slo::Absent | Slo::Unanswered => None,
        }
    }
}

/// Number of requests over which a service's time on an idle server is averaged.
const UNLOADED_REQUESTS: u64 = 200;
/// The arrival rate of the requests on an idle server, per second: so low that they never overlap.
const UNLOADED_RPS: f64 = 1.0;

/// The SLO of each service, in the order of the plan. `None` if `goes_on`, which is called several
/// times a second, returns `false`.
pub(super) fn slos(
    terms: &Terms<'_>,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<Vec<Slo>>, SimError> {
    let watch = Watch::default();
    let slo = |(index, service): (usize, &ServicePlan)| {
        if let Some(&stated) = terms.stated.get(&service.name) {
            return Ok(Slo::Within(stated));
        }
        let own = terms.factors.get(&service.name).copied();
        let Some(factor) = own.or(terms.factor) else {
            return Ok(Slo::Absent);
        };
        let unloaded = unloaded(terms.config, terms.plan, index, &watch)?;
        Ok(unloaded.map_or(Slo::Unanswered, |time| Slo::Within(time.scale(factor))))
    };
    let all = || terms.plan.services.iter().enumerate();
    let slos: Result<Vec<_>, SimError> = std::thread::scope(|scope| {
        let (ended, end) = mpsc::channel::<()>();
        let worker = scope.spawn(move || {
            let slos = all().map(slo).collect();
            drop(ended);
            slos
        });
        until_ended(&end, || {
            if !goes_on() {
                watch.stop.store(true, Ordering::Relaxed);
            }
        });
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    let stopped = watch.stop.load(Ordering::Relaxed);
    slos.map(|slos| (!stopped).then_some(slos))
}

/// The mean response time of a service on idle servers with AccelFlow; `None` if no request has a
/// response, or if `watch` stops the simulation. The called services are idle as well.
fn unloaded(
    config: &Config,
    plan: &Plan,
    service: usize,
    watch: &Watch,
) -> Result<Option<Time>, SimError> {
    let arrivals = ArrivalProcess::Poisson {
        rate_rps: UNLOADED_RPS,
    };
    let run = Run {
        config,
        plan,
        orchestrator: &AccelFlow,
        loads: &[Load::new(service, arrivals, UNLOADED_REQUESTS, 0)],
        seed: 1,
    };
    let Some(servers) = simulate_servers_watched(&run, watch)? else {
        return Ok(None);
    };
    let mut servers = servers.iter();
    let server = servers.find(|server| server.services.contains(&service));
    Ok(server.and_then(|server| server.outcome.services[service].latency.mean()))
}
