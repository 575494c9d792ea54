//! Accelerators and their queues.

use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};
use accelflow_units::{Bytes, Time};

use crate::config::parts::Reuse;
use crate::config::rates::{gb, rate};
use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "accelerator.instances",
            unit: "",
            kind: Kind::whole(1.0, 16.0),
            default: 1.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI",
            why: "The processor evaluated has one of each; section IV.A allows for more.",
        },
        get: |config| config.accelerator.instances as f64,
        set: |config, value| config.accelerator.instances = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "accelerator.enqueue_attempts",
            unit: "",
            kind: Kind::whole(1.0, 1000.0),
            default: 3.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Section IV.A says multiple attempts; three cost a core less than an operation takes anywhere.",
        },
        get: |config| config.accelerator.enqueue_attempts as f64,
        set: |config, value| config.accelerator.enqueue_attempts = value as u64,
    },
    Row {
        parameter: Parameter {
            key: "accelerator.pes",
            unit: "PEs",
            kind: Kind::whole(1.0, 1024.0),
            default: 8.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.accelerator.pes as f64,
        set: |config, value| config.accelerator.pes = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "accelerator.input_entries",
            unit: "entries",
            kind: Kind::whole(1.0, 65536.0),
            default: 64.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.accelerator.input_entries as f64,
        set: |config, value| config.accelerator.input_entries = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "accelerator.output_entries",
            unit: "entries",
            kind: Kind::whole(1.0, 65536.0),
            default: 64.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.accelerator.output_entries as f64,
        set: |config, value| config.accelerator.output_entries = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "accelerator.inline_bytes",
            unit: "B",
            kind: Kind::whole(64.0, 65536.0),
            default: 2048.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section IV.A",
            why: "",
        },
        get: |config| config.accelerator.inline.get() as f64,
        set: |config, value| config.accelerator.inline = Bytes(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "accelerator.overflow_entries",
            unit: "entries",
            kind: Kind::whole(0.0, 1048576.0),
            default: 256.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "The paper gives no size; four queues' worth.",
        },
        get: |config| config.accelerator.overflow_entries as f64,
        set: |config, value| config.accelerator.overflow_entries = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "accelerator.scratchpad_latency_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 10.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.accelerator.scratchpad_latency.as_ns_f64(),
        set: |config, value| config.accelerator.scratchpad_latency = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "accelerator.scratchpad_gb_per_s",
            unit: "GB/s",
            kind: Kind::number(0.001, 100000.0),
            default: 100.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| gb(config.accelerator.scratchpad_bandwidth),
        set: |config, value| config.accelerator.scratchpad_bandwidth = rate(value),
    },
    Row {
        parameter: Parameter {
            key: "accelerator.scratchpad_bytes",
            unit: "B",
            kind: Kind::whole(1024.0, 16777216.0),
            default: 65536.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.accelerator.scratchpad.get() as f64,
        set: |config, value| config.accelerator.scratchpad = Bytes(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "accelerator.wipe_gb_per_s",
            unit: "GB/s",
            kind: Kind::number(0.001, 100000.0),
            default: 100.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, Table III and section IV.D",
            why: "Cleared over the port that fills the scratchpad, so at the rate from the queue: 64 KiB in 0.66 us. The papers give no time.",
        },
        get: |config| gb(config.accelerator.wipe_bandwidth),
        set: |config, value| config.accelerator.wipe_bandwidth = rate(value),
    },
    Row {
        parameter: Parameter {
            key: "accelerator.initialise_gb_per_s",
            unit: "GB/s",
            kind: Kind::number(0.001, 100000.0),
            default: 100.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, sections IV.D and VI, and Table III",
            why: "The simulations of the paper model scratchpad initialization beside wipeout, without a time. As the wiping of a scratchpad, so 64 KiB in 0.66 us, after it and for the next tenant; that of the first tenant belongs to the start of the machine.",
        },
        get: |config| gb(config.accelerator.initial_bandwidth),
        set: |config, value| config.accelerator.initial_bandwidth = rate(value),
    },
    Row {
        parameter: Parameter {
            key: "accelerator.service_state_bytes",
            unit: "B",
            kind: Kind::whole(0.0, 65536.0),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Descriptor tables are shared by the requests of a service (section IV.A), but no paper gives their size or says that a switch of services reloads them; the speedups of the literature are measured with tables in place.",
        },
        get: |config| config.accelerator.service_state.get() as f64,
        set: |config, value| config.accelerator.service_state = Bytes(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "accelerator.reuse",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(
                    0.0,
                    "none",
                    "an operation waits for an accelerator of its own kind",
                ),
                Choice::named(
                    1.0,
                    "idle",
                    "if no element of its own kind is free, the dispatcher sends an operation to the least loaded accelerator with a free element",
                ),
            ]),
            default: 0.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VII.B.4",
            why: "Today's design: \"currently, this is not possible because each accelerator is highly optimized for a single task\". The contrast: \"one could reuse the accelerators for other tasks when they are idle\". TCP, which holds connections, and LdB, which is with the cores, are never reused.",
        },
        get: |config| config.accelerator.reuse as usize as f64,
        set: |config, value| config.accelerator.reuse = Reuse::ALL[value as usize],
    },
    Row {
        parameter: Parameter {
            key: "accelerator.reuse_speed",
            unit: "",
            kind: Kind::number(0.001, 1.0),
            default: 1.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "How fast an element is at another accelerator's operation, as a share of that one's speed; without effect unless accelerator.reuse is idle. \"Exploring programmable and more flexible accelerator designs is a direction for future work\", and no speed is given: 1 is the most that reuse can bring.",
        },
        get: |config| config.accelerator.reuse_speed,
        set: |config, value| config.accelerator.reuse_speed = value,
    },
    Row {
        parameter: Parameter {
            key: "accelerator.speedup_half_bytes",
            unit: "B",
            kind: Kind::whole(0.0, 1048576.0),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "The paper uses speedups that depend on the size of the data but prints only their means; 0 keeps the means for every size, as any other value would be a guess at a curve.",
        },
        get: |config| config.accelerator.speedup_half.get() as f64,
        set: |config, value| config.accelerator.speedup_half = Bytes(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "accelerator.rpc_message_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "no source; Cerebros, MICRO 2021, for another value",
            why: "0 takes the speedup that the paper gives its RPC accelerator. Cerebros parses a header and finds its function in 12 cycles of 2 GHz, 6 ns, whatever the software takes (docs/cerebros.md); payloads stay with Ser and Dser.",
        },
        get: |config| config.accelerator.rpc_message.as_ns_f64(),
        set: |config, value| config.accelerator.rpc_message = Time::from_ns_f64(value),
    },
];
