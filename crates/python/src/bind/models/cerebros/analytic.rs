//! The analytic model of Cerebros's RPC layer, for `accelflow.cerebros`.

use std::collections::BTreeMap;

use accelflow_model::cerebros::{Design, PARAMETERS, RpcLayer};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::failure;

/// Returns the RPC layer's cycles per request under each Cerebros design, as JSON.
///
/// `request` (JSON) replaces parameters of the analytic model. Raises AccelflowError for a value
/// out of range.
#[pyfunction]
pub(crate) fn cerebros_designs(request: &str) -> PyResult<String> {
    let changes: BTreeMap<String, f64> = serde_json::from_str(request).map_err(failure)?;
    let mut layer = RpcLayer::default();
    for (key, value) in &changes {
        PARAMETERS.set(&mut layer, key, *value).map_err(failure)?;
    }
    layer.check().map_err(failure)?;
    let design = |design: Design| {
        json!({
            "design": design.name(),
            "software_cycles": layer.software_cycles(design),
            "offload_cycles": layer.offload_cycles(design),
            "accelerator_cycles": layer.accelerator_cycles(design),
            "total_cycles": layer.total_cycles(design),
            "speedup_ratio": layer.speedup(design),
        })
    };
    let designs: Vec<Value> = Design::ALL.into_iter().map(design).collect();
    Ok(json!({
        "parameters": {
            "rpc_cycles": layer.cycles,
            "payload_share_ratio": layer.payload_share,
            "header_share_ratio": layer.header_share(),
            "dispatch_share_ratio": layer.dispatch_share,
            "header_tasks": layer.header_tasks,
            "payload_tasks": layer.payload_tasks,
            "accelerator_cycles": layer.accelerator_cycles,
            "traversals": layer.traversals,
            "traversal_cycles": layer.traversal_cycles,
            "coalesced_traversals": layer.coalesced_traversals,
            "low_diameter_cycles": layer.low_diameter_cycles,
        },
        "designs": designs,
        "cycles_per_offload": layer.cycles_per_offload(),
        "coalesced_cycles_per_offload": layer.coalesced_cycles_per_offload(),
        "full_over_payload_and_header_ratio": layer.over_full(Design::PayloadAndHeader),
    })
    .to_string())
}
