//! How long this simulator takes for the 3.7 ms that the log of RELIEF's release simulates with
//! gem5: Canny once, alone, under RELIEF. Prints a line of JSON.

use std::hint::black_box;
use std::time::Instant;

use accelflow_relief_suite::{Load, Orchestrator, Platform, simulate, suite};

const RUNS: u32 = 2_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (canny, platform, alone) = (suite::canny(), Platform::default(), Load::closed(1, 1));
    let run = || simulate(black_box(&canny), &platform, Orchestrator::Relief, &alone);
    let simulated_us = run()?.makespan.as_us_f64();
    let begin = Instant::now();
    for _ in 0..RUNS {
        black_box(run()?);
    }
    let seconds = begin.elapsed().as_secs_f64() / f64::from(RUNS);
    println!(r#"{{"simulated_us": {simulated_us}, "seconds": {seconds}}}"#);
    Ok(())
}
