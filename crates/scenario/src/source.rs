//! The workload of a scenario: a built-in suite, or the content of a workload file.

use std::borrow::Cow;

use accelflow_workload::file::{FileError, Workload};
use accelflow_workload::suites::Suite;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::choice;

/// The workload of a scenario: a built-in suite, or the content of a workload file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// One of the built-in suites, by name.
    Suite(#[serde(with = "choice")] Suite),
    /// The content of a workload file. Where the workload file names another file, this value has
    /// the content of that file in place of the name.
    File(Box<Workload>),
}

impl Source {
    /// Returns the workload that the built-in suite or the workload file describes.
    ///
    /// # Errors
    /// [`FileError`] if a suite's file is invalid; does not occur in practice, since the files are
    /// tested.
    pub fn workload(&self) -> Result<Cow<'_, Workload>, FileError> {
        match self {
            Source::Suite(suite) => Ok(Cow::Borrowed(suite.workload()?)),
            Source::File(workload) => Ok(Cow::Borrowed(workload)),
        }
    }

    /// Returns the name of the workload in results.
    pub fn name(&self) -> &str {
        match self {
            Source::Suite(suite) => suite.name(),
            Source::File(workload) => &workload.name,
        }
    }
}

impl JsonSchema for Source {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Source".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let suites: Vec<&str> = Suite::ALL.into_iter().map(Suite::name).collect();
        json_schema!({"anyOf": [
            {"type": "string", "enum": suites},
            {
                "type": "string",
                "pattern": r"\.(toml|json)$",
                "description": "The name of a workload file, relative to the scenario file.",
            },
            {"type": "object", "description": "The content of a workload file."},
        ]})
    }
}
