//! The error of a plan or a table of profiles that is refused.

use std::fmt;

use serde::Serialize;

use crate::PlatformError;

/// One step on the way from a document to a value in it: the name of a field, or an index in a
/// list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Key {
    /// The name of a field.
    Name(String),
    /// The index of an item in a list, from 0.
    Index(usize),
}

/// Why a plan or a table of profiles is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// The names and indices that lead from the document to the refused value; empty if it is not a
    /// single value.
    pub keys: Vec<Key>,
    /// The message in words: table, field, value and what is allowed.
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
