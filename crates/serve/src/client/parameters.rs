//! The parameters of clients, with their units, ranges and defaults.

use std::time::Duration;

use accelflow_parameters::{Kind, Parameter, Refusal, Row, Table};

use super::config::ClientConfig;
use crate::config::MAX_TIME_LIMIT;
use crate::config::tables::forms::{MOST, count, is_on, seconds, switch, time_limit};

/// The table of a client's parameters (the fields of [`ClientConfig`]) with their ranges and
/// defaults. [`ClientConfig::execution`] and the seed of the pauses between attempts are not in the
/// table.
pub const CLIENT_PARAMETERS: Table<ClientConfig> = Table::new(&[CALLS, RETRIES]);

impl ClientConfig {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        CLIENT_PARAMETERS.check(self)
    }
}

const CALLS: &[Row<ClientConfig>] = &[
    Row {
        parameter: time_limit(
            "timeout_s",
            10.0,
            "A whole call; an earlier deadline of the request being handled comes first.",
        ),
        get: |config| config.timeout.as_secs_f64(),
        set: |config, value| config.timeout = seconds(value),
    },
    Row {
        parameter: time_limit(
            "connect_timeout_s",
            3.0,
            "A lost packet is sent again after a second, and once more two seconds later.",
        ),
        get: |config| config.connect_timeout.as_secs_f64(),
        set: |config, value| config.connect_timeout = seconds(value),
    },
    Row {
        parameter: time_limit(
            "idle_timeout_s",
            60.0,
            "Shorter than that of a server, so that the client closes first.",
        ),
        get: |config| config.idle_timeout.as_secs_f64(),
        set: |config, value| config.idle_timeout = seconds(value),
    },
    Row {
        parameter: count("max_connections", "connections", (1.0, MOST), 16.0, ""),
        get: |config| config.max_connections as f64,
        set: |config, value| config.max_connections = value as usize,
    },
    Row {
        parameter: Parameter {
            source: "RFC 9113, section 6.5.2: a service should allow at least 100 streams",
            ..count("calls_per_connection", "calls", (1.0, MOST), 100.0, "")
        },
        get: |config| config.calls_per_connection as f64,
        set: |config, value| config.calls_per_connection = value as usize,
    },
    Row {
        parameter: count(
            "max_waiting",
            "calls",
            (0.0, MOST),
            1_024.0,
            "A call that would wait behind so many would be late.",
        ),
        get: |config| config.max_waiting as f64,
        set: |config, value| config.max_waiting = value as usize,
    },
    Row {
        parameter: switch(
            "compress",
            "Only services with the field convention can read it.",
        ),
        get: |config| is_on(config.compress),
        set: |config, value| config.compress = value != 0.0,
    },
];

const RETRIES: &[Row<ClientConfig>] = &[
    Row {
        parameter: count(
            "max_attempts",
            "attempts",
            (1.0, MOST),
            3.0,
            "With the first. The budget bounds the retries of all calls.",
        ),
        get: |config| f64::from(config.retry.max_attempts),
        set: |config, value| config.retry.max_attempts = value as u32,
    },
    Row {
        parameter: delay(
            "retry.base_delay_s",
            0.01,
            "The largest pause before the second attempt; it doubles with each.",
        ),
        get: |config| config.retry.base_delay.as_secs_f64(),
        set: |config, value| config.retry.base_delay = pause(value),
    },
    Row {
        parameter: delay("retry.max_delay_s", 0.25, "The largest pause of all."),
        get: |config| config.retry.max_delay.as_secs_f64(),
        set: |config, value| config.retry.max_delay = pause(value),
    },
    Row {
        parameter: Parameter {
            kind: Kind::number(0.0, 1.0),
            ..count(
                "retry.budget_ratio",
                "retries/call",
                (0.0, 1.0),
                0.1,
                "A service that fails gets at most a tenth more calls.",
            )
        },
        get: |config| config.retry.budget_ratio,
        set: |config, value| config.retry.budget_ratio = value,
    },
    Row {
        parameter: count(
            "retry.budget_reserve",
            "retries",
            (0.0, MOST),
            10.0,
            "For clients with few calls.",
        ),
        get: |config| f64::from(config.retry.budget_reserve),
        set: |config, value| config.retry.budget_reserve = value as u32,
    },
];

/// A pause between attempts; 0 for none.
const fn delay(key: &'static str, default_s: f64, why: &'static str) -> Parameter {
    Parameter {
        kind: Kind::number(0.0, MAX_TIME_LIMIT.as_secs() as f64),
        ..time_limit(key, default_s, why)
    }
}

fn pause(value: f64) -> Duration {
    match value > 0.0 {
        true => seconds(value),
        false => Duration::ZERO,
    }
}
