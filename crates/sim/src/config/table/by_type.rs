//! The table of parameters of one accelerator type, which override the parameters of all types.

use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};
use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::config::server::Config;

/// The value of a count for which a type uses the number of all types.
const NOT_OWN: f64 = -1.0;

/// A count from 0 to `$max`, or that of all types, whose parameter is called `$of_all`.
macro_rules! count {
    ($max:literal, $of_all:literal) => {{
        const AS_ALL: &[Choice] = &[Choice::named(
            NOT_OWN,
            "as_accelerator",
            concat!("the value of ", $of_all),
        )];
        Kind::whole_or(0.0, $max, AS_ALL)
    }};
}

/// The provenance and source of the numbers of all types, which each type has by default.
type Origin = (Provenance, &'static str);
const PRINTED: Origin = (Provenance::Paper, "AccelFlow, section VI and Table III");
const ASSUMED: Origin = (Provenance::Assumed, "no source");

/// A row for one accelerator: Table III and section VI have one number for all types.
macro_rules! row {
    ($prefix:literal, $name:literal, $accel:ident, $unit:literal, $kind:expr, $default:expr,
     $origin:expr, $why:expr, $field:ident, $get:path, $set:path) => {
        Row {
            parameter: Parameter {
                key: concat!($prefix, ".", $name),
                unit: $unit,
                kind: $kind,
                default: $default,
                provenance: $origin.0,
                source: $origin.1,
                why: $why,
            },
            get: |config| $get(config.accelerator.own[Accel::$accel.index()].$field),
            set: |config, value| config.accelerator.own[Accel::$accel.index()].$field = $set(value),
        }
    };
}

/// The rows of all accelerators.
macro_rules! rows {
    ($prefix:literal, $unit:literal, $kind:expr, $default:expr, $origin:expr, $why:literal,
     $field:ident, $get:path, $set:path) => {
        [
            rows!(@ "TCP", Tcp, $prefix, $unit, $kind, $default, $origin, $why, $field, $get, $set),
            rows!(@ "Encr", Encr, $prefix, $unit, $kind, $default, $origin, $why, $field, $get, $set),
            rows!(@ "Decr", Decr, $prefix, $unit, $kind, $default, $origin, $why, $field, $get, $set),
            rows!(@ "RPC", Rpc, $prefix, $unit, $kind, $default, $origin, $why, $field, $get, $set),
            rows!(@ "Ser", Ser, $prefix, $unit, $kind, $default, $origin, $why, $field, $get, $set),
            rows!(@ "Dser", Dser, $prefix, $unit, $kind, $default, $origin, $why, $field, $get, $set),
            rows!(@ "Cmp", Cmp, $prefix, $unit, $kind, $default, $origin, $why, $field, $get, $set),
            rows!(@ "Dcmp", Dcmp, $prefix, $unit, $kind, $default, $origin, $why, $field, $get, $set),
            rows!(@ "LdB", Ldb, $prefix, $unit, $kind, $default, $origin, $why, $field, $get, $set),
            Row {
                parameter: Parameter {
                    key: concat!($prefix, ".own"),
                    unit: $unit,
                    kind: $kind,
                    default: $default,
                    provenance: Provenance::Assumed,
                    source: "no source",
                    why: concat!("Of each custom accelerator that a workload's traces declare. ", $why),
                },
                get: |config| $get(config.accelerator.own[Accel::COUNT].$field),
                set: |config, value| {
                    for own in &mut config.accelerator.own[Accel::COUNT..] {
                        own.$field = $set(value);
                    }
                },
            },
        ]
    };
    (@ $name:literal, $accel:ident, $prefix:literal, $unit:literal, $kind:expr, $default:expr,
     $origin:expr, $why:expr, $field:ident, $get:path, $set:path) => {
        row!($prefix, $name, $accel, $unit, $kind, $default, $origin, $why, $field, $get, $set)
    };
}

pub(super) const INSTANCES: &[Row<Config>] = &rows!(
    "instances",
    "",
    count!(16.0, "accelerator.instances"),
    NOT_OWN,
    PRINTED,
    "The processor evaluated has the same number of each type. 0 is a chip without this accelerator: a trace that comes to it goes on in software, on its core.",
    instances,
    own,
    some
);
pub(super) const PES: &[Row<Config>] = &rows!(
    "pes",
    "PEs",
    count!(1024.0, "accelerator.pes"),
    NOT_OWN,
    PRINTED,
    "The processor evaluated has the same number of each type. 0 is a chip without this accelerator, as instances = 0 is.",
    pes,
    own,
    some
);
pub(super) const INPUT_ENTRIES: &[Row<Config>] = &rows!(
    "input_entries",
    "entries",
    count!(65536.0, "accelerator.input_entries"),
    NOT_OWN,
    PRINTED,
    "The processor evaluated has the same number of each type. 0 is a chip without this accelerator, as instances = 0 is.",
    input_entries,
    own,
    some
);
pub(super) const OUTPUT_ENTRIES: &[Row<Config>] = &rows!(
    "output_entries",
    "entries",
    count!(65536.0, "accelerator.output_entries"),
    NOT_OWN,
    PRINTED,
    "The processor evaluated has the same number of each type. 0 is a chip without this accelerator, as instances = 0 is.",
    output_entries,
    own,
    some
);
pub(super) const OVERFLOW_ENTRIES: &[Row<Config>] = &rows!(
    "overflow_entries",
    "entries",
    count!(1_048_576.0, "accelerator.overflow_entries"),
    NOT_OWN,
    ASSUMED,
    "0 is a queue without an overflow area.",
    overflow_entries,
    own,
    some
);
pub(super) const MEAN_OPERATION: &[Row<Config>] = &rows!(
    "mean_operation_ns",
    "ns",
    Kind::number(0.0, 1_000_000_000.0),
    0.0,
    PRINTED,
    "With 0, the time of an operation is its time on a core divided by the speedup, as in the paper. Another value is the time of every operation of this type, whatever its payload and its time on a core; loading and writing back come on top.",
    mean_operation,
    Time::as_ns_f64,
    Time::from_ns_f64
);

fn own(count: Option<usize>) -> f64 {
    count.map_or(NOT_OWN, |count| count as f64)
}

fn some(number: f64) -> Option<usize> {
    (number > NOT_OWN).then_some(number as usize)
}
