//! The parameters of the suite's simulations, and their sources.

use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Refusal, Row, Table};
use accelflow_units::{Bandwidth, Time};

use crate::dag::Kind as Accelerator;
use crate::platform::{Order, Payload, Platform, QUEUE_BANDWIDTH};

/// Every parameter of the suite's simulations, with range, default and source. The computation
/// times are not included: see [`Operation::compute`](crate::dag::Operation::compute).
pub const PARAMETERS: Table<Platform> = Table::new(&[ROWS]);

impl Platform {
    /// Checks that every parameter of the platform is in its range.
    ///
    /// # Errors
    /// [`Refusal`] for the first value out of range.
    pub fn check(&self) -> Result<(), Refusal> {
        for kind in Accelerator::ALL {
            let units = self.units[kind.index()];
            if !(1..=64).contains(&units) {
                let place = format!("number of accelerators of kind {}", kind.name());
                return Err(Refusal::new(place, units, "must be from 1 to 64"));
            }
        }
        PARAMETERS.check(self)
    }
}

const RELEASE: &str = "RELIEF's release: statistics of its gem5 model";

/// Times of transfers and of the manager.
const US: Kind = Kind::number(0.0, 1e6);

fn us(value: f64) -> Time {
    Time::from_ns_f64(value * 1e3)
}

/// The range keeps rates above zero, so the fallback is never taken.
fn gbyte_per_s(value: f64) -> Bandwidth {
    Bandwidth::from_bytes_per_s((value * 1e9).round() as u64).unwrap_or(QUEUE_BANDWIDTH)
}

const ROWS: &[Row<Platform>] = &[
    Row {
        parameter: Parameter {
            key: "units_of_each_kind",
            unit: "",
            kind: Kind::whole(1.0, 64.0),
            default: 1.0,
            provenance: Provenance::Paper,
            source: "RELIEF's release: one of each of 7 kinds is used",
            why: "",
        },
        get: |platform| platform.units[0] as f64,
        set: |platform, value| platform.units = [value as usize; Accelerator::COUNT],
    },
    Row {
        parameter: Parameter {
            key: "load_64KiB_us",
            unit: "us",
            kind: US,
            default: 11.8,
            provenance: Provenance::Paper,
            source: RELEASE,
            why: "",
        },
        get: |platform| platform.load.as_us_f64(),
        set: |platform, value| platform.load = us(value),
    },
    Row {
        parameter: Parameter {
            key: "store_64KiB_us",
            unit: "us",
            kind: US,
            default: 6.3,
            provenance: Provenance::Paper,
            source: RELEASE,
            why: "",
        },
        get: |platform| platform.store.as_us_f64(),
        set: |platform, value| platform.store = us(value),
    },
    Row {
        parameter: Parameter {
            key: "forward_64KiB_us",
            unit: "us",
            kind: US,
            default: 10.3,
            provenance: Provenance::Paper,
            source: RELEASE,
            why: "",
        },
        get: |platform| platform.forward.as_us_f64(),
        set: |platform, value| platform.forward = us(value),
    },
    Row {
        parameter: Parameter {
            key: "other_sizes",
            unit: "",
            kind: Kind::Choice(&[Choice::named(
                0.0,
                "in proportion",
                "the time of 64 KiB times the size",
            )]),
            default: 0.0,
            provenance: Provenance::Derived,
            source: "the three rates are those of long transfers",
            why: "",
        },
        get: |_| 0.0,
        set: |_, _| {},
    },
    Row {
        parameter: Parameter {
            key: "memory_contention",
            unit: "",
            kind: Kind::Choice(&[Choice::named(
                0.0,
                "none",
                "transfers do not slow each other down",
            )]),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "the times are the least that the release shows",
            why: "",
        },
        get: |_| 0.0,
        set: |_, _| {},
    },
    Row {
        parameter: Parameter {
            key: "interrupt_us",
            unit: "us",
            kind: US,
            default: 2.0,
            provenance: Provenance::Paper,
            source: "RELIEF's release; AccelFlow's text has 1.5 us a task",
            why: "",
        },
        get: |platform| platform.manager.time().as_us_f64(),
        set: |platform, value| platform.manager = platform.manager.with_time(us(value)),
    },
    Row {
        parameter: Parameter {
            key: "submission_us",
            unit: "us",
            kind: Kind::Fixed,
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "the host releases a graph's first tasks for nothing",
            why: "",
        },
        get: |_| 0.0,
        set: |_, _| {},
    },
    Row {
        parameter: Parameter {
            key: "dispatch_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1e9),
            default: 18.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, section VII.B.2: 18 instructions, at 1 GHz",
            why: "",
        },
        get: |platform| platform.dispatch.as_ns_f64(),
        set: |platform, value| platform.dispatch = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "adma_engines",
            unit: "engines",
            kind: Kind::whole(1.0, 1024.0),
            default: 10.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |platform| platform.adma_engines as f64,
        set: |platform, value| platform.adma_engines = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "queue_entries",
            unit: "entries",
            kind: Kind::whole(1.0, 65_536.0),
            default: 64.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |platform| platform.queue_entries as f64,
        set: |platform, value| platform.queue_entries = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "queue_latency_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1e9),
            default: 10.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |platform| platform.queue_latency.as_ns_f64(),
        set: |platform, value| platform.queue_latency = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "queue_gbyte_per_s",
            unit: "GB/s",
            kind: Kind::number(0.001, 1e5),
            default: 100.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |platform| platform.queue_bandwidth.as_bytes_per_s() as f64 / 1e9,
        set: |platform, value| platform.queue_bandwidth = gbyte_per_s(value),
    },
    Row {
        parameter: Parameter {
            key: "order",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(0.0, "fifo", "as they became ready"),
                Choice::named(
                    1.0,
                    "deadline",
                    "the graph with the earliest deadline first",
                ),
            ]),
            default: 0.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section IV.A: the base design; deadlines are the advanced one",
            why: "",
        },
        get: |platform| platform.order as usize as f64,
        set: |platform, value| platform.order = Order::ALL[value as usize],
    },
    Row {
        parameter: Parameter {
            key: "payload",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(0.0, "in_queue", "in queue entries as large as a scratchpad"),
                Choice::named(
                    1.0,
                    "by_pointer",
                    "in memory, behind the pointer of the entry",
                ),
            ]),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "entries as large as RELIEF's scratchpads; by_pointer is the other reading",
            why: "",
        },
        get: |platform| platform.payload as usize as f64,
        set: |platform, value| platform.payload = Payload::ALL[value as usize],
    },
];
