//! What a type of accelerator has in place of the number for all types.

use accelflow_parameters::{Kind, Parameter, Provenance, Row};
use accelflow_trace::Accel;

use crate::config::server::Config;

/// A row for one accelerator: Table III and section VI have one number for all types.
macro_rules! row {
    ($prefix:literal, $name:literal, $accel:ident, $unit:literal, $max:literal, $field:ident) => {
        Row {
            parameter: Parameter {
                key: concat!($prefix, ".", $name),
                unit: $unit,
                kind: Kind::whole(0.0, $max),
                default: 0.0,
                provenance: Provenance::Paper,
                source: "AccelFlow, section VI and Table III",
                why: concat!(
                    "0 takes accelerator.",
                    $prefix,
                    ": the processor evaluated has the same number of each type."
                ),
            },
            get: |config| config.accelerator.own[Accel::$accel.index()].$field as f64,
            set: |config, value| {
                config.accelerator.own[Accel::$accel.index()].$field = value as usize
            },
        }
    };
}

/// The rows of all accelerators.
macro_rules! rows {
    ($prefix:literal, $unit:literal, $max:literal, $field:ident) => {
        [
            row!($prefix, "TCP", Tcp, $unit, $max, $field),
            row!($prefix, "Encr", Encr, $unit, $max, $field),
            row!($prefix, "Decr", Decr, $unit, $max, $field),
            row!($prefix, "RPC", Rpc, $unit, $max, $field),
            row!($prefix, "Ser", Ser, $unit, $max, $field),
            row!($prefix, "Dser", Dser, $unit, $max, $field),
            row!($prefix, "Cmp", Cmp, $unit, $max, $field),
            row!($prefix, "Dcmp", Dcmp, $unit, $max, $field),
            row!($prefix, "LdB", Ldb, $unit, $max, $field),
        ]
    };
}

pub(super) const INSTANCES: &[Row<Config>] = &rows!("instances", "", 16.0, instances);
pub(super) const PES: &[Row<Config>] = &rows!("pes", "PEs", 1024.0, pes);
pub(super) const INPUT_ENTRIES: &[Row<Config>] =
    &rows!("input_entries", "entries", 65536.0, input_entries);
pub(super) const OUTPUT_ENTRIES: &[Row<Config>] =
    &rows!("output_entries", "entries", 65536.0, output_entries);
