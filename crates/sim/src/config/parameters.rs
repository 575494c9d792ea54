//! Parameters as users name them.

use super::table::PARAMETERS;
use super::{Config, ConfigError};

/// Where a default comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Stated in a paper.
    Paper,
    /// Follows from stated figures by arithmetic.
    Derived,
    /// Measured on a machine.
    Measured,
    /// Neither: a choice, with a reason.
    Assumed,
}

impl Provenance {
    /// The word that reports print.
    pub const fn name(self) -> &'static str {
        match self {
            Provenance::Paper => "paper",
            Provenance::Derived => "derived",
            Provenance::Measured => "measured",
            Provenance::Assumed => "assumed",
        }
    }
}

/// A parameter as users name it.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in files and on command lines.
    pub key: &'static str,
    /// The unit of its value; empty for a ratio.
    pub unit: &'static str,
    /// The value of the base server.
    pub default: f64,
    /// The smallest allowed value.
    pub min: f64,
    /// The largest allowed value.
    pub max: f64,
    /// Whether only whole numbers are allowed.
    pub whole: bool,
    /// Where the default comes from.
    pub provenance: Provenance,
    /// The place: paper and section, or what was measured.
    pub source: &'static str,
    /// The arithmetic or the reason; empty where the source says it all.
    pub why: &'static str,
    /// Reads it.
    pub get: fn(&Config) -> f64,
    /// Writes a checked value.
    pub(super) set: fn(&mut Config, f64),
}

impl Parameter {
    /// The parameter called `key`.
    ///
    /// # Errors
    /// [`ConfigError::Unknown`].
    pub fn find(key: &str) -> Result<&'static Parameter, ConfigError> {
        let found = PARAMETERS.iter().find(|p| p.key == key);
        found.ok_or_else(|| ConfigError::Unknown {
            key: key.to_owned(),
        })
    }

    /// The only values it can have, if not all of its range.
    pub fn choices(&self) -> Option<&'static [f64]> {
        let known = CHOICES.iter().find(|(key, _)| *key == self.key);
        known.map(|(_, values)| *values)
    }

    pub(super) fn check(&self, value: f64) -> Result<(), ConfigError> {
        if let Some(choices) = self.choices() {
            return self.check_choice(value, choices);
        }
        let inside = value >= self.min && value <= self.max;
        if inside && (!self.whole || value.fract() == 0.0) {
            return Ok(());
        }
        let kind = if self.whole {
            "a whole number"
        } else {
            "a number"
        };
        let allowed = format!("{kind} from {} to {} {}", self.min, self.max, self.unit);
        Err(ConfigError::Range {
            key: self.key,
            value,
            allowed: allowed.trim_end().to_owned(),
        })
    }
    fn check_choice(&self, value: f64, choices: &[f64]) -> Result<(), ConfigError> {
        if choices.contains(&value) {
            return Ok(());
        }
        let names: Vec<String> = choices.iter().map(f64::to_string).collect();
        let allowed = match names.split_last() {
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        };
        Err(ConfigError::Range {
            key: self.key,
            value,
            allowed: format!("{allowed} {}", self.unit).trim_end().to_owned(),
        })
    }
}

/// Parameters that cannot have every value of their range.
const CHOICES: &[(&str, &[f64])] = &[("network.chiplets", &[1.0, 2.0, 3.0, 4.0, 6.0])];
