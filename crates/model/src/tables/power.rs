//! The inputs of the power model.

use accelflow_parameters::{Kind, Parameter, Provenance, Refusal, Row, Table};

use crate::inputs::PowerInputs;

/// Every input of the power model, with range, default and source. Areas are inputs of
/// [`AREA`](super::AREA).
pub const POWER: Table<PowerInputs> = Table::new(&[ROWS]);

impl Default for PowerInputs {
    /// The papers' values, and derived or assumed ones where the papers print none.
    fn default() -> PowerInputs {
        let mut inputs = PowerInputs::ZERO;
        POWER.set_defaults(&mut inputs);
        inputs
    }
}

impl PowerInputs {
    /// Sets the input called `key`, such as `manager_w`, to `value`.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown key, and for a value that is not allowed.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), Refusal> {
        POWER.set(self, key, value)
    }
}

const fn input(
    key: &'static str,
    unit: &'static str,
    default: f64,
    (min, max): (f64, f64),
    provenance: Provenance,
    source: &'static str,
) -> Parameter {
    Parameter {
        key,
        unit,
        kind: Kind::number(min, max),
        default,
        provenance,
        source,
        why: "",
    }
}

const ROWS: &[Row<PowerInputs>] = &[
    Row {
        parameter: input(
            "accelerators_max_w",
            "W",
            12.5,
            // Not 0: the server's power is this over a share of it.
            (1e-6, 1e4),
            Provenance::Paper,
            "AccelFlow, section VII.B.5",
        ),
        get: |inputs| inputs.accelerators_max_w,
        set: |inputs, value| inputs.accelerators_max_w = value,
    },
    Row {
        parameter: input(
            "accelerators_server_share",
            "",
            0.031,
            (1e-6, 1.0),
            Provenance::Paper,
            "AccelFlow, section VII.B.5",
        ),
        get: |inputs| inputs.accelerators_server_share,
        set: |inputs, value| inputs.accelerators_server_share = value,
    },
    Row {
        parameter: input(
            "orchestration_max_w",
            "W",
            5.0,
            (0.0, 1e4),
            Provenance::Paper,
            "AccelFlow, section VII.B.5",
        ),
        get: |inputs| inputs.orchestration_max_w,
        set: |inputs, value| inputs.orchestration_max_w = value,
    },
    Row {
        parameter: input(
            "orchestration_server_share",
            "",
            0.012,
            (0.0, 1.0),
            Provenance::Paper,
            "AccelFlow, section VII.B.5",
        ),
        get: |inputs| inputs.orchestration_server_share,
        set: |inputs, value| inputs.orchestration_server_share = value,
    },
    Row {
        parameter: input(
            "server_idle_share",
            "",
            0.3,
            (0.0, 1.0),
            Provenance::Assumed,
            "power at rest over maximum power of the server without accelerators: 0.5 in Barroso and Hoelzle, IEEE Computer 2007, less in later servers; 0 counts the energy of the work alone",
        ),
        get: |inputs| inputs.server_idle_share,
        set: |inputs, value| inputs.server_idle_share = value,
    },
    Row {
        parameter: input(
            "leakage_share",
            "",
            0.3,
            (0.0, 1.0),
            Provenance::Assumed,
            "the part of the maximum power of accelerators and orchestration that flows whenever they are on",
        ),
        get: |inputs| inputs.leakage_share,
        set: |inputs, value| inputs.leakage_share = value,
    },
    Row {
        parameter: input(
            "dispatcher_clock_ghz",
            "GHz",
            2.4,
            (0.001, 10.0),
            Provenance::Assumed,
            "one instruction a cycle at the cores' clock of Table III",
        ),
        get: |inputs| inputs.dispatcher_clock_ghz,
        set: |inputs, value| inputs.dispatcher_clock_ghz = value,
    },
    Row {
        parameter: input(
            "adma_gbyte_per_s",
            "GB/s",
            38.4,
            (0.001, 1e4),
            Provenance::Derived,
            "peak of an A-DMA engine and of a router: a link of 16 B a cycle at 2.4 GHz, Table III",
        ),
        get: |inputs| inputs.adma_gbyte_per_s,
        set: |inputs, value| inputs.adma_gbyte_per_s = value,
    },
    Row {
        parameter: input(
            "queue_gbyte_per_s",
            "GB/s",
            100.0,
            (0.001, 1e4),
            Provenance::Paper,
            "peak of a queue: AccelFlow, Table III",
        ),
        get: |inputs| inputs.queue_gbyte_per_s,
        set: |inputs, value| inputs.queue_gbyte_per_s = value,
    },
    Row {
        parameter: input(
            "manager_w",
            "W",
            0.2,
            (0.0, 100.0),
            Provenance::Assumed,
            "RELIEF's manager: a small in-order core at 1.6 GHz, always on",
        ),
        get: |inputs| inputs.manager_w,
        set: |inputs, value| inputs.manager_w = value,
    },
    Row {
        parameter: input(
            "private_rpc_power_ratio",
            "",
            6.0,
            (0.0, 1e3),
            Provenance::Paper,
            "Cerebros, section 6.1: an RPC accelerator for each of 16 cores, over one for all",
        ),
        get: |inputs| inputs.private_rpc_power_ratio,
        set: |inputs, value| inputs.private_rpc_power_ratio = value,
    },
];
