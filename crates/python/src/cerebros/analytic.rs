//! The analytic model of the RPC layer.

use accelflow_model::cerebros::{Design, RpcLayer};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::AccelflowError;

/// What differs from UniqueId.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Request {
    rpc_cycles: Option<f64>,
    payload_share_ratio: Option<f64>,
    dispatch_share_ratio: Option<f64>,
    header_tasks: Option<u32>,
    payload_tasks: Option<u32>,
    accelerator_cycles: Option<f64>,
    traversals: Option<u32>,
    traversal_cycles: Option<f64>,
    coalesced_traversals: Option<u32>,
    low_diameter_cycles: Option<f64>,
}

impl Request {
    fn layer(&self) -> RpcLayer {
        let d = RpcLayer::default();
        RpcLayer {
            cycles: self.rpc_cycles.unwrap_or(d.cycles),
            payload_share: self.payload_share_ratio.unwrap_or(d.payload_share),
            dispatch_share: self.dispatch_share_ratio.unwrap_or(d.dispatch_share),
            header_tasks: self.header_tasks.unwrap_or(d.header_tasks),
            payload_tasks: self.payload_tasks.unwrap_or(d.payload_tasks),
            accelerator_cycles: self.accelerator_cycles.unwrap_or(d.accelerator_cycles),
            traversals: self.traversals.unwrap_or(d.traversals),
            traversal_cycles: self.traversal_cycles.unwrap_or(d.traversal_cycles),
            coalesced_traversals: self.coalesced_traversals.unwrap_or(d.coalesced_traversals),
            low_diameter_cycles: self.low_diameter_cycles.unwrap_or(d.low_diameter_cycles),
        }
    }
}

/// The RPC layer's cycles for one request under each design, as JSON; `request` (JSON) changes
/// parameters of UniqueId. Raises AccelflowError for a value out of range.
#[pyfunction]
pub(crate) fn cerebros_designs(request: &str) -> PyResult<String> {
    let request: Request =
        serde_json::from_str(request).map_err(|e| AccelflowError::new_err(e.to_string()))?;
    let layer = request.layer();
    layer
        .check()
        .map_err(|e| AccelflowError::new_err(e.to_string()))?;
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
    let full = layer.total_cycles(Design::Full);
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
        "full_over_payload_and_header_ratio":
            layer.total_cycles(Design::PayloadAndHeader) / full,
    })
    .to_string())
}
