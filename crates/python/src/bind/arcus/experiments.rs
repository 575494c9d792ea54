//! The experiments of the ARCUS paper, for `accelflow.arcus`.

use accelflow_arcus::experiments::{self, EXPERIMENTS};
use accelflow_parameters::Refusal;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::failure;
use crate::interrupt::interruptible;

/// Returns the ARCUS paper's experiments (JSON): name, title and default number of seeds.
#[pyfunction]
pub(crate) fn arcus_experiments() -> String {
    let row = |experiment: &experiments::PaperExperiment| {
        json!({
            "name": experiment.name,
            "title": experiment.title,
            "replications": experiment.replications,
        })
    };
    Value::from_iter(EXPERIMENTS.iter().map(row)).to_string()
}

/// Runs an experiment of the ARCUS paper and returns its report as JSON.
///
/// `seed` is the first seed, `replications` the number of seeds (None: the experiment's default).
/// Use `accelflow.arcus.experiment`. Raises AccelflowError for an unknown name.
#[pyfunction]
pub(crate) fn arcus_experiment(
    py: Python<'_>,
    name: &str,
    seed: u64,
    replications: Option<u64>,
    threads: usize,
) -> PyResult<String> {
    let chosen = name.to_owned();
    let run = move || experiments::replicate(&chosen, seed, replications, threads);
    let report = interruptible(py, run)?.ok_or_else(|| {
        let known = EXPERIMENTS.iter().map(|experiment| experiment.name);
        failure(Refusal::unknown("experiment", name, known))
    })?;
    serde_json::to_string(&report.map_err(failure)?).map_err(failure)
}
