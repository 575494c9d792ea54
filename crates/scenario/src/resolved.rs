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

/// A scenario with every default filled in. Its results depend only on these fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resolved {
    /// The name of the description and its version.
    pub schema: SchemaName,
    /// The name of the workload.
    pub workload: String,
    /// SHA-256 of the workload's file as JSON, in hexadecimal; `None` for a suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_sha256: Option<String>,
    /// The systems, by identifier, in the order of the results.
    pub orchestrators: Vec<&'static str>,
    /// The services, in the order of the results.
    pub services: Vec<String>,
    /// The placement of services.
    #[serde(with = "choice")]
    pub placement: Placement,
    /// The arrival process of requests.
    pub arrivals: OrOwn<Arrivals>,
    /// Mean rate over the services of the workload, in requests per second.
    pub rate_rps: f64,
    /// How services share the rate: `equal`, `own` or the name of a set of rates of the workload.
    pub rates: String,
    /// The given rates of individual services.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rates_rps: BTreeMap<String, f64>,
    /// The facts that branches test.
    #[serde(with = "choice")]
    pub facts: FactSource,
    /// Requests per service, or with `by_rate` of a service with the mean rate.
    pub requests: u64,
    /// The number of warm-up requests, which are not counted.
    pub warmup_requests: u64,
    /// Whether the numbers of requests are in proportion to the rates, so that all services run for
    /// the same time.
    pub by_rate: bool,
    /// The seed of everything random.
    pub seed: u64,
    /// SHA-256 of the recording's text, in hexadecimal.
    pub recording_sha256: Option<String>,
    /// The use of the recording's times, if not the medians.
    #[serde(
        skip_serializing_if = "is_median",
        serialize_with = "choice::serialize"
    )]
    pub recorded_times: Times,
    /// The source of costs.
    #[serde(with = "choice")]
    pub costs: Costs,
    /// The cost of a TCP operation on a core, in ns.
    pub tcp_cost_ns: f64,
    /// The waits for remote sides.
    pub remote: OrOwn<Remote>,
    /// Payload sizes.
    pub sizes: OrOwn<SizePreset>,
    /// Parameters that were set, by key, as numbers.
    pub config: BTreeMap<String, f64>,
    /// The compared chips, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chips: Vec<ResolvedChip>,
    /// The SLO by service, in us.
    pub slo_us: BTreeMap<String, f64>,
    /// The SLO of services without an SLO of their own, as a multiple of the response time on an
    /// idle server.
    pub slo_factor: Option<f64>,
    /// Tenants by service.
    pub tenants: BTreeMap<String, u16>,
    /// Priorities by service.
    pub priorities: BTreeMap<String, u8>,
    /// Limits by tenant.
    pub shaping: BTreeMap<u16, Vec<Limit>>,
}

/// One of several chips of a checked scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolvedChip {
    /// Its name in results.
    pub name: String,
    /// Parameters that the chip sets, by key, as numbers.
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
