//! The inputs of the equations, by micro-benchmarks: o0, L and o1 of the ensemble, and what kernels
//! cost on the host and on the workers' core.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use accelflow_runtime::{Notification, Pools};
use serde_json::{Value, json};

use super::forms::check;
use super::{Failed, Kernel, Machine, RECEIVE, SIZES, nothing, ns, ran};

/// Repetitions in a round.
const TIMES: usize = 200;

/// o0 and L of chains of accelerators that do nothing, and o1, each a list over the rounds.
pub(crate) fn of_offloads(machine: &Machine, rounds: usize) -> Result<Value, Failed> {
    let pools = machine.pools(nothing, 0)?;
    let mut chains = Vec::new();
    for steps in [1, RECEIVE.len()] {
        let kernel = Kernel::Nothing(steps);
        let (mut setup, mut transfer) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let host = machine.cores.host;
            let setup_ns = machine.on(host, || setup_ns(machine, &pools, &kernel))??;
            let whole_ns = machine.on(host, || round_trip_ns(machine, &pools, &kernel))??;
            setup.push(setup_ns);
            transfer.push((whole_ns - setup_ns).max(0.0));
        }
        chains.push(json!({ "steps": steps, "setup_ns": setup, "transfer_ns": transfer }));
    }
    let switches: Result<Vec<f64>, Failed> = (0..rounds)
        .map(|_| machine.on(machine.cores.host, switch_ns))
        .collect();
    Ok(json!({ "chains": chains, "thread_switch_ns": switches? }))
}

/// The time that a compression takes on the host, by size, each a list over the rounds.
pub(crate) fn of_sizes(machine: &Machine, rounds: usize) -> Result<Value, Failed> {
    let mut rows = Vec::new();
    for bytes in [64, 128].into_iter().chain(SIZES) {
        let kernel = Kernel::compress(bytes)?;
        let times: Result<Vec<f64>, Failed> = (0..rounds)
            .map(|_| machine.on(machine.cores.host, || kernel_ns(machine, &kernel))?)
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
        own.push(machine.on(machine.cores.host, || own_ns(machine, kernel, own_us))??);
        host.push(machine.on(machine.cores.host, || kernel_ns(machine, kernel))??);
        workers.push(machine.on(machine.cores.workers, || kernel_ns(machine, kernel))??);
    }
    Ok(json!({ "own_ns": own, "kernel_ns": host, "accelerated_ns": workers }))
}

/// The host's own work for a request, and its making.
fn own_ns(machine: &Machine, kernel: &Kernel, own_us: u32) -> Result<f64, Failed> {
    let before = ran();
    for _ in 0..TIMES {
        machine.work(own_us);
        drop(std::hint::black_box(kernel.request()?));
    }
    Ok(ns(ran().saturating_sub(before), TIMES))
}

/// A kernel on this core, without the making of its request.
fn kernel_ns(machine: &Machine, kernel: &Kernel) -> Result<f64, Failed> {
    let mut executor = machine.executor()?;
    let mut both = || -> Result<Duration, Failed> {
        let before = ran();
        for _ in 0..TIMES {
            check(kernel.request()?.run_inline(&mut executor))?;
        }
        Ok(ran().saturating_sub(before))
    };
    both()?;
    let whole = ns(both()?, TIMES);
    Ok((whole - own_ns(machine, kernel, 0)?).max(0.0))
}

/// o0: what the host runs to begin an offload and to take its response, the accelerator being idle.
fn setup_ns(machine: &Machine, pools: &Pools, kernel: &Kernel) -> Result<f64, Failed> {
    let mut sum = Duration::ZERO;
    for _ in 0..TIMES {
        let request = kernel.request()?;
        let before = ran();
        let begun = pools.enqueue(&machine.image, request);
        sum += ran().saturating_sub(before);
        let handle = begun.map_err(|refused| refused.why)?;
        handle.wait_by(Notification::Check(Duration::from_micros(50)), None);
        let before = ran();
        check(handle.wait())?;
        sum += ran().saturating_sub(before);
    }
    // Each of the two intervals has one reading of the clock in it.
    let before = ran();
    for _ in 0..TIMES {
        let _ = std::hint::black_box(ran());
    }
    let clock_ns = ns(ran().saturating_sub(before), TIMES);
    Ok((ns(sum, TIMES) - 2.0 * clock_ns).max(0.0))
}

/// o0 + L: an offload of nothing, on the clock, for which the host spins.
fn round_trip_ns(machine: &Machine, pools: &Pools, kernel: &Kernel) -> Result<f64, Failed> {
    let mut sum = Duration::ZERO;
    for _ in 0..TIMES {
        let request = kernel.request()?;
        let begun = Instant::now();
        let begun_run = pools.enqueue(&machine.image, request);
        let handle = begun_run.map_err(|refused| refused.why)?;
        handle.wait_by(Notification::Poll, None);
        check(handle.wait())?;
        sum += begun.elapsed();
    }
    Ok(ns(sum, TIMES))
}

/// o1: a switch between two threads of this core that wake each other.
fn switch_ns() -> f64 {
    let turn = (Mutex::new(false), Condvar::new());
    let play = |mine: bool| {
        let (lock, changed) = &turn;
        for _ in 0..TIMES {
            let mut now = lock.lock().unwrap_or_else(PoisonError::into_inner);
            while *now != mine {
                now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
            *now = !mine;
            drop(now);
            changed.notify_one();
        }
    };
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| play(true));
        play(false);
    });
    ns(begun.elapsed(), 2 * TIMES)
}
