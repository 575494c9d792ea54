//! The parameters of the traffic shaper.

use accelflow_parameters::{Kind, Parameter, Provenance, Row, Table};
use accelflow_units::Time;

use crate::registers::Registers;
use crate::timing::{Clock, Timing};

/// The parameters of the traffic shaper, with their sources: the clock and the latencies in
/// [`Timing`], and every constant.
pub const PARAMETERS: Table<Timing> = Table::new(&[&[
    Row {
        parameter: Parameter {
            key: "shaping.clock",
            unit: "Hz",
            kind: Kind::whole(1.0, Clock::MAX_HZ as f64),
            default: 250e6,
            provenance: Provenance::Paper,
            source: "ARCUS, section 5.1: the FPGA's clock",
            why: "",
        },
        get: |timing| timing.clock.frequency().as_hz() as f64,
        set: |timing, value| timing.clock = Clock::from_hz(value as u64).unwrap_or(Clock::PAPER),
    },
    Row {
        parameter: Parameter {
            key: "shaping.latency",
            unit: "ns",
            kind: Kind::number(0.0, 1e9),
            default: 36.0,
            provenance: Provenance::Paper,
            source: "ARCUS, section 5.3.1: the mechanism's cost; taken from grant to release",
            why: "",
        },
        get: |timing| timing.shaping_latency.as_ns_f64(),
        set: |timing, value| timing.shaping_latency = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "shaping.latency_cycles",
            unit: "cycles",
            kind: Kind::Fixed,
            default: 9.0,
            provenance: Provenance::Derived,
            source: "36 ns x 250 MHz",
            why: "",
        },
        get: |timing| timing.clock.begun(timing.shaping_latency).0 as f64,
        set: |_, _| {},
    },
    Row {
        parameter: Parameter {
            key: "shaping.reconfiguration",
            unit: "us",
            kind: Kind::number(0.0, 1e9),
            default: 10.0,
            provenance: Provenance::Paper,
            source: "ARCUS, section 5.3.1: several rounds of PCIe transactions",
            why: "",
        },
        get: |timing| timing.reconfiguration.as_us_f64(),
        set: |timing, value| timing.reconfiguration = Time::from_ns_f64(value * 1e3),
    },
    Row {
        parameter: fixed(
            "shaping.initial_fill",
            1.0,
            "",
            "share of the bucket that is full when a flow begins; not printed, full is usual",
        ),
        get: |_| 1.0,
        set: |_, _| {},
    },
    Row {
        parameter: fixed(
            "shaping.grants_per_cycle",
            1.0,
            "segments",
            "ARCUS, section 5.1 has a round-robin arbiter; such an arbiter makes one decision per cycle",
        ),
        get: |_| 1.0,
        set: |_, _| {},
    },
    Row {
        parameter: fixed(
            "shaping.register_width",
            32.0,
            "bits",
            "not printed; the largest register value of Table 2 has 21 bits",
        ),
        get: |_| f64::from(Registers::MAX.count_ones()),
        set: |_, _| {},
    },
]]);

const fn fixed(
    key: &'static str,
    default: f64,
    unit: &'static str,
    source: &'static str,
) -> Parameter {
    Parameter {
        key,
        unit,
        kind: Kind::Fixed,
        default,
        provenance: Provenance::Assumed,
        source,
        why: "",
    }
}
