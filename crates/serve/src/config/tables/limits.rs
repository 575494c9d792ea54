//! The parameters of a server that limit connections and messages.

use accelflow_parameters::{Choice, Kind, Parameter, Provenance};

use super::forms::{ConfigRow, MOST, MOST_BYTES, count};

/// The library that reads gRPC messages into trees goes no deeper.
const DEEPEST: f64 = 100.0;

pub(super) const CONNECTIONS: &[ConfigRow] = &[
    ConfigRow {
        parameter: count(
            "max_connections",
            "connections",
            (1.0, MOST),
            1_024.0,
            "With max_message_bytes, this bounds the server's memory.",
        ),
        get: |config| config.max_connections as f64,
        set: |config, value| config.max_connections = value as usize,
    },
    ConfigRow {
        parameter: Parameter {
            kind: Kind::whole_or(
                1.0,
                MOST,
                &[Choice::named(
                    0.0,
                    "quarter",
                    "a quarter of max_connections, and any number from this machine",
                )],
            ),
            ..count(
                "max_connections_per_address",
                "connections",
                (1.0, MOST),
                0.0,
                "One client cannot lock out all others, but many can share an address.",
            )
        },
        get: |config| config.max_connections_per_address.unwrap_or(0) as f64,
        set: |config, value| {
            config.max_connections_per_address = (value > 0.0).then_some(value as usize);
        },
    },
    ConfigRow {
        parameter: count(
            "reserved_descriptors",
            "descriptors",
            (0.0, MOST),
            64.0,
            "For the operators' 16 connections and files that handlers open.",
        ),
        get: |config| config.reserved_descriptors as f64,
        set: |config, value| config.reserved_descriptors = value as usize,
    },
    ConfigRow {
        parameter: count(
            "max_concurrent_streams",
            "requests",
            (1.0, MOST),
            512.0,
            "Hundreds of handlers of a gRPC connection can wait at a time, such as coroutines.",
        ),
        get: |config| f64::from(config.max_concurrent_streams),
        set: |config, value| config.max_concurrent_streams = value as u32,
    },
    ConfigRow {
        parameter: count(
            "max_unsent_bytes",
            "B",
            (1.0, MOST_BYTES),
            67_108_864.0,
            "4 times max_message_bytes, unless it is given.",
        ),
        get: |config| config.max_unsent_bytes as f64,
        set: |config, value| config.max_unsent_bytes = value as usize,
    },
];

pub(super) const MESSAGES: &[ConfigRow] = &[
    ConfigRow {
        parameter: Parameter {
            source: "16 MiB; the default frame limit of Apache Thrift is 16,384,000 bytes",
            ..count("max_message_bytes", "B", (1.0, MOST), 16_777_216.0, "")
        },
        get: |config| config.limits.max_message_bytes as f64,
        set: |config, value| config.limits.max_message_bytes = value as usize,
    },
    ConfigRow {
        parameter: count(
            "max_decompressed_bytes",
            "B",
            (1.0, MOST_BYTES),
            16_777_216.0,
            "As the largest message.",
        ),
        get: |config| config.limits.max_decompressed_bytes as f64,
        set: |config, value| config.limits.max_decompressed_bytes = value as usize,
    },
    ConfigRow {
        parameter: count(
            "max_decompression_ratio",
            "",
            (1.0, MOST_BYTES),
            256.0,
            "Outputs up to 64 KiB may have any ratio; gzip's format bounds it to 1,032.",
        ),
        get: |config| config.limits.max_decompression_ratio as f64,
        set: |config, value| config.limits.max_decompression_ratio = value as usize,
    },
    ConfigRow {
        parameter: Parameter {
            source: "Apache Thrift's recursion limit",
            ..count("max_depth", "levels", (1.0, DEEPEST), 64.0, "")
        },
        get: |config| config.limits.max_depth as f64,
        set: |config, value| config.limits.max_depth = value as usize,
    },
    ConfigRow {
        parameter: Parameter {
            provenance: Provenance::Derived,
            source: "elements measured as values: up to 385 B each",
            ..count(
                "max_elements",
                "elements",
                (1.0, MOST_BYTES),
                131_072.0,
                "With 512 B each, a message's elements take 64 MiB at most, 4 times the largest message.",
            )
        },
        get: |config| config.limits.max_elements as f64,
        set: |config, value| config.limits.max_elements = value as usize,
    },
    ConfigRow {
        parameter: count(
            "max_value_bytes",
            "B",
            (1.0, MOST_BYTES),
            33_554_432.0,
            "Twice max_message_bytes, unless it is given: 1.5 times that size in base64.",
        ),
        get: |config| config.limits.max_value_bytes as f64,
        set: |config, value| config.limits.max_value_bytes = value as usize,
    },
    ConfigRow {
        parameter: count(
            "max_name_bytes",
            "B",
            (1.0, MOST),
            256.0,
            "Names of methods and services; cannot be set from Python.",
        ),
        get: |config| config.limits.max_name_bytes as f64,
        set: |config, value| config.limits.max_name_bytes = value as usize,
    },
];
