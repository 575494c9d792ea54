//! The inputs of the equations, by micro-benchmarks: o0, L and o1 of the ensemble, and what kernels
//! cost on the host and on the workers' core.

use std::time::Duration;

use accelflow_runtime::affinity::on_core;
use accelflow_runtime::measure::{MeasureOptions, measure_chains, switch_ns};
use accelflow_runtime::thread_time;
use serde_json::{Value, json};

use super::forms::check;
use super::{Failed, Kernel, LONGEST, Machine, SIZES, ns};

/// Repetitions in a round.
const TIMES: usize = 200;

/// o0 and L of chains of accelerators that do nothing, and o1, each a list over the rounds.
pub(crate) fn of_offloads(machine: &Machine, rounds: usize) -> Result<Value, Failed> {
    let options = MeasureOptions {
        rounds: u32::try_from(rounds)?,
        calls: u32::try_from(TIMES)?,
    };
    let chains = measure_chains(&options, LONGEST)?;
    let rows: Vec<Value> = chains
        .iter()
        .map(|chain| {
            json!({
                "steps": chain.steps,
                "setup_ns": chain.setup_ns,
                "transfer_ns": chain.transfer_ns,
            })
        })
        .collect();
    let switches: Result<Vec<f64>, Failed> = (0..rounds)
        .map(|_| Ok(on_core(machine.cores.host, || switch_ns(TIMES))?))
        .collect();
    Ok(json!({ "chains": rows, "thread_switch_ns": switches? }))
}

/// The time that a compression takes on the host, by size, each a list over the rounds.
pub(crate) fn of_sizes(machine: &Machine, rounds: usize) -> Result<Value, Failed> {
    let mut rows = Vec::new();
    for bytes in [64, 128].into_iter().chain(SIZES) {
        let kernel = Kernel::compress(bytes)?;
        let times: Result<Vec<f64>, Failed> = (0..rounds)
            .map(|_| on_core(machine.cores.host, || kernel_ns(machine, &kernel))?)
            .collect();
        rows.push(json!({ "bytes": bytes, "host_ns": times? }));
    }
    Ok(Value::Array(rows))
}

/// What a kernel and the host's own work cost, each a list over the rounds.
pub(crate) fn of_kernel(
    machine: &Machine,
    kernel: &Kernel,
    own_us: u32,
    rounds: usize,
) -> Result<Value, Failed> {
    let (mut own, mut host, mut workers) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        own.push(on_core(machine.cores.host, || {
            own_ns(machine, kernel, own_us)
        })??);
        host.push(on_core(machine.cores.host, || kernel_ns(machine, kernel))??);
        workers.push(on_core(machine.cores.workers, || {
            kernel_ns(machine, kernel)
        })??);
    }
    Ok(json!({ "own_ns": own, "kernel_ns": host, "accelerated_ns": workers }))
}

/// The host's own work for a request, and its making.
fn own_ns(machine: &Machine, kernel: &Kernel, own_us: u32) -> Result<f64, Failed> {
    let before = thread_time();
    for _ in 0..TIMES {
        machine.work(own_us);
        drop(std::hint::black_box(kernel.request()?));
    }
    Ok(ns(thread_time().saturating_sub(before), TIMES))
}

/// A kernel on this core, without the making of its request.
fn kernel_ns(machine: &Machine, kernel: &Kernel) -> Result<f64, Failed> {
    let mut executor = machine.executor()?;
    let mut both = || -> Result<Duration, Failed> {
        let before = thread_time();
        for _ in 0..TIMES {
            check(kernel.request()?.run_inline(&mut executor))?;
        }
        Ok(thread_time().saturating_sub(before))
    };
    both()?;
    let whole = ns(both()?, TIMES);
    Ok((whole - own_ns(machine, kernel, 0)?).max(0.0))
}
