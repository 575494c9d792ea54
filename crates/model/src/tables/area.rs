//! The inputs of the area model.

use accelflow_parameters::{Kind, Parameter, Provenance, Refusal, Row, Table};

use super::own;
use crate::inputs::AreaInputs;

/// Every input of the area model, with range, default and source. An input of one accelerator, such
/// as its number of PEs `pes.TCP`, is -1 by default: the accelerator then has the number for all
/// accelerators (`pes`).
pub const AREA: Table<AreaInputs> = Table::new(&[
    COMMON,
    own::PES,
    own::INSTANCES,
    own::INPUT_ENTRIES,
    own::OUTPUT_ENTRIES,
]);

impl Default for AreaInputs {
    /// The papers' values, and a derived one for `dispatcher_mm2`.
    fn default() -> AreaInputs {
        let mut inputs = AreaInputs::ZERO;
        AREA.set_defaults(&mut inputs);
        inputs
    }
}

impl AreaInputs {
    /// Sets the input called `key`, such as `cores` or `pes.TCP`, to `value`.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown key, and for a value that is not allowed.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), Refusal> {
        AREA.set(self, key, value)
    }
}

const fn mm2(
    key: &'static str,
    default: f64,
    provenance: Provenance,
    source: &'static str,
) -> Parameter {
    Parameter {
        key,
        unit: "mm2",
        kind: Kind::number(0.0, 10_000.0),
        default,
        provenance,
        source,
        why: "",
    }
}

const fn count(
    key: &'static str,
    unit: &'static str,
    default: f64,
    max: f64,
    source: &'static str,
) -> Parameter {
    Parameter {
        key,
        unit,
        kind: Kind::whole(1.0, max),
        default,
        provenance: Provenance::Paper,
        source,
        why: "",
    }
}

const fn ratio(key: &'static str, default: f64, max: f64, source: &'static str) -> Parameter {
    Parameter {
        key,
        unit: "",
        kind: Kind::number(0.001, max),
        default,
        provenance: Provenance::Paper,
        source,
        why: "",
    }
}

const COMMON: &[Row<AreaInputs>] = &[
    Row {
        parameter: mm2(
            "cores_mm2",
            83.1,
            Provenance::Paper,
            "AccelFlow, section VI: 36 cores and private caches",
        ),
        get: |inputs| inputs.cores_mm2,
        set: |inputs, value| inputs.cores_mm2 = value,
    },
    Row {
        parameter: mm2(
            "llc_mm2",
            38.2,
            Provenance::Paper,
            "AccelFlow, section VI: 36 slices of 2 MB",
        ),
        get: |inputs| inputs.llc_mm2,
        set: |inputs, value| inputs.llc_mm2 = value,
    },
    Row {
        parameter: mm2(
            "core_network_mm2",
            1.0,
            Provenance::Paper,
            "AccelFlow, section VI",
        ),
        get: |inputs| inputs.core_network_mm2,
        set: |inputs, value| inputs.core_network_mm2 = value,
    },
    Row {
        parameter: mm2(
            "Ser_mm2",
            0.6,
            Provenance::Paper,
            "AccelFlow, section VI, from ProtoAcc's data",
        ),
        get: |inputs| inputs.accelerators_mm2[0],
        set: |inputs, value| inputs.accelerators_mm2[0] = value,
    },
    Row {
        parameter: mm2(
            "Dser_mm2",
            0.9,
            Provenance::Paper,
            "AccelFlow, section VI, from ProtoAcc's data",
        ),
        get: |inputs| inputs.accelerators_mm2[1],
        set: |inputs, value| inputs.accelerators_mm2[1] = value,
    },
    Row {
        parameter: mm2(
            "Cmp_mm2",
            9.1,
            Provenance::Paper,
            "AccelFlow, section VI, from CDPU's data",
        ),
        get: |inputs| inputs.accelerators_mm2[2],
        set: |inputs, value| inputs.accelerators_mm2[2] = value,
    },
    Row {
        parameter: mm2(
            "Dcmp_mm2",
            5.2,
            Provenance::Paper,
            "AccelFlow, section VI, from CDPU's data",
        ),
        get: |inputs| inputs.accelerators_mm2[3],
        set: |inputs, value| inputs.accelerators_mm2[3] = value,
    },
    Row {
        parameter: mm2(
            "TCP_mm2",
            9.1,
            Provenance::Paper,
            "AccelFlow, section VI: estimated similar to Cmp",
        ),
        get: |inputs| inputs.accelerators_mm2[4],
        set: |inputs, value| inputs.accelerators_mm2[4] = value,
    },
    Row {
        parameter: mm2(
            "Encr_mm2",
            9.1,
            Provenance::Paper,
            "AccelFlow, section VI: estimated similar to Cmp",
        ),
        get: |inputs| inputs.accelerators_mm2[5],
        set: |inputs, value| inputs.accelerators_mm2[5] = value,
    },
    Row {
        parameter: mm2(
            "Decr_mm2",
            9.1,
            Provenance::Paper,
            "AccelFlow, section VI: estimated similar to Cmp",
        ),
        get: |inputs| inputs.accelerators_mm2[6],
        set: |inputs, value| inputs.accelerators_mm2[6] = value,
    },
    Row {
        parameter: mm2(
            "RPC_mm2",
            0.9,
            Provenance::Paper,
            "AccelFlow, section VI: estimated similar to Dser",
        ),
        get: |inputs| inputs.accelerators_mm2[7],
        set: |inputs, value| inputs.accelerators_mm2[7] = value,
    },
    Row {
        parameter: mm2(
            "LdB_mm2",
            0.9,
            Provenance::Paper,
            "AccelFlow, section VI: estimated similar to Dser",
        ),
        get: |inputs| inputs.accelerators_mm2[8],
        set: |inputs, value| inputs.accelerators_mm2[8] = value,
    },
    Row {
        parameter: mm2(
            "queues_and_dispatchers_mm2",
            3.4,
            Provenance::Paper,
            "AccelFlow, section VI: nine accelerators",
        ),
        get: |inputs| inputs.queues_and_dispatchers_mm2,
        set: |inputs, value| inputs.queues_and_dispatchers_mm2 = value,
    },
    Row {
        parameter: mm2(
            "dispatcher_mm2",
            0.1125,
            Provenance::Derived,
            "section VI: \"the same area as Dser\"; 18 times 0.9 mm2 exceeds the printed 3.4 mm2, so Dser of one processing element: 0.9 / 8",
        ),
        get: |inputs| inputs.dispatcher_mm2,
        set: |inputs, value| inputs.dispatcher_mm2 = value,
    },
    Row {
        parameter: mm2(
            "adma_engines_mm2",
            1.3,
            Provenance::Paper,
            "AccelFlow, section VI: 10 engines",
        ),
        get: |inputs| inputs.adma_engines_mm2,
        set: |inputs, value| inputs.adma_engines_mm2 = value,
    },
    Row {
        parameter: mm2(
            "accelerator_network_mm2",
            0.4,
            Provenance::Paper,
            "AccelFlow, section VI",
        ),
        get: |inputs| inputs.accelerator_network_mm2,
        set: |inputs, value| inputs.accelerator_network_mm2 = value,
    },
    Row {
        parameter: count("cores", "cores", 36.0, 1024.0, "AccelFlow, Table III"),
        get: |inputs| inputs.cores,
        set: |inputs, value| inputs.cores = value,
    },
    Row {
        parameter: count("pes", "PEs", 8.0, own::MOST_PES, "AccelFlow, Table III"),
        get: |inputs| inputs.all.pes,
        set: |inputs, value| inputs.all.pes = value,
    },
    Row {
        parameter: count(
            "instances",
            "",
            1.0,
            own::MOST_INSTANCES,
            "AccelFlow, Table III: one of each accelerator",
        ),
        get: |inputs| inputs.all.instances,
        set: |inputs, value| inputs.all.instances = value,
    },
    Row {
        parameter: count(
            "input_entries",
            "entries",
            64.0,
            own::MOST_ENTRIES,
            "AccelFlow, Table III",
        ),
        get: |inputs| inputs.all.input_entries,
        set: |inputs, value| inputs.all.input_entries = value,
    },
    Row {
        parameter: count(
            "output_entries",
            "entries",
            64.0,
            own::MOST_ENTRIES,
            "AccelFlow, Table III",
        ),
        get: |inputs| inputs.all.output_entries,
        set: |inputs, value| inputs.all.output_entries = value,
    },
    Row {
        parameter: count(
            "entry_bytes",
            "B",
            2_100.0,
            1e6,
            "AccelFlow, section VI: 2.1 KB",
        ),
        get: |inputs| inputs.entry_bytes,
        set: |inputs, value| inputs.entry_bytes = value,
    },
    Row {
        parameter: count(
            "adma_engines",
            "engines",
            10.0,
            1024.0,
            "AccelFlow, Table III",
        ),
        get: |inputs| inputs.adma_engines,
        set: |inputs, value| inputs.adma_engines = value,
    },
    Row {
        parameter: ratio(
            "private_rpc_area_ratio",
            5.0,
            1e3,
            "Cerebros, section 6.1: an RPC accelerator for each of 16 cores, over one for all",
        ),
        get: |inputs| inputs.private_rpc_area_ratio,
        set: |inputs, value| inputs.private_rpc_area_ratio = value,
    },
    Row {
        parameter: count(
            "private_rpc_cores",
            "cores",
            16.0,
            1e4,
            "Cerebros, section 6.1: the chip of that ratio",
        ),
        get: |inputs| inputs.private_rpc_cores,
        set: |inputs, value| inputs.private_rpc_cores = value,
    },
    Row {
        parameter: ratio(
            "private_rpc_core_share",
            0.75,
            1e3,
            "Cerebros, section 3.3, of Optimus Prime: an accelerator for each of 64 cores, all over one core",
        ),
        get: |inputs| inputs.private_rpc_core_share,
        set: |inputs, value| inputs.private_rpc_core_share = value,
    },
    Row {
        parameter: ratio(
            "nic_rpc_saved_share",
            0.5,
            1.0,
            "Cerebros, section 6.1: cache and MMU of the one for all are the NIC's",
        ),
        get: |inputs| inputs.nic_rpc_saved_share,
        set: |inputs, value| inputs.nic_rpc_saved_share = value,
    },
];
