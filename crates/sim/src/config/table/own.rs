//! What a type of accelerator has in place of the number for all types.

use accelflow_trace::Accel;

use crate::config::parameters::{Parameter, Provenance};

/// A row for one accelerator: Table III and section VI have one number for all types.
macro_rules! row {
    ($prefix:literal, $name:literal, $accel:ident, $unit:literal, $max:literal, $field:ident) => {
        Parameter {
            key: concat!($prefix, ".", $name),
            unit: $unit,
            default: 0.0,
            min: 0.0,
            max: $max,
            whole: true,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI and Table III",
            why: concat!(
                "0 takes accelerator.",
                $prefix,
                ": the processor evaluated has the same number of each type."
            ),
            get: |c| c.accelerator.own[Accel::$accel.index()].$field as f64,
            set: |c, v| c.accelerator.own[Accel::$accel.index()].$field = v as usize,
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

pub(super) const INSTANCES: &[Parameter] = &rows!("instances", "", 16.0, instances);
pub(super) const PES: &[Parameter] = &rows!("pes", "PEs", 1024.0, pes);
pub(super) const INPUT_ENTRIES: &[Parameter] =
    &rows!("input_entries", "entries", 65536.0, input_entries);
pub(super) const OUTPUT_ENTRIES: &[Parameter] =
    &rows!("output_entries", "entries", 65536.0, output_entries);
