//! The inputs of the analytic model of the RPC layer. Their defaults describe the microservice
//! UniqueId.

use accelflow_parameters::{Kind, Parameter, Provenance, Row, Table};

use crate::rpc_layer::RpcLayer;

/// The most cycles that anything may take.
const MOST: f64 = 1e12;
/// The most tasks and traversals.
const MOST_COUNT: f64 = u32::MAX as f64;

/// Every input of the analytic model of the RPC layer, with range, default and source.
pub const RPC_LAYER: Table<RpcLayer> = Table::new(&[ROWS]);

impl Default for RpcLayer {
    /// The microservice UniqueId.
    fn default() -> RpcLayer {
        let mut layer = RpcLayer {
            cycles: 0.0,
            payload_share: 0.0,
            dispatch_share: 0.0,
            header_tasks: 0,
            payload_tasks: 0,
            accelerator_cycles: 0.0,
            traversals: 0,
            traversal_cycles: 0.0,
            coalesced_traversals: 0,
            low_diameter_cycles: 0.0,
        };
        RPC_LAYER.set_defaults(&mut layer);
        layer
    }
}

const ROWS: &[Row<RpcLayer>] = &[
    Row {
        parameter: Parameter {
            key: "rpc_cycles",
            unit: "cycles",
            kind: Kind::number(1.0, MOST),
            default: 50.0 * 90.0,
            provenance: Provenance::Derived,
            source: "Cerebros, section 6.1: Full is 50 times faster than None",
            why: "50 times the 90 cycles that an RPC takes on the accelerator: with Full, the core has no other work for it.",
        },
        get: |layer| layer.cycles,
        set: |layer, value| layer.cycles = value,
    },
    Row {
        parameter: Parameter {
            key: "payload_share_ratio",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: 0.60,
            provenance: Provenance::Paper,
            source: "Cerebros, Fig. 2b: about 60 %",
            why: "",
        },
        get: |layer| layer.payload_share,
        set: |layer, value| layer.payload_share = value,
    },
    Row {
        parameter: Parameter {
            key: "dispatch_share_ratio",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: (21.5 * 90.0 - 1_600.0 - 90.0) / (50.0 * 90.0),
            provenance: Provenance::Derived,
            source: "Cerebros, section 6.1: Full is 21.5 times faster than P+H",
            why: "(21.5 x 90 - 1,600 - 90) / 4,500. The paper says 5 %; headers are the rest.",
        },
        get: |layer| layer.dispatch_share,
        set: |layer, value| layer.dispatch_share = value,
    },
    Row {
        parameter: Parameter {
            key: "accelerator_cycles",
            unit: "cycles",
            kind: Kind::number(1.0, MOST),
            default: 90.0,
            provenance: Provenance::Paper,
            source: "Cerebros, section 6.1",
            why: "",
        },
        get: |layer| layer.accelerator_cycles,
        set: |layer, value| layer.accelerator_cycles = value,
    },
    Row {
        parameter: Parameter {
            key: "traversal_cycles",
            unit: "cycles",
            kind: Kind::number(0.0, MOST),
            default: 40.0,
            provenance: Provenance::Paper,
            source: "Cerebros, section 5: measured by simulation",
            why: "",
        },
        get: |layer| layer.traversal_cycles,
        set: |layer, value| layer.traversal_cycles = value,
    },
    Row {
        parameter: Parameter {
            key: "low_diameter_cycles",
            unit: "cycles",
            kind: Kind::number(0.0, MOST),
            default: 200.0 / 3.36 / 3.0,
            provenance: Provenance::Derived,
            source: "Cerebros, section 6.1: offloads cost 3.36 times less",
            why: "200 cycles of an offload over 3.36, for three traversals.",
        },
        get: |layer| layer.low_diameter_cycles,
        set: |layer, value| layer.low_diameter_cycles = value,
    },
    Row {
        parameter: Parameter {
            key: "header_tasks",
            unit: "tasks",
            kind: Kind::whole(0.0, MOST_COUNT),
            default: 4.0,
            provenance: Provenance::Paper,
            source: "Cerebros, section 6.1",
            why: "Nested RPCs included.",
        },
        get: |layer| f64::from(layer.header_tasks),
        set: |layer, value| layer.header_tasks = value as u32,
    },
    Row {
        parameter: Parameter {
            key: "payload_tasks",
            unit: "tasks",
            kind: Kind::whole(0.0, MOST_COUNT),
            default: 4.0,
            provenance: Provenance::Paper,
            source: "Cerebros, section 6.1",
            why: "",
        },
        get: |layer| f64::from(layer.payload_tasks),
        set: |layer, value| layer.payload_tasks = value as u32,
    },
    Row {
        parameter: Parameter {
            key: "traversals",
            unit: "traversals",
            kind: Kind::whole(0.0, MOST_COUNT),
            default: 5.0,
            provenance: Provenance::Paper,
            source: "Cerebros, section 5",
            why: "Those of one offload, one after another.",
        },
        get: |layer| f64::from(layer.traversals),
        set: |layer, value| layer.traversals = value as u32,
    },
    Row {
        parameter: Parameter {
            key: "coalesced_traversals",
            unit: "traversals",
            kind: Kind::whole(0.0, MOST_COUNT),
            default: 3.0,
            provenance: Provenance::Derived,
            source: "Cerebros, section 5",
            why: "Of the five steps, the reads of metadata and data fall away, as the invocation carries the data.",
        },
        get: |layer| f64::from(layer.coalesced_traversals),
        set: |layer, value| layer.coalesced_traversals = value as u32,
    },
];
