//! The provenance of defaults: where the numbers come from.

use std::fmt;

/// The kind of source of a parameter's default: printed in a paper, derived from published numbers,
/// measured, or assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Printed in a paper. [`Parameter::source`](crate::Parameter::source) names the paper and the
    /// section, figure or table.
    Paper,
    /// Calculated from published numbers, such as those that a paper prints.
    Derived,
    /// Measured. [`Parameter::source`](crate::Parameter::source) names the measured thing.
    Measured,
    /// Chosen by this project, for a stated reason.
    Assumed,
}

impl Provenance {
    /// All kinds of source, from the best founded to the least.
    pub const ALL: [Provenance; 4] = [
        Provenance::Paper,
        Provenance::Derived,
        Provenance::Measured,
        Provenance::Assumed,
    ];

    /// Returns the name of the kind of source in files and reports: `paper`, `derived`, `measured`
    /// or `assumed`.
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
