//! Measures the time that ARCUS's control plane takes, for `docs/arcus.md`:
//! `cargo run --release -p accelflow-arcus --example control_time`.

use std::time::{Duration, Instant};

use accelflow_arcus::control::{AdmissionRequest, Manager, Rate, Runtime};
use accelflow_arcus::parameters::datapath;
use accelflow_arcus::{Controller, Counters, Path, Platform, PlatformError, Settings};
use accelflow_units::{Bytes, Time};

/// The promises of all flows together, in gigabits per second.
const PROMISED: f64 = 40.0;
const TICKS: u32 = 5_000;
const REPEATS: u32 = 5;

fn main() -> Result<(), PlatformError> {
    let period = Settings::lasting(Time::from_us(1_000)).control_period;
    println!(
        "| flows | admission, new profiles | admission, known profiles | per flow and period, SLO met | per flow and period, SLO missed | cores a flow |"
    );
    println!("|---|---|---|---|---|---|");
    for count in [1, 4, 16] {
        let (manager, simulated, known) = admitted(count)?;
        let on_time = look(&manager, count, period, 1.0);
        let late = look(&manager, count, period, 0.5);
        let cores = on_time.as_secs_f64() / (period.as_ns_f64() * 1e-9);
        println!(
            "| {count} | {simulated:.1?} | {known:.1?} | {on_time:.1?} | {late:.1?} | {cores:.4} |"
        );
    }
    Ok(())
}

fn request(number: usize, count: usize) -> AdmissionRequest {
    let slo = Rate::GbitPerS(PROMISED / count as f64);
    AdmissionRequest::new(
        &format!("flow {number}"),
        "datapath",
        Path::FunctionCall,
        Bytes::from_kib(1 << (number % 5)),
        slo,
    )
}

/// A control plane with `count` flows of 1 to 16 KiB, and the times to admit the last of them: with
/// profiles that are not known yet, and again with known ones.
fn admitted(count: usize) -> Result<(Manager, Duration, Duration), PlatformError> {
    let mut manager = Manager::new(Platform::prototype(vec![datapath()]));
    let mut simulated = Duration::ZERO;
    for number in 0..count {
        let began = Instant::now();
        manager.register(request(number, count))?;
        simulated = began.elapsed();
    }
    let mut known = Duration::MAX;
    for _ in 0..REPEATS {
        let last = manager.release(&format!("flow {}", count - 1))?;
        let began = Instant::now();
        manager.register(last.request)?;
        known = known.min(began.elapsed());
    }
    Ok((manager, simulated, known))
}

/// The runtime's time for one flow in one period if all flows get this share of their promises: the
/// minimum of a few repetitions.
fn look(manager: &Manager, count: usize, period: Time, share: f64) -> Duration {
    let bytes = share * PROMISED / count as f64 * period.as_ns_f64() / 8.0;
    let counted = Counters {
        messages: 1,
        bytes: Bytes(bytes.round() as u64),
        waiting: 8,
    };
    let counters = vec![counted; count];
    let repeat = |_| {
        let mut runtime = Runtime::new(manager.clone());
        let began = Instant::now();
        for tick in 1..=TICKS {
            std::hint::black_box(runtime.tick(period * u64::from(tick), period, &counters));
        }
        began.elapsed() / (TICKS * count as u32)
    };
    (0..REPEATS).map(repeat).min().unwrap_or_default()
}
