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

/// The value of `schema` in a scenario: the name and version of the scenario format.
pub const SCHEMA: &str = "accelflow.scenario/1";

/// A scenario: a comparison of systems, with the workload, load, costs and server to simulate. The
/// defaults are those of `accelflow compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "accelflow.scenario/1")]
pub struct Scenario {
    /// The name and version of the scenario format.
    pub schema: SchemaName,
    /// The workload to simulate: the name of a built-in suite, the content of a workload file or,
    /// in a scenario file, the name of a workload file.
    pub workload: Source,
    /// The systems to compare, by identifier or in the paper's spelling. Empty: the paper's five
    /// systems and Ideal.
    pub orchestrators: Vec<String>,
    /// The names of the services of the workload to simulate. Empty: all services.
    pub services: Vec<String>,
    /// The placement of services on servers: colocated (all share one server, unless the workload
    /// assigns them to several) or isolated (each has its own).
    #[serde(with = "choice")]
    #[schemars(with = "ByName<Placement>")]
    pub placement: Placement,
    /// The arrival process of requests. Null: the process that the workload states, else poisson.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<Arrivals>>")]
    pub arrivals: Option<Arrivals>,
    /// The mean request rate over the services of the workload, in requests per second. Null: the
    /// workload's rate; the suites have the paper's 13,400, and 800 for serverless functions.
    #[schemars(range(min = MIN_RATE_RPS, max = MAX_RATE_RPS))]
    pub rate_rps: Option<f64>,
    /// The distribution of the rate over the services: equal, own (in proportion to the services'
    /// own rates), or the name of a set of rates in the workload. Null: alibaba for socialnetwork
    /// with the profile paper and no rate_rps, as in the paper's production experiment; own for
    /// services with rates of their own; else equal.
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
    /// The number of simulated requests to each service; with by_rate, to a service with the mean
    /// rate. Results do not count the first requests, the warm-up.
    #[schemars(range(min = MIN_REQUESTS, max = MAX_REQUESTS))]
    pub requests: u64,
    /// The number of requests in the warm-up. Null: a tenth of the requests.
    #[schemars(range(max = MAX_REQUESTS))]
    pub warmup: Option<u64>,
    /// Whether the number of requests to each service is in proportion to the service's rate, so
    /// that all services run for the same simulated time. Null: true if rates differ.
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
    /// with it. Null: the workload's value, else 7,000.
    #[schemars(range(max = MAX_TCP_COST_NS), extend("exclusiveMinimum" = 0))]
    pub tcp_cost_ns: Option<f64>,
    /// The times for which requests wait for remote sides: caches, databases and other services.
    /// Null: the workload's times, else short.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<Remote>>")]
    pub remote: Option<Remote>,
    /// The distributions of payload sizes. Null: the workload's distributions, else fleet; the
    /// suite socialnetwork states distributions for its messages.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<SizePreset>>")]
    pub sizes: Option<SizePreset>,
    /// The values of server parameters, by key; `accelflow explain` lists all parameters.
    pub config: BTreeMap<String, Setting>,
    /// The chips to compare, in the order of the results. Empty: one chip, which config describes.
    #[schemars(length(max = MAX_CHIPS))]
    pub chips: Vec<NamedChip>,
    /// The service-level objective (SLO) of each service: the longest acceptable time from a
    /// request to its response, in us. Services that are not named have the SLO of the workload, if
    /// there is one.
    pub slo_us: BTreeMap<String, f64>,
    /// The scheduling policy of the accelerators' input queues. Null: the policy that config sets,
    /// else fifo.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<DispatchPolicy>>")]
    pub policy: Option<DispatchPolicy>,
    /// The service-level objective (SLO) of services without an SLO in slo_us or in the workload,
    /// as a multiple of the service's mean response time on an idle server with AccelFlow. Null: no
    /// SLO.
    #[schemars(range(max = MAX_SLO_FACTOR), extend("exclusiveMinimum" = 0))]
    pub slo_factor: Option<f64>,
    /// The tenant's ID of each service. Services that are not named have the tenant that the
    /// workload states, else 0.
    pub tenants: BTreeMap<String, u16>,
    /// The priority of each service, higher first. Services that are not named have the priority
    /// that the workload states, else 0.
    #[schemars(inner(range(max = MAX_PRIORITY)))]
    pub priorities: BTreeMap<String, u8>,
    /// The limits on the traffic of each tenant, by the tenant's ID: one limit, or several in
    /// different units (traces, bytes, accelerator time).
    pub shaping: BTreeMap<u16, Vec<Limit>>,
}

/// One limit on the traffic of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Limit {
    /// A limit in traces or in bytes, which the tenant's traffic shaper enforces.
    Registers(Limiter),
    /// A limit in accelerator time.
    Time(TimeLimiter),
}

/// A limit on the accelerator time of a tenant: the time that the operations of its traces take on
/// idle processing elements, without waits for memory and preparation for another tenant. A trace
/// starts once the tenant has enough time left for the trace's predicted time, which follows from
/// earlier traces with inputs of the same size. When the trace ends, the tenant is charged for time
/// beyond the prediction or gets unused time back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeLimiter {
    /// The allowed seconds of accelerator time per second: 1 is one processing element that is
    /// always busy.
    #[schemars(range(min = MIN_ACCELERATOR_S, max = MAX_ACCELERATOR_S_PER_S))]
    pub accelerator_s_per_s: f64,
    /// The largest burst after a pause, in seconds of accelerator time. Null: the accelerator time
    /// allowed in a hundredth of a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_ACCELERATOR_S, max = MAX_BURST_ACCELERATOR_S))]
    pub burst_accelerator_s: Option<f64>,
}

/// A limit of a tenant's traffic shaper, a token bucket: `refill` tokens are added every `interval`
/// cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limiter {
    /// What costs a token: each byte of the input of a trace's first operation, or each trace. For
    /// a tenant that also has a limit in bytes, an input larger than that limit's bucket is split
    /// into segments, each of which costs a token of the limit in traces.
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
    /// The values of server parameters, by key, which override the scenario's config.
    #[serde(default)]
    pub config: BTreeMap<String, Setting>,
}

/// The value of a server parameter: a number in the parameter's unit, or one of its named values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Setting {
    /// A number in the parameter's unit.
    Number(f64),
    /// The name of one of the parameter's named values.
    Name(String),
}

/// The name and version of the scenario format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SchemaName {
    /// Version 1, the only version.
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
