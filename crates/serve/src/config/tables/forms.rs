//! Functions that create parameters for the tables of servers and clients: counts, time limits and
//! switches.

use std::time::Duration;

use accelflow_parameters::{Kind, Parameter, Provenance, Row};

use crate::config::server::Config;
use crate::config::time_limit::MAX_TIME_LIMIT;

/// The largest count, and the largest size of a message in bytes.
pub(crate) const MOST: f64 = i32::MAX as f64;
/// The largest number of bytes that is computed from a count.
pub(crate) const MOST_BYTES: f64 = 4.0 * MOST;

pub(super) type ConfigRow = Row<Config>;

/// A whole number that this project has chosen.
pub(crate) const fn count(
    key: &'static str,
    unit: &'static str,
    range: (f64, f64),
    default: f64,
    why: &'static str,
) -> Parameter {
    Parameter {
        key,
        unit,
        kind: Kind::whole(range.0, range.1),
        default,
        provenance: Provenance::Assumed,
        source: "no source",
        why,
    }
}

/// A time limit that this project has chosen.
pub(crate) const fn time_limit(key: &'static str, default_s: f64, why: &'static str) -> Parameter {
    Parameter {
        key,
        unit: "s",
        kind: Kind::number(1e-9, MAX_TIME_LIMIT.as_secs() as f64),
        default: default_s,
        provenance: Provenance::Assumed,
        source: "no source",
        why,
    }
}

/// A setting that is off by default.
pub(crate) const fn switch(key: &'static str, why: &'static str) -> Parameter {
    Parameter {
        key,
        unit: "",
        kind: Kind::Switch,
        default: 0.0,
        provenance: Provenance::Assumed,
        source: "no source",
        why,
    }
}

pub(crate) fn is_on(value: bool) -> f64 {
    f64::from(u8::from(value))
}

pub(crate) fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}
