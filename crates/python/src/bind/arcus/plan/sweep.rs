//! The sweep of a plan's flows.

use accelflow_arcus::control::{RouteEntry, Traffic};
use accelflow_arcus::{Platform, PlatformError};
use serde_json::{Value, json};

use super::profiles::entries;
use super::request::PlanRequest;

/// Sweeps the combinations of the flows of a plan, each on every route that it allows.
pub(super) fn profile(request: &PlanRequest, most: usize) -> Result<Value, PlatformError> {
    let platform = request.platform.platform()?;
    let mut manager = request.manager(&platform)?;
    let mut sent: Vec<Vec<Traffic>> = Vec::new();
    let mut of: Vec<(usize, Value)> = Vec::new();
    for (number, flow) in request.flows.iter().enumerate() {
        for (route, traffic) in manager.candidates(&flow.request())? {
            of.push((number, route_value(&platform, &route)));
            sent.push(traffic);
        }
    }
    let swept = manager
        .profiles()
        .sweep(&sent, most, |a, b| of[a].0 != of[b].0)?;
    let combinations = swept.iter().map(|profiled| {
        let flows = profiled.members.iter().map(|member| {
            let (number, route) = &of[*member];
            let mut value = route.clone();
            value["flow"] = json!(request.flows[*number].request().name);
            let sizes = sent[*member].iter().map(|piece| piece.size.get());
            value["piece_bytes"] = Value::from_iter(sizes);
            value
        });
        json!({
            "flows": Value::from_iter(flows),
            "asked_gbit_per_s": profiled.asked_gbit_per_s,
            "gbit_per_s": profiled.capacity.gbit_per_s,
            "tag": profiled.tag.name(),
        })
    });
    Ok(json!({
        "combinations": Value::from_iter(combinations),
        "platform": serde_json::to_value(&request.platform).unwrap_or_default(),
        "entries": serde_json::to_value(entries(manager.profiles())).unwrap_or_default(),
    }))
}

/// A route as JSON, with names of accelerators instead of numbers.
fn route_value(platform: &Platform, route: &RouteEntry) -> Value {
    let named = route.accelerators.iter().map(|number| {
        let name = &platform.accelerators[*number].name;
        format!("{name}#{number}")
    });
    json!({
        "path": route.path.name(),
        "accelerators": Value::from_iter(named),
        "engine": route.engine,
    })
}
