//! Parameters as users name them.

use std::fmt;

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
    pub fn choices(&self) -> Option<&'static [Choice]> {
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

    fn check_choice(&self, value: f64, choices: &[Choice]) -> Result<(), ConfigError> {
        if choices.iter().any(|it| it.value == value) {
            return Ok(());
        }
        let names: Vec<String> = choices.iter().map(Choice::to_string).collect();
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

/// A value of a parameter that cannot have every value of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The value.
    pub value: f64,
    /// What it is called in files, on command lines and in tables; empty if it is a mere number.
    pub name: &'static str,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            "" => write!(f, "{}", self.value),
            name => write!(f, "{name} ({})", self.value),
        }
    }
}

const fn named(value: f64, name: &'static str) -> Choice {
    Choice { value, name }
}

const fn number(value: f64) -> Choice {
    named(value, "")
}

/// Parameters that cannot have every value of their range.
const CHOICES: &[(&str, &[Choice])] = &[
    (
        "accelerator.reuse",
        &[named(0.0, "none"), named(1.0, "idle")],
    ),
    (
        "core.balancing",
        &[
            named(0.0, "least_loaded"),
            named(1.0, "random"),
            named(2.0, "round_robin"),
            named(3.0, "two_choices"),
            named(4.0, "join_idle_queue"),
        ],
    ),
    (
        "core.software_balancing",
        &[named(0.0, "same"), named(1.0, "none")],
    ),
    (
        "core.interrupt_policy",
        &[
            named(0.0, "queued"),
            named(1.0, "first"),
            named(2.0, "preempt"),
        ],
    ),
    (
        "core.notification",
        &[
            named(0.0, "periodic"),
            named(1.0, "polling"),
            named(2.0, "wake"),
        ],
    ),
    (
        "core.generation",
        &[
            named(0.0, "haswell"),
            named(1.0, "skylake"),
            named(2.0, "ice_lake"),
            named(3.0, "sapphire_rapids"),
            named(4.0, "emerald_rapids"),
        ],
    ),
    (
        "dispatcher.busy",
        &[named(0.0, "instructions"), named(1.0, "until_confirmed")],
    ),
    (
        "network.chiplets",
        &[
            number(1.0),
            number(2.0),
            number(3.0),
            number(4.0),
            number(6.0),
        ],
    ),
    (
        "relief.fallback",
        &[named(0.0, "core"), named(1.0, "manager")],
    ),
    (
        "scheduling.policy",
        &[
            named(0.0, "fifo"),
            named(1.0, "priority"),
            named(2.0, "deadline"),
            named(3.0, "edf"),
        ],
    ),
    (
        "payload.heaps",
        &[named(0.0, "of_cores"), named(1.0, "of_services")],
    ),
    (
        "tcp.parking",
        &[
            named(0.0, "with_traces"),
            named(1.0, "all"),
            named(2.0, "none"),
        ],
    ),
    (
        "tenant.isolation",
        &[named(0.0, "shared"), named(1.0, "reserved")],
    ),
    (
        "tenant.shaping_order",
        &[named(0.0, "asking"), named(1.0, "begun_first")],
    ),
];
