//! A scenario with every default filled in.

use std::collections::BTreeMap;

use accelflow_sim::compare::Placement;
use accelflow_workload::file::Workload;
use accelflow_workload::sizes::SizePreset;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::choice::{self, OrOwn};
use crate::error::ScenarioError;
use crate::limits::WARMUP_DIVISOR;
use crate::names::{Arrivals, Costs, FactSource, Remote, Times};
use crate::own::Own;
use crate::scenario::{Limit, Scenario, SchemaName};
use crate::source::Source;

/// A scenario with every default filled in. The simulated results depend only on these fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resolved {
    /// The name and version of the scenario format.
    pub schema: SchemaName,
    /// The name of the workload.
    pub workload: String,
    /// The SHA-256 hash of the workload's content, in hexadecimal; `None` for a built-in suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_sha256: Option<String>,
    /// The identifiers of the simulated systems, in the order in which results list them.
    pub orchestrators: Vec<&'static str>,
    /// The names of the simulated services, in the order in which results list them.
    pub services: Vec<String>,
    /// The placement of services on servers: colocated (all share one server, unless the workload
    /// assigns them to several) or isolated (each has a server of its own).
    #[serde(with = "choice")]
    pub placement: Placement,
    /// The arrival process of requests: one for all services, or each service's own in the
    /// workload.
    pub arrivals: OrOwn<Arrivals>,
    /// The mean request rate over the services of the workload, in requests per second. If the
    /// scenario gives rates by service, it is the mean of these rates.
    pub rate_rps: f64,
    /// How the rates of the services differ: `equal` (they do not), `own` (in proportion to the
    /// rates that the workload states), or the name of a set of rates in the workload. If
    /// `rates_rps` states the rates, the value is `equal` and has no effect.
    pub rates: String,
    /// The request rate of each service, in requests per second, by the service's name; empty
    /// unless the scenario gives rates by service.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rates_rps: BTreeMap<String, f64>,
    /// The source of the facts that branches of traces test.
    #[serde(with = "choice")]
    pub facts: FactSource,
    /// The number of simulated requests to each service, warm-up included. With `by_rate`, a
    /// service with the mean rate gets this number, and any other service a number in proportion to
    /// its rate. If the workload lists arrival times for a service, the list's length limits its
    /// number.
    pub requests: u64,
    /// The length of the warm-up: the number of first requests to each service that results do not
    /// count. With `by_rate`, the number is in proportion to the service's rate, as in `requests`.
    /// It is at most a tenth of a list of arrival times in the workload.
    pub warmup_requests: u64,
    /// Whether the number of requests to each service is in proportion to the service's rate. All
    /// services then run for the same simulated time.
    pub by_rate: bool,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The SHA-256 hash of the recording's text, in hexadecimal; `None` without a recording.
    pub recording_sha256: Option<String>,
    /// Whether the simulator uses medians or distributions of the recording's operation times.
    #[serde(
        skip_serializing_if = "is_median",
        serialize_with = "choice::serialize"
    )]
    pub recorded_times: Times,
    /// The source of the times that operations take on a core.
    #[serde(with = "choice")]
    pub costs: Costs,
    /// The time of a TCP operation on a core with the paper's costs, in ns.
    pub tcp_cost_ns: f64,
    /// The times for which requests wait for remote sides: a named set, or those in the workload.
    pub remote: OrOwn<Remote>,
    /// The distributions of payload sizes: a named set, or those in the workload.
    pub sizes: OrOwn<SizePreset>,
    /// The server parameters that the scenario sets, as numbers in the parameters' units, by key.
    pub config: BTreeMap<String, f64>,
    /// The chips to compare; empty if there is only one chip, which `config` describes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chips: Vec<ResolvedChip>,
    /// The service-level objective (SLO) of each service for which a time is stated: the longest
    /// acceptable response time in us, by the service's name.
    pub slo_us: BTreeMap<String, f64>,
    /// The service-level objective (SLO) of services that have none in `slo_us` or in the workload.
    /// It is a multiple of the service's mean response time on an idle server. `None` for no SLO.
    pub slo_factor: Option<f64>,
    /// The tenant's ID of each service whose tenant is not 0, by the service's name.
    pub tenants: BTreeMap<String, u16>,
    /// The priority of each service whose priority is not 0, by the service's name; higher is more
    /// urgent.
    pub priorities: BTreeMap<String, u8>,
    /// The limits on each tenant's traffic, by the tenant's ID.
    pub shaping: BTreeMap<u16, Vec<Limit>>,
}

/// One of several chips that a checked scenario compares: its name, and the server parameters that
/// it sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolvedChip {
    /// The chip's name in results.
    pub name: String,
    /// The server parameters that the chip sets, as numbers in the parameters' units, by key. They
    /// override the parameters of the scenario.
    pub config: BTreeMap<String, f64>,
}

impl Resolved {
    pub(crate) fn new(
        scenario: &Scenario,
        workload: &Workload,
        orchestrators: Vec<&'static str>,
        services: Vec<String>,
        (config, chips): (BTreeMap<String, f64>, Vec<ResolvedChip>),
    ) -> Result<Resolved, ScenarioError> {
        let own = Own { scenario, workload };
        let rates = own.rates();
        let recording = scenario.recording.as_ref();
        let tree = match &scenario.workload {
            Source::Suite(_) => None,
            Source::File(tree) => Some(serde_json::to_string(tree)?),
        };
        Ok(Resolved {
            schema: scenario.schema,
            workload: scenario.workload.name().to_owned(),
            workload_sha256: tree.map(|text| sha256(text.as_bytes())),
            orchestrators,
            services,
            placement: scenario.placement,
            arrivals: own.arrivals(),
            rate_rps: own.rate_rps()?,
            by_rate: scenario.by_rate.unwrap_or(own.rates_differ(&rates)),
            rates,
            rates_rps: scenario.rates_rps.clone(),
            facts: own.facts(),
            requests: scenario.requests,
            warmup_requests: scenario
                .warmup
                .unwrap_or(scenario.requests / WARMUP_DIVISOR),
            seed: scenario.seed,
            recording_sha256: recording.map(|text| sha256(text.as_bytes())),
            recorded_times: scenario.recorded_times.unwrap_or(Times::Median),
            costs: own.costs(),
            tcp_cost_ns: own.tcp_cost_ns(),
            remote: own.remote(),
            sizes: own.sizes(),
            config,
            chips,
            slo_us: own.slo_us(),
            slo_factor: scenario.slo_factor,
            tenants: without_zeros(&own.tenants()),
            priorities: without_zeros(&own.priorities()),
            shaping: scenario.shaping.clone(),
        })
    }
}

/// Whether `times` are those of every scenario before there was a choice. They are left out, so
/// that hashes stay the same.
fn is_median(times: &Times) -> bool {
    *times == Times::Median
}

/// SHA-256 of `bytes`, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The entries of `by_service` that are not 0, the default.
fn without_zeros<T: Copy + Default + PartialEq>(
    by_service: &BTreeMap<String, T>,
) -> BTreeMap<String, T> {
    let set = by_service
        .iter()
        .filter(|(_, value)| **value != T::default());
    set.map(|(service, value)| (service.clone(), *value))
        .collect()
}
