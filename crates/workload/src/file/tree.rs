//! The tree of a workload's file, `accelflow.workload/1`. Every field that is left out stays left
//! out, so that a file that is read and written again says the same.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::{Arrivals, Costs, KindCost, MessageSizes, Probability, Retry, Sizes, Wait};

/// The name of this version of the format.
pub const SCHEMA: &str = "accelflow.workload/1";

/// A workload: services with their paths, arrivals, sizes, costs and waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "accelflow.workload/1")]
pub struct Workload {
    /// The name of this format and its version.
    pub schema: SchemaName,
    /// The name of the workload: letters, digits, - and _.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    pub name: String,
    /// A description of the workload, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Values that a paper prints for this workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<Printed>,
    /// The origin of the file, if an importer wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Traces in addition to the paper's T1 to T12.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<Traces>,
    /// The cost on a core, and the speedup, of each custom accelerator that the traces declare, by
    /// name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, KindCost>,
    /// Values of every service that does not state its own.
    #[serde(default, skip_serializing_if = "Defaults::is_empty")]
    pub defaults: Defaults,
    /// Named sets of rates: the rate of each service in requests per second, of which only the
    /// ratios count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, BTreeMap<String, Rate>>,
    /// The services, in the order of results.
    #[schemars(length(min = 1, max = MAX_SERVICES))]
    pub services: Vec<Service>,
}

/// The most services of a workload.
pub const MAX_SERVICES: usize = 1_000;

/// The name of the format and its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SchemaName {
    /// This version.
    #[default]
    #[serde(rename = "accelflow.workload/1")]
    V1,
}

/// A rate in requests per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Rate(#[schemars(range(min = 0.001, max = 1e9))] pub f64);

/// Values that a paper prints for a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// The share of its sequences of accelerators that branch.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub branching_share: f64,
}

/// Where an imported workload comes from: the files that were read, and what the import understood,
/// guessed and dropped. The last three fields map a remark to how often it applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The kind of the imported files, such as jaeger.
    pub kind: String,
    /// The files that were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<OriginFile>,
    /// What was understood, with counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub understood: BTreeMap<String, u64>,
    /// What was guessed, with counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub guessed: BTreeMap<String, u64>,
    /// What was dropped, with counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
}

/// A file that was imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OriginFile {
    /// Its name.
    pub name: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// One or more traces: exactly one of the fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Traces {
    /// Their text.
    Source(String),
    /// The file with their text, or a trace file, relative to this file.
    File(String),
    /// A Python module that registers them, relative to this file.
    Module(String),
}

/// Values of every service that does not state its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Mean rate of a service, in requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_rps: Option<Rate>,
    /// The name of the rates that are used with the paper's costs, if no rate is set from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<String>,
    /// The SLO: the time from a request to its response, in us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub slo_us: Option<f64>,
    /// The SLO as a multiple of the response time on an idle server with AccelFlow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub slo_factor: Option<f64>,
    /// The arrival process of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Sizes of messages before compression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// Costs of operations on a core without accelerators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    /// Waits for remote sides, by the trace that receives the answer; `other` for the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, Wait>,
    /// The time of a message of a call from one server to another, each way; by default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Wait>,
}

impl Defaults {
    fn is_empty(&self) -> bool {
        *self == Defaults::default()
    }
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Its name: letters, digits, -, _ and dots; unique in the file.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.-]{1,64}$"))]
    pub name: String,
    /// The remote procedure that clients call; by default the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The number of its tenant; by default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<u16>,
    /// Its priority, higher first; by default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Services with the same text share a server; by default all share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Mean rate of its requests, in requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_rps: Option<Rate>,
    /// This service's rate as a multiple of the mean rate per service, used if the scenario sets
    /// the workload's rate. Default: `rate_rps` divided by its mean over all services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub rate_share: Option<f64>,
    /// The SLO: the time from a request to its response, in us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub slo_us: Option<f64>,
    /// The SLO as a multiple of the response time on an idle server with AccelFlow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub slo_factor: Option<f64>,
    /// Application time of an invocation in us, in equal parts for the cpu phases without a time
    /// of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub app_us: Option<f64>,
    /// The arrival process of its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Sizes of its messages before compression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// Costs of its operations on a core without accelerators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    /// Waits for remote sides, by the trace that receives the answer; `other` for the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, Wait>,
    /// Its phases, one after another: the first receives the request, the last sends the answer.
    #[schemars(length(min = 1, max = MAX_PHASES))]
    pub path: Vec<Phase>,
}

/// The most phases of a service.
pub const MAX_PHASES: usize = 1_000;

/// A phase of a service's path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Phase {
    /// A chain of traces, or several equal ones that run at the same time.
    Chain(Chain),
    /// Different chains that run at the same time; the phase ends with the last of them.
    Parallel(Parallel),
    /// Application logic of this time.
    Timed(Timed),
    /// Application logic whose time is drawn, or comes from `app_us` or the costs.
    Cpu(Cpu),
}

impl Phase {
    /// The chains of this phase, each as often as the file names it; none for application logic.
    pub fn chains(&self) -> &[Chain] {
        match self {
            Phase::Chain(chain) => std::slice::from_ref(chain),
            Phase::Parallel(parallel) => &parallel.parallel,
            Phase::Timed(_) | Phase::Cpu(_) => &[],
        }
    }

    /// The place in the file of the chain number `number` of this phase, which is at `place`.
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

/// Different chains that run at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parallel {
    /// The chains that run in parallel.
    #[schemars(length(min = 1, max = 64))]
    pub parallel: Vec<Chain>,
}

/// Application logic of a stated time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// Core time in us.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub cpu_us: f64,
}

/// Application logic whose time is drawn for each request, or stated elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// true, or the distribution of its core time.
    pub cpu: CpuTime,
}

/// The time of application logic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CpuTime {
    /// true: its part of `app_us`, or the time in the costs.
    Elsewhere(#[schemars(extend("const" = true))] bool),
    /// Drawn for each request.
    Drawn(Wait),
}

/// A chain: a trace and those that its tails lead to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The first trace, such as T4.
    pub trace: String,
    /// The number of such chains that run at the same time; by default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub times: Option<u8>,
    /// The facts of payloads on the most common path, by trace and field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, BTreeMap<String, i64>>,
    /// The probability that a field is 1, by trace and field, where facts are drawn.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub odds: BTreeMap<String, BTreeMap<String, Probability>>,
    /// Sizes of its messages before compression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<MessageSizes>,
    /// Waits for remote sides, by the trace that receives the answer; `other` for the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, Wait>,
    /// The service of this file that answers; its response time replaces the wait of the trace that
    /// receives the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<String>,
    /// The time of the call's messages from one server to another, each way; by default that of the
    /// defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Wait>,
    /// Whether it is detached: neither its phase nor the response waits for it. By default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detached: Option<bool>,
    /// The repetition of failed attempts.
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

    /// The number of such chains that run at the same time.
    pub fn count(&self) -> usize {
        usize::from(self.times.unwrap_or(1))
    }

    /// Whether it is detached: neither its phase nor the response waits for it.
    pub fn is_detached(&self) -> bool {
        self.detached == Some(true)
    }
}
