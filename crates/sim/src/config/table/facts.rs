//! The table of probabilities of cache misses, errors and other facts.

use crate::config::server::Config;
use accelflow_parameters::{Kind, Parameter, Provenance, Row};

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "facts.cache_miss",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: 0.0375,
            provenance: Provenance::Derived,
            source: "Twitter's 53 cache clusters of March 2020 (twitter/cache-trace): median miss ratio",
            why: "For chains that hit on the most common path.",
        },
        get: |config| config.facts.cache_miss,
        set: |config, value| config.facts.cache_miss = value,
    },
    Row {
        parameter: Parameter {
            key: "facts.cache_miss_where_common",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: 0.59,
            provenance: Provenance::Derived,
            source: "Twitter's 53 cache clusters of March 2020 (twitter/cache-trace): 90th percentile of the miss ratio",
            why: "For chains that miss on the most common path (Login, Table IV): for a miss to be the most common answer, the ratio must be above one half.",
        },
        get: |config| config.facts.cache_miss_where_common,
        set: |config, value| config.facts.cache_miss_where_common = value,
    },
    Row {
        parameter: Parameter {
            key: "facts.not_found",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: 0.01,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "The paper calls errors rare (section IV.B) and prints no rate; identifiers come from the services' own data.",
        },
        get: |config| config.facts.not_found,
        set: |config, value| config.facts.not_found = value,
    },
    Row {
        parameter: Parameter {
            key: "facts.write_exception",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: 0.001,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "The paper calls exceptions infrequent (section IV.B) and prints no rate; writes to a replicated store fail less often than calls of services.",
        },
        get: |config| config.facts.write_exception,
        set: |config, value| config.facts.write_exception = value,
    },
    Row {
        parameter: Parameter {
            key: "facts.rpc_exception",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: 0.01,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "The paper calls exceptions infrequent (section IV.B) and prints no rate.",
        },
        get: |config| config.facts.rpc_exception,
        set: |config, value| config.facts.rpc_exception = value,
    },
    Row {
        parameter: Parameter {
            key: "facts.other_form",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: 0.1,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Whether a message is compressed depends on its size and sender; the most common path says what most are, so the share is below one half.",
        },
        get: |config| config.facts.other_form,
        set: |config, value| config.facts.other_form = value,
    },
];
