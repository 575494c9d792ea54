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

use crate::bind::parameters::tcp_cost;
use crate::bind::simulation::policies::{PythonSystem, raised};
use crate::bind::simulation::progress::Progress;
use crate::bind::simulation::samples::{Samples, Tail, columns, tails};
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

/// Returns the scenario in `document` (JSON) with all fields, as JSON.
///
/// `recording` is the text of a recording that the scenario uses. Raises AccelflowError for an
/// unknown field and for a value that a field cannot have.
#[pyfunction]
#[pyo3(signature = (document, recording=None))]
pub(crate) fn scenario_read(document: &str, recording: Option<String>) -> PyResult<String> {
    let scenario = read(document, recording).map_err(refused)?;
    scenario.to_json().map_err(refused)
}

/// Checks the scenario in `document` (JSON), and returns it with every default filled in, as JSON.
///
/// Raises AccelflowError, which names the field, its value and what is allowed.
#[pyfunction]
#[pyo3(signature = (document, recording=None))]
pub(crate) fn scenario_check(document: &str, recording: Option<String>) -> PyResult<String> {
    let checked = checked(document, recording)?;
    serde_json::to_string(checked.resolved()).map_err(failure)
}

/// Checks that `runs` simulations of a scenario may keep `samples` requests in memory.
///
/// Each simulation, with its own seed, keeps up to `samples` requests of each service and system.
/// Raises AccelflowError if all simulations together would keep too many requests.
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

/// Returns a scenario's hash, 64 hexadecimal digits.
///
/// Scenarios with equal hashes have equal results in the same version of accelflow. Raises
/// AccelflowError as `scenario_check` does.
#[pyfunction]
#[pyo3(signature = (document, recording=None))]
pub(crate) fn scenario_hash(document: &str, recording: Option<String>) -> PyResult<String> {
    checked(document, recording)?.hash().map_err(refused)
}

/// Returns the name and mean rate, in requests per second, of each service with client requests.
///
/// Raises AccelflowError as `scenario_check` does.
#[pyfunction]
#[pyo3(signature = (document, recording=None))]
pub(crate) fn scenario_rates(
    document: &str,
    recording: Option<String>,
) -> PyResult<Vec<(String, f64)>> {
    let checked = checked(document, recording)?;
    let rates = checked.service_rates_rps().map_err(refused)?.into_iter();
    Ok(rates
        .map(|(name, rate_rps)| (name.to_owned(), rate_rps))
        .collect())
}

/// Simulates a scenario (JSON); returns its results (JSON), longest response times and samples.
///
/// `options` are (number of threads; fraction of the longest response times to return, 0 to 1;
/// largest number of samples of a service; whether percentiles are exact, None for up to 10,000,000
/// requests; largest number of time intervals of utilization). A tuple of response times is (index
/// of the system in the results, index of the service, times in us as 8-byte floating-point
/// numbers, longest first). A samples tuple is (index of the system in the results, service,
/// columns of 8-byte values by name). `others` are additional
/// systems in Python (`accelflow.policies.System`). `progress` is called with the number of
/// finished requests and the total number; an exception that it raises ends the simulation. Use
/// `accelflow.simulation.run`. Raises AccelflowError if the simulation fails.
#[pyfunction]
#[pyo3(signature = (document, recording, options, progress=None, others=Vec::new()))]
pub(crate) fn scenario_run<'py>(
    py: Python<'py>,
    document: &str,
    recording: Option<String>,
    options: (usize, f64, u64, Option<bool>, usize),
    progress: Option<Py<PyAny>>,
    others: Vec<Bound<'py, PyAny>>,
) -> PyResult<(String, Vec<Tail<'py>>, Vec<Samples<'py>>)> {
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
    let tails = tails(py, &outcome)?;
    Ok((text, tails, columns(py, outcome, samples)?))
}

/// Returns the core time and accelerator time of one request to each service, as JSON.
///
/// Both are computed without a simulation. Use `accelflow.simulation.demands`. Raises
/// AccelflowError as `scenario_check` does.
#[pyfunction]
#[pyo3(signature = (document, recording=None))]
pub(crate) fn scenario_demands(document: &str, recording: Option<String>) -> PyResult<String> {
    let demands = checked(document, recording)?.demands().map_err(refused)?;
    serde_json::to_string(&demands).map_err(failure)
}

/// Simulates a scenario (JSON), and writes its requests as spans to `path`.
///
/// Returns the number of requests. The file has a line of OTLP JSON for each request. Use
/// `accelflow.simulation.write_spans`. Raises AccelflowError for a scenario of several systems, and
/// if the simulation or the file fails.
#[pyfunction]
#[pyo3(signature = (document, recording, path, progress=None))]
pub(crate) fn scenario_spans(
    py: Python<'_>,
    document: &str,
    recording: Option<String>,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    simulated(py, document, recording, progress, |checked, report| {
        let file = File::create(&path).map_err(failure)?;
        let written = checked.write_spans(BufWriter::new(file), report);
        written.map_err(refused)
    })
}

/// Called with the number of requests that have ended, and the total. Returns whether to continue.
type Report<'r> = dyn Fn(u64, u64) -> bool + Sync + 'r;

/// The result of `simulate`, which runs without the interpreter.
pub(crate) fn simulated<T: Send>(
    py: Python<'_>,
    document: &str,
    recording: Option<String>,
    progress: Option<Py<PyAny>>,
    simulate: impl Fn(&Checked, &Report<'_>) -> PyResult<Option<T>> + Sync,
) -> PyResult<T> {
    let checked = checked(document, recording)?;
    let progress = Progress::new(progress);
    let found = py.detach(|| simulate(&checked, &|done, all| progress.report(done, all)));
    progress.finish()?;
    found?.ok_or_else(|| failure("the simulation was interrupted"))
}

/// Returns the JSON Schema of scenarios, as text.
#[pyfunction]
pub(crate) fn scenario_schema() -> String {
    json_schema()
}

/// Returns the fields of a scenario that are chosen by name, each with the allowed names in the
/// order in which commands list them.
#[pyfunction]
pub(crate) fn scenario_choices() -> Vec<(&'static str, Vec<&'static str>)> {
    accelflow_scenario::choices()
}

/// Returns the allowed values of a scenario's field, in words that complete "must be ...".
///
/// None for an unknown field.
#[pyfunction]
pub(crate) fn scenario_allowed(field: &str) -> Option<String> {
    accelflow_scenario::allowed(field)
}

/// Returns the mean time in us from one random choice of an arrival rate to the next.
///
/// None if the rate is constant. Raises AccelflowError for an unknown arrival process `kind`.
#[pyfunction]
pub(crate) fn arrivals_dwell_us(kind: &str) -> PyResult<Option<f64>> {
    let dwell = accelflow_scenario::dwell(kind).map_err(refused)?;
    Ok(dwell.map(Time::as_us_f64))
}

/// Returns the systems that are compared by default, as (identifier, name in the paper).
#[pyfunction]
pub(crate) fn orchestrator_names() -> Vec<(&'static str, &'static str)> {
    names(&ORCHESTRATORS)
}

/// Returns all systems that can be simulated, as (identifier, name in the paper).
#[pyfunction]
pub(crate) fn system_names() -> Vec<(&'static str, &'static str)> {
    names(&SYSTEMS)
}

fn names(systems: &[&'static dyn Orchestrator]) -> Vec<(&'static str, &'static str)> {
    systems.iter().map(|o| (o.id(), o.paper_name())).collect()
}

/// Simulates one request on an idle server, and returns its operations in order.
///
/// Each is (index of the phase, index of the chain, trace, accelerator, whether a core did it). Use
/// `accelflow.simulation.simulated_operations`. Raises AccelflowError for an unknown name.
#[pyfunction]
pub(crate) fn simulated_operations(
    name: &str,
    orchestrator_id: &str,
) -> PyResult<Vec<SimulatedOperation>> {
    accelflow_scenario::simulated_operations(name, orchestrator_id).map_err(refused)
}

/// Simulates single requests, and returns the payload sizes of their operations.
///
/// Each is (accelerator, bytes before, bytes after). There are `requests` requests to each service.
/// Use `accelflow.simulation.payloads`. Raises AccelflowError for a scenario that is not allowed.
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

/// Returns each SocialNetwork service's core time without accelerators, as JSON.
///
/// There is a time in ns for each category of work, computed from the paper's shares of time.
/// `tcp_cost_ns` is the time of a TCP operation on a core.
#[pyfunction]
pub(crate) fn service_breakdown(tcp_cost_ns: f64) -> PyResult<String> {
    let rows = accelflow_scenario::app_and_tax_times(tcp_cost(tcp_cost_ns)?);
    let row = |(service, spent_ns)| json!({"service": service, "spent_ns": spent_ns});
    let rows = rows.map_err(refused)?.into_iter().map(row);
    Ok(Value::Array(rows.collect()).to_string())
}

/// Returns the mean of `observations` and half the width of its 95 % confidence interval.
///
/// The observations must be independent. None for fewer than two.
#[pyfunction]
pub(crate) fn confidence_interval(observations: Vec<f64>) -> Option<(f64, f64)> {
    ConfidenceInterval::of(&observations).map(|interval| (interval.mean, interval.half_width))
}
