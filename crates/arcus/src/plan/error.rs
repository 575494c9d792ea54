//! The error of a plan that is not allowed.

use std::fmt;

use serde::Serialize;

use crate::PlatformError;

/// A step from a document to a value in it: the name of a field, or the place in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Key {
    /// The name of a field.
    Name(String),
    /// The place in a list, from 0.
    Index(usize),
}

/// A plan that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// The keys that lead to the value; empty if it is not a single value.
    pub keys: Vec<Key>,
    /// The message, which names the table, the field, the value and the rule.
    pub message: String,
}

impl PlanError {
    /// The error for the value at `keys`.
    pub(super) fn of(keys: Vec<Key>, message: impl ToString) -> PlanError {
        PlanError {
            keys,
            message: message.to_string(),
        }
    }

    /// Puts `outer` before the keys.
    pub(super) fn within(self, outer: &[Key]) -> PlanError {
        PlanError {
            keys: [outer, &self.keys[..]].concat(),
            ..self
        }
    }
}

impl From<PlatformError> for PlanError {
    fn from(error: PlatformError) -> PlanError {
        PlanError::of(Vec::new(), error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PlanError {}
