//! Accelerometer: services from JSON, and sweeps over buffers.

mod request;
mod simulate;

use accelflow_model::accelerometer::batch::{BreakEven, Column, Costs, Sweep};
use accelflow_model::accelerometer::{Coefficients, Design, Placement, Threading};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::errors::failure;

/// Evaluates the service that `request` (JSON) describes; the outcome as JSON, with intervals and
/// sensitivities as far as the request asks for them.
///
/// Raises AccelflowError for a value that is out of range or missing.
#[pyfunction]
pub(crate) fn accelerometer_evaluate(py: Python<'_>, request: &str) -> PyResult<String> {
    py.detach(|| request::evaluate(request)).map_err(failure)
}

/// Simulates the offloads of a service's kernels; `request` and the measurements are JSON.
///
/// Raises AccelflowError for a value that is out of range or missing.
#[pyfunction]
pub(crate) fn accelerometer_simulate(py: Python<'_>, request: &str) -> PyResult<String> {
    py.detach(|| simulate::simulate(request)).map_err(failure)
}

/// The parts of a kernel that are chosen by name, each with its names in the order in which commands
/// list them.
#[pyfunction]
pub(crate) fn accelerometer_choices() -> Vec<(&'static str, Vec<&'static str>)> {
    fn names<T>(known: &[(&'static str, T)]) -> Vec<&'static str> {
        known.iter().map(|(name, _)| *name).collect()
    }
    vec![
        ("threading", Threading::ALL.map(Threading::name).to_vec()),
        ("placement", Placement::ALL.map(Placement::name).to_vec()),
        ("selection", names(&request::SELECTIONS)),
        ("scaling", names(&request::SCALINGS)),
        ("approximation", names(&request::APPROXIMATIONS)),
        ("interpolation", names(&request::INTERPOLATIONS)),
    ]
}

/// The probability that an arrival at an M/M/k queue waits (Erlang's C), for `offered` erlangs below
/// `servers`.
#[pyfunction]
pub(crate) fn erlang_c(servers: u32, offered: f64) -> f64 {
    accelflow_model::accelerometer::erlang_c(servers, offered)
}

/// One float for all points, or a buffer of one for each.
#[derive(FromPyObject)]
pub(crate) enum Values {
    Each(PyBuffer<f64>),
    One(f64),
}

impl Values {
    fn column(&self, py: Python<'_>) -> PyResult<Column> {
        Ok(match self {
            Values::One(value) => Column::One(*value),
            Values::Each(buffer) => Column::Each(buffer.to_vec(py)?),
        })
    }
}

/// setup, transfer, queue and thread switch in cycles, and the acceleration.
type CostValues = (Values, Values, Values, Values, Values);

fn costs(py: Python<'_>, values: &CostValues) -> PyResult<Costs> {
    Ok(Costs {
        setup: values.0.column(py)?,
        transfer: values.1.column(py)?,
        queue: values.2.column(py)?,
        thread_switch: values.3.column(py)?,
        acceleration: values.4.column(py)?,
    })
}

/// threading, placement, whether the driver waits, and thread switches in the latency of Sync-OS.
type DesignNames = (String, String, Option<bool>, u32);

fn design(names: &DesignNames) -> PyResult<Design> {
    let (threading, placement, driver_waits, switches) = names;
    let threading = request::named(
        "threading",
        threading,
        &Threading::ALL.map(|t| (t.name(), t)),
    );
    let placement = request::named(
        "placement",
        placement,
        &Placement::ALL.map(|p| (p.name(), p)),
    );
    Design::new(
        threading.map_err(failure)?,
        placement.map_err(failure)?,
        *driver_waits,
    )
    .and_then(|design| design.with_latency_switches(*switches))
    .map_err(failure)
}

fn fill(
    py: Python<'_>,
    outputs: [&PyBuffer<f64>; 2],
    work: impl FnOnce(&mut [f64], &mut [f64]) -> Result<(), accelflow_model::Refusal> + Send,
) -> PyResult<()> {
    let mut first = vec![0.0; outputs[0].item_count()];
    let mut second = vec![0.0; outputs[1].item_count()];
    py.detach(|| work(&mut first, &mut second))
        .map_err(failure)?;
    outputs[0].copy_from_slice(py, &first)?;
    outputs[1].copy_from_slice(py, &second)
}

/// Fills `speedup` and `latency_reduction`, writable buffers of float64 with one place for each
/// point, numbered from `first` on. Raises AccelflowError for a value out of range, naming its column
/// and number.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the parameters of the equations")]
pub(crate) fn accelerometer_sweep(
    py: Python<'_>,
    design: DesignNames,
    first: usize,
    host: Values,
    kernel_share: Values,
    offloads: Values,
    costs: CostValues,
    speedup: PyBuffer<f64>,
    latency_reduction: PyBuffer<f64>,
) -> PyResult<()> {
    let design = self::design(&design)?;
    let sweep = Sweep {
        host: host.column(py)?,
        kernel_share: kernel_share.column(py)?,
        offloads: offloads.column(py)?,
        costs: self::costs(py, &costs)?,
    };
    fill(py, [&speedup, &latency_reduction], |speedup, latency| {
        sweep.evaluate(design, first, speedup, latency)
    })
}

/// Fills `from_bytes` and `to_bytes` with the sizes between which an offload pays, in terms of
/// speedup or of latency. Raises AccelflowError as accelerometer_sweep does.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the parameters of the equations")]
pub(crate) fn accelerometer_break_even(
    py: Python<'_>,
    design: DesignNames,
    first: usize,
    in_latency: bool,
    cycles_per_byte: Values,
    complexity: Values,
    transfer_per_byte: Values,
    costs: CostValues,
    from_bytes: PyBuffer<f64>,
    to_bytes: PyBuffer<f64>,
) -> PyResult<()> {
    let (host_side, request_side) = self::design(&design)?.coefficients();
    let coefficients: Coefficients = if in_latency { request_side } else { host_side };
    let sizes = BreakEven {
        cycles_per_byte: cycles_per_byte.column(py)?,
        complexity: complexity.column(py)?,
        transfer_per_byte: transfer_per_byte.column(py)?,
        costs: self::costs(py, &costs)?,
    };
    fill(py, [&from_bytes, &to_bytes], |from, to| {
        sizes.evaluate(coefficients, first, from, to)
    })
}
