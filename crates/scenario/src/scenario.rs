//! The fields of a scenario. [`crate::rules`] and [`crate::check`] define their allowed values.

use std::collections::BTreeMap;

use accelflow_shaping::Unit;
use accelflow_sim::compare::Placement;
use accelflow_sim::config::DispatchPolicy;
use accelflow_workload::sizes::SizePreset;
use accelflow_workload::suites::Suite;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choice::{self, ByName};
use crate::limits::{
    DEFAULT_REQUESTS, MAX_ACCELERATOR_S_PER_S, MAX_BURST_ACCELERATOR_S, MAX_CHIP_NAME, MAX_CHIPS,
    MAX_PRIORITY, MAX_RATE_RPS, MAX_REGISTER, MAX_REQUESTS, MAX_SLO_FACTOR, MAX_TCP_COST_NS,
    MIN_ACCELERATOR_S, MIN_RATE_RPS, MIN_REQUESTS, PAPER_SLO_FACTOR,
};
use crate::names::{Arrivals, CostSource, FactSource, Remote, Times};
use crate::source::Source;

/// The value of `schema` in a scenario: the name and version of its format.
pub const SCHEMA: &str = "accelflow.scenario/1";

/// A comparison of systems: the workload, load, costs and server to simulate. The defaults are
/// those of `accelflow compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "accelflow.scenario/1")]
pub struct Scenario {
    /// The name and version of the scenario format.
    pub schema: SchemaName,
    /// The services to simulate: the name of a built-in suite, or a workload's file (in a
    /// scenario's file) or content.
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
    /// The arrival process of requests. Null: that of the workload, else poisson.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<Arrivals>>")]
    pub arrivals: Option<Arrivals>,
    /// The mean request rate over the services of the workload, in requests per second. Null: that
    /// of the workload; the suites have the paper's 13,400, and 800 for serverless functions.
    #[schemars(range(min = MIN_RATE_RPS, max = MAX_RATE_RPS))]
    pub rate_rps: Option<f64>,
    /// How services share the rate: equal, own (in proportion to the services' own rates), or the
    /// name of a set of rates of the workload. Null: alibaba for socialnetwork with the profile
    /// paper and no rate_rps, as in the paper's production experiment; own for services with rates
    /// of their own; else equal.
    pub rates: Option<String>,
    /// The request rate of each simulated service, in requests per second, instead of rate_rps and
    /// rates. Empty: rate_rps and rates apply.
    pub rates_rps: BTreeMap<String, f64>,
    /// The source of the facts that branches test: those of the most common path (common), random
    /// for each request by the workload's probabilities or else by the server parameters facts.*
    /// (drawn), or those of recorded requests (recorded). Null: drawn for a workload with
    /// probabilities, else common.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<FactSource>>")]
    pub facts: Option<FactSource>,
    /// The number of requests of each service; with by_rate, of a service with the mean rate. The
    /// first requests, the warm-up, are not counted.
    #[schemars(range(min = MIN_REQUESTS, max = MAX_REQUESTS))]
    pub requests: u64,
    /// The number of requests in the warm-up. Null: a tenth.
    #[schemars(range(max = MAX_REQUESTS))]
    pub warmup: Option<u64>,
    /// Whether the number of requests of each service is in proportion to its rate, so that all
    /// services run for the same simulated time. Null: true if rates differ.
    pub by_rate: Option<bool>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The text of a recording (docs/recording-format.md), the source of costs and payload sizes.
    pub recording: Option<String>,
    /// How the simulator uses the recording's times: for each operation its median, the same for
    /// each request (median), or a random time for each request from the recorded distributions,
    /// with the time of requests outside of their operations (distribution). Null: median, since a
    /// comparison needs equal costs for all systems, and distributions include other work of the
    /// recording machine.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<Times>>")]
    pub recorded_times: Option<Times>,
    /// The source of the operations' core times: measurements on this machine (measured), or the
    /// paper's shares of time (paper). Null: the recording if one is given, else the workload's
    /// default (socialnetwork: measured, other suites: paper).
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<CostSource>>")]
    pub profile: Option<CostSource>,
    /// The time of a TCP operation on a core with the profile paper, in ns. All other costs scale
    /// with it. Null: that of the workload, else 7,000.
    #[schemars(range(max = MAX_TCP_COST_NS), extend("exclusiveMinimum" = 0))]
    pub tcp_cost_ns: Option<f64>,
    /// The times for which requests wait for remote sides: caches, databases and other services.
    /// Null: those of the workload, else short.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<Remote>>")]
    pub remote: Option<Remote>,
    /// The distributions of payload sizes. Null: those of the workload, else fleet; the suite
    /// socialnetwork has its own.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<SizePreset>>")]
    pub sizes: Option<SizePreset>,
    /// Server parameters by key; `accelflow explain` lists them.
    pub config: BTreeMap<String, Setting>,
    /// Chips to compare, in the order of the results. Empty: one chip, which config describes.
    #[schemars(length(max = MAX_CHIPS))]
    pub chips: Vec<NamedChip>,
    /// The SLO by service: the largest acceptable time from a request to its response, in us.
    /// Services that are not named have that of the workload, if it states one.
    pub slo_us: BTreeMap<String, f64>,
    /// The scheduling policy of the accelerators' input queues. Null: that of config, else fifo.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<DispatchPolicy>>")]
    pub policy: Option<DispatchPolicy>,
    /// The SLO of services that have none in slo_us or in the workload, as a multiple of the
    /// service's mean response time on an idle server with AccelFlow. Null: no SLO.
    #[schemars(range(max = MAX_SLO_FACTOR), extend("exclusiveMinimum" = 0))]
    pub slo_factor: Option<f64>,
    /// The tenant of each service, as a number. Services that are not named have that of the
    /// workload, else 0.
    pub tenants: BTreeMap<String, u16>,
    /// The priority of each service, higher first. Services that are not named have that of the
    /// workload, else 0.
    #[schemars(inner(range(max = MAX_PRIORITY)))]
    pub priorities: BTreeMap<String, u8>,
    /// Limits on the traffic of tenants, by the number of the tenant: one limit, or several in
    /// different units (traces, bytes, accelerator time).
    pub shaping: BTreeMap<u16, Vec<Limit>>,
}

/// One limit on the traffic of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Limit {
    /// A limit in traces or in bytes, by the tenant's traffic shaper.
    Registers(Limiter),
    /// A limit in accelerator time.
    Time(TimeLimiter),
}

/// A limit on the accelerator time of a tenant: the time that the operations of its traces take on
/// idle processing elements, without waits for memory and preparation for another tenant. A trace
/// starts once the tenant has time left for its prediction, the time of earlier traces with inputs
/// of its size. When it ends, the tenant is charged the time beyond the prediction or gets unused
/// time back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeLimiter {
    /// Seconds of accelerator time per second: 1 is one processing element that is always busy.
    #[schemars(range(min = MIN_ACCELERATOR_S, max = MAX_ACCELERATOR_S_PER_S))]
    pub accelerator_s_per_s: f64,
    /// The largest burst after a pause, in seconds of accelerator time. Null: what a hundredth of a
    /// second adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_ACCELERATOR_S, max = MAX_BURST_ACCELERATOR_S))]
    pub burst_accelerator_s: Option<f64>,
}

/// One limit of a tenant's traffic shaper, a token bucket: `refill` tokens are added every
/// `interval` cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limiter {
    /// What a token stands for: a byte of the input of a trace's first operation, or a trace.
    #[serde(with = "choice")]
    #[schemars(with = "ByName<Unit>")]
    pub unit: Unit,
    /// The number of tokens that each interval adds.
    #[schemars(range(min = 1, max = MAX_REGISTER))]
    pub refill: u64,
    /// The largest number of tokens in the bucket.
    #[schemars(range(min = 1, max = MAX_REGISTER))]
    pub bucket: u64,
    /// The time from one refill to the next, in cycles of the shaper's 250 MHz clock.
    #[schemars(range(min = 1, max = MAX_REGISTER))]
    pub interval: u64,
}

/// One of several chips that a scenario compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedChip {
    /// The chip's name in results.
    #[schemars(length(min = 1, max = MAX_CHIP_NAME))]
    pub name: String,
    /// Server parameters by key, which override those of the scenario's config.
    #[serde(default)]
    pub config: BTreeMap<String, Setting>,
}

/// The value of a server parameter: a number in its unit, or the name of a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Setting {
    /// A number in the parameter's unit.
    Number(f64),
    /// The name of one of the parameter's choices.
    Name(String),
}

/// The name and version of the scenario format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SchemaName {
    /// Version 1, the only one.
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
