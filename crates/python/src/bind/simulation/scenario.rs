//! Scenarios and their results, for `accelflow.simulation`.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use accelflow_kernel::ConfidenceInterval;
use accelflow_scenario::{
    Checked, OperationPayload, RunOptions, Scenario, ScenarioError, SimulatedOperation, json_schema,
};
use accelflow_sim::orchestrators::{ORCHESTRATORS, Orchestrator, SYSTEMS};
use accelflow_units::Time;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::bind::simulation::policies::{PythonSystem, raised};
use crate::bind::simulation::progress::Progress;
use crate::bind::simulation::samples::{Samples, columns};
use crate::errors::failure;
use crate::refused::refused;

/// Reads the scenario in `document` (JSON), with the text of a recording if there is one.
fn read(document: &str, recording: Option<String>) -> Result<Scenario, ScenarioError> {
    let mut scenario = Scenario::from_json(document)?;
    if recording.is_some() {
        scenario.recording = recording;
    }
    Ok(scenario)
}

pub(crate) fn checked(document: &str, recording: Option<String>) -> PyResult<Checked> {
    let scenario = read(document, recording).map_err(refused)?;
    scenario.check().map_err(refused)
}

/// Reads the scenario in `document` (JSON) and returns it with all fields, as JSON. Raises
/// AccelflowError for an unknown field or an invalid value.
#[pyfunction]
#[pyo3(signature = (document, recording=None))]
pub(crate) fn scenario_read(document: &str, recording: Option<String>) -> PyResult<String> {
    let scenario = read(document, recording).map_err(refused)?;
    scenario.to_json().map_err(refused)
}

/// Checks the scenario in `document` (JSON) and returns it with every default filled in, as JSON.
/// Raises AccelflowError, which names the field, its value and what is allowed.
#[pyfunction]
#[pyo3(signature = (document, recording=None))]
pub(crate) fn scenario_check(document: &str, recording: Option<String>) -> PyResult<String> {
    let checked = checked(document, recording)?;
    serde_json::to_string(checked.resolved()).map_err(failure)
}

/// Checks that `runs` runs of the scenario in `document` (JSON) with different seeds may keep up to
/// `samples` requests of each service under each system. Raises AccelflowError if they may not.
#[pyfunction]
pub(crate) fn scenario_check_samples(
    document: &str,
    recording: Option<String>,
    samples: u64,
    runs: u64,
) -> PyResult<()> {
    let checked = checked(document, recording)?;
    checked.check_samples(samples, runs).map_err(refused)
}

/// The stable hash of the scenario in `document` (JSON): 64 hexadecimal digits. Raises
/// AccelflowError as `scenario_check`.
#[pyfunction]
#[pyo3(signature = (document, recording=None))]
pub(crate) fn scenario_hash(document: &str, recording: Option<String>) -> PyResult<String> {
    checked(document, recording)?.hash().map_err(refused)
}

/// Simulates the scenario in `document` (JSON) and returns the results as JSON.
///
/// `options` are the number of threads, the share of the tail, the most samples of a service,
/// whether percentiles are exact, and the largest number of intervals of utilization over time
/// ([`RunOptions`]). Samples are returned next to the results. `progress` is called with the number
/// of ended requests and the total number. Raises AccelflowError for a scenario that cannot be
/// simulated. An exception of `progress` ends the run and is passed on. `others` are systems in
/// Python, simulated in addition to those of the scenario. They are objects with `name`, `like`,
/// `begin(server)`, `failed(place, error)` and `interrupt()`; an exception of a policy becomes the
/// cause of an AccelflowError.
#[pyfunction]
#[pyo3(signature = (document, recording, options, progress=None, others=Vec::new()))]
pub(crate) fn scenario_run<'py>(
    py: Python<'py>,
    document: &str,
    recording: Option<String>,
    options: (usize, f64, u64, Option<bool>, usize),
    progress: Option<Py<PyAny>>,
    others: Vec<Bound<'py, PyAny>>,
) -> PyResult<(String, Vec<Samples<'py>>)> {
    let others: Vec<PythonSystem> = others
        .iter()
        .map(PythonSystem::new)
        .collect::<PyResult<_>>()?;
    let checked = checked(document, recording)?;
    let (threads, tail_share, samples, exact, use_intervals) = options;
    let options = RunOptions {
        threads,
        tail_share,
        samples,
        exact,
        use_intervals,
    };
    let progress = Progress::new(progress);
    let report = |done, all| {
        let goes_on = progress.report(done, all);
        if !goes_on {
            others.iter().for_each(PythonSystem::interrupt);
        }
        goes_on
    };
    let outcome = py.detach(|| {
        let others: Vec<&dyn Orchestrator> = others.iter().map(|other| other as _).collect();
        checked.run_beside(&others, &options, &report)
    });
    progress.finish()?;
    let outcome = outcome.map_err(|error| raised(py, error))?;
    let outcome = outcome.ok_or_else(|| failure("the simulation was interrupted"))?;
    let text = outcome.to_json().to_string();
    Ok((text, columns(py, outcome, samples)?))
}

/// The core time and accelerator time of one request to each service of the scenario in `document`
/// (JSON), in closed form, as JSON. Raises AccelflowError as `scenario_check`.
#[pyfunction]
#[pyo3(signature = (document, recording=None))]
pub(crate) fn scenario_demands(document: &str, recording: Option<String>) -> PyResult<String> {
    let demands = checked(document, recording)?.demands().map_err(refused)?;
    serde_json::to_string(&demands).map_err(failure)
}

/// Simulates the scenario in `document` (JSON) under its only system and writes the spans of its
/// requests to `path` as lines of OTLP. Returns the number of requests. Raises AccelflowError for
/// several systems, a scenario that cannot be simulated, or a failed write.
#[pyfunction]
#[pyo3(signature = (document, recording, path))]
pub(crate) fn scenario_spans(
    py: Python<'_>,
    document: &str,
    recording: Option<String>,
    path: PathBuf,
) -> PyResult<u64> {
    let checked = checked(document, recording)?;
    py.detach(|| {
        let file = File::create(&path).map_err(failure)?;
        checked.write_spans(BufWriter::new(file)).map_err(refused)
    })
}

/// The JSON Schema of a scenario.
#[pyfunction]
pub(crate) fn scenario_schema() -> String {
    json_schema()
}

/// The fields of a scenario that are chosen by name, each with its names in the order in which
/// commands list them.
#[pyfunction]
pub(crate) fn scenario_choices() -> Vec<(&'static str, Vec<&'static str>)> {
    accelflow_scenario::choices()
}

/// Describes the allowed values of a scenario's field, as words after "must be"; None for an
/// unknown field.
#[pyfunction]
pub(crate) fn scenario_allowed(field: &str) -> Option<String> {
    accelflow_scenario::allowed(field)
}

/// The mean time between changes of the rate of the arrival process `kind`, in us; None if the rate
/// is constant.
///
/// Raises AccelflowError for unknown arrivals.
#[pyfunction]
pub(crate) fn arrivals_dwell_us(kind: &str) -> PyResult<Option<f64>> {
    let dwell = accelflow_scenario::dwell(kind).map_err(refused)?;
    Ok(dwell.map(Time::as_us_f64))
}

/// The identifiers of the orchestrators that a comparison runs by default, with the names of the
/// paper, in its order.
#[pyfunction]
pub(crate) fn orchestrator_names() -> Vec<(&'static str, &'static str)> {
    names(&ORCHESTRATORS)
}

/// The identifiers of all systems that can be simulated, with the names of the paper.
#[pyfunction]
pub(crate) fn system_names() -> Vec<(&'static str, &'static str)> {
    names(&SYSTEMS)
}

fn names(systems: &[&'static dyn Orchestrator]) -> Vec<(&'static str, &'static str)> {
    systems.iter().map(|o| (o.id(), o.paper_name())).collect()
}

/// One invocation of a service on an idle simulated server: (phase, chain, trace, accelerator,
/// whether on a core) of each operation, in the order of simulated time. Raises AccelflowError for
/// an unknown service or orchestrator.
#[pyfunction]
pub(crate) fn simulated_operations(
    name: &str,
    orchestrator_id: &str,
) -> PyResult<Vec<SimulatedOperation>> {
    accelflow_scenario::simulated_operations(name, orchestrator_id).map_err(refused)
}

/// Payloads of the operations of all services: (accelerator, bytes before, bytes after) of each
/// operation of `requests` invocations of each service of the scenario in `document` (JSON). Raises
/// AccelflowError for an invalid scenario.
#[pyfunction]
#[pyo3(signature = (document, recording, requests))]
pub(crate) fn scenario_payloads(
    py: Python<'_>,
    document: &str,
    recording: Option<String>,
    requests: u64,
) -> PyResult<Vec<(String, u64, u64)>> {
    let checked = checked(document, recording)?;
    let rows = py.detach(|| checked.payloads(requests)).map_err(refused)?;
    let bytes = |(accel, before, after): OperationPayload| (accel, before.get(), after.get());
    Ok(rows.into_iter().map(bytes).collect())
}

/// The time of each service on a core without accelerators, by category, in ns and as JSON, under
/// the profile `paper` with the cost `tcp_cost_ns` of TCP on a core.
#[pyfunction]
pub(crate) fn service_breakdown(tcp_cost_ns: f64) -> PyResult<String> {
    let rows = accelflow_scenario::app_and_tax_times(Time::from_ns_f64(tcp_cost_ns));
    let row = |(service, spent_ns)| json!({"service": service, "spent_ns": spent_ns});
    let rows = rows.map_err(refused)?.into_iter().map(row);
    Ok(Value::Array(rows.collect()).to_string())
}

/// (mean, half width of its 95 % confidence interval) of independent observations; None for fewer
/// than two.
#[pyfunction]
pub(crate) fn confidence_interval(observations: Vec<f64>) -> Option<(f64, f64)> {
    ConfidenceInterval::of(&observations).map(|interval| (interval.mean, interval.half_width))
}
