//! Closed-form results of workloads and costs, without a simulation.

use std::collections::BTreeMap;

use accelflow_trace::{Accel, Image};
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::file::read;
use accelflow_workload::profile::{PaperOptions, Profile, ShareKind, timeouts_per_request};
use accelflow_workload::services::{Service, branching_share, invocations, sequences};
use accelflow_workload::suites::{Suite, social_network};
use serde::Serialize;
use serde_json::Value;

use crate::choice::Choice as _;
use crate::error::{ScenarioError, engine};
use crate::names::{Arrivals, Remote};
use crate::results::parameters_json;
use crate::rules;
use crate::setup::memory;
use crate::source::Source;
use accelflow_parameters::Refusal;

/// The path of a service through application logic and traces (short programs of accelerator
/// calls), and the number of calls of each accelerator by a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WalkedService {
    /// The name of the service, such as `CPost`.
    pub service: String,
    /// The name of the RPC method that clients call.
    pub method: String,
    /// The total number of accelerator calls of a request on the most common path.
    pub accelerators: u32,
    /// The service's phases in the paper's notation, such as `T1-CPU-T3`.
    pub path: String,
    /// The names of the traces that a request executes on the most common path.
    pub traces: Vec<String>,
    /// The number of calls of each accelerator on the most common path, by the accelerator's name.
    pub by_accelerator: BTreeMap<String, u32>,
    /// The largest number of chains of traces that one phase of the service starts at once.
    pub max_parallel_chains: usize,
    /// For each sequence (accelerator calls without a core in between; AccelFlow, section III, Q2),
    /// the largest number of branches that one execution of the sequence can resolve.
    pub conditionals_by_sequence: Vec<u32>,
}

/// A built-in suite of services: (name, fraction of the suite's sequences that have a branch, this
/// fraction as the AccelFlow paper prints it in section III, Q2, or `None` if it prints none). A
/// sequence is accelerator calls without a core in between.
pub type WorkloadRow = (&'static str, f64, Option<f64>);

/// Returns the service of `services` called `name`.
///
/// # Errors
/// [`Refusal`], with the known names, for an unknown name.
pub fn find_service<'s>(services: &'s [Service], name: &str) -> Result<&'s Service, Refusal> {
    let found = services.iter().find(|service| service.name() == name);
    found.ok_or_else(|| Refusal::unknown("service", name, services.iter().map(Service::name)))
}

/// The workload in `text`: the name of a suite, or the tree of a workload's file as JSON.
fn source(text: &str) -> Result<Source, ScenarioError> {
    if !text.trim_start().starts_with('{') {
        let suite = Suite::named(text);
        return Ok(Source::Suite(
            suite.ok_or_else(|| rules::unknown_workload(text))?,
        ));
    }
    let document = read(text, "workload")?;
    document.check()?;
    Ok(Source::File(Box::new(document.workload)))
}

/// Follows the traces (short programs of accelerator calls) of the service called `name`. Returns
/// the service's path and the number of calls of each accelerator by a request. `workload` is the
/// name of a suite or the content of a workload file as JSON; `None` searches all suites.
///
/// # Errors
/// [`ScenarioError`] for an unknown service, an unknown or invalid workload, and a service whose
/// traces cannot be followed.
pub fn walk_service(name: &str, workload: Option<&str>) -> Result<WalkedService, ScenarioError> {
    let mut services = Vec::new();
    let mut image = memory()?;
    match workload.map(source).transpose()? {
        Some(source) => {
            let workload = source.workload().map_err(engine)?;
            image = workload.memory()?;
            services.extend(workload.paths().map_err(engine)?);
        }
        None => {
            for suite in Suite::ALL {
                services.extend(suite.services().map_err(engine)?);
            }
        }
    }
    let service = find_service(&services, name)?;
    let counts = invocations(service, &image).map_err(engine)?;
    let sequences = sequences(service, &image).map_err(engine)?;
    let of = |accel: Accel| (image.accel_name(accel).to_owned(), counts.of(accel));
    Ok(WalkedService {
        service: service.name().to_owned(),
        method: service.method().to_owned(),
        accelerators: counts.total,
        by_accelerator: image.accelerators().map(of).collect(),
        max_parallel_chains: service.max_parallel_chains(),
        conditionals_by_sequence: sequences
            .iter()
            .map(|sequence| sequence.conditionals)
            .collect(),
        path: counts.path,
        traces: counts.traces,
    })
}

/// Returns a row for each built-in suite: its name, the fraction of its sequences (accelerator
/// calls without a core in between) that have a branch, and the fraction that the paper prints.
///
/// # Errors
/// [`ScenarioError`] if a suite is invalid; does not occur in practice, since the suites are
/// tested.
pub fn workloads() -> Result<Vec<WorkloadRow>, ScenarioError> {
    let image = memory()?;
    let row = |suite: Suite| {
        let services = suite.services().map_err(engine)?;
        let share = branching_share(&services, &image).map_err(engine)?;
        Ok((suite.name(), share, suite.printed_branching_share()))
    };
    Suite::ALL.into_iter().map(row).collect()
}

/// Returns the names of the services of a workload, in the order of its file, which for
/// SocialNetwork is the order of the paper's Table IV. `workload` is the name of a suite or the
/// content of a workload file as JSON.
///
/// # Errors
/// [`ScenarioError`] for an unknown or invalid workload.
pub fn service_names(workload: &str) -> Result<Vec<String>, ScenarioError> {
    let source = source(workload)?;
    let workload = source.workload().map_err(engine)?;
    let names = workload.services.iter().map(|service| service.name.clone());
    Ok(names.collect())
}

/// Returns the trace memory (all compiled traces) and the services of a workload. `workload` is the
/// name of a suite or the content of a workload file as JSON.
///
/// # Errors
/// [`ScenarioError`] for an unknown or invalid workload.
pub fn workload_paths(workload: &str) -> Result<(Image, Vec<Service>), ScenarioError> {
    let source = source(workload)?;
    let workload = source.workload().map_err(engine)?;
    Ok((workload.memory()?, workload.paths().map_err(engine)?))
}

/// Returns a row for each service of `workload`: its name, and the mean number of a request's
/// messages that a remote side (a cache, a database or another service) does not answer within
/// `timeout`, if all requests take the most common path. A chain of traces ends with its first
/// time-out, and a request with the phase of the time-out. `workload` is the name of a suite or the
/// content of a workload file as JSON. `remote` is the name of a [`crate::Remote`], which states
/// the times that remote sides take to answer.
///
/// # Errors
/// [`ScenarioError`] for an unknown or invalid workload, or an unknown name `remote`.
pub fn timeouts_by_service(
    workload: &str,
    remote: &str,
    timeout: Time,
) -> Result<Vec<(String, f64)>, ScenarioError> {
    let source = source(workload)?;
    let workload = source.workload().map_err(engine)?;
    let remote: Remote = rules::chosen("remote", remote)?;
    let (image, waits) = (workload.memory()?, remote.waits());
    let row = |service: &Service| {
        let mean = timeouts_per_request(service, &image, &waits, timeout).map_err(engine)?;
        Ok((service.name().to_owned(), mean))
    };
    workload.paths().map_err(engine)?.iter().map(row).collect()
}

/// Returns the dwell time of the arrival process called `arrivals`: the mean time from one random
/// choice of the arrival rate to the next. `None` if the rate is constant.
///
/// # Errors
/// [`ScenarioError`] for an unknown arrival process.
pub fn dwell(arrivals: &str) -> Result<Option<Time>, ScenarioError> {
    let arrivals: Arrivals = rules::chosen("arrivals", arrivals)?;
    Ok(match arrivals.process(1.0).map_err(engine)? {
        ArrivalProcess::Bursty { modulation, .. } => Some(modulation.dwell()),
        ArrivalProcess::Poisson { .. } | ArrivalProcess::Trace(_) | ArrivalProcess::Rates(_) => {
            None
        }
    })
}

/// Returns all numbers of SocialNetwork's cost profile `paper` as JSON objects with `name`,
/// `value`, `provenance` and `note` (the source). The profile has operation costs derived from the
/// paper's shares of time. `tcp_cost` is the time of a TCP operation on a core.
///
/// # Errors
/// [`ScenarioError`] for a time out of range.
pub fn paper_parameters(tcp_cost: Time) -> Result<Vec<Value>, ScenarioError> {
    Ok(parameters_json(paper_profile(tcp_cost)?.parameters()))
}

/// The name of a service, and the core time of one request to the service in each of the paper's
/// categories of work, in ns.
pub type TimesByCategory = (String, BTreeMap<&'static str, f64>);

/// Returns the core time of one request to each service of SocialNetwork without accelerators,
/// divided into the paper's categories: application logic and each kind of datacenter tax.
/// `tcp_cost` is the time of a TCP operation on a core.
///
/// # Errors
/// [`ScenarioError`] for a time out of range.
pub fn app_and_tax_times(tcp_cost: Time) -> Result<Vec<TimesByCategory>, ScenarioError> {
    let profile = paper_profile(tcp_cost)?;
    let rows = profile.services().iter().map(|service| {
        let mut spent_ns: BTreeMap<&str, f64> = BTreeMap::new();
        for operation in service.operations() {
            let Some(kind) = ShareKind::of(operation.operation.accel) else {
                continue;
            };
            *spent_ns.entry(kind.name()).or_default() += operation.cost.mean().as_ns_f64();
        }
        spent_ns.insert(ShareKind::App.name(), service.app_time().as_ns_f64());
        (service.service().name().to_owned(), spent_ns)
    });
    Ok(rows.collect())
}

/// Returns the cost profile `paper` of SocialNetwork: operation costs derived from the paper's
/// shares of time. `tcp_cost` is the time of a TCP operation on a core.
///
/// # Errors
/// [`ScenarioError::Engine`] for a time out of range.
pub fn paper_profile(tcp_cost: Time) -> Result<Profile, ScenarioError> {
    let options = PaperOptions {
        tcp_cost,
        ..PaperOptions::default()
    };
    let all = social_network().map_err(engine)?;
    Profile::paper(&all, &memory()?, &options).map_err(engine)
}
