//! The fields of a plan file. What they may be stands in their schema; [`super::check`] checks their
//! consistency.

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use crate::{Law, Path, parameters};

/// The largest message, block or buffer in bytes: 64 MiB.
const MOST_BYTES: u64 = 1 << 26;
/// The longest measured time, in microseconds.
const MOST_US: u64 = 1_000_000;

/// A plan of flows on a platform, for `accelflow arcus plan`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "A plan of flows on a platform, for `accelflow arcus plan`")]
pub struct PlanFile {
    /// Built-in accelerators; repeat a name for two. Default: those of the flows.
    #[serde(default)]
    #[schemars(schema_with = "built_in")]
    pub accelerators: Option<Vec<String>>,
    /// SSDs of the array.
    #[serde(default)]
    #[schemars(range(max = 64))]
    pub storage_devices: u32,
    /// The measured time of a run.
    #[serde(default = "defaults::duration_us")]
    #[schemars(range(min = 1, max = MOST_US))]
    pub duration_us: u64,
    /// The seed of the runs.
    #[serde(default = "defaults::one")]
    pub seed: u64,
    /// Overcommitment: promised rates may add up to this multiple of the capacity.
    #[serde(default = "defaults::factor")]
    #[schemars(range(min = 1.0, max = 100.0))]
    pub oversubscription: f64,
    /// How far ahead the runtime predicts violations from falling rates; 0 for never.
    #[serde(default)]
    #[schemars(range(max = MOST_US))]
    pub predict_us: u64,
    /// The link, engines and ports.
    #[serde(default)]
    pub platform: PlatformTable,
    /// The SSDs. Omitted fields are those of the paper's.
    #[serde(default)]
    pub storage: StorageTable,
    /// Accelerators of your own.
    #[serde(default)]
    pub accelerator: Vec<AcceleratorTable>,
    /// The flows.
    pub flow: Vec<FlowTable>,
}

/// The host's link, and the device's engines and ports. Omitted fields are those of the paper's
/// prototype.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct PlatformTable {
    /// Generation of the link; default 3.
    #[schemars(range(min = 1, max = 5))]
    pub pcie_generation: Option<u8>,
    /// 1, 2, 4, 8 or 16 lanes; default 8.
    #[schemars(extend("enum" = [1, 2, 4, 8, 16]))]
    pub pcie_lanes: Option<u8>,
    /// Maximum payload of a packet; default 256.
    #[schemars(range(min = 64, max = 4_096))]
    pub max_payload_bytes: Option<u64>,
    /// Maximum size of a read request; default 512.
    #[schemars(range(min = 64, max = 4_096))]
    pub max_read_request_bytes: Option<u64>,
    /// Latency of root complex and memory for a read; default 400.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub read_latency_ns: Option<f64>,
    /// DMA engines; default 1.
    #[schemars(range(min = 1, max = 64))]
    pub dma_engines: Option<usize>,
    /// Rates of the Ethernet ports; default: two ports of 50. Flows on `inline_tx` leave by the first
    /// port, and no port limits flows on `inline_rx`.
    #[serde(default)]
    #[schemars(schema_with = "rates")]
    pub ports_gbit_per_s: Option<Vec<f64>>,
}

/// The SSDs of the array. Omitted fields are those of the paper's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct StorageTable {
    /// Units of an SSD, each of which serves one operation at a time; default 48.
    #[schemars(range(min = 1, max = 65_536))]
    pub units: Option<u32>,
    /// Median time for which a read occupies a unit; default 50.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub read_median_us: Option<f64>,
    /// Standard deviation of the logarithm of that time; default 0.34.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub read_sigma: Option<f64>,
    /// Time from a write to its acknowledgement, if the buffer has room; default 20.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub write_ack_us: Option<f64>,
    /// Time for which a buffered write occupies a unit; default 2,900.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub write_busy_us: Option<f64>,
    /// Writes that the buffer of an SSD holds; default 41.
    #[schemars(range(min = 1, max = 65_536))]
    pub write_buffer: Option<u32>,
    /// Concurrent commands of the array; default 1,024.
    #[schemars(range(min = 1, max = 65_536))]
    pub queue_depth: Option<u32>,
    /// Rate of an SSD's own link; default 24.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub link_gbit_per_s: Option<f64>,
}

/// An accelerator that the user defines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct AcceleratorTable {
    /// The name by which flows refer to it.
    pub name: String,
    /// Number of instances.
    #[serde(default = "defaults::one_u32")]
    #[schemars(range(min = 1, max = 64))]
    pub instances: u32,
    /// Peak rate.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub peak_gbit_per_s: Option<f64>,
    /// Additional time per message.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub setup_ns: Option<f64>,
    /// Block size; messages are rounded up to whole blocks. Excludes a setup.
    #[schemars(range(min = 1, max = MOST_BYTES))]
    pub block_bytes: Option<u64>,
    /// Pairs of a message size in bytes and its time in ns, instead of a peak rate.
    #[schemars(length(min = 1))]
    pub points: Option<Vec<Pair>>,
    /// R: output bytes per input byte; default 1.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub egress_ratio: Option<f64>,
    /// Output bytes of every message, instead of R.
    #[schemars(range(max = MOST_BYTES))]
    pub egress_bytes: Option<u64>,
    /// Bytes returned to the calling host.
    #[schemars(range(max = MOST_BYTES))]
    pub call_egress_bytes: Option<u64>,
    /// Latency of the pipeline; default 0.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub latency_ns: Option<f64>,
    /// How the times of equal messages vary.
    #[serde(default)]
    pub compute_times: Law,
    /// Input buffer; default 4,096.
    #[schemars(range(min = 1, max = MOST_BYTES))]
    pub input_bytes: Option<u64>,
}

/// A size in bytes, and its weight or time, a number above 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Pair(
    /// Bytes.
    #[schemars(range(min = 1, max = MOST_BYTES))]
    pub u64,
    /// A weight, or a time in ns.
    #[schemars(range(max = 1e12), extend("exclusiveMinimum" = 0))]
    pub f64,
);

/// The class of a flow's promise, by its name in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum PromiseClass {
    /// The SLO is always kept, with headroom.
    Reserved,
    /// The SLO is almost always kept.
    #[default]
    OnDemand,
    /// The SLO is always kept, and more for some time.
    ManagedBurst,
    /// There is no promise.
    Opportunistic,
}

/// The kind of a flow's arrivals, by its name in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ArrivalKind {
    /// There is always a message to send.
    #[default]
    Backlog,
    /// At exponential intervals.
    Poisson,
    /// At equal intervals.
    Paced,
    /// Several messages at once, at exponential intervals.
    Bursts,
    /// Clients that wait for their answers.
    Closed,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct FlowTable {
    /// The unique name.
    pub name: String,
    /// The tenant.
    #[serde(default)]
    pub vm: usize,
    /// The accelerator by name, or storage for the SSDs alone.
    pub accelerator: String,
    /// Alternative accelerators.
    #[serde(default)]
    pub instead: Vec<String>,
    /// Accelerators that messages pass after `accelerator`, in order.
    #[serde(default)]
    pub then: Vec<String>,
    /// The path.
    pub path: Path,
    /// Alternative paths.
    #[serde(default)]
    pub other_paths: Vec<Path>,
    /// The size of all messages.
    #[schemars(range(min = 1, max = MOST_BYTES))]
    pub message_bytes: Option<u64>,
    /// Sizes in bytes with their weights, instead of message_bytes.
    #[schemars(length(min = 1))]
    pub sizes: Option<Vec<Pair>>,
    /// The promised rate in bits.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub slo_gbit_per_s: Option<f64>,
    /// The promised rate in messages. With both rates, both are limits and the smaller is promised.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub slo_operations_per_s: Option<f64>,
    /// The percentage of periods in which the rate is promised, instead of over the whole run.
    #[schemars(range(min = 50.0, max = 99.999))]
    pub slo_percent: Option<f64>,
    /// The length of these periods; default: 100 messages at the promised rate, at least 100 us.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub slo_period_us: Option<f64>,
    /// The latency promised for the percentile slo_latency_percentile.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub slo_latency_us: Option<f64>,
    /// The percentile of slo_latency_us.
    #[serde(default = "defaults::percentile")]
    #[schemars(range(min = 50.0, max = 99.999))]
    pub slo_latency_percentile: f64,
    /// Messages that may pass at once after a pause: the bucket has room for them.
    #[serde(default = "defaults::one_u32")]
    #[schemars(range(min = 1, max = 65_536))]
    pub slo_burst_messages: u32,
    /// The policy of the promise.
    #[serde(default)]
    pub policy: PromiseClass,
    /// Managed bursts: the multiple of the promised rate; default 10.
    #[schemars(range(min = 1.0, max = 100.0))]
    pub burst_factor: Option<f64>,
    /// Managed bursts: the burst's time in each window.
    pub burst_us: Option<u64>,
    /// Managed bursts: the window; default 1,000,000.
    #[schemars(range(min = 1))]
    pub window_us: Option<u64>,
    /// If promises exceed the capacity, 0 keeps its rate longest.
    #[serde(default)]
    pub priority: u8,
    /// The time at which the flow asks for admission.
    #[serde(default)]
    pub from_us: u64,
    /// The time at which the flow leaves; by default it stays.
    pub until_us: Option<u64>,
    /// How its messages arrive.
    #[serde(default)]
    pub arrivals: ArrivalKind,
    /// The offered rate in bits.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub offered_gbit_per_s: Option<f64>,
    /// The offered rate in messages.
    #[schemars(range(max = 1e12), extend("exclusiveMinimum" = 0))]
    pub offered_operations_per_s: Option<f64>,
    /// Bursts: messages that arrive together.
    #[schemars(range(min = 1, max = 65_536))]
    pub burst_messages: Option<u32>,
    /// Closed: clients that wait for their answers.
    #[schemars(range(min = 1, max = 65_536))]
    pub clients: Option<u32>,
    /// Closed: think time from an answer to the next message; default 0.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub think_us: Option<f64>,
}

/// The defaults of fields that have one.
mod defaults {
    pub(super) fn duration_us() -> u64 {
        2_000
    }

    pub(super) fn one() -> u64 {
        1
    }

    pub(super) fn one_u32() -> u32 {
        1
    }

    pub(super) fn factor() -> f64 {
        1.0
    }

    pub(super) fn percentile() -> f64 {
        99.0
    }
}

/// The schema of a list of built-in accelerators.
fn built_in(_: &mut schemars::SchemaGenerator) -> Schema {
    let names = parameters::catalogue()
        .into_iter()
        .map(|accelerator| accelerator.name);
    let names: Vec<String> = names.collect();
    json_schema!({"type": "array", "items": {"type": "string", "enum": names}})
}

/// The schema of a list of rates.
fn rates(_: &mut schemars::SchemaGenerator) -> Schema {
    let rate = json_schema!({"type": "number", "exclusiveMinimum": 0, "maximum": 1e6});
    json_schema!({"type": "array", "items": rate, "minItems": 1})
}
