//! The measurements of single requests: columns of a table for `accelflow.report.samples`, and
//! response times.

use accelflow_scenario::ScenarioResult;
use accelflow_sim::stats::{Part, Sample};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A column: its name, and its values in the machine's byte order.
type Column<'py> = (String, Bound<'py, PyBytes>);

/// The samples of a service under a system: the system's index in the results, the service, and
/// columns of 8-byte values. The column `request` has unsigned integers, the others floats in us.
pub(crate) type Samples<'py> = (usize, String, Vec<Column<'py>>);

/// The longest response times of a service under a system: the system's index in the results, the
/// service's index in the system's results, and times in us (floats in the machine's byte order).
pub(crate) type Tail<'py> = (usize, usize, Bound<'py, PyBytes>);

/// The samples of `outcome`, at most `most` of each service; nothing if it is 0.
pub(crate) fn columns(
    py: Python<'_>,
    outcome: ScenarioResult,
    most: u64,
) -> PyResult<Vec<Samples<'_>>> {
    let mut found = Vec::new();
    if most == 0 {
        return Ok(found);
    }
    for (place, system) in outcome.systems.into_iter().enumerate() {
        for service in system.services {
            let columns = of_service(py, &service.samples)?;
            found.push((place, service.service, columns));
        }
    }
    Ok(found)
}

/// The longest response times of each service under each system, if any were asked for.
pub(crate) fn tails<'py>(py: Python<'py>, outcome: &ScenarioResult) -> PyResult<Vec<Tail<'py>>> {
    let bytes = |(system, service, times): (usize, usize, Vec<f64>)| {
        let bytes = PyBytes::new_with(py, 8 * times.len(), |bytes| {
            for (place, time) in bytes.chunks_exact_mut(8).zip(&times) {
                place.copy_from_slice(&time.to_ne_bytes());
            }
            Ok(())
        })?;
        Ok((system, service, bytes))
    };
    outcome.tails().map(bytes).collect()
}

fn of_service<'py>(py: Python<'py>, samples: &[Sample]) -> PyResult<Vec<Column<'py>>> {
    let column = |name: &str, value: &dyn Fn(&Sample) -> [u8; 8]| -> PyResult<Column<'py>> {
        let bytes = PyBytes::new_with(py, 8 * samples.len(), |bytes| {
            for (place, sample) in bytes.chunks_exact_mut(8).zip(samples) {
                place.copy_from_slice(&value(sample));
            }
            Ok(())
        })?;
        Ok((name.to_owned(), bytes))
    };
    let mut columns = vec![
        column("request", &|sample| sample.request.to_ne_bytes())?,
        column("arrival_us", &|sample| {
            sample.arrived.as_us_f64().to_ne_bytes()
        })?,
        column("response_us", &|sample| {
            sample.response.as_us_f64().to_ne_bytes()
        })?,
    ];
    for part in Part::ALL {
        let spent = |sample: &Sample| sample.spent.of(part).as_us_f64().to_ne_bytes();
        columns.push(column(&format!("{}_us", part.name()), &spent)?);
    }
    Ok(columns)
}
