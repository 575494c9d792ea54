//! The parameters of a server for threads, steering, the RPC processor, and replies.

use std::time::Duration;

use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};

use super::forms::{ConfigRow, MOST, count, is_on, seconds, switch};
use crate::config::server::{ArenaSettings, Compression, RpcProcessor};
use crate::config::steering::{Steering, SteeringPolicy};
use crate::config::time_limit::MAX_TIME_LIMIT;

/// The largest arena, in bytes: numbers up to here are exact.
const MOST_ARENA_BYTES: f64 = (1_u64 << 62) as f64;

const COMPRESSIONS: [Compression; 3] = [
    Compression::Never,
    Compression::LikeRequest,
    Compression::Always,
];

pub(super) const CONFIG: &[ConfigRow] = &[
    ConfigRow {
        parameter: count(
            "handler_threads",
            "threads",
            (0.0, MOST),
            64.0,
            "Blocking gRPC handlers leave threads for others.",
        ),
        get: |config| config.handler_threads as f64,
        set: |config, value| config.handler_threads = value as usize,
    },
    ConfigRow {
        parameter: switch(
            "overwrites_freed_memory",
            "On from Python, whose objects no allocator in Rust overwrites, and with tenants.",
        ),
        get: |config| is_on(config.overwrites_freed_memory),
        set: |config, value| config.overwrites_freed_memory = value != 0.0,
    },
    ConfigRow {
        parameter: Parameter {
            key: "compression",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(0.0, "never", "no reply is compressed"),
                Choice::named(1.0, "like_request", "replies to compressed requests"),
                Choice::named(2.0, "always", "all replies"),
            ]),
            default: 1.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "A client that compresses can decompress.",
        },
        get: |config| config.compression as usize as f64,
        set: |config, value| config.compression = COMPRESSIONS[value as usize],
    },
    ConfigRow {
        parameter: switch(
            "verbose_errors",
            "Errors can reveal a service's inside; the log has them.",
        ),
        get: |config| is_on(config.verbose_errors),
        set: |config, value| config.verbose_errors = value != 0.0,
    },
    ConfigRow {
        parameter: switch(
            "reflection",
            "An interface may be confidential; clients usually have its file.",
        ),
        get: |config| is_on(config.reflection),
        set: |config, value| config.reflection = value != 0.0,
    },
    ConfigRow {
        parameter: Parameter {
            provenance: Provenance::Paper,
            source: "AccelFlow, section IV.B: error subtraces of T6, T7 and T10",
            ..switch(
                "errors_to_caller",
                "Off, so that a handler can try something else.",
            )
        },
        get: |config| is_on(config.errors_to_caller),
        set: |config, value| config.errors_to_caller = value != 0.0,
    },
];

pub(super) const STEERING: &[Row<Steering>] = &[
    Row {
        parameter: Parameter {
            key: "policy",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(0.0, "affinity", "the function's own worker, within a bound"),
                Choice::named(
                    1.0,
                    "function_map",
                    "a worker whose last functions include it, within a bound",
                ),
                Choice::named(2.0, "round_robin", "one worker after the other"),
                Choice::named(3.0, "least_loaded", "the worker with the fewest requests"),
            ]),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "A function's code stays in one core's caches; function_map is that of Cerebros.",
        },
        get: |steering| {
            let mut policies = SteeringPolicy::ALL.iter();
            policies
                .position(|policy| *policy == steering.policy)
                .unwrap_or(0) as f64
        },
        set: |steering, value| steering.policy = SteeringPolicy::ALL[value as usize],
    },
    Row {
        parameter: switch("pinned", "The operating system places the workers."),
        get: |steering| is_on(steering.pinned),
        set: |steering, value| steering.pinned = value != 0.0,
    },
    Row {
        parameter: Parameter {
            provenance: Provenance::Paper,
            source: "Cerebros, section 4.3",
            ..count("function_map_depth", "functions", (1.0, MOST), 1.0, "")
        },
        get: |steering| steering.function_map_depth as f64,
        set: |steering, value| steering.function_map_depth = value as usize,
    },
];

pub(super) const RPC: &[Row<RpcProcessor>] = &[
    Row {
        parameter: switch(
            "split_schema",
            "It pays only with handlers that skip parts (docs/server-reasons.md).",
        ),
        get: |rpc| is_on(rpc.split_schema),
        set: |rpc, value| rpc.split_schema = value != 0.0,
    },
    Row {
        parameter: Parameter {
            kind: Kind::whole_or(
                1.0,
                MOST_ARENA_BYTES,
                &[Choice::named(0.0, "none", "no shared memory")],
            ),
            ..count(
                "arena_bytes",
                "B",
                (1.0, MOST_ARENA_BYTES),
                0.0,
                "Limits on connections and messages bound the memory.",
            )
        },
        get: |rpc| rpc.arena.map_or(0.0, |arena| arena.bytes as f64),
        set: |rpc, value| rpc.arena = (value > 0.0).then(|| ArenaSettings::of(value as usize)),
    },
];

pub(super) const ARENA: &[Row<ArenaSettings>] = &[
    Row {
        parameter: Parameter {
            provenance: Provenance::Paper,
            source: "Cerebros, section 4.1",
            ..count("reservation_ratio", "", (1.0, MOST), 4.0, "")
        },
        get: |arena| arena.reservation_ratio as f64,
        set: |arena, value| arena.reservation_ratio = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "patience_s",
            unit: "s",
            kind: Kind::number(0.0, MAX_TIME_LIMIT.as_secs() as f64),
            default: 0.0,
            provenance: Provenance::Paper,
            source: "Cerebros, section 4.1: a reservation that fails returns a NACK",
            why: "",
        },
        get: |arena| arena.patience.as_secs_f64(),
        set: |arena, value| {
            arena.patience = match value > 0.0 {
                true => seconds(value),
                false => Duration::ZERO,
            };
        },
    },
];
