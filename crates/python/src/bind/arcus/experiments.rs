//! The paper's experiments, for `accelflow.arcus`.

use accelflow_arcus::experiments::{self, EXPERIMENTS};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::AccelflowError;

fn failure(error: impl std::fmt::Display) -> PyErr {
    AccelflowError::new_err(error.to_string())
}

/// The paper's experiments as a JSON list: name, title and default number of seeds.
#[pyfunction]
pub(crate) fn arcus_experiments() -> String {
    let row = |it: &experiments::Experiment| json!({"name": it.name, "title": it.title, "replications": it.replications});
    Value::from_iter(EXPERIMENTS.iter().map(row)).to_string()
}

/// Runs an experiment with several seeds, by default its own number, on several threads. Returns
/// its report as JSON. Raises AccelflowError for an unknown name.
#[pyfunction]
pub(crate) fn arcus_experiment(
    py: Python<'_>,
    name: &str,
    seed: u64,
    replications: Option<u64>,
    threads: usize,
) -> PyResult<String> {
    let run = || experiments::replicate(name, seed, replications, threads);
    let report = py.detach(run).ok_or_else(|| {
        let known: Vec<&str> = EXPERIMENTS
            .iter()
            .map(|experiment| experiment.name)
            .collect();
        failure(format!(
            "unknown experiment '{name}'; known are {}",
            known.join(", ")
        ))
    })?;
    serde_json::to_string(&report.map_err(failure)?).map_err(failure)
}
