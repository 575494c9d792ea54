//! The workload of a scenario: a suite, or the tree of a workload's file.

use std::borrow::Cow;

use accelflow_workload::file::{FileError, Workload};
use accelflow_workload::suites::Suite;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::choice;

/// The workload of a scenario: the services to simulate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// One of the built-in suites, by name.
    Suite(#[serde(with = "choice")] Suite),
    /// The content of a workload's file, with the contents of the files that it names.
    File(Box<Workload>),
}

impl Source {
    /// Returns the content of the suite's file or of the given file.
    ///
    /// # Errors
    /// None in practice: [`FileError`] if a suite's file is invalid, which tests exclude.
    pub fn workload(&self) -> Result<Cow<'_, Workload>, FileError> {
        match self {
            Source::Suite(suite) => Ok(Cow::Borrowed(suite.workload()?)),
            Source::File(workload) => Ok(Cow::Borrowed(workload)),
        }
    }

    /// Returns the workload's name in results.
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
                "description": "A workload's file, relative to the scenario's.",
            },
            {"type": "object", "description": "The tree of a workload's file."},
        ]})
    }
}
