//! The parameters of all engines as JSON, and checks of single values.

use accelflow_parameters::{Kind, Parameter, Refusal, number_text};
use accelflow_units::Time;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyFloatMethods, PyString};
use serde_json::{Value, json};

use crate::refused::refused;

/// An engine with a table of parameters.
struct Engine {
    /// The name in JSON.
    name: &'static str,
    /// The prefix of the table's keys, which distinguishes them from those of other engines.
    prefix: &'static str,
    /// The subject of the parameters, as a title.
    title: &'static str,
    parameters: fn() -> Vec<&'static Parameter>,
}

/// The engines in the order in which they are listed; the profile, whose numbers follow from its
/// options, is not among them.
const ENGINES: [Engine; 13] = [
    Engine {
        name: "simulation",
        prefix: "",
        title: "The simulated server",
        parameters: || accelflow_sim::config::PARAMETERS.parameters().collect(),
    },
    Engine {
        name: "area",
        prefix: "area.",
        title: "Area of a processor",
        parameters: || accelflow_model::area::PARAMETERS.parameters().collect(),
    },
    Engine {
        name: "power",
        prefix: "power.",
        title: "Power and energy of a server",
        parameters: || accelflow_model::power::PARAMETERS.parameters().collect(),
    },
    Engine {
        name: "accelerometer",
        prefix: "accelerometer.",
        title: "Accelerometer: inputs with a default, and its simulation",
        parameters: || accelflow_model::accelerometer::parameters::PARAMETERS.to_vec(),
    },
    Engine {
        name: "cerebros",
        prefix: "cerebros.",
        title: "Cerebros: the simulated RPC server",
        parameters: || {
            accelflow_cerebros::platform::PARAMETERS
                .parameters()
                .collect()
        },
    },
    Engine {
        name: "cerebros.analytic",
        prefix: "cerebros.analytic.",
        title: "Cerebros: the analytic model",
        parameters: || accelflow_model::cerebros::PARAMETERS.parameters().collect(),
    },
    Engine {
        name: "arcus",
        prefix: "arcus.",
        title: "ARCUS: the traffic shaper and its host",
        parameters: arcus,
    },
    Engine {
        name: "server",
        prefix: "server.",
        title: "The server on bytes: limits, time limits, tenants and their control plane",
        parameters: server,
    },
    Engine {
        name: "server.pools",
        prefix: "server.pools.",
        title: "The server on bytes: workers and queues of accelerators",
        parameters: || accelflow_runtime::POOL_PARAMETERS.parameters().collect(),
    },
    Engine {
        name: "server.steering",
        prefix: "server.steering.",
        title: "The server on bytes: workers for handlers",
        parameters: || accelflow_serve::STEERING_PARAMETERS.parameters().collect(),
    },
    Engine {
        name: "server.rpc",
        prefix: "server.rpc.",
        title: "The server on bytes: parts of Cerebros's RPC processor",
        parameters: || {
            let arena = accelflow_serve::ARENA_PARAMETERS.parameters();
            accelflow_serve::RPC_PARAMETERS
                .parameters()
                .chain(arena)
                .collect()
        },
    },
    Engine {
        name: "client",
        prefix: "client.",
        title: "Clients on bytes",
        parameters: || accelflow_serve::CLIENT_PARAMETERS.parameters().collect(),
    },
    Engine {
        name: "relief_suite",
        prefix: "relief_suite.",
        title: "RELIEF's suite of applications",
        parameters: || {
            accelflow_relief_suite::parameters::PARAMETERS
                .parameters()
                .collect()
        },
    },
];

/// Returns the parameters of ARCUS's traffic shaper and of the host around it.
pub(crate) fn arcus() -> Vec<&'static Parameter> {
    let host = accelflow_arcus::parameters::PARAMETERS;
    let shaper = accelflow_shaping::PARAMETERS;
    shaper.parameters().chain(host.parameters()).collect()
}

/// The parameters of the server, of its shapers and of its control plane.
fn server() -> Vec<&'static Parameter> {
    let config = accelflow_serve::CONFIG_PARAMETERS;
    let plane = accelflow_shaping::control::PARAMETERS;
    let tenants = accelflow_serve::PARAMETERS.iter();
    config
        .parameters()
        .chain([&accelflow_serve::SAMPLE_RATIO])
        .chain(tenants)
        .chain(plane.parameters())
        .collect()
}

/// Returns all engines (simulators and models) with their parameters, as a JSON list.
///
/// If `tcp_cost_ns`, the time of TCP on a core, is given, the list ends with the operation costs of
/// the profile `paper`.
#[pyfunction]
#[pyo3(signature = (tcp_cost_ns=None))]
pub(crate) fn parameters(tcp_cost_ns: Option<f64>) -> PyResult<String> {
    let mut engines: Vec<Value> = ENGINES
        .iter()
        .map(|engine| {
            let parameters = (engine.parameters)();
            let rows = parameters.iter().map(|row| row_json(engine.prefix, row));
            engine_json(engine.name, engine.title, rows.collect())
        })
        .collect();
    if let Some(tcp_cost_ns) = tcp_cost_ns {
        let profile = accelflow_scenario::paper_profile(tcp_cost(tcp_cost_ns)?);
        let profile = profile.map_err(refused)?;
        let rows = profile.parameters().iter();
        let rows = rows.map(|row| row_json("profile.", row)).collect();
        engines.push(engine_json("profile", "The profile `paper`", rows));
    }
    Ok(Value::from(engines).to_string())
}

fn engine_json(name: &str, title: &str, parameters: Vec<Value>) -> Value {
    json!({ "engine": name, "title": title, "parameters": parameters })
}

fn row_json<S: AsRef<str>>(prefix: &str, parameter: &Parameter<S>) -> Value {
    let (min, max) = parameter.kind.range(parameter.default);
    let also = accelflow_sim::config::PARAMETERS.by_member(parameter.key.as_ref());
    let choices = parameter.kind.choices().iter().map(
        |choice| json!({ "value": choice.value, "name": choice.name, "meaning": choice.meaning }),
    );
    json!({
        "key": format!("{prefix}{}", parameter.key.as_ref()),
        "also": also.filter(|_| prefix.is_empty()).unwrap_or_default(),
        "unit": parameter.unit,
        "kind": parameter.kind.name(),
        "default": parameter.default,
        "min": min,
        "max": max,
        "whole": parameter.kind.is_whole(),
        "choices": choices.collect::<Vec<_>>(),
        "allowed": parameter.allowed(),
        "provenance": parameter.provenance.name(),
        "source": parameter.source.as_ref(),
        "why": parameter.why.as_ref(),
    })
}

/// Returns `value` as the number that the parameter `key` of `engine` takes.
///
/// `value` is a number, a truth value (for a switch) or the name of a choice. `engine` is the name
/// of a simulator or model with parameters, such as simulation or cerebros. Raises AccelflowError
/// for an unknown engine or key and for a value that is not allowed.
#[pyfunction]
pub(crate) fn parameter_value(engine: &str, key: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let found = ENGINES.iter().find(|known| known.name == engine);
    let found = found.ok_or_else(|| {
        let known = ENGINES.iter().map(|known| known.name);
        refused(Refusal::unknown("engine", engine, known))
    })?;
    let parameters = (found.parameters)();
    let parameter = parameters.iter().find(|parameter| parameter.key == key);
    let parameter = parameter.ok_or_else(|| {
        let known = parameters.iter().map(|parameter| parameter.key);
        refused(Refusal::unknown_key(key, known))
    })?;
    number(parameter, value).map_err(refused)
}

/// Returns a server parameter's key, as results spell it, and its value as a number.
///
/// `value` is a number, a truth value (for a switch) or the name of a choice. Raises AccelflowError
/// for an unknown key and for a value that is not allowed.
#[pyfunction]
pub(crate) fn server_setting(key: &str, value: &Bound<'_, PyAny>) -> PyResult<(&'static str, f64)> {
    let parameter = accelflow_sim::config::PARAMETERS.parameter(key);
    let parameter = parameter.map_err(refused)?;
    let number = number(parameter, value).map_err(|refusal| {
        let place = key.to_owned();
        refused(Refusal { place, ..refusal })
    })?;
    Ok((parameter.key, number))
}

fn number(parameter: &Parameter, value: &Bound<'_, PyAny>) -> Result<f64, Refusal> {
    if let Ok(name) = value.cast::<PyString>() {
        return parameter.number_of(&name.to_string_lossy());
    }
    if let Ok(on) = value.cast::<PyBool>() {
        return match parameter.kind {
            Kind::Switch => Ok(f64::from(u8::from(on.is_true()))),
            _ => Err(parameter.refusal(on.is_true())),
        };
    }
    let Ok(number) = value.extract::<f64>() else {
        return Err(parameter.refusal(shown(value)));
    };
    parameter.check(number)?;
    Ok(number)
}

/// `value` as Python writes it.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr();
    text.map_or_else(
        |_| "?".to_owned(),
        |text| text.to_string_lossy().into_owned(),
    )
}

/// The error that refuses `value`. A float that is a whole number is shown without a fraction, as
/// users write it, unless `allowed` demands a whole number.
pub(crate) fn refusal_of(place: &str, value: &Bound<'_, PyAny>, allowed: String) -> Refusal {
    let number = value.cast::<PyFloat>().map(PyFloatMethods::value).ok();
    let whole = number.filter(|number| number.fract() == 0.0 && !allowed.contains("whole number"));
    let text = whole.map_or_else(|| shown(value), number_text);
    Refusal::new(place, text, allowed)
}

/// Returns the error message for a value: ``PLACE = VALUE: must be ..., did you mean ...?``.
///
/// `allowed` is the clause that begins with ``must``; it may be empty if `known` lists the allowed
/// names. Names in `known` that are similar to `value` are proposed. A float that is a whole number
/// is shown without a fraction, as users write it, unless `allowed` demands a whole number.
#[pyfunction]
#[pyo3(signature = (place, value, allowed, known=Vec::new()))]
pub(crate) fn refusal(
    place: &str,
    value: &Bound<'_, PyAny>,
    allowed: &str,
    known: Vec<String>,
) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let refusal = refusal_of(place, value, allowed.to_owned());
    let refusal = match value.cast::<PyString>() {
        Ok(name) => refusal.proposing(&name.to_string_lossy(), known.iter().copied()),
        Err(_) => refusal,
    };
    match allowed {
        "" => refusal.listing(&known).to_string(),
        _ => refusal.to_string(),
    }
}

/// The time of a TCP operation on a core. Raises AccelflowError for a time that the profile `paper`
/// does not take.
pub(crate) fn tcp_cost(tcp_cost_ns: f64) -> PyResult<Time> {
    // Times are whole picoseconds, and the profile takes at most a second.
    if (0.001..=1e9).contains(&tcp_cost_ns) {
        return Ok(Time::from_ns_f64(tcp_cost_ns));
    }
    let allowed = "must be a number from 0.001 to 1e9";
    Err(refused(Refusal::number(
        "tcp_cost_ns",
        tcp_cost_ns,
        allowed,
    )))
}

/// Returns the operation costs of the profile `paper` as a JSON list.
///
/// `tcp_cost_ns` is the time of a TCP operation on a core, in ns.
#[pyfunction]
pub(crate) fn profile_parameters(tcp_cost_ns: f64) -> PyResult<String> {
    let rows = accelflow_scenario::paper_parameters(tcp_cost(tcp_cost_ns)?);
    Ok(Value::from(rows.map_err(refused)?).to_string())
}
