//! Types of values in a workload file: arrivals, sizes, costs, waits and retries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The arrival process of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "process", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Poisson arrivals at the service's mean rate.
    Poisson {},
    /// Poisson arrivals at a rate that changes between states (a Markov-modulated Poisson process).
    Modulated {
        /// A pair for each state: its rate over the mean rate, and its weight. The weighted mean of
        /// these rates must be 1.
        #[schemars(length(min = 1, max = 1_000))]
        states: Vec<(f64, f64)>,
        /// The mean time from one draw of a state to the next, in us.
        #[schemars(range(min = 100.0, max = 1e12))]
        dwell_us: f64,
    },
    /// Bursty arrivals, whose rate changes between the states of a named set.
    Preset {
        /// The name of the set of states.
        preset: ArrivalsPreset,
    },
    /// Arrivals at given times. Exactly one of the fields `file` and `times_us` lists the times.
    Times {
        /// The name of a CSV file, relative to the workload file, with the ascending column
        /// time_us.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// The times of the requests, in us, ascending.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        times_us: Option<Vec<f64>>,
    },
    /// Poisson arrivals at a rate that changes at given times. Exactly one of the fields `file` and
    /// `rates` lists the rates and the times.
    Rates {
        /// The name of a CSV file with the columns start_us and rate_rps, relative to the workload
        /// file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Pairs of the start of a rate, in us, and the rate until the next start, in requests per
        /// second. Nothing arrives before the first start. The last rate lasts to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rates: Option<Vec<(f64, f64)>>,
        /// The time in the table at which the simulation begins, in us; 0 if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.0, max = 1e12))]
        from_us: Option<f64>,
    },
}

/// A named set of states for bursty arrivals. A state is an arrival rate, relative to the mean
/// rate, and the share of time for which this rate holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalsPreset {
    /// Rates distributed like those of one Alibaba service, measured for each minute.
    Alibaba,
    /// Rates distributed like the total rate of 500 Azure functions, measured for each minute.
    Azure,
    /// Short bursts: 1.7 times the mean rate for 20 % of the time, in bursts of 18 ms on average.
    ShortBursts,
}

/// A distribution of the sizes of messages before compression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    /// One size for all messages, in bytes.
    FixedBytes(Size),
    /// Sizes whose logarithm is normally distributed.
    LogNormal(LogNormalBytes),
    /// A table of quantiles: pairs of a probability, from 0 to 1, and the size in bytes that this
    /// share of the messages does not exceed. Between the pairs, sizes are evenly distributed.
    Quantiles(#[schemars(length(min = 2, max = 10_000))] Vec<(f64, Size)>),
    /// The name of a CSV file with the columns size_bytes and count, relative to the workload file.
    HistogramFile(String),
    /// Pairs of a size in bytes, ascending, and the number of messages of that size.
    Histogram(#[schemars(length(min = 1, max = 1_000_000))] Vec<(Size, u64)>),
    /// A named set of sizes.
    Preset(SizesPreset),
}

/// A size of 1 byte to 1 TiB.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Size(#[schemars(range(min = 1, max = 1_099_511_627_776_u64))] pub u64);

/// A log-normal distribution of message sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormalBytes {
    /// The median size, in bytes.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub median_bytes: f64,
    /// The standard deviation of the size's natural logarithm.
    #[schemars(range(min = 0.0, max = 4.0))]
    pub sigma: f64,
}

/// A named set of message sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizesPreset {
    /// The sizes of the messages of DeathStarBench's SocialNetwork; only for whole services of that
    /// workload, not for single chains.
    SocialNetwork,
    /// The uncompressed sizes of the data in calls of Snappy (a compressor) in Google's fleet, up
    /// to 64 KiB.
    Fleet,
    /// The uncompressed sizes of the data in all calls of Snappy (a compressor) in Google's fleet.
    #[serde(rename = "fleet_whole")]
    FleetWhole,
    /// The uncompressed sizes of the data in HyperCompressBench's calls of Snappy and Zstandard.
    HyperCompressBench,
}

/// The sizes of the messages of one chain of traces, before compression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MessageSizes {
    /// One distribution for all messages.
    All(Sizes),
    /// One distribution for each message of the chain, in order. Messages beyond the list have the
    /// last distribution.
    Each(#[schemars(length(min = 1, max = 8))] Vec<Sizes>),
}

/// The costs of operations on a core without accelerators.
#[allow(clippy::large_enum_variant, reason = "a workload has a few, not many")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "source", rename_all = "snake_case", deny_unknown_fields)]
pub enum Costs {
    /// Costs derived from the shares of time that the paper prints and from the cost of TCP.
    Paper {
        /// The cost of a TCP operation on a core, in ns. Default: that of the `defaults`, or 7000.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.001, max = 1e9))]
        tcp_cost_ns: Option<f64>,
    },
    /// Costs measured by `accelflow record`, given by exactly one of the fields `file` and `text`.
    Recording {
        /// The name of the recording's file, relative to the workload file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// The text of the recording.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The cost of each operation. A cost may be left out only if no service with these costs uses
    /// the operation.
    Operations {
        /// The cost of TCP, for sending and receiving alike.
        #[serde(default, rename = "TCP", skip_serializing_if = "Option::is_none")]
        tcp: Option<OperationCost>,
        /// The cost of encryption.
        #[serde(default, rename = "Encr", skip_serializing_if = "Option::is_none")]
        encr: Option<OperationCost>,
        /// The cost of decryption.
        #[serde(default, rename = "Decr", skip_serializing_if = "Option::is_none")]
        decr: Option<OperationCost>,
        /// The cost of processing the headers of remote procedure calls.
        #[serde(default, rename = "RPC", skip_serializing_if = "Option::is_none")]
        rpc: Option<OperationCost>,
        /// The cost of serialization.
        #[serde(default, rename = "Ser", skip_serializing_if = "Option::is_none")]
        ser: Option<OperationCost>,
        /// The cost of deserialization.
        #[serde(default, rename = "Dser", skip_serializing_if = "Option::is_none")]
        dser: Option<OperationCost>,
        /// The cost of compression.
        #[serde(default, rename = "Cmp", skip_serializing_if = "Option::is_none")]
        cmp: Option<OperationCost>,
        /// The cost of decompression.
        #[serde(default, rename = "Dcmp", skip_serializing_if = "Option::is_none")]
        dcmp: Option<OperationCost>,
        /// The cost of load balancing.
        #[serde(default, rename = "LdB", skip_serializing_if = "Option::is_none")]
        ldb: Option<OperationCost>,
    },
    /// Costs measured on the machine that runs the simulation; allowed only in `defaults`, if no
    /// service has costs of its own and all services are services of SocialNetwork.
    Measured {},
}

/// The cost of an operation on a core: a part per message and a part per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationCost {
    /// The constant part of the cost, for each message, in ns.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e12))]
    pub ns: f64,
    /// The part of the cost for each byte of the message before compression, in ns.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub ns_per_byte: f64,
    /// The relative standard error of the cost, if the cost was measured: one standard error of the
    /// mean, divided by the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub relative_error: Option<f64>,
}

/// The cost of a custom accelerator's operation on a core, and the accelerator's speedup. At least
/// one of `ns` and `ns_per_byte` must be above 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindCost {
    /// The constant part of the cost on a core, for each message, in ns.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e12))]
    pub ns: f64,
    /// The part of the cost on a core for each byte of the message before compression, in ns.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub ns_per_byte: f64,
    /// The relative standard error of the cost, if the cost was measured: one standard error of the
    /// mean, divided by the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub relative_error: Option<f64>,
    /// The speedup of the accelerator over a core; by default the chip's parameter `speedup.own`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 1e6))]
    pub speedup: Option<f64>,
}

/// A distribution of times: how long a remote side takes to answer, application logic takes on a
/// core, or a message takes on the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// One time, in us.
    ConstantUs(Duration),
    /// Times whose logarithm is normally distributed.
    LogNormal(LogNormalTime),
    /// A table of quantiles: pairs of a probability, from 0 to 1, and the time in us that this
    /// share of the times does not exceed. Between the pairs, times are evenly distributed.
    QuantilesUs(#[schemars(length(min = 2, max = 10_000))] Vec<(f64, Duration)>),
    /// The name of a CSV file with the columns time_us and count, relative to the workload file.
    HistogramFile(String),
    /// Pairs of a time in us, ascending, and how often this time was measured.
    HistogramUs(#[schemars(length(min = 1, max = 1_000_000))] Vec<(Duration, u64)>),
}

/// A time in us, from 0 to 1e9 us (1,000 s).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Duration(#[schemars(range(min = 0.0, max = 1e9))] pub f64);

/// A log-normal distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormalTime {
    /// The median time, in us.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub median_us: f64,
    /// The standard deviation of the time's natural logarithm.
    #[schemars(range(min = 0.0, max = 4.0))]
    pub sigma: f64,
}

/// The rule by which a chain repeats failed attempts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// The probability that an attempt fails.
    pub odds: Probability,
    /// The largest number of attempts, the first included. If the last one fails, the request is
    /// answered with an error, unless its chain is detached.
    #[schemars(range(min = 1, max = 64))]
    pub attempts: u8,
    /// The time from a failed attempt to the next one, in us.
    pub backoff_us: Duration,
}

/// A probability, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Probability(#[schemars(range(min = 0.0, max = 1.0))] pub f64);
