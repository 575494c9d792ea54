//! A scenario with every default filled in.

use std::collections::BTreeMap;

use accelflow_sim::compare::Placement;
use accelflow_workload::sizes::SizePreset;
use accelflow_workload::suites::{RateShares, Suite};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::choice::{self, Choice};
use crate::limits::{PAPER_RATE_RPS, SERVERLESS_RATE_RPS, WARMUP_DIVISOR};
use crate::names::{Arrivals, CostSource, FactSource, Remote};
use crate::scenario::{Limiter, Scenario, SchemaName};

/// Where the costs of a checked scenario come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costs {
    /// The paper's shares.
    Paper,
    /// Measured on this machine.
    Measured,
    /// A recording that was given.
    Recording,
}

impl Choice for Costs {
    const ALL: &'static [Costs] = &[Costs::Paper, Costs::Measured, Costs::Recording];

    fn name(self) -> &'static str {
        match self {
            Costs::Paper => CostSource::Paper.name(),
            Costs::Measured => CostSource::Measured.name(),
            Costs::Recording => "recording",
        }
    }
}

/// A scenario with every default filled in: what its results depend on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resolved {
    /// The name of the description and its version.
    pub schema: SchemaName,
    /// The suite of services.
    #[serde(with = "choice")]
    pub workload: Suite,
    /// The systems, by identifier, in the order of the results.
    pub orchestrators: Vec<&'static str>,
    /// The services, in the order of the results.
    pub services: Vec<String>,
    /// Where services run.
    #[serde(with = "choice")]
    pub placement: Placement,
    /// When requests arrive.
    #[serde(with = "choice")]
    pub arrivals: Arrivals,
    /// Mean rate over the services of the workload, in requests per second.
    pub rate_rps: f64,
    /// How services share it.
    #[serde(with = "choice")]
    pub rates: RateShares,
    /// The rates of single services, where they were given.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rates_rps: BTreeMap<String, f64>,
    /// What payloads say at branches.
    #[serde(with = "choice")]
    pub facts: FactSource,
    /// Requests of each service, or of one with the mean rate.
    pub requests: u64,
    /// How many of the first are not counted.
    pub warmup_requests: u64,
    /// Whether each service has as many requests as come in the same time.
    pub by_rate: bool,
    /// The seed of everything random.
    pub seed: u64,
    /// SHA-256 of the recording's text, in hexadecimal.
    pub recording_sha256: Option<String>,
    /// Where costs come from.
    #[serde(with = "choice")]
    pub costs: Costs,
    /// What TCP costs a core, in ns.
    pub tcp_cost_ns: f64,
    /// How long remote sides take to answer.
    #[serde(with = "choice")]
    pub remote: Remote,
    /// Payload sizes.
    #[serde(with = "choice")]
    pub sizes: SizePreset,
    /// Parameters that were set, by key, as numbers.
    pub config: BTreeMap<String, f64>,
    /// The chips that are compared, if they are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chips: Vec<ResolvedChip>,
    /// When responses are due, by service, in us.
    pub slo_us: BTreeMap<String, f64>,
    /// The SLO of the others, in response times on an idle server.
    pub slo_factor: Option<f64>,
    /// Tenants by service.
    pub tenants: BTreeMap<String, u16>,
    /// Priorities by service.
    pub priorities: BTreeMap<String, u8>,
    /// Limits by tenant.
    pub shaping: BTreeMap<u16, Vec<Limiter>>,
}

/// One of several chips of a checked scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolvedChip {
    /// What results call it.
    pub name: String,
    /// Parameters that it sets, by key, as numbers.
    pub config: BTreeMap<String, f64>,
}

impl Resolved {
    pub(crate) fn new(
        scenario: &Scenario,
        orchestrators: Vec<&'static str>,
        services: Vec<String>,
        config: BTreeMap<String, f64>,
        chips: Vec<ResolvedChip>,
    ) -> Resolved {
        let rates = rates(scenario);
        let recording = scenario.recording.as_ref();
        Resolved {
            schema: scenario.schema,
            workload: scenario.workload,
            orchestrators,
            services,
            placement: scenario.placement,
            arrivals: scenario.arrivals,
            rate_rps: rate_rps(scenario),
            rates,
            rates_rps: scenario.rates_rps.clone(),
            facts: scenario.facts,
            requests: scenario.requests,
            warmup_requests: scenario.requests / WARMUP_DIVISOR,
            by_rate: scenario.by_rate.unwrap_or(rates_differ(scenario, rates)),
            seed: scenario.seed,
            recording_sha256: recording.map(|text| sha256(text.as_bytes())),
            costs: costs(scenario),
            tcp_cost_ns: scenario.tcp_cost_ns,
            remote: scenario.remote,
            sizes: sizes(scenario),
            config,
            chips,
            slo_us: scenario.slo_us.clone(),
            slo_factor: scenario.slo_factor,
            tenants: without_zeros(&scenario.tenants),
            priorities: without_zeros(&scenario.priorities),
            shaping: scenario.shaping.clone(),
        }
    }
}

fn costs(scenario: &Scenario) -> Costs {
    match scenario.profile {
        Some(CostSource::Paper) => Costs::Paper,
        Some(CostSource::Measured) => Costs::Measured,
        None if scenario.recording.is_some() => Costs::Recording,
        None if scenario.workload == Suite::SocialNetwork => Costs::Measured,
        None => Costs::Paper,
    }
}

fn rate_rps(scenario: &Scenario) -> f64 {
    let default = match scenario.workload {
        Suite::Serverless => SERVERLESS_RATE_RPS,
        _ => PAPER_RATE_RPS,
    };
    mean_of(&scenario.rates_rps).unwrap_or(scenario.rate_rps.unwrap_or(default))
}

/// The mean of `rates_rps`; `None` without any.
fn mean_of(rates_rps: &BTreeMap<String, f64>) -> Option<f64> {
    let count = rates_rps.len();
    (count > 0).then(|| rates_rps.values().sum::<f64>() / count as f64)
}

/// Whether services have different rates.
fn rates_differ(scenario: &Scenario, rates: RateShares) -> bool {
    let mut given = scenario.rates_rps.values();
    match given.next() {
        Some(first) => given.any(|rate| rate != first),
        None => rates != RateShares::Equal,
    }
}

/// Alibaba's rates are those of the paper's production experiment (section VI).
fn rates(scenario: &Scenario) -> RateShares {
    let of_paper = costs(scenario) == Costs::Paper && scenario.workload == Suite::SocialNetwork;
    let default = match of_paper && scenario.rate_rps.is_none() && scenario.rates_rps.is_empty() {
        true => RateShares::Alibaba,
        false => RateShares::Equal,
    };
    scenario.rates.unwrap_or(default)
}

/// SocialNetwork has messages of its own ("we run 8 SocialNetwork services", section VI).
fn sizes(scenario: &Scenario) -> SizePreset {
    let default = match scenario.workload {
        Suite::SocialNetwork => SizePreset::SocialNetwork,
        _ => SizePreset::Fleet,
    };
    scenario.sizes.unwrap_or(default)
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
