//! Observation of single requests, for `accelflow.watching`.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use accelflow_import::{Kind, SpansOptions};
use accelflow_scenario::{TimelineOptions, Which, WhyOptions};
use accelflow_units::Time;
use pyo3::prelude::*;

use crate::bind::simulation::scenario::simulated;
use crate::errors::failure;
use crate::refused::refused;

/// The contents of a timeline: start and length of its window in us, names of services, indices of
/// requests, and the number of slowest requests.
type Shown = (f64, Option<f64>, Vec<String>, Vec<u64>, Option<u64>);

fn time_us(us: f64) -> Time {
    Time::from_ns_f64(us * 1e3)
}

/// Simulates a scenario (JSON) and writes a timeline of it to `path`, in Perfetto's format.
///
/// Returns (number of systems, number of requests). `shown` are (start of the time window in us,
/// its length in us, names of services, indices of requests, how many of the slowest requests);
/// None or an empty list means all. Each system is simulated twice; in each simulation, `progress`
/// is called with the number of requests that have ended and the number of all. Use
/// `accelflow.watching.write_timeline`. Raises AccelflowError for what is not allowed, cannot be
/// simulated or cannot be written.
#[pyfunction]
#[pyo3(signature = (document, recording, path, shown, progress=None))]
pub(crate) fn scenario_timeline(
    py: Python<'_>,
    document: &str,
    recording: Option<String>,
    path: PathBuf,
    shown: Shown,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u64, u64)> {
    let (from_us, for_us, services, requests, slowest) = shown;
    let options = TimelineOptions {
        from: time_us(from_us),
        length: for_us.map(time_us),
        services,
        requests,
        slowest,
    };
    simulated(py, document, recording, progress, |checked, report| {
        let file = File::create(&path).map_err(failure)?;
        let written = checked.write_timeline(&options, BufWriter::new(file), report);
        let written = written.map_err(refused)?;
        Ok(written.map(|written| (written.systems, written.requests)))
    })
}

/// Writes a timeline of the spans in the files at `paths` to `path`, in Perfetto's format.
///
/// Returns (number of requests, number of spans). `kind` is jaeger or otlp. `shown` are (start of
/// the time window in us, its length in us, names of services, how many of the slowest requests);
/// None or an empty list means all. Use `accelflow.watching.write_spans_timeline`. Raises
/// AccelflowError for what is not allowed, cannot be read or cannot be written.
#[pyfunction]
pub(crate) fn spans_timeline(
    py: Python<'_>,
    kind: &str,
    paths: Vec<String>,
    path: PathBuf,
    shown: (f64, Option<f64>, Vec<String>, Option<usize>),
) -> PyResult<(u64, u64)> {
    let kind = Kind::of_name(kind).map_err(refused)?;
    let (from_us, for_us, services, slowest) = shown;
    let options = SpansOptions {
        from_ns: (from_us * 1e3) as u64,
        for_ns: for_us.map(|us| (us * 1e3) as u64),
        services,
        slowest,
    };
    py.detach(|| {
        let file = File::create(&path).map_err(failure)?;
        let out = BufWriter::new(file);
        let drawn = accelflow_import::write_timeline(kind, &paths, &options, out);
        let drawn = drawn.map_err(refused)?;
        Ok((drawn.requests, drawn.spans))
    })
}

/// Simulates a scenario (JSON) and returns where the time of one request went, as JSON.
///
/// `request` is the index of the request in `service`, from 0. If it is None, the request is the
/// one at `percentile` (0 to 100) of the service's response times. Use `accelflow.watching.watch`.
/// Raises AccelflowError for what is not allowed or cannot be simulated.
#[pyfunction]
#[pyo3(signature = (document, recording, service, request, percentile, progress=None))]
pub(crate) fn scenario_watch(
    py: Python<'_>,
    document: &str,
    recording: Option<String>,
    service: &str,
    request: Option<u64>,
    percentile: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let which = request.map_or(Which::Percentile(percentile), Which::Number);
    simulated(py, document, recording, progress, |checked, report| {
        let watched = checked.watch(service, which, report).map_err(refused)?;
        Ok(watched.map(|watched| watched.json.to_string()))
    })
}

/// Simulates a scenario (JSON) and returns why requests of a service are slow, as JSON.
///
/// For each resource, compares the time that requests around `percentile` spend there with the time
/// that requests around the median spend there. Use `accelflow.watching.why`. Raises AccelflowError
/// for what is not allowed or cannot be simulated.
#[pyfunction]
#[pyo3(signature = (document, recording, service, percentile, progress=None))]
pub(crate) fn scenario_why(
    py: Python<'_>,
    document: &str,
    recording: Option<String>,
    service: &str,
    percentile: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options = WhyOptions {
        service: service.to_owned(),
        percentile,
    };
    simulated(py, document, recording, progress, |checked, report| {
        let why = checked.why(&options, report).map_err(refused)?;
        Ok(why.map(|why| why.to_json().to_string()))
    })
}
