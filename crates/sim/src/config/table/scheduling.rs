//! The table of parameters of input dispatchers.

use crate::config::parts::DispatchPolicy;
use crate::config::server::Config;
use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};

pub(super) const ROWS: &[Row<Config>] = &[Row {
    parameter: Parameter {
        key: "scheduling.policy",
        unit: "",
        kind: Kind::Choice(&[
            Choice::named(0.0, "fifo", "first in, first out: the base design"),
            Choice::named(1.0, "priority", "by level of priority"),
            Choice::named(
                2.0,
                "deadline",
                "an entry that would be late changes places with one that has slack",
            ),
            Choice::named(3.0, "edf", "the earliest deadline first"),
        ]),
        default: 0.0,
        provenance: Provenance::Paper,
        source: "AccelFlow, sections IV.C, V.1 and VII.A.3",
        why: "The base design serves entries in order; section IV.C has priorities and section V.1 deadlines. Earliest deadline first is the comparison of section VII.A.3. Without effect under RELIEF, whose queue is central, and under accelflow_deadline and accelflow_edf, which have one policy each.",
    },
    get: |config| f64::from(config.scheduling.policy.number()),
    set: |config, value| config.scheduling.policy = DispatchPolicy::of_number(value),
}];
