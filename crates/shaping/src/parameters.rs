//! Where the numbers come from.

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Printed in the paper.
    Paper,
    /// Calculated from other numbers.
    Derived,
    /// Chosen, for a stated reason.
    Assumed,
}

impl Provenance {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Provenance::Paper => "paper",
            Provenance::Derived => "derived",
            Provenance::Assumed => "assumed",
        }
    }
}

/// A number that the shaper rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub key: &'static str,
    /// Its value.
    pub value: f64,
    /// The unit of the value; empty for a ratio.
    pub unit: &'static str,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The place in the paper, or the arithmetic, or the reason.
    pub source: &'static str,
}

/// Every number of the shaper that is not an input.
pub const PARAMETERS: [Parameter; 7] = [
    Parameter {
        key: "shaping.clock",
        value: 250e6,
        unit: "Hz",
        provenance: Provenance::Paper,
        source: "ARCUS, section 5.1: the FPGA's clock",
    },
    Parameter {
        key: "shaping.latency",
        value: 36.0,
        unit: "ns",
        provenance: Provenance::Paper,
        source: "ARCUS, section 5.3.1: the mechanism's cost; taken from grant to release",
    },
    Parameter {
        key: "shaping.latency_cycles",
        value: 9.0,
        unit: "cycles",
        provenance: Provenance::Derived,
        source: "36 ns x 250 MHz",
    },
    Parameter {
        key: "shaping.reconfiguration",
        value: 10.0,
        unit: "us",
        provenance: Provenance::Paper,
        source: "ARCUS, section 5.3.1: several rounds of PCIe transactions",
    },
    Parameter {
        key: "shaping.initial_fill",
        value: 1.0,
        unit: "",
        provenance: Provenance::Assumed,
        source: "share of the bucket that is full when a flow begins; not printed, full is usual",
    },
    Parameter {
        key: "shaping.grants_per_cycle",
        value: 1.0,
        unit: "segments",
        provenance: Provenance::Assumed,
        source: "section 5.1 has a round-robin arbiter; a decision a cycle is what one does",
    },
    Parameter {
        key: "shaping.register_width",
        value: 32.0,
        unit: "bits",
        provenance: Provenance::Assumed,
        source: "not printed; the largest register value of Table 2 has 21 bits",
    },
];
