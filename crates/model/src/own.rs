//! What one type of accelerator has in place of the number for all types.

use crate::input::{Input, Inputs, Provenance};

/// An input for one accelerator; 0 where it has the number for all.
const fn own(name: &'static str, max: f64) -> Input {
    Input {
        name,
        value: 0.0,
        min: 0.0,
        max,
        whole: true,
        provenance: Provenance::Paper,
        source: "AccelFlow, section VI and Table III: 0, the number for all accelerators",
    }
}

macro_rules! rows {
    ($prefix:literal, $max:expr) => {
        [
            own(concat!($prefix, ".Ser"), $max),
            own(concat!($prefix, ".Dser"), $max),
            own(concat!($prefix, ".Cmp"), $max),
            own(concat!($prefix, ".Dcmp"), $max),
            own(concat!($prefix, ".TCP"), $max),
            own(concat!($prefix, ".Encr"), $max),
            own(concat!($prefix, ".Decr"), $max),
            own(concat!($prefix, ".RPC"), $max),
            own(concat!($prefix, ".LdB"), $max),
        ]
    };
}

/// Every such input, by what it is the number of.
const ROWS: [[Input; 9]; 4] = [
    rows!("pes", 256.0),
    rows!("instances", 64.0),
    rows!("input_entries", 65_536.0),
    rows!("output_entries", 65_536.0),
];

/// The inputs of one accelerator alone.
pub(crate) const INPUTS: usize = ROWS.len() * ROWS[0].len();

/// `common`, and after them the inputs of one accelerator alone.
pub(crate) const fn with_own<const N: usize>(common: &[Input]) -> [Input; N] {
    assert!(N == common.len() + INPUTS);
    let mut all = [common[0]; N];
    let mut index = 0;
    while index < N {
        all[index] = if index < common.len() {
            common[index]
        } else {
            let own = index - common.len();
            ROWS[own / ROWS[0].len()][own % ROWS[0].len()]
        };
        index += 1;
    }
    all
}

/// The number that `accelerator` has of `what`: its own, or that of all.
pub(crate) fn number(inputs: &Inputs, what: &str, accelerator: &str) -> f64 {
    let own = inputs.get(&format!("{what}.{accelerator}"));
    if own == 0.0 { inputs.get(what) } else { own }
}

/// Whether a row says no more than that an accelerator has the number for all.
pub(crate) fn says_nothing((input, value): &(&'static Input, f64)) -> bool {
    *value == 0.0 && input.name.contains('.')
}
