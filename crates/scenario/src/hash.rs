//! A stable hash of a checked scenario, for caches.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::checked::Checked;
use crate::error::ScenarioError;
use crate::resolved::{Resolved, ResolvedChip, sha256};
use crate::settings;

impl Checked {
    /// Returns the checked scenario as JSON in a canonical form, which [`Checked::hash`] hashes:
    /// without spaces, with keys in alphabetical order, and without server parameters that have
    /// their defaults.
    ///
    /// # Errors
    /// Does not fail in practice: all numbers are finite, so JSON can express them.
    pub fn canonical_json(&self) -> Result<String, ScenarioError> {
        let common = &self.resolved.config;
        let changed = |chip: &ResolvedChip| ResolvedChip {
            name: chip.name.clone(),
            config: settings::changed(&settings::merged(common, &chip.config)),
        };
        let resolved = Resolved {
            config: settings::changed(common),
            chips: self.resolved.chips.iter().map(changed).collect(),
            ..self.resolved.clone()
        };
        let mut text = String::new();
        write_sorted(&serde_json::to_value(&resolved)?, &mut text);
        Ok(text)
    }

    /// Returns the SHA-256 hash of [`Checked::canonical_json`], in hexadecimal. Scenarios with
    /// equal hashes have equal results in the same version of the simulator, if they run with equal
    /// [`RunOptions`](crate::RunOptions).
    ///
    /// SHA-256 is available in Python and every shell, so users can verify a cache of results
    /// without this crate.
    ///
    /// # Errors
    /// Does not fail in practice: all numbers are finite, so JSON can express them.
    pub fn hash(&self) -> Result<String, ScenarioError> {
        Ok(sha256(self.canonical_json()?.as_bytes()))
    }
}

/// Writes `value` without spaces, the keys of objects in alphabetical order, independent of
/// serde_json's order.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            text.push('{');
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_sorted(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write_sorted(item, text);
            }
            text.push(']');
        }
        // -0.0 is 0.0 to every engine.
        Value::Number(number) if number.is_f64() && number.as_f64() == Some(0.0) => {
            text.push_str("0.0");
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}
