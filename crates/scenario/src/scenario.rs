//! The fields of a scenario. What they may be stands in [`crate::rules`] and [`crate::check`].

use std::collections::BTreeMap;

use accelflow_shaping::Unit;
use accelflow_sim::compare::Placement;
use accelflow_sim::config::Policy;
use accelflow_workload::sizes::SizePreset;
use accelflow_workload::suites::Suite;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choice::{self, ByName};
use crate::limits::{
    DEFAULT_REQUESTS, MAX_CHIP_NAME, MAX_CHIPS, MAX_PRIORITY, MAX_RATE_RPS, MAX_REGISTER,
    MAX_REQUESTS, MAX_SLO_FACTOR, MAX_TCP_COST_NS, MIN_RATE_RPS, MIN_REQUESTS, PAPER_SLO_FACTOR,
};
use crate::names::{Arrivals, CostSource, FactSource, Remote, Times};
use crate::source::Source;

/// The name of this version of the description.
pub const SCHEMA: &str = "accelflow.scenario/1";

/// What to compare. The defaults are those of `accelflow compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "accelflow.scenario/1")]
pub struct Scenario {
    /// The name of this description and its version.
    pub schema: SchemaName,
    /// The suite of services by name, or a workload: its file (in a scenario's file) or its tree.
    pub workload: Source,
    /// The systems to compare, by identifier or in the paper's spelling. Empty: the paper's five
    /// and Ideal.
    pub orchestrators: Vec<String>,
    /// The services of the workload to simulate. Empty: all.
    pub services: Vec<String>,
    /// Whether all services share one server, or each has its own.
    #[serde(with = "choice")]
    #[schemars(with = "ByName<Placement>")]
    pub placement: Placement,
    /// When requests arrive. Null: as the workload says, else poisson.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<Arrivals>>")]
    pub arrivals: Option<Arrivals>,
    /// Mean rate over the services of the workload, in requests per second. Null: as the workload
    /// says; the suites say 13,400, the paper's, and 800 for serverless functions.
    #[schemars(range(min = MIN_RATE_RPS, max = MAX_RATE_RPS))]
    pub rate_rps: Option<f64>,
    /// How services share the rate: equal, own (as the services' own rates), or a name of the
    /// workload's. Null: alibaba for socialnetwork with the profile paper and no rate_rps, as in the
    /// paper's production experiment; own for services with rates of their own; else equal.
    pub rates: Option<String>,
    /// The request rate of each simulated service, in requests per second, in place of rate_rps and
    /// rates. Empty: rate_rps and rates.
    pub rates_rps: BTreeMap<String, f64>,
    /// What payloads say at branches: what they say on the most common path, or drawn for each
    /// request by the workload's odds, or if it has none by facts.* of the server's parameters, or
    /// from the recording's requests. Null: drawn for a workload with odds, else common.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<FactSource>>")]
    pub facts: Option<FactSource>,
    /// Requests of each service, or with by_rate of one with the mean rate. The first of them, the
    /// warm-up, are not counted.
    #[schemars(range(min = MIN_REQUESTS, max = MAX_REQUESTS))]
    pub requests: u64,
    /// How many of them are the warm-up. Null: a tenth.
    #[schemars(range(max = MAX_REQUESTS))]
    pub warmup: Option<u64>,
    /// Whether each service has as many requests as come in the same time. Null: if rates differ.
    pub by_rate: Option<bool>,
    /// The seed of everything random.
    pub seed: u64,
    /// The text of a recording (docs/recording-format.md) that costs and sizes are taken from.
    pub recording: Option<String>,
    /// What is taken from the recording's times: medians, the same for each request, or a time for
    /// each request, drawn from the recorded distributions, with the time of requests outside of
    /// their steps. Null: median, since a comparison wants the same costs for all systems, and a
    /// distribution has what else the recording machine did.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<Times>>")]
    pub recorded_times: Option<Times>,
    /// Where costs come from: real bytes on this machine, or the paper's shares. Null: the
    /// recording if there is one, else as the workload says; socialnetwork says measured, the other
    /// suites paper.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<CostSource>>")]
    pub profile: Option<CostSource>,
    /// What TCP costs a core with the profile paper, in ns. All other costs follow. Null: as the
    /// workload says, else 7,000.
    #[schemars(range(max = MAX_TCP_COST_NS), extend("exclusiveMinimum" = 0))]
    pub tcp_cost_ns: Option<f64>,
    /// How long remote sides take to answer. Null: as the workload says, else short.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<Remote>>")]
    pub remote: Option<Remote>,
    /// Payload sizes. Null: as the workload says, else fleet; socialnetwork says socialnetwork.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<SizePreset>>")]
    pub sizes: Option<SizePreset>,
    /// Parameters of the server by key; `accelflow explain` lists them.
    pub config: BTreeMap<String, Setting>,
    /// Chips to compare side by side, in the order of the results. Empty: one, which config
    /// describes.
    #[schemars(length(max = MAX_CHIPS))]
    pub chips: Vec<NamedChip>,
    /// When responses are due after their requests, by service, in us. Of others, what the
    /// workload says counts.
    pub slo_us: BTreeMap<String, f64>,
    /// The order of input queues. Null: what config says, or fifo.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<Policy>>")]
    pub policy: Option<Policy>,
    /// Responses of services for which neither slo_us nor the workload says it are due within so
    /// many times the mean response time of the service on an idle server with AccelFlow. Null:
    /// never.
    #[schemars(range(max = MAX_SLO_FACTOR), extend("exclusiveMinimum" = 0))]
    pub slo_factor: Option<f64>,
    /// The tenant of each service; as the workload says, else 0, for those that are not named.
    pub tenants: BTreeMap<String, u16>,
    /// The priority of each service, higher first; as the workload says, else 0, for those that are
    /// not named.
    #[schemars(inner(range(max = MAX_PRIORITY)))]
    pub priorities: BTreeMap<String, u8>,
    /// Traffic shapers by tenant: one limit, or one in each unit.
    pub shaping: BTreeMap<u16, Vec<Limiter>>,
}

/// One limit of a tenant's traffic shaper: `refill` tokens every `interval` cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limiter {
    /// What a token stands for: a byte of what a trace's first operation reads, or a trace.
    #[serde(with = "choice")]
    #[schemars(with = "ByName<Unit>")]
    pub unit: Unit,
    /// Tokens that each interval adds.
    #[schemars(range(min = 1, max = MAX_REGISTER))]
    pub refill: u64,
    /// Tokens that the bucket holds at most.
    #[schemars(range(min = 1, max = MAX_REGISTER))]
    pub bucket: u64,
    /// Cycles of the shaper's clock of 250 MHz from one refill to the next.
    #[schemars(range(min = 1, max = MAX_REGISTER))]
    pub interval: u64,
}

/// One of several chips of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedChip {
    /// What results call it.
    #[schemars(length(min = 1, max = MAX_CHIP_NAME))]
    pub name: String,
    /// Parameters of the server by key, in place of those in the scenario's config.
    #[serde(default)]
    pub config: BTreeMap<String, Setting>,
}

/// The value of a parameter of the server: a number in its unit, or the name of a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Setting {
    /// A number.
    Number(f64),
    /// The name of a choice.
    Name(String),
}

/// The name of the description and its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SchemaName {
    /// This version.
    #[default]
    #[serde(rename = "accelflow.scenario/1")]
    V1,
}

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario {
            schema: SchemaName::V1,
            workload: Source::Suite(Suite::SocialNetwork),
            orchestrators: Vec::new(),
            services: Vec::new(),
            placement: Placement::Colocated,
            arrivals: None,
            rate_rps: None,
            rates: None,
            rates_rps: BTreeMap::new(),
            facts: None,
            requests: DEFAULT_REQUESTS,
            warmup: None,
            by_rate: None,
            seed: 1,
            recording: None,
            recorded_times: None,
            profile: None,
            tcp_cost_ns: None,
            remote: None,
            sizes: None,
            config: BTreeMap::new(),
            chips: Vec::new(),
            slo_us: BTreeMap::new(),
            policy: None,
            slo_factor: Some(PAPER_SLO_FACTOR),
            tenants: BTreeMap::new(),
            priorities: BTreeMap::new(),
            shaping: BTreeMap::new(),
        }
    }
}
