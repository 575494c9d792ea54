//! Services that call services, for tests.

#![allow(clippy::unwrap_used, dead_code)]

use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load, Run};
use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{Profile, RecordingOptions};
use accelflow_workload::services::{Chain, Operation, Phase, Service};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution};

use super::{image, receive, recording, round_cost};

/// The services of the tests: `FRONT` calls `STOCK`, which answers with what it has.
pub(crate) const FRONT: usize = 0;
pub(crate) const STOCK: usize = 1;
/// The place of the call in `FRONT`.
pub(crate) const CALL: (usize, usize) = (2, 0);

/// A call, by T9 and T10 or with compression.
pub(crate) fn call(name: &str) -> Chain {
    let plain = Chain::new(name).with("T10", "exception", 0);
    plain.with("T10", "compressed", 0)
}

pub(crate) fn front(name: &str) -> Service {
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::one(call(name)),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    Service::new("Front", "Get", path).unwrap()
}

pub(crate) fn leaf(name: &str) -> Service {
    let path = vec![receive(0), Phase::Cpu, Phase::one(Chain::new("T2"))];
    Service::new(name, "Get", path).unwrap()
}

/// The plan of `services`, each with its application phases' time, without calls.
pub(crate) fn plan_of(
    services: &[(Service, f64)],
    sizes: &PayloadSizes,
    size_shares: Option<[f64; Accel::COUNT]>,
    cost_ns: &dyn Fn(&str, &Operation) -> f64,
) -> Plan {
    let recorded = |(service, app_ns): &(Service, f64)| {
        let cost = |operation: &Operation| cost_ns(service.name(), operation);
        recording(service, *app_ns, 0, &cost)
    };
    let mut recordings = services.iter().map(recorded);
    let mut all = recordings.next().unwrap();
    for recording in recordings {
        all.services.extend(recording.services);
    }
    let mut options = RecordingOptions::default();
    options.size_shares = size_shares.unwrap_or(options.size_shares);
    let services: Vec<Service> = services
        .iter()
        .map(|(service, _)| service.clone())
        .collect();
    let profile = Profile::from_recording(&all, &services, &image(), &options).unwrap();
    Plan::new(&profile, &image(), sizes).unwrap()
}

/// `FRONT` and `STOCK` with these application times and round costs, without a call.
pub(crate) fn apart(front_ns: f64, stock_ns: f64) -> Plan {
    let services = [(front("T9"), front_ns), (leaf("Stock"), stock_ns)];
    let none = PayloadSizes::same(SizeDistribution::Fixed(Bytes(0)));
    plan_of(&services, &none, None, &|_, operation| {
        round_cost(operation)
    })
}

/// The same with the call.
pub(crate) fn pair(front_ns: f64, stock_ns: f64) -> Plan {
    let plan = apart(front_ns, stock_ns);
    plan.with_call(FRONT, CALL.0, CALL.1, STOCK).unwrap()
}

pub(crate) fn run<'r>(
    config: &'r Config,
    plan: &'r Plan,
    id: &str,
    loads: &'r [Load],
    seed: u64,
) -> Run<'r> {
    Run {
        config,
        plan,
        orchestrator: orchestrator(id).unwrap(),
        loads,
        seed,
    }
}

/// `count` requests of `service` that arrive together.
pub(crate) fn together(service: usize, count: u64) -> Load {
    let times = vec![Time::from_us(1); count as usize];
    Load::new(service, ArrivalProcess::Trace(times), count, 0)
}

pub(crate) fn poisson(service: usize, rate_rps: f64, requests: u64) -> Load {
    Load::new(service, ArrivalProcess::Poisson { rate_rps }, requests, 0)
}
