//! A run of the Accelerometer simulation of offloads, with the request and the measurements as
//! JSON.

use accelflow_model::Refusal;
use accelflow_model::accelerometer::simulation::{self, Measured, Offered, Run, Spread};
use accelflow_model::accelerometer::{CyclesPerSecond, Scenario, parameters};
use serde::Deserialize;
use serde_json::{Value, json};

use super::request::{KernelArguments, chosen};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    host_cycles_per_s: f64,
    kernels: Vec<KernelArguments>,
    run: RunArguments,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunArguments {
    hosts: u32,
    threads: u32,
    kernels_per_request: u32,
    responses_first: bool,
    own_work: String,
    kernel_work: String,
    /// The arrival rate over the host's capacity; absent for a saturated host.
    load_ratio: Option<f64>,
    offloading: bool,
    requests: u32,
    seed: u64,
}

impl RunArguments {
    fn run(&self) -> Result<Run, Refusal> {
        let spreads = [Spread::Constant, Spread::Exponential];
        Ok(Run {
            hosts: self.hosts,
            threads: self.threads,
            kernels_per_request: self.kernels_per_request,
            responses_first: self.responses_first,
            own_work: chosen(&parameters::OWN_WORK, &self.own_work, spreads)?,
            kernel_work: chosen(&parameters::KERNEL_WORK, &self.kernel_work, spreads)?,
            offered: self.load_ratio.map_or(Offered::Saturated, Offered::Load),
            offloading: self.offloading,
            requests: self.requests,
            seed: self.seed,
        })
    }
}

/// Simulates the service in `request` (JSON), and returns the measurements as JSON.
///
/// # Errors
/// The message for a value that cannot be used.
pub(super) fn simulate(request: &Arguments) -> Result<String, Refusal> {
    let run = request.run.run()?;
    let kernels = request.kernels.iter().map(KernelArguments::kernel);
    let scenario = Scenario {
        host: CyclesPerSecond(request.host_cycles_per_s),
        kernels: kernels.collect::<Result<_, _>>()?,
    };
    simulation::simulate(&scenario, &run).map(|measured| json(measured).to_string())
}

fn json(measured: Measured) -> Value {
    json!({
        "requests_per_cycle": measured.requests_per_cycle,
        "mean_latency_cycles": measured.mean_latency_cycles,
        "p99_latency_cycles": measured.p99_latency_cycles,
        "mean_queue_cycles": measured.mean_queue_cycles,
        "accelerator_utilization_ratio": measured.utilisation,
        "core_busy_ratio": measured.core_busy,
    })
}
