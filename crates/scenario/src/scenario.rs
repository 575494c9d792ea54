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
    CHIP_NAME, DEFAULT_REQUESTS, MAX_ACCELERATOR_S_PER_S, MAX_BURST_ACCELERATOR_S, MAX_CHIP_NAME,
    MAX_CHIPS, MAX_PRIORITY, MAX_RATE_RPS, MAX_REGISTER, MAX_REQUESTS, MAX_SLO_FACTOR, MAX_SLO_US,
    MAX_TCP_COST_NS, MIN_ACCELERATOR_S, MIN_RATE_RPS, MIN_REQUESTS, MIN_TCP_COST_NS,
    PAPER_SLO_FACTOR,
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
    /// The names of the services to simulate, out of the workload's services. Empty: all of them.
    pub services: Vec<String>,
    /// The placement of services on servers: colocated (all share one server, unless the workload
    /// assigns them to several) or isolated (each has a server of its own).
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
    /// How the rates of the services differ: equal (they do not), own (in proportion to the rates
    /// that the services state), or the name of a set of rates in the workload. Null: with the
    /// profile paper and no rate_rps, the set that the workload's defaults name (socialnetwork:
    /// alibaba, as in the paper's production experiment); else own if services state rates; else
    /// equal.
    pub rates: Option<String>,
    /// The request rate of each simulated service, in requests per second, by the service's name.
    /// rate_rps and rates must then be left out. Empty: rate_rps and rates apply.
    #[schemars(extend("additionalProperties" = {
        "type": "number", "minimum": MIN_RATE_RPS, "maximum": MAX_RATE_RPS
    }))]
    pub rates_rps: BTreeMap<String, f64>,
    /// The source of the facts that branches test. common: the facts of the most common path.
    /// drawn: random facts for each request, by the workload's probabilities or else by the server
    /// parameters facts.*. recorded: the facts of recorded requests. Null: drawn for a workload
    /// with probabilities, else common.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<FactSource>>")]
    pub facts: Option<FactSource>,
    /// The number of simulated requests to each service. With by_rate, a service with the mean rate
    /// gets this number, and any other service a number in proportion to its rate. If the workload
    /// lists arrival times for a service, the list's length limits its number. Results do not count
    /// the first requests, the warm-up.
    #[schemars(range(min = MIN_REQUESTS, max = MAX_REQUESTS))]
    pub requests: u64,
    /// The length of the warm-up: the number of first requests to each service that results do not
    /// count. With by_rate, the number is in proportion to the service's rate, as in requests. It
    /// is at most a tenth of a list of arrival times in the workload. Null: a tenth of the
    /// requests.
    #[schemars(range(max = MAX_REQUESTS))]
    pub warmup: Option<u64>,
    /// Whether the number of requests to each service is in proportion to the service's rate. All
    /// services then run for the same simulated time. Null: true if rates differ.
    pub by_rate: Option<bool>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The text of a recording (docs/recording-format.md), the source of costs and payload sizes.
    /// Null: no recording.
    pub recording: Option<String>,
    /// How the simulator uses the recording's times. median: an operation takes its median time in
    /// each request. distribution: for each request, the times of its operations and its time
    /// outside of operations are random values of the recorded distributions. Null: median, since a
    /// comparison needs equal costs for all systems, and distributions include other work of the
    /// recording machine.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<Times>>")]
    pub recorded_times: Option<Times>,
    /// The source of the times that operations take on a core: measurements on this machine
    /// (measured), or the paper's shares of time (paper). Null: the recording if one is given, else
    /// the costs that the workload states (socialnetwork: measured), else paper.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<CostSource>>")]
    pub profile: Option<CostSource>,
    /// The time of a TCP operation on a core with the profile paper, in ns. All other costs scale
    /// with it. Null: the workload's value, else 7,000.
    #[schemars(range(min = MIN_TCP_COST_NS, max = MAX_TCP_COST_NS))]
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
    /// The chips to compare, in the order in which results list them. Empty: one chip, which config
    /// describes.
    #[schemars(length(max = MAX_CHIPS))]
    pub chips: Vec<NamedChip>,
    /// The service-level objective (SLO) of each service, by the service's name: the longest
    /// acceptable time from a request to its response, in us. Services that are not named have the
    /// SLO that the workload states, if any.
    #[schemars(extend("additionalProperties" = {
        "type": "number", "exclusiveMinimum": 0, "maximum": MAX_SLO_US
    }))]
    pub slo_us: BTreeMap<String, f64>,
    /// The scheduling policy of the accelerators' input queues, for all chips. Null: the policy
    /// that the chip or config sets, else fifo.
    #[serde(with = "choice::open")]
    #[schemars(with = "Option<ByName<DispatchPolicy>>")]
    pub policy: Option<DispatchPolicy>,
    /// The service-level objective (SLO) of services that have none in slo_us or in the workload.
    /// It is a multiple of the service's mean response time on an idle server with AccelFlow. Null:
    /// no SLO.
    #[schemars(range(max = MAX_SLO_FACTOR), extend("exclusiveMinimum" = 0))]
    pub slo_factor: Option<f64>,
    /// The tenant's ID of each service, by the service's name. Services that are not named have the
    /// tenant that the workload states, else 0.
    pub tenants: BTreeMap<String, u16>,
    /// The priority of each service, by the service's name; higher is more urgent. Services that
    /// are not named have the priority that the workload states, else 0.
    #[schemars(inner(range(max = MAX_PRIORITY)))]
    pub priorities: BTreeMap<String, u8>,
    /// The limits on the traffic of each tenant, by the tenant's ID: one limit, or several in
    /// different units (operations, bytes, accelerator time).
    pub shaping: BTreeMap<u16, Vec<Limit>>,
}

/// One limit on the traffic of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Limit {
    /// A limit in operations (traces) or in bytes, which a token bucket enforces.
    Registers(Limiter),
    /// A limit in accelerator time, which a token bucket enforces as well.
    Time(TimeLimiter),
}

/// A limit on the accelerator time of a tenant: the time that the operations of the tenant's traces
/// take on idle processing elements. Waits for memory do not count, and neither does the
/// preparation of a processing element for another tenant. A trace starts once the tenant has paid
/// the trace's predicted time, which follows from earlier traces with inputs of about the same
/// size. When the trace ends, the tenant pays for time beyond the prediction, or gets unused time
/// back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeLimiter {
    /// The allowed seconds of accelerator time per second: 1 is one processing element that is
    /// always busy.
    #[schemars(range(min = MIN_ACCELERATOR_S, max = MAX_ACCELERATOR_S_PER_S))]
    pub accelerator_s_per_s: f64,
    /// The accelerator time, in seconds, that the tenant may use at once after a pause. Null: the
    /// accelerator time that the limit allows in a hundredth of a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_ACCELERATOR_S, max = MAX_BURST_ACCELERATOR_S))]
    pub burst_accelerator_s: Option<f64>,
}

/// A limit on the traffic of a tenant, which a token bucket enforces: `refill` tokens are added
/// every `interval` cycles, up to `bucket` tokens. A trace starts once there are tokens for the
/// trace or for the bytes of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limiter {
    /// What costs a token: each trace (operations), or each byte of the input of a trace's first
    /// operation (bytes). An input larger than the bucket of a limit in bytes passes in segments,
    /// and its trace starts after the last one. If the tenant also has a limit in operations, each
    /// segment costs a token of that limit.
    #[serde(with = "choice")]
    #[schemars(with = "ByName<Unit>")]
    pub unit: Unit,
    /// The number of tokens that are added to the bucket after each interval.
    #[schemars(range(min = 1, max = MAX_REGISTER))]
    pub refill: u64,
    /// The largest number of tokens that the bucket holds.
    #[schemars(range(min = 1, max = MAX_REGISTER))]
    pub bucket: u64,
    /// The time from one refill to the next, in cycles of the shaper's 250 MHz clock.
    #[schemars(range(min = 1, max = MAX_REGISTER))]
    pub interval: u64,
}

/// One of several chips (sets of server parameters) that a scenario compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedChip {
    /// The chip's name in results.
    #[schemars(length(min = 1, max = MAX_CHIP_NAME), regex(pattern = CHIP_NAME))]
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
