//! Parameters of the server that a scenario sets.

use std::collections::BTreeMap;

use accelflow_sim::Config;
use accelflow_sim::config::PARAMETERS;
use serde_json::Value;

use crate::error::ScenarioError;
use crate::scenario::{Scenario, Setting};
use crate::shown::shown;

/// The parameter that [`Scenario::policy`] sets.
const POLICY: &str = "scheduling.policy";

/// The numbers that `scenario` gives parameters, by key.
pub(crate) fn numbers(scenario: &Scenario) -> Result<BTreeMap<String, f64>, ScenarioError> {
    let mut found = BTreeMap::new();
    for (key, value) in &scenario.config {
        let value = match value {
            Setting::Number(number) => Value::from(*number),
            Setting::Name(name) => Value::from(name.as_str()),
        };
        found.insert(key.clone(), setting(key, &value)?);
    }
    if let Some(policy) = scenario.policy {
        found.insert(POLICY.to_owned(), f64::from(policy.number()));
    }
    Ok(found)
}

/// Only those numbers that are not their parameters' defaults.
pub(crate) fn changed(numbers: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let is_default = |key: &str, value: f64| {
        let parameter = PARAMETERS.parameter(key);
        parameter.is_ok_and(|parameter| parameter.default == value)
    };
    let changed = numbers
        .iter()
        .filter(|(key, value)| !is_default(key, **value));
    changed.map(|(key, value)| (key.clone(), *value)).collect()
}

/// The server with these numbers.
pub(crate) fn server(numbers: &BTreeMap<String, f64>) -> Result<Config, ScenarioError> {
    let mut config = Config::default();
    for (key, value) in numbers {
        PARAMETERS
            .set(&mut config, key, *value)
            .map_err(ScenarioError::Config)?;
    }
    config.check().map_err(ScenarioError::Config)?;
    Ok(config)
}

/// The number that `value` gives the parameter called `key`: itself, or that of the choice that it
/// names.
pub(crate) fn setting(key: &str, value: &Value) -> Result<f64, ScenarioError> {
    let parameter = PARAMETERS.parameter(key)?;
    let number = match value {
        Value::String(name) => parameter.number_of(name),
        other => match other.as_f64() {
            Some(number) => parameter.check(number).map(|()| number),
            None => Err(parameter.refusal(shown(other))),
        },
    };
    number.map_err(|refusal| refusal.within("config").into())
}
