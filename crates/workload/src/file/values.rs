//! Values of a workload's file: arrivals, sizes, costs, waits and retries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The arrival process of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "process", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Poisson arrivals.
    Poisson {},
    /// Poisson arrivals at a rate that changes between states (a Markov-modulated Poisson process).
    Modulated {
        /// Rate over mean rate, and weight, of each state. The weighted mean of the rates is 1.
        #[schemars(length(min = 1, max = 1_000))]
        states: Vec<(f64, f64)>,
        /// Mean time from one draw of a state to the next, in us.
        #[schemars(range(min = 100.0, max = 1e12))]
        dwell_us: f64,
    },
    /// Bursts fitted to data, by name.
    Preset {
        /// The name of the arrivals.
        preset: ArrivalsPreset,
    },
    /// Arrivals at given times: exactly one of the two fields.
    Times {
        /// A CSV file with the column time_us, ascending, relative to this file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// The times in us, ascending.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        times_us: Option<Vec<f64>>,
    },
    /// Poisson arrivals at a rate that changes at given times: exactly one of the two fields.
    Rates {
        /// A CSV file with the columns start_us and rate_rps, relative to this file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// The start of each rate in us, and the rate until the next start, in requests per second.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rates: Option<Vec<(f64, f64)>>,
    },
}

/// Arrivals by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalsPreset {
    /// Bursts fitted to the rates per minute of a service of Alibaba.
    Alibaba,
    /// Bursts fitted to the rates per minute of Azure's functions.
    Azure,
    /// Short bursts of 1.7 times the mean rate.
    ShortBursts,
}

/// Sizes of messages before compression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    /// One size, in bytes.
    FixedBytes(Size),
    /// Sizes whose logarithm is normally distributed.
    LogNormal(LogNormalBytes),
    /// Pairs of a probability and a size in bytes, from probability 0 to 1; sizes are evenly spread
    /// between the pairs.
    Quantiles(#[schemars(length(min = 2, max = 10_000))] Vec<(f64, Size)>),
    /// A CSV file with the columns size_bytes and count, relative to this file.
    HistogramFile(String),
    /// Sizes in bytes, ascending, with counts.
    Histogram(#[schemars(length(min = 1, max = 1_000_000))] Vec<(Size, u64)>),
    /// Sizes found in data, by name.
    Preset(SizesPreset),
}

/// A size of 1 byte to 1 TiB.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Size(#[schemars(range(min = 1, max = 1_099_511_627_776_u64))] pub u64);

/// A log-normal distribution of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormalBytes {
    /// The median, in bytes.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub median_bytes: f64,
    /// The standard deviation of the logarithm.
    #[schemars(range(min = 0.0, max = 4.0))]
    pub sigma: f64,
}

/// Sizes by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizesPreset {
    /// The messages of DeathStarBench's SocialNetwork; only for that workload.
    SocialNetwork,
    /// Calls to Snappy in Google's fleet up to 64 KiB.
    Fleet,
    /// All calls to Snappy in Google's fleet.
    #[serde(rename = "fleet_whole")]
    FleetWhole,
    /// The calls that HyperCompressBench represents.
    HyperCompressBench,
}

/// Sizes of the messages of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MessageSizes {
    /// The same sizes for all messages.
    All(Sizes),
    /// Sizes in the order of the chain's messages; the last is used for later ones.
    Each(#[schemars(length(min = 1, max = 8))] Vec<Sizes>),
}

/// Costs of operations on a core without accelerators.
#[allow(clippy::large_enum_variant, reason = "a workload has a few, not many")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "source", rename_all = "snake_case", deny_unknown_fields)]
pub enum Costs {
    /// Costs derived from the shares of time that the paper prints and from the cost of TCP.
    Paper {
        /// The cost of a TCP operation on a core, in ns; by default 7000.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
        tcp_cost_ns: Option<f64>,
    },
    /// A recording of `accelflow record`: exactly one of the two fields.
    Recording {
        /// Its file, relative to this file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Its text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The cost of each operation. Operations that are left out must not be used.
    Operations {
        /// The TCP stack, either way.
        #[serde(default, rename = "TCP", skip_serializing_if = "Option::is_none")]
        tcp: Option<OperationCost>,
        /// Encryption.
        #[serde(default, rename = "Encr", skip_serializing_if = "Option::is_none")]
        encr: Option<OperationCost>,
        /// Decryption.
        #[serde(default, rename = "Decr", skip_serializing_if = "Option::is_none")]
        decr: Option<OperationCost>,
        /// Headers of remote procedure calls.
        #[serde(default, rename = "RPC", skip_serializing_if = "Option::is_none")]
        rpc: Option<OperationCost>,
        /// Serialization.
        #[serde(default, rename = "Ser", skip_serializing_if = "Option::is_none")]
        ser: Option<OperationCost>,
        /// Deserialization.
        #[serde(default, rename = "Dser", skip_serializing_if = "Option::is_none")]
        dser: Option<OperationCost>,
        /// Compression.
        #[serde(default, rename = "Cmp", skip_serializing_if = "Option::is_none")]
        cmp: Option<OperationCost>,
        /// Decompression.
        #[serde(default, rename = "Dcmp", skip_serializing_if = "Option::is_none")]
        dcmp: Option<OperationCost>,
        /// Load balancing.
        #[serde(default, rename = "LdB", skip_serializing_if = "Option::is_none")]
        ldb: Option<OperationCost>,
    },
    /// Measured on this machine; for SocialNetwork's own messages only.
    Measured {},
}

/// The cost of an operation on a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationCost {
    /// The cost of a message, in ns.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e12))]
    pub ns: f64,
    /// The cost of each byte of the message before compression, in ns.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub ns_per_byte: f64,
    /// One standard error of the measured mean over the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub relative_error: Option<f64>,
}

/// The cost of an operation of a custom accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindCost {
    /// The cost of a message on a core, in ns.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e12))]
    pub ns: f64,
    /// The cost of each byte of the message before compression on a core, in ns.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub ns_per_byte: f64,
    /// One standard error of the measured mean over the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub relative_error: Option<f64>,
    /// The speedup of the accelerator over a core; by default `speedup.own` of the chip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 1e6))]
    pub speedup: Option<f64>,
}

/// The duration of an answer of a remote side, of application logic, or of a message on the
/// network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// A constant time, in us.
    ConstantUs(Duration),
    /// Times whose logarithm is normally distributed.
    LogNormal(LogNormalTime),
    /// Pairs of a probability and a time in us, from probability 0 to 1; times are evenly spread
    /// between the pairs.
    QuantilesUs(#[schemars(length(min = 2, max = 10_000))] Vec<(f64, Duration)>),
    /// A CSV file with the columns time_us and count, relative to this file.
    HistogramFile(String),
    /// Times in us, ascending, with counts.
    HistogramUs(#[schemars(length(min = 1, max = 1_000_000))] Vec<(Duration, u64)>),
}

/// A time in us, at most 1,000 s.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Duration(#[schemars(range(min = 0.0, max = 1e9))] pub f64);

/// A log-normal distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormalTime {
    /// The median, in us.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub median_us: f64,
    /// The standard deviation of the logarithm.
    #[schemars(range(min = 0.0, max = 4.0))]
    pub sigma: f64,
}

/// The repetition of failed attempts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// The probability that an attempt fails.
    pub odds: Probability,
    /// The largest number of attempts.
    #[schemars(range(min = 1, max = 100))]
    pub attempts: u8,
    /// The time between attempts, in us.
    pub backoff_us: Duration,
}

/// A probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Probability(#[schemars(range(min = 0.0, max = 1.0))] pub f64);
