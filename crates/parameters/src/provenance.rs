//! Where a default comes from.

use std::fmt;

/// Where the default of a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Printed in a paper; the source says in which and where.
    Paper,
    /// Calculated from printed figures.
    Derived,
    /// Measured; the source says on what.
    Measured,
    /// Chosen, for a stated reason.
    Assumed,
}

impl Provenance {
    /// All of them, the best founded first.
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
