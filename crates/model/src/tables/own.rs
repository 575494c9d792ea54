//! The inputs that set the size of one kind of accelerator, instead of the size for all kinds.

use accelflow_parameters::{Kind, Parameter, Provenance, Row};

use crate::inputs::AreaInputs;

/// A row for one accelerator, by its place in [`crate::inputs::ACCELERATORS`].
macro_rules! row {
    ($prefix:literal, $name:literal, $place:literal, $unit:literal, $of_all:literal, $max:expr,
     $field:ident) => {
        Row {
            parameter: Parameter {
                key: concat!($prefix, ".", $name),
                unit: $unit,
                kind: Kind::whole($of_all, $max),
                default: $of_all,
                provenance: Provenance::Paper,
                source: concat!(
                    "AccelFlow, section VI and Table III: ",
                    $of_all,
                    ", the number for all accelerators"
                ),
                why: "",
            },
            get: |inputs| inputs.own[$place].$field,
            set: |inputs, value| inputs.own[$place].$field = value,
        }
    };
}

/// The rows of all accelerators.
macro_rules! rows {
    ($prefix:literal, $unit:literal, $of_all:literal, $max:expr, $field:ident) => {
        [
            row!($prefix, "Ser", 0, $unit, $of_all, $max, $field),
            row!($prefix, "Dser", 1, $unit, $of_all, $max, $field),
            row!($prefix, "Cmp", 2, $unit, $of_all, $max, $field),
            row!($prefix, "Dcmp", 3, $unit, $of_all, $max, $field),
            row!($prefix, "TCP", 4, $unit, $of_all, $max, $field),
            row!($prefix, "Encr", 5, $unit, $of_all, $max, $field),
            row!($prefix, "Decr", 6, $unit, $of_all, $max, $field),
            row!($prefix, "RPC", 7, $unit, $of_all, $max, $field),
            row!($prefix, "LdB", 8, $unit, $of_all, $max, $field),
        ]
    };
}

/// The most processing elements of an instance.
pub(super) const MOST_PES: f64 = 1024.0;
/// The most instances of an accelerator.
pub(super) const MOST_INSTANCES: f64 = 64.0;
/// The most entries of a queue.
pub(super) const MOST_ENTRIES: f64 = 65_536.0;

pub(super) const PES: &[Row<AreaInputs>] = &rows!("pes", "PEs", -1.0, MOST_PES, pes);
pub(super) const INSTANCES: &[Row<AreaInputs>] =
    &rows!("instances", "", -1.0, MOST_INSTANCES, instances);
pub(super) const INPUT_ENTRIES: &[Row<AreaInputs>] = &rows!(
    "input_entries",
    "entries",
    -1.0,
    MOST_ENTRIES,
    input_entries
);
pub(super) const OUTPUT_ENTRIES: &[Row<AreaInputs>] = &rows!(
    "output_entries",
    "entries",
    -1.0,
    MOST_ENTRIES,
    output_entries
);
