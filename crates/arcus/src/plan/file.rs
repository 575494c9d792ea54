//! The fields of a plan file. Their schema states which values are allowed; [`super::check`] checks
//! that the values fit together.

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
    /// Names of built-in accelerators on the platform; repeat a name for two instances. Default:
    /// one instance of each built-in accelerator that the flows name.
    #[serde(default)]
    #[schemars(schema_with = "built_in")]
    pub accelerators: Option<Vec<String>>,
    /// Number of SSDs on the platform; 0 for no storage.
    #[serde(default)]
    #[schemars(range(max = 64))]
    pub storage_devices: u32,
    /// Simulated time that is measured, in us; a warm-up of a tenth of this time precedes it.
    #[serde(default = "defaults::duration_us")]
    #[schemars(range(min = 1, max = MOST_US))]
    pub duration_us: u64,
    /// Seed of random numbers in the simulations.
    #[serde(default = "defaults::one")]
    pub seed: u64,
    /// Over-subscription: promised rates may add up to this multiple of the capacity.
    #[serde(default = "defaults::factor")]
    #[schemars(range(min = 1.0, max = 100.0))]
    pub oversubscription: f64,
    /// How far ahead ARCUS predicts, in us, that a flow's falling rate will miss its SLO. The time
    /// is rounded down to whole control periods of 100 us; below 100, there is no prediction.
    #[serde(default)]
    #[schemars(range(max = MOST_US))]
    pub predict_us: u64,
    /// The PCIe link, DMA engines and Ethernet ports.
    #[serde(default)]
    pub platform: PlatformTable,
    /// The SSDs. Omitted fields have the values of the paper's SSD.
    #[serde(default)]
    pub storage: StorageTable,
    /// Accelerators that the plan itself defines.
    #[serde(default)]
    pub accelerator: Vec<AcceleratorTable>,
    /// Flows. Those with equal `from_us` ask for admission in the order of this list.
    pub flow: Vec<FlowTable>,
}

/// The PCIe link between host and device, and the device's DMA engines and Ethernet ports. Omitted
/// fields have the values of the paper's prototype.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct PlatformTable {
    /// PCIe generation, 1 to 5; default 3.
    #[schemars(range(min = 1, max = 5))]
    pub pcie_generation: Option<u8>,
    /// Number of PCIe lanes: 1, 2, 4, 8 or 16; default 8.
    #[schemars(extend("enum" = [1, 2, 4, 8, 16]))]
    pub pcie_lanes: Option<u8>,
    /// Largest payload of a PCIe packet in bytes, a power of two; default 256.
    #[schemars(range(min = 64, max = 4_096))]
    pub max_payload_bytes: Option<u64>,
    /// Largest number of bytes that one PCIe read request asks for, a power of two; default 512.
    #[schemars(range(min = 64, max = 4_096))]
    pub max_read_request_bytes: Option<u64>,
    /// Time that root complex and memory take for a DMA read, in ns; default 400.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub read_latency_ns: Option<f64>,
    /// Number of DMA engines; default 1.
    #[schemars(range(min = 1, max = 64))]
    pub dma_engines: Option<usize>,
    /// Rates of the Ethernet ports in Gbit/s; default: two ports of 50. Flows on `inline_tx` leave
    /// by the first port, and no port limits flows on `inline_rx`.
    #[serde(default)]
    #[schemars(schema_with = "rates")]
    pub ports_gbit_per_s: Option<Vec<f64>>,
}

/// The SSDs of the platform's array. Omitted fields have the values of the paper's SSD.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct StorageTable {
    /// Number of parallel units (flash dies) of each SSD, each of which runs one operation at a
    /// time; default 48.
    #[schemars(range(min = 1, max = 65_536))]
    pub units: Option<u32>,
    /// Median time for which a read occupies a unit, in us; default 50.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub read_median_us: Option<f64>,
    /// Standard deviation of the natural logarithm of a read's time; default 0.34.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub read_sigma: Option<f64>,
    /// Time from a write to its acknowledgement in us, if the write buffer is not full; default 20.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub write_ack_us: Option<f64>,
    /// Time for which programming a buffered write occupies a unit, in us; default 2,900.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub write_busy_us: Option<f64>,
    /// Capacity of each SSD's write buffer, in writes; default 41.
    #[schemars(range(min = 1, max = 65_536))]
    pub write_buffer: Option<u32>,
    /// Largest number of commands that the array serves at a time; default 1,024.
    #[schemars(range(min = 1, max = 65_536))]
    pub queue_depth: Option<u32>,
    /// Data rate of each SSD's own link, in Gbit/s; default 24.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub link_gbit_per_s: Option<f64>,
}

/// An accelerator that the plan defines: its name, and how long its messages take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct AcceleratorTable {
    /// Name by which flows refer to the accelerator.
    pub name: String,
    /// Number of instances of the accelerator; default 1.
    #[serde(default = "defaults::one_u32")]
    #[schemars(range(min = 1, max = 64))]
    pub instances: u32,
    /// Rate that very large messages approach, in Gbit/s; either this or `points` is needed.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub peak_gbit_per_s: Option<f64>,
    /// Fixed time per message in ns, in addition to the time at the peak rate; default 0. Not
    /// together with `block_bytes` or `points`.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub setup_ns: Option<f64>,
    /// Block size in bytes: each message's size is rounded up to whole blocks, which are processed
    /// at the peak rate. Not together with `setup_ns` or `points`.
    #[schemars(range(min = 1, max = MOST_BYTES))]
    pub block_bytes: Option<u64>,
    /// Measured times, instead of `peak_gbit_per_s`: pairs of a message size in bytes and its time
    /// in ns. From pair to pair, sizes must grow and times must not fall.
    #[schemars(length(min = 1))]
    pub points: Option<Vec<Pair>>,
    /// Number of output bytes per input byte (the paper's R); default 1.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub egress_ratio: Option<f64>,
    /// Size of every message's output in bytes, instead of `egress_ratio`.
    #[schemars(range(max = MOST_BYTES))]
    pub egress_bytes: Option<u64>,
    /// Size of the output on the path `function_call`, which goes back to the host, in bytes;
    /// default: the size of the output on other paths.
    #[schemars(range(max = MOST_BYTES))]
    pub call_egress_bytes: Option<u64>,
    /// Latency of the accelerator's pipeline in ns, which does not lower the accelerator's rate;
    /// default 0.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub latency_ns: Option<f64>,
    /// Probability distribution of the compute times of messages of equal size.
    #[serde(default)]
    pub compute_times: Law,
    /// Capacity of the accelerator's input buffer in bytes; default 4,096.
    #[schemars(range(min = 1, max = MOST_BYTES))]
    pub input_bytes: Option<u64>,
}

/// A size in bytes, and a number above 0: the relative weight of this size in a mix, or the time in
/// ns that a message of this size takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Pair(
    /// The size in bytes.
    #[schemars(range(min = 1, max = MOST_BYTES))]
    pub u64,
    /// The relative weight, or the time in ns.
    #[schemars(range(max = 1e12), extend("exclusiveMinimum" = 0))]
    pub f64,
);

/// The service class of a flow, by its name in plan files: how firmly the flow's SLO is promised
/// (ARCUS, section 6). With an `oversubscription` above 1, flows of every class may get less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum PromiseClass {
    /// The flow always gets its promised rate: it is admitted only if the promises to all flows
    /// together need at most 15/16 of the capacity. The remaining capacity is a reserve.
    Reserved,
    /// The flow almost always gets its promised rate: promises to such flows may use the whole
    /// capacity.
    #[default]
    OnDemand,
    /// The flow always gets its promised rate, and for a limited time may send at a higher rate.
    ManagedBurst,
    /// No rate is promised: the flow gets capacity that other flows leave.
    Opportunistic,
}

/// The arrival process of a flow's messages, by its name in plan files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ArrivalKind {
    /// The flow always has a message to send.
    #[default]
    Backlog,
    /// A Poisson process: one message at a time, at exponentially distributed intervals.
    Poisson,
    /// One message at a time, at equal intervals.
    Paced,
    /// Several messages at once, in bursts at exponentially distributed intervals.
    Bursts,
    /// A closed loop: each client sends its next message `think_us` after its previous message is
    /// completed.
    Closed,
}

/// A flow: one tenant's messages to an accelerator over one path, with the promises to this flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct FlowTable {
    /// Name of the flow, different from those of all other flows.
    pub name: String,
    /// Identifier of the tenant's virtual machine.
    #[serde(default)]
    pub vm: usize,
    /// Name of the accelerator that the flow uses, or `storage` for the SSDs alone.
    pub accelerator: String,
    /// Names of accelerators that the flow may use instead of `accelerator`.
    #[serde(default)]
    pub instead: Vec<String>,
    /// Names of further accelerators that messages pass after `accelerator`, in order.
    #[serde(default)]
    pub then: Vec<String>,
    /// Path of the messages between host, network, accelerators and storage.
    pub path: Path,
    /// Paths that the flow may take instead of `path`.
    #[serde(default)]
    pub other_paths: Vec<Path>,
    /// Size of every message in bytes; either this or `sizes` is needed.
    #[schemars(range(min = 1, max = MOST_BYTES))]
    pub message_bytes: Option<u64>,
    /// Pairs of a message size in bytes and its relative weight, instead of `message_bytes`.
    #[schemars(length(min = 1))]
    pub sizes: Option<Vec<Pair>>,
    /// Promised rate in Gbit/s. This, `slo_operations_per_s` or both are needed, except with the
    /// policy `opportunistic`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub slo_gbit_per_s: Option<f64>,
    /// Promised rate in messages per second. If `slo_gbit_per_s` is given too, both limit the flow
    /// and the smaller one is promised.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub slo_operations_per_s: Option<f64>,
    /// Percentage of periods in which the rate is promised. By default, the mean rate over the
    /// measured time in which the flow is present is promised.
    #[schemars(range(min = 50.0, max = 99.999))]
    pub slo_percent: Option<f64>,
    /// Length of the periods of `slo_percent` in us; default: the time of 100 messages at the
    /// promised rate, at least 100 us.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub slo_period_us: Option<f64>,
    /// Promised latency in us, which `slo_latency_percentile` percent of all messages must not
    /// exceed. Not for arrivals `backlog`.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub slo_latency_us: Option<f64>,
    /// Percentage of messages whose latency must be at most `slo_latency_us`.
    #[serde(default = "defaults::percentile")]
    #[schemars(range(min = 50.0, max = 99.999))]
    pub slo_latency_percentile: f64,
    /// Number of messages that may pass at once after a pause; sets the token bucket's size.
    #[serde(default = "defaults::one_u32")]
    #[schemars(range(min = 1, max = 65_536))]
    pub slo_burst_messages: u32,
    /// Service class of the flow: how firmly its SLO is promised.
    #[serde(default)]
    pub policy: PromiseClass,
    /// Largest rate during a burst of the policy `managed-burst`, as a multiple of the promised
    /// rate; default 10.
    #[schemars(range(min = 1.0, max = 100.0))]
    pub burst_factor: Option<f64>,
    /// Total time of bursts of the policy `managed-burst` in each window, in us, at most
    /// `window_us`; default 0.
    pub burst_us: Option<u64>,
    /// Length of the window of `burst_us`, in us; default 1,000,000.
    #[schemars(range(min = 1))]
    pub window_us: Option<u64>,
    /// Priority if promises exceed the capacity: flows of priority 0 keep their rates longest.
    #[serde(default)]
    pub priority: u8,
    /// Simulated time at which the flow asks for admission, in us after the warm-up. It asks at the
    /// next end of a control period, which come every 100 us and must come before the run's end;
    /// with 0, before the warm-up begins.
    #[serde(default)]
    pub from_us: u64,
    /// Simulated time at which the flow leaves, in us after the warm-up: it leaves at the next end
    /// of a control period. By default, the flow stays.
    pub until_us: Option<u64>,
    /// Arrival process of the flow's messages.
    #[serde(default)]
    pub arrivals: ArrivalKind,
    /// Rate at which the flow sends, in Gbit/s; for arrivals `poisson`, `paced` and `bursts`.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub offered_gbit_per_s: Option<f64>,
    /// Rate at which the flow sends, in messages per second; instead of `offered_gbit_per_s`.
    #[schemars(range(max = 1e12), extend("exclusiveMinimum" = 0))]
    pub offered_operations_per_s: Option<f64>,
    /// Number of messages that arrive together; for arrivals `bursts`.
    #[schemars(range(min = 1, max = 65_536))]
    pub burst_messages: Option<u32>,
    /// Number of clients, each with at most one message under way; for arrivals `closed`.
    #[schemars(range(min = 1, max = 65_536))]
    pub clients: Option<u32>,
    /// Time from a message's completion to its client's next message in us, for arrivals `closed`;
    /// default 0.
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
