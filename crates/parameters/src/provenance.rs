//! The provenance of defaults.

use std::fmt;

/// The provenance of a parameter's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Printed in a paper; the source names the paper and the place.
    Paper,
    /// Calculated from printed figures.
    Derived,
    /// Measured; the source names what was measured.
    Measured,
    /// Chosen, for a stated reason.
    Assumed,
}

impl Provenance {
    /// The origins of a value, the best founded first.
    pub const ALL: [Provenance; 4] = [
        Provenance::Paper,
        Provenance::Derived,
        Provenance::Measured,
        Provenance::Assumed,
    ];

    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Provenance::Paper => "paper",
            Provenance::Derived => "derived",
            Provenance::Measured => "measured",
            Provenance::Assumed => "assumed",
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
