//! `accelflow._native`: the engines of accelflow as a Python extension module.
//!
//! The only crate that knows PyO3. It holds no logic: a class here is `PyX { inner: X }`, a
//! function converts its arguments, detaches from the interpreter for the time of the work
//! (`py.detach`), and converts the result. One file per engine; each registers its names in the
//! module below, and `python/accelflow/_native.pyi` types every one of them
//! (`tests/test_native.py` compares the two).

mod accelerometer;
mod answer;
mod arcus;
mod cerebros;
mod chip;
mod client;
mod errors;
mod execution;
mod handler;
mod json;
mod operations;
mod parameters;
mod progress;
mod promise;
mod recording;
mod relief_suite;
mod scope;
mod server;
mod services;
mod shaping;
mod simulation;
mod tenants;
mod trace;

use accelflow_serve::{WIPING_ALLOCATOR, WipingAllocator};
use pyo3::prelude::*;

/// What this module allocates is wiped when it is freed, so that what a server's clients have said
/// does not stay in its memory. Python's own objects are Python's.
#[global_allocator]
static MEMORY: WipingAllocator = WIPING_ALLOCATOR;

/// The engines of accelflow. Use the package `accelflow`, which gives them their public face.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::accelerometer::{
        accelerometer_break_even, accelerometer_evaluate, accelerometer_sweep,
    };

    #[pymodule_export]
    use crate::arcus::{arcus_experiment, arcus_experiments, arcus_plan};

    #[pymodule_export]
    use crate::cerebros::{
        cerebros_designs, cerebros_parameters, cerebros_services, cerebros_simulate,
    };

    #[pymodule_export]
    use crate::chip::{area_model, energy_model, power_model};

    #[pymodule_export]
    use crate::client::{PyCancel, PyClient, PyGrpcClient, PyHttpClient};

    #[pymodule_export]
    use crate::errors::{AccelflowError, CallError, DeclaredError, TraceError};

    #[pymodule_export]
    use crate::execution::{PyArrival, PyExecutor, PyRun, demo_request, demo_secrets};

    #[pymodule_export]
    use crate::parameters::{parameter_value, parameters, profile_parameters, refusal};

    #[pymodule_export]
    use crate::promise::PyPromise;

    #[pymodule_export]
    use crate::recording::{check_recording, executed_operations, machine_name, record_services};

    #[pymodule_export]
    use crate::relief_suite::relief_suite;

    #[pymodule_export]
    use crate::scope::{PyRequest, PyScope, current_scope};

    #[pymodule_export]
    use crate::server::PyServer;

    #[pymodule_export]
    use crate::shaping::{arcus_parameters, arcus_release, arcus_shape, arcus_table2};

    #[pymodule_export]
    use crate::simulation::{
        arrivals_dwell_us, confidence_interval, orchestrator_names, scenario_allowed,
        scenario_check, scenario_choices, scenario_hash, scenario_read, scenario_run,
        scenario_schema, service_breakdown, simulated_operations, simulated_payloads, system_names,
    };

    #[pymodule_export]
    use crate::services::{service_names, service_walk, timeouts_by_service, workload_names};

    #[pymodule_export]
    use crate::trace::image::{PyImage, PyInstruction};

    #[pymodule_export]
    use crate::trace::library::{PyLibrary, PyRegistered, trace_check, trace_templates};

    #[pymodule_export]
    use crate::trace::node::{
        PyNode, trace_accel, trace_branch, trace_fork, trace_join, trace_listing, trace_notify,
        trace_tail, trace_trans,
    };

    #[pymodule_export]
    use super::version;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::errors::set_defaults(module.py())?;
        module.gil_used(false)
    }
}

/// The version of the engines, which is that of the whole project.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
