//! The parameters of a server that are time limits.

use super::forms::{ConfigRow, seconds, time_limit};

pub(super) const ROWS: &[ConfigRow] = &[
    ConfigRow {
        parameter: time_limit(
            "idle_timeout_s",
            300.0,
            "Clients keep connections open between calls, often for minutes.",
        ),
        get: |config| config.idle_timeout.as_secs_f64(),
        set: |config, value| config.idle_timeout = seconds(value),
    },
    ConfigRow {
        parameter: time_limit(
            "evict_after_s",
            10.0,
            "A connection idle for longer may be closed to make room for another.",
        ),
        get: |config| config.evict_after.as_secs_f64(),
        set: |config, value| config.evict_after = seconds(value),
    },
    ConfigRow {
        parameter: time_limit(
            "first_byte_timeout_s",
            10.0,
            "An unused connection also takes a place and a thread.",
        ),
        get: |config| config.first_byte_timeout.as_secs_f64(),
        set: |config, value| config.first_byte_timeout = seconds(value),
    },
    ConfigRow {
        parameter: time_limit(
            "message_timeout_s",
            10.0,
            "The largest message arrives in time over 14 Mbit/s.",
        ),
        get: |config| config.message_timeout.as_secs_f64(),
        set: |config, value| config.message_timeout = seconds(value),
    },
    ConfigRow {
        parameter: time_limit(
            "handshake_timeout_s",
            10.0,
            "From Python, message_timeout_s also limits handshakes.",
        ),
        get: |config| config.handshake_timeout.as_secs_f64(),
        set: |config, value| config.handshake_timeout = seconds(value),
    },
    ConfigRow {
        parameter: time_limit(
            "write_timeout_s",
            10.0,
            "From Python, message_timeout_s unless it is given.",
        ),
        get: |config| config.write_timeout.as_secs_f64(),
        set: |config, value| config.write_timeout = seconds(value),
    },
];
