//! The server parameters that a scenario sets.

use std::collections::BTreeMap;

use accelflow_sim::Config;
use accelflow_sim::config::PARAMETERS;
use serde_json::Value;

use crate::error::ScenarioError;
use crate::resolved::ResolvedChip;
use crate::scenario::{NamedChip, Scenario, Setting};
use crate::shown::shown;
use accelflow_parameters::{Refusal, number_text};

/// Where the parameters of all chips are set.
pub(crate) const CONFIG: &str = "config";

/// The parameter that [`Scenario::policy`] sets.
const POLICY: &str = "scheduling.policy";

/// Numbers of parameters, by key.
pub(crate) type Numbers = BTreeMap<String, f64>;

/// The parameters that `scenario` sets for all chips, by key.
pub(crate) fn numbers(scenario: &Scenario) -> Result<Numbers, ScenarioError> {
    let mut found = numbers_of(CONFIG, &scenario.config)?;
    if let Some(policy) = scenario.policy {
        found.insert(POLICY.to_owned(), f64::from(policy.number()));
    }
    Ok(found)
}

/// The parameters that each chip of `scenario` sets, without those that the scenario sets outside
/// of its config.
pub(crate) fn numbers_of_chips(scenario: &Scenario) -> Result<Vec<ResolvedChip>, ScenarioError> {
    let numbers_of_chip = |chip: &NamedChip| {
        let place = format!("{}.{CONFIG}", place_of_chip(&chip.name));
        let mut config = numbers_of(&place, &chip.config)?;
        if scenario.policy.is_some() {
            config.remove(POLICY);
        }
        let name = chip.name.clone();
        Ok(ResolvedChip { name, config })
    };
    scenario.chips.iter().map(numbers_of_chip).collect()
}

/// The parameters that `config`, which is at `place`, sets, by key.
fn numbers_of(place: &str, config: &BTreeMap<String, Setting>) -> Result<Numbers, ScenarioError> {
    let mut found = BTreeMap::new();
    for (key, value) in config {
        let value = match value {
            Setting::Number(number) => Value::from(*number),
            Setting::Name(name) => Value::from(name.as_str()),
        };
        let (known, number) = setting(place, key, &value)?;
        if found.insert(known.to_owned(), number).is_some() {
            let allowed = format!("must not be set again: it is another spelling of {known}");
            let place = format!("{place}.{key}");
            return Err(Refusal::new(place, parameter_text(known, number), allowed).into());
        }
    }
    Ok(found)
}

/// `number` as users write it for the parameter called `key`.
fn parameter_text(key: &str, number: f64) -> String {
    let parameter = PARAMETERS.parameter(key);
    parameter.map_or_else(|_| number_text(number), |parameter| parameter.text(number))
}

/// The place of the chip called `name`, for messages.
pub(crate) fn place_of_chip(name: &str) -> String {
    format!("chips['{name}']")
}

/// `common`, overridden by `own`.
pub(crate) fn merged(common: &Numbers, own: &Numbers) -> Numbers {
    let mut all = common.clone();
    all.extend(own.iter().map(|(key, value)| (key.clone(), *value)));
    all
}

/// Only those numbers that are not their parameters' defaults.
pub(crate) fn changed(numbers: &Numbers) -> Numbers {
    let is_default = |key: &str, value: f64| {
        let parameter = PARAMETERS.parameter(key);
        parameter.is_ok_and(|parameter| parameter.default == value)
    };
    let changed = numbers
        .iter()
        .filter(|(key, value)| !is_default(key, **value));
    changed.map(|(key, value)| (key.clone(), *value)).collect()
}

/// The server with these parameters, which were set at `place`.
pub(crate) fn server(place: &str, numbers: &Numbers) -> Result<Config, ScenarioError> {
    let refused = |refusal: Refusal| refusal.within(place);
    let mut config = Config::default();
    for (key, value) in numbers {
        config.set(key, *value).map_err(refused)?;
    }
    config.check().map_err(refused)?;
    Ok(config)
}

/// The key of the parameter called `key` at `place`, in the spelling of results, and its number in
/// `value`: the number itself, or that of a named choice.
pub(crate) fn setting(
    place: &str,
    key: &str,
    value: &Value,
) -> Result<(&'static str, f64), ScenarioError> {
    let parameter = PARAMETERS.parameter(key).map_err(|unknown| match place {
        CONFIG => unknown,
        chip => unknown.within(chip),
    })?;
    let number = match value {
        Value::String(name) => parameter.number_of(name),
        other => match other.as_f64() {
            Some(number) => parameter.check(number).map(|()| number),
            None => Err(parameter.refusal(shown(other))),
        },
    };
    let number = number.map_err(|refusal| {
        let refusal = Refusal {
            place: key.to_owned(),
            ..refusal
        };
        refusal.within(place)
    })?;
    Ok((parameter.key, number))
}
