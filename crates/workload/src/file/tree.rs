//! The types of a workload file, `accelflow.workload/1`. A field that the file leaves out stays
//! empty, so that writing the file again leaves it out, too.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::{Arrivals, Costs, KindCost, MessageSizes, Probability, Retry, Sizes, Wait};

/// The name and version of the format of workload files.
pub const SCHEMA: &str = "accelflow.workload/1";

/// A workload: services with their paths, arrivals, message sizes, costs and the times that remote
/// sides take to answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "accelflow.workload/1")]
pub struct Workload {
    /// The name and version of the format of this file.
    pub schema: SchemaName,
    /// The name of the workload: 1 to 64 letters, digits, - and _.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    pub name: String,
    /// A description of the workload in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Values that a paper prints for this workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<Printed>,
    /// The origin of an imported workload: the imported files, and how much of their data was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Traces in addition to the paper's T1 to T12.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<Traces>,
    /// The cost on a core, and the speedup, of each custom accelerator that the traces declare. The
    /// key is the name of the accelerator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, KindCost>,
    /// Values for every service that does not state its own.
    #[serde(default, skip_serializing_if = "Defaults::is_empty")]
    pub defaults: Defaults,
    /// Named sets of arrival rates. Each set maps every service's name to its rate in requests per
    /// second; only the ratios of the rates count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, BTreeMap<String, Rate>>,
    /// The services, in the order in which results list them.
    #[schemars(length(min = 1, max = MAX_SERVICES))]
    pub services: Vec<Service>,
}

/// The largest number of services of a workload.
pub const MAX_SERVICES: usize = 1_000;

/// The name and version of the format of workload files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SchemaName {
    /// Version 1 of the format.
    #[default]
    #[serde(rename = "accelflow.workload/1")]
    V1,
}

/// An arrival rate, in requests per second, from 0.001 to 1e9.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Rate(#[schemars(range(min = 0.001, max = 1e9))] pub f64);

/// Values that a paper prints for a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// The share, from 0 to 1, of the workload's sequences (accelerator calls without a core in
    /// between) that have a branch.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub branching_share: f64,
}

/// The origin of an imported workload: the imported files, and how much of their data the importer
/// understood, guessed or dropped. The fields `understood`, `guessed` and `dropped` map each kind
/// of data, such as spans, to a number of records or values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The kind of importer that read the files, such as jaeger.
    pub kind: String,
    /// The files from which the workload was imported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<OriginFile>,
    /// The kinds of data that the importer read without a guess, with the number of records or
    /// values of each kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub understood: BTreeMap<String, u64>,
    /// The kinds of data that the files lack and that the importer assumed, with the number of
    /// records or values of each kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub guessed: BTreeMap<String, u64>,
    /// The kinds of data that the importer left out, with the number of records or values of each
    /// kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
}

/// A file from which a workload was imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OriginFile {
    /// The name of the file.
    pub name: String,
    /// The SHA-256 hash of the file's bytes, in hexadecimal.
    pub sha256: String,
}

/// One or more traces (short programs of accelerator calls), given by exactly one of the fields
/// `source`, `file` and `module`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Traces {
    /// The text of the traces, in the trace language.
    Source(String),
    /// The path of a file of traces, as text or compiled, relative to the workload file.
    File(String),
    /// The path of the file of a Python module that registers the traces, relative to the workload
    /// file.
    Module(String),
}

/// Values for every service that does not state its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// The mean arrival rate of requests to each service, in requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_rps: Option<Rate>,
    /// The name of the default set of arrival rates, one of the workload's `rates`. It applies to
    /// a scenario that sets none of `rates`, `rates_rps` and `rate_rps`, and whose costs are the
    /// paper's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<String>,
    /// The service-level objective (SLO): the longest allowed time from a request to its response,
    /// in us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub slo_us: Option<f64>,
    /// The service-level objective (SLO) as a multiple of the service's mean response time on an
    /// idle server with AccelFlow. Must be left out if `slo_us` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub slo_factor: Option<f64>,
    /// The arrival process of each service's requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// The sizes of messages before compression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// The costs of operations on a core without accelerators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    /// The times that remote sides take to answer. The key is the name of the trace that receives
    /// the answer, or `other` for all other traces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, Wait>,
    /// The time that a message of a call between services takes from one server to another, each
    /// way; by default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Wait>,
}

impl Defaults {
    fn is_empty(&self) -> bool {
        *self == Defaults::default()
    }
}

/// A service of the workload: its path of phases, arrivals, message sizes, costs and service-level
/// objective (SLO).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The name of the service: 1 to 64 letters, digits, -, _ and dots; unique in the file.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.-]{1,64}$"))]
    pub name: String,
    /// The name of the remote procedure that clients call; by default the service's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The ID of the tenant to which the service belongs; by default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<u16>,
    /// The priority of the service; higher is more urgent. By default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// The name of the server on which the service runs. Services with the same name share a
    /// server; by default all services share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The mean arrival rate of requests to the service, in requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_rps: Option<Rate>,
    /// The service's arrival rate as a multiple of the mean rate of all services. It is used if the
    /// scenario sets the mean rate. Default: the service's rate divided by the mean rate of all
    /// services, or 1 if a service has no rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub rate_share: Option<f64>,
    /// The service-level objective (SLO): the longest allowed time from a request to its response,
    /// in us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub slo_us: Option<f64>,
    /// The service-level objective (SLO) as a multiple of the service's mean response time on an
    /// idle server with AccelFlow. Must be left out if `slo_us` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub slo_factor: Option<f64>,
    /// The total time, in one invocation, of the CPU phases that state no time of their own, in us.
    /// Each of these phases takes an equal part. If left out, the source of the costs has the
    /// times; the source `operations` has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub app_us: Option<f64>,
    /// The arrival process of the service's requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// The sizes of the service's messages before compression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// The costs of the service's operations on a core without accelerators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    /// The times that remote sides take to answer. The key is the name of the trace that receives
    /// the answer, or `other` for all other traces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, Wait>,
    /// The phases of the service, one after another: the first receives the request, the last sends
    /// the response.
    #[schemars(length(min = 1, max = MAX_PHASES))]
    pub path: Vec<Phase>,
}

/// The largest number of phases of a service.
pub const MAX_PHASES: usize = 1_000;

/// A phase of a service's path: either chains of traces on accelerators, or application logic on a
/// core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Phase {
    /// A chain of traces, or several copies of this chain that run in parallel.
    Chain(Chain),
    /// Different chains of traces that run in parallel. The phase ends when the last of them ends;
    /// detached chains do not count.
    Parallel(Parallel),
    /// Application logic that takes a stated time.
    Timed(Timed),
    /// Application logic whose time is drawn for each request, or comes from the service's `app_us`
    /// or else from the source of the service's costs.
    Cpu(Cpu),
}

impl Phase {
    /// Returns the chains of traces of this phase, as the workload file lists them; empty for
    /// application logic.
    pub fn chains(&self) -> &[Chain] {
        match self {
            Phase::Chain(chain) => std::slice::from_ref(chain),
            Phase::Parallel(parallel) => &parallel.parallel,
            Phase::Timed(_) | Phase::Cpu(_) => &[],
        }
    }

    /// The place in the file of the chain with index `number` of this phase, which is at `place`.
    pub(super) fn place_of(&self, place: &str, number: usize) -> String {
        match self {
            Phase::Parallel(_) => format!("{place}.parallel[{number}]"),
            _ => place.to_owned(),
        }
    }

    pub(super) fn chains_mut(&mut self) -> &mut [Chain] {
        match self {
            Phase::Chain(chain) => std::slice::from_mut(chain),
            Phase::Parallel(parallel) => &mut parallel.parallel,
            Phase::Timed(_) | Phase::Cpu(_) => &mut [],
        }
    }
}

/// Different chains of traces that run in parallel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parallel {
    /// The chains that run in parallel.
    #[schemars(length(min = 1, max = 64))]
    pub parallel: Vec<Chain>,
}

/// Application logic that takes a stated time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// The core time of the application logic, in us.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub cpu_us: f64,
}

/// Application logic without a fixed stated time. Its time is drawn from a distribution for each
/// request, or else comes from the service's `app_us` or, without `app_us`, from the source of the
/// service's costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// The distribution of the core time, or true. With true, the time comes from the service's
    /// `app_us`, or else from the source of the service's costs.
    pub cpu: CpuTime,
}

/// The time that application logic takes on a core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CpuTime {
    /// true: the core time is an equal part of the service's `app_us`. Without `app_us`, the time
    /// comes from the source of the service's costs, such as a recording.
    Elsewhere(#[schemars(extend("const" = true))] bool),
    /// A distribution from which the time of each request is drawn.
    Drawn(Wait),
}

/// A chain of traces: a first trace, and all traces that follow it through tails (a tail names the
/// next trace).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The name of the chain's first trace, such as T4.
    pub trace: String,
    /// The number of copies of this chain that run in parallel; by default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub times: Option<u8>,
    /// The value, on the most common path, of each payload field that a branch tests. The keys are
    /// the name of the trace, then the name of the field. A field that a branch tests must be here
    /// or in `odds`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, BTreeMap<String, i64>>,
    /// The probability that a payload field is 1, for fields drawn at random for each request. The
    /// keys are the name of the trace, then the name of the field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub odds: BTreeMap<String, BTreeMap<String, Probability>>,
    /// The sizes of the chain's messages before compression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<MessageSizes>,
    /// The times that remote sides take to answer. The key is the name of the trace that receives
    /// the answer, or `other` for all other traces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, Wait>,
    /// The name of the service in this file that the chain calls. The response time of the called
    /// service replaces the time that a remote side takes to answer, if that service is simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<String>,
    /// The time that a message of the call takes from one server to another, each way; by default
    /// `network` of the `defaults`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Wait>,
    /// Whether the chain runs on its own: neither its phase nor the response waits for it. By
    /// default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detached: Option<bool>,
    /// The rule by which the chain repeats failed attempts; without a rule, no attempt fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

impl Chain {
    /// The stated sizes of its messages, with their places in the file; the chain is at `place`.
    pub(super) fn placed_sizes(&self, place: &str) -> Vec<(String, &Sizes)> {
        match &self.sizes {
            Some(MessageSizes::All(sizes)) => vec![(format!("{place}.sizes"), sizes)],
            Some(MessageSizes::Each(each)) => each
                .iter()
                .enumerate()
                .map(|(index, sizes)| (format!("{place}.sizes[{index}]"), sizes))
                .collect(),
            None => Vec::new(),
        }
    }

    /// Returns the number of copies of this chain that run in parallel.
    pub fn count(&self) -> usize {
        usize::from(self.times.unwrap_or(1))
    }

    /// Whether the chain runs on its own: neither its phase nor the response waits for it.
    pub fn is_detached(&self) -> bool {
        self.detached == Some(true)
    }
}
