//! The area of a processor with accelerators, its power, and the energy of a run.

use std::collections::BTreeMap;

use accelflow_model::area::{ACCELERATORS, Area, AreaInputs, Group};
use accelflow_model::power::{Activity, Energy, Hardware, Power, PowerInputs};
use accelflow_model::rpc_place::{Place, area_mm2, power_w};
use accelflow_parameters::{Parameter, Refusal};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::{AccelflowError, failure};

/// Inputs that differ from the paper's, by name.
type Changes = BTreeMap<String, f64>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnergyArguments {
    area: Changes,
    power: Changes,
    system: String,
    window_s: f64,
    busy_core_s: f64,
    busy_pe_s: BTreeMap<String, f64>,
    dispatcher_instructions: f64,
    moved_bytes: f64,
}

/// Returns the chip areas of AccelFlow (section VI) in mm2, as JSON.
///
/// `changes` (JSON) replaces inputs of the model by name. Raises AccelflowError for an unknown
/// input and a value out of range.
#[pyfunction]
pub(crate) fn area_model(changes: &str) -> PyResult<String> {
    let area = area(&parse(changes)?)?;
    let part = |part: &accelflow_model::area::Part| {
        json!({
            "part": part.name,
            "group": part.group.name(),
            "area_mm2": part.mm2,
            "share_ratio": part.mm2 / area.total_mm2(),
            "scaling": part.scaling,
        })
    };
    Ok(json!({
        "inputs": inputs_json(area.rows()),
        "parts": area.parts().iter().map(part).collect::<Vec<_>>(),
        "baseline_mm2": area.group_mm2(Group::Baseline),
        "accelerators_mm2": area.accelerators_mm2(),
        "orchestration_mm2": area.group_mm2(Group::Orchestration),
        "total_mm2": area.total_mm2(),
        "accelerators_share_ratio": area.accelerators_share(),
        "orchestration_share_ratio": area.orchestration_share(),
        "queue_bytes": area.queue_bytes(),
        "rpc_accelerators": rpc_places("area_mm2", |place| area_mm2(&area, place)),
    })
    .to_string())
}

/// Returns the maximum powers of AccelFlow (section VII.B.5) in W, as JSON.
///
/// `area_changes` and `power_changes` (JSON) replace inputs of the models of area and power by
/// name. Raises AccelflowError for an unknown input and a value out of range.
#[pyfunction]
pub(crate) fn power_model(area_changes: &str, power_changes: &str) -> PyResult<String> {
    let area_changes = parse(area_changes)?;
    let area = area(&area_changes)?;
    let power = power(&area_changes, &parse(power_changes)?)?;
    let accelerators: BTreeMap<&str, f64> = names().zip(power.accelerators_w()).collect();
    let orchestration: BTreeMap<&str, f64> = power.orchestration_w().into_iter().collect();
    let (low, high) = power.server_max_range_w();
    Ok(json!({
        "inputs": inputs_json(power.rows()),
        "server_max_w": power.server_max_w(),
        "server_max_by_orchestration_w": power.server_max_by_orchestration_w(),
        "server_max_range_w": [low, high],
        "baseline_max_w": power.baseline_max_w(),
        "accelerators_max_w": power.accelerators_w().iter().sum::<f64>(),
        "orchestration_max_w": power.orchestration_w().iter().map(|(_, w)| w).sum::<f64>(),
        "accelerators": accelerators,
        "orchestration": orchestration,
        "dispatcher_instruction_j": power.dispatcher_instruction_j(),
        "transfer_byte_j": power.transfer_byte_j(),
        "queue_byte_j": power.queue_byte_j(),
        "rpc_accelerators": rpc_places("max_w", |place| power_w(&power, &area, place)),
    })
    .to_string())
}

/// Returns the energy that a system uses in a time window, in joules, as JSON.
///
/// `request` (JSON) has the system, the length of the window, and the activity in it: busy times,
/// instructions and moved bytes. Raises AccelflowError for an unknown system or accelerator and for
/// impossible amounts.
#[pyfunction]
pub(crate) fn energy_model(request: &str) -> PyResult<String> {
    let request: EnergyArguments = parse(request)?;
    let power = power(&request.area, &request.power)?;
    let hardware = Hardware::of_system(&request.system).ok_or_else(|| {
        AccelflowError::new_err(format!(
            "system = '{}': must be a built-in system, whose hardware the energy model knows",
            request.system
        ))
    })?;
    let mut activity = Activity {
        window_s: request.window_s,
        busy_core_s: request.busy_core_s,
        dispatcher_instructions: request.dispatcher_instructions,
        moved_bytes: request.moved_bytes,
        ..Activity::default()
    };
    for (name, busy) in &request.busy_pe_s {
        let Some(index) = names().position(|known| known == name) else {
            return Err(failure(Refusal::unknown("accelerator", name, names())));
        };
        activity.busy_pe_s[index] = *busy;
    }
    let energy = power.energy(hardware, &activity).map_err(failure)?;
    Ok(energy_json(&energy).to_string())
}

fn energy_json(energy: &Energy) -> Value {
    json!({
        "idle_j": energy.idle_j,
        "cores_j": energy.cores_j,
        "leakage_j": energy.leakage_j,
        "accelerators_j": energy.accelerators_j,
        "dispatchers_j": energy.dispatchers_j,
        "transfers_j": energy.transfers_j,
        "manager_j": energy.manager_j,
        "total_j": energy.total_j(),
    })
}

/// The figure `key` of an RPC accelerator at each place in the server, and its ratio to that of one
/// accelerator shared by all cores.
fn rpc_places(key: &str, of: impl Fn(Place) -> f64) -> Value {
    let shared = of(Place::Shared);
    let row = |place: Place| {
        let times = (shared > 0.0).then(|| of(place) / shared);
        json!({ "place": place.name(), key: of(place), "over_shared_ratio": times })
    };
    Place::ALL.into_iter().map(row).collect()
}

fn names() -> impl Iterator<Item = &'static str> {
    ACCELERATORS.into_iter()
}

fn area(changes: &Changes) -> PyResult<Area> {
    let mut inputs = AreaInputs::default();
    for (key, value) in changes {
        inputs.set(key, *value).map_err(failure)?;
    }
    Area::new(inputs).map_err(failure)
}

fn power(area_changes: &Changes, power_changes: &Changes) -> PyResult<Power> {
    let mut inputs = PowerInputs::default();
    for (key, value) in power_changes {
        inputs.set(key, *value).map_err(failure)?;
    }
    Power::new(inputs, &area(area_changes)?).map_err(failure)
}

fn inputs_json<'i>(rows: impl Iterator<Item = (&'i Parameter, f64)>) -> Vec<Value> {
    rows.map(|(parameter, value)| {
        json!({
            "name": parameter.key,
            "value": value,
            "default": parameter.default,
            "provenance": parameter.provenance.name(),
            "source": parameter.source,
        })
    })
    .collect()
}

fn parse<T: for<'d> Deserialize<'d>>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(failure)
}
