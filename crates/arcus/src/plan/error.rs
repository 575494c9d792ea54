//! The error for a refused plan or table of profiles.

use std::fmt;

use serde::Serialize;

use crate::PlatformError;

/// One step of the path from a JSON document to a value in it: a field's name, or an index in a
/// list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Key {
    /// The name of a field.
    Name(String),
    /// The index of an item in a list, from 0.
    Index(usize),
}

/// An error for a refused plan or table of profiles: the message, and the path to the refused
/// value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// The path from the document to the refused value, as names of fields and indices in lists.
    /// Empty if the path is not known or no single value is refused.
    pub keys: Vec<Key>,
    /// The message in words: the part of the file, such as `flow 'a'`, the field, the refused value
    /// and the allowed values.
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

    /// Puts `outer` before the path to the refused value.
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
