//! The JSON Schema of chip files, generated from the table of server parameters.

use accelflow_parameters::{Kind, Parameter};
use accelflow_sim::config::PARAMETERS;
use serde_json::{Map, Value, json};

use crate::chip::CHIP_SCHEMA;
use crate::limits::{CHIP_NAME, MAX_CHIP_NAME};

/// Returns the JSON Schema (draft 2020-12) of chip files, as indented text.
///
/// The schema lists all sections and server parameters, with their ranges, named values, defaults
/// and sources.
pub fn chip_schema() -> String {
    let mut root = section();
    for parameter in PARAMETERS.parameters() {
        let own = rule(parameter, &describe(parameter));
        match PARAMETERS.by_member(parameter.key) {
            Some(key) => {
                let same = format!("As {key}.");
                insert(&mut root, &key, own);
                insert(&mut root, parameter.key, rule(parameter, &same));
            }
            None => insert(&mut root, parameter.key, own),
        }
    }
    let words = |what: &str| json!({"type": "string", "description": what});
    let properties = &mut root["properties"];
    let version = "The name and version of the chip file's format.";
    properties["schema"] = json!({"const": CHIP_SCHEMA, "description": version});
    properties["name"] = words("The chip's name in results. By default the name of the file.");
    properties["name"]["minLength"] = 1.into();
    properties["name"]["maxLength"] = MAX_CHIP_NAME.into();
    properties["name"]["pattern"] = CHIP_NAME.into();
    properties["description"] = words("What the chip is.");
    properties["description"]["minLength"] = 1.into();
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = CHIP_SCHEMA.into();
    root["description"] =
        "A chip: parameters of the simulated server. Parameters that are left out have their defaults.".into();
    root.sort_all_objects();
    format!("{root:#}\n")
}

/// A section without anything in it yet.
fn section() -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": Map::new()})
}

/// Puts `rule` at `key`, in the sections that its parts name.
fn insert(root: &mut Value, key: &str, rule: Value) {
    let mut parts: Vec<&str> = key.split('.').collect();
    let Some(last) = parts.pop() else { return };
    let mut at = root;
    for part in parts {
        let inner = &mut at["properties"][part];
        if inner.is_null() {
            *inner = section();
        }
        at = inner;
    }
    at["properties"][last] = rule;
}

/// The schema of the values of `parameter`.
fn rule(parameter: &Parameter, description: &str) -> Value {
    let (min, max) = parameter.kind.range(parameter.default);
    let choices = parameter.kind.choices();
    if choices.is_empty() {
        let kind = match parameter.kind {
            Kind::Whole { .. } => "integer",
            _ => "number",
        };
        return json!({
            "type": kind,
            "minimum": number(min),
            "maximum": number(max),
            "default": number(parameter.default),
            "description": description,
        });
    }
    let mut allowed: Vec<Value> = Vec::new();
    for choice in choices {
        allowed.extend((!choice.name.is_empty()).then(|| choice.name.into()));
        allowed.push(number(choice.value));
    }
    if parameter.kind == Kind::Switch {
        allowed.extend([true.into(), false.into()]);
    }
    let default = match parameter.choice(parameter.default) {
        Some(choice) if !choice.name.is_empty() => choice.name.into(),
        _ => number(parameter.default),
    };
    if let Kind::WholeOr { min, max, .. } = parameter.kind {
        let whole = json!({"type": "integer", "minimum": number(min), "maximum": number(max)});
        let any = json!([whole, {"enum": allowed}]);
        return json!({"anyOf": any, "default": default, "description": description});
    }
    json!({"enum": allowed, "default": default, "description": description})
}

/// `value` without a fraction where it has none.
fn number(value: f64) -> Value {
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => (value as i64).into(),
        false => value.into(),
    }
}

/// Unit, meanings of choices, and where the default comes from.
fn describe(parameter: &Parameter) -> String {
    let mut parts = Vec::new();
    if !parameter.unit.is_empty() {
        parts.push(format!("Unit: {}.", parameter.unit));
    }
    for choice in parameter.kind.choices() {
        if !choice.meaning.is_empty() {
            parts.push(format!("{}: {}.", choice.label(), choice.meaning));
        }
    }
    let (provenance, source) = (parameter.provenance.name(), parameter.source);
    parts.push(format!("Default: {provenance}, {source}."));
    if !parameter.why.is_empty() {
        parts.push(parameter.why.to_owned());
    }
    parts.join(" ")
}
