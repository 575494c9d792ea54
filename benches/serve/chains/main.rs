//! T-chains of a live server, done by the threads of its connections and by the ensemble:
//! measurements for `scripts/accelerometer_page.py --server FILE`.
//!
//!     cargo run --profile extension -p accelflow-storage --example live_chains [ROUNDS [CALLS]] >FILE
//!
//! Servers, one for each way to execute traces, are processes on one core, which is the host. Their
//! ensembles' workers are on another core, with the client, the service that a handler calls, and
//! the gateway to the storage that it reads. Calls go over TLS. Rounds of all servers and chains
//! alternate, so that what else runs on the machine disturbs all alike. The same program measures
//! the inputs of Accelerometer's equations: o0, L and o1 of the ensemble, and the bodies' times by
//! a recording.

mod drive;
mod host;
mod process;

use std::error::Error;

use accelflow_runtime::measure::{MeasureOptions, measure, measure_chains};
use accelflow_runtime::run_queue;
use serde_json::{Value, json};

type Failed = Box<dyn Error + Send + Sync>;

/// The accelerators of the longest chain: a call of a service and its response.
const LONGEST: usize = 9;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, settings] = &arguments[..]
        && role == "serve"
    {
        return process::serve(settings);
    }
    let mut numbers = arguments.iter().map(|text| text.parse::<u32>());
    let options = MeasureOptions {
        rounds: numbers.next().unwrap_or(Ok(15))?,
        calls: numbers.next().unwrap_or(Ok(60))?,
    };
    let busy = run_queue();
    let chains = chains(&options)?;
    let bodies = bodies(&options)?;
    let cases = drive::cases(&options)?;
    let result = json!({
        "schema": "accelflow.live-chains/1",
        "build": if cfg!(debug_assertions) { "dev" } else { "release" },
        "rounds": options.rounds,
        "calls": options.calls,
        "callers": drive::CALLERS,
        "run_queue": [busy, run_queue()],
        "offload": chains,
        "bodies": bodies,
        "cases": cases,
    });
    println!("{result:#}");
    Ok(())
}

/// o0 and L by the number of accelerators.
fn chains(options: &MeasureOptions) -> Result<Vec<Value>, Failed> {
    let found = measure_chains(options, LONGEST)?;
    let row = |chain: &accelflow_runtime::measure::ChainCosts| {
        json!({
            "steps": chain.steps,
            "setup_ns": chain.setup_ns,
            "transfer_ns": chain.transfer_ns,
        })
    };
    Ok(found.iter().map(row).collect())
}

/// o1, and the times of the bodies by size.
fn bodies(options: &MeasureOptions) -> Result<Value, Failed> {
    let found = measure(options)?;
    let sizes = |body: &accelflow_runtime::measure::MeasuredBody| -> Vec<Value> {
        let sizes = body.sizes.iter();
        sizes
            .map(|size| {
                json!({
                    "input_bytes": size.input_bytes,
                    "host_ns": size.host_ns,
                    "worker_ns": size.worker_ns,
                })
            })
            .collect()
    };
    let bodies = found.bodies.iter();
    let bodies: serde_json::Map<String, Value> = bodies
        .map(|body| (body.accel.name().to_owned(), json!(sizes(body))))
        .collect();
    Ok(json!({ "thread_switch_ns": found.thread_switch_ns, "sizes": bodies }))
}
