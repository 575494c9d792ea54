//! The provenance of defaults.

use std::fmt;

/// The kind of origin of a parameter's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Printed in a paper; [`crate::Parameter::source`] names the paper and the place.
    Paper,
    /// Calculated from figures printed in a paper.
    Derived,
    /// Measured; [`crate::Parameter::source`] names what was measured.
    Measured,
    /// Chosen by this project, for a stated reason.
    Assumed,
}

impl Provenance {
    /// All kinds of origin, from the best founded to the least.
    pub const ALL: [Provenance; 4] = [
        Provenance::Paper,
        Provenance::Derived,
        Provenance::Measured,
        Provenance::Assumed,
    ];

    /// Returns the name in files and reports: `paper`, `derived`, `measured` or `assumed`.
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
