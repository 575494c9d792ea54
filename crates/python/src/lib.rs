//! `accelflow._native`: the engines of accelflow as a Python extension module.
//!
//! This is the only crate that depends on PyO3. It has little logic: a class holds a type of an
//! engine, usually as `PyX { inner: X }`, and a function converts its arguments, detaches from the
//! interpreter during long work (`py.detach`), and converts the result. `bind` has one folder for
//! each engine or group of engines, and `convert` turns values into JSON and back. The module
//! `_native` below registers every name, and
//! `python/accelflow/_native.pyi` states its type (`tests/test_native.py` compares the two).

mod bind;
mod call;
mod convert;
mod errors;
mod interrupt;
mod refused;

use accelflow_serve::{WIPING_ALLOCATOR, WipingAllocator};
use pyo3::prelude::*;

/// The allocator, which wipes memory of this module when it is freed, so that messages of a
/// server's clients do not stay in memory. Python's own objects are not wiped.
#[global_allocator]
static MEMORY: WipingAllocator = WIPING_ALLOCATOR;

/// The engines of accelflow. Use the package `accelflow`, which gives them their public face.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::bind::models::accelerometer::{
        accelerometer_break_even, accelerometer_choices, accelerometer_evaluate,
        accelerometer_simulate, accelerometer_sweep, erlang_c,
    };

    #[pymodule_export]
    use crate::bind::arcus::experiments::{arcus_experiment, arcus_experiments};
    #[pymodule_export]
    use crate::bind::arcus::plan::{
        arcus_plan, arcus_plan_refusal, arcus_plan_schema, arcus_profile,
    };

    #[pymodule_export]
    use crate::bind::models::cerebros::{
        cerebros_designs, cerebros_names, cerebros_services, cerebros_simulate,
    };

    #[pymodule_export]
    use crate::bind::models::bodies::measure_bodies;

    #[pymodule_export]
    use crate::bind::models::checksum::crc32c;

    #[pymodule_export]
    use crate::bind::models::chip::{area_model, energy_model, power_model};

    #[pymodule_export]
    use crate::bind::serving::client::{PyCancel, PyClient, PyGrpcClient, PyHttpClient};

    #[pymodule_export]
    use crate::errors::{AccelflowError, CallError, DeclaredError, TraceError};

    #[pymodule_export]
    use crate::bind::trace::connection::PyConnection;

    #[pymodule_export]
    use crate::bind::trace::ending::await_ended_ensembles;

    #[pymodule_export]
    use crate::bind::trace::ensemble::{PyEnsemble, PyHandle};

    #[pymodule_export]
    use crate::bind::trace::execution::{PyArrival, PyExecutor, PyRun, demo_request, demo_secrets};

    #[pymodule_export]
    use crate::bind::parameters::{
        parameter_value, parameters, profile_parameters, refusal, server_setting,
    };

    #[pymodule_export]
    use crate::bind::simulation::chip::{chip_read, chip_schema, toml_place};

    #[pymodule_export]
    use crate::bind::serving::promise::PyPromise;

    #[pymodule_export]
    use crate::bind::simulation::importing::import_spans;

    #[pymodule_export]
    use crate::bind::simulation::policies::waiting::{PyWaiting, PyWaitingEntry};

    #[pymodule_export]
    use crate::bind::simulation::policies::{PyCompletion, PySimulatedServer};

    #[pymodule_export]
    use crate::bind::simulation::recording::{
        check_recording, executed_operations, machine_name, quantile_table, record_services,
        recording_lacks,
    };

    #[pymodule_export]
    use crate::bind::models::relief_suite::relief_suite;

    #[pymodule_export]
    use crate::bind::serving::scope::{PyRequest, PyScope, current_scope};

    #[pymodule_export]
    use crate::bind::serving::server::PyServer;

    #[pymodule_export]
    use crate::bind::arcus::shaping::{arcus_parameters, arcus_release, arcus_shape, arcus_table2};

    #[pymodule_export]
    use crate::bind::simulation::scenario::{
        arrivals_dwell_us, confidence_interval, orchestrator_names, scenario_allowed,
        scenario_check, scenario_check_samples, scenario_choices, scenario_demands, scenario_hash,
        scenario_payloads, scenario_rates, scenario_read, scenario_run, scenario_schema,
        scenario_spans, service_breakdown, simulated_operations, system_names,
    };

    #[pymodule_export]
    use crate::bind::simulation::services::{
        service_names, service_walk, timeouts_by_service, workload_names,
    };

    #[pymodule_export]
    use crate::bind::simulation::watching::{
        scenario_timeline, scenario_watch, scenario_why, spans_timeline,
    };

    #[pymodule_export]
    use crate::bind::simulation::workload::{
        workload_load, workload_place, workload_read, workload_schema, workload_suite,
        workload_write,
    };

    #[pymodule_export]
    use crate::bind::trace::image::{PyImage, PyInstruction};

    #[pymodule_export]
    use crate::bind::trace::library::{PyLibrary, PyRegistered, trace_check, trace_templates};

    #[pymodule_export]
    use crate::bind::trace::node::{
        PyNode, trace_accel, trace_branch, trace_declarations, trace_fork, trace_join, trace_kind,
        trace_listing, trace_notify, trace_tail, trace_trans,
    };

    #[pymodule_export]
    use super::{is_optimized, version};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::errors::set_defaults(module.py())?;
        module.gil_used(false)
    }
}

/// Returns whether this build is one for users: without debug assertions.
#[pyfunction]
fn is_optimized() -> bool {
    !cfg!(debug_assertions)
}

/// Returns the version of accelflow.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
