//! Records the eight SocialNetwork services on this machine and prints the recording.
//!
//!     cargo run --release -p accelflow-runtime --example record -- 2026-01-31 > recording.json

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use accelflow_runtime::record::{RecordOptions, machine, record};
use accelflow_trace::templates;
use accelflow_workload::suites::social_network;

fn main() -> Result<(), Box<dyn Error>> {
    let date = std::env::args().nth(1).ok_or("usage: record YYYY-MM-DD")?;
    let options = RecordOptions::new(&machine(), &date);
    let (image, services) = (templates()?.link()?, social_network()?);
    let start = Instant::now();
    let recording = record(&image, &services, &options, &mut |progress| {
        eprint!(
            "\r{} {}/{}   ",
            progress.service, progress.done, progress.total
        );
        ControlFlow::Continue(())
    })?;
    eprintln!("\r{:.1} s          ", start.elapsed().as_secs_f64());
    println!("{}", recording.to_json()?);
    Ok(())
}
