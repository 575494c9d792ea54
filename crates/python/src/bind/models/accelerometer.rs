//! The Accelerometer model, for Python: evaluates services that JSON texts describe, and fills
//! buffers with the results of sweeps.

mod request;
mod simulate;

use accelflow_model::accelerometer::batch::{BreakEven, Column, Costs, Sweep};
use accelflow_model::accelerometer::{Coefficients, Design, Placement, Threading, parameters};
use accelflow_parameters::Parameter;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::errors::failure;
use crate::interrupt::interruptible;

/// Computes the speedup of a service with offloaded kernels, by the Accelerometer model.
///
/// `request` and the returned result are JSON; the result has confidence intervals and
/// sensitivities if the request asks for them. Raises AccelflowError for a value that is out of
/// range or missing.
#[pyfunction]
pub(crate) fn accelerometer_evaluate(py: Python<'_>, request: &str) -> PyResult<String> {
    let request = serde_json::from_str(request).map_err(failure)?;
    py.detach(|| request::evaluate(&request)).map_err(failure)
}

/// Simulates a service that offloads kernels to accelerators.
///
/// `request` and the returned measurements are JSON. Raises AccelflowError for a value that is out
/// of range or missing.
#[pyfunction]
pub(crate) fn accelerometer_simulate(py: Python<'_>, request: &str) -> PyResult<String> {
    let request = serde_json::from_str(request).map_err(failure)?;
    interruptible(py, move || simulate::simulate(&request))?.map_err(failure)
}

/// Returns the settings of an offloaded kernel that have named values, each with the names.
#[pyfunction]
pub(crate) fn accelerometer_choices() -> Vec<(&'static str, Vec<&'static str>)> {
    fn names(parameter: &Parameter) -> Vec<&'static str> {
        let choices = parameter.kind.choices().iter();
        choices.map(|choice| choice.name).collect()
    }
    vec![
        ("threading", Threading::ALL.map(Threading::name).to_vec()),
        ("placement", Placement::ALL.map(Placement::name).to_vec()),
        ("selection", names(&parameters::SELECTION)),
        ("scaling", names(&parameters::SCALING)),
        ("approximation", names(&parameters::QUEUE_APPROXIMATION)),
        ("interpolation", names(&parameters::SIZES_INTERPOLATION)),
    ]
}

/// Returns the probability that an arrival at an M/M/k queue has to wait (Erlang's C formula).
///
/// The queue has `servers` servers; `offered` is the load in erlangs, below `servers`.
#[pyfunction]
pub(crate) fn erlang_c(servers: u32, offered: f64) -> f64 {
    accelflow_model::accelerometer::erlang_c(servers, offered)
}

/// One float for all points, or a buffer with one float for each point.
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

/// Computes the speedup and the latency reduction of many design points.
///
/// Fills the arrays `speedup` and `latency_reduction` with one ratio for each point. `design` is
/// (threading, placement, whether the driver waits for the accelerator, number of thread switches
/// in the latency of Sync-OS). `costs` are, in cycles, the setup, the transfer, the queueing and a
/// thread switch, and as a ratio the acceleration. `host` is the host's cycles per second,
/// `kernel_share` the fraction of them in the kernel, `offloads` the offloads per second. Points
/// are numbered from `first` in messages. Raises AccelflowError for a value out of range; the
/// message names the column and the point.
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

/// Computes the range of offload sizes, in bytes, that pay off, for many design points.
///
/// Fills the arrays `from_bytes` and `to_bytes` with the smallest and largest such size of each
/// point. `in_latency` asks for sizes that reduce latency, instead of sizes that increase
/// throughput. The kernel takes `cycles_per_byte` times size to the power of `complexity` cycles on
/// the host; moving it takes `transfer_per_byte` cycles per byte in addition. `design`, `costs` and
/// `first` are those of `accelerometer_sweep`. Raises AccelflowError for a value out of range; the
/// message names the column and the point.
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
