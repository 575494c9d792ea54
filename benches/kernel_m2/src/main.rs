//! `kernel_m2 ENGINE JOBS SEED`: one timed run of model M2, reported as a line of JSON.

use std::process::ExitCode;
use std::time::Instant;

use accelflow_bench_kernel_m2::{Engine, Model, Report, Spec};
use serde::Serialize;

#[derive(Serialize)]
struct Run {
    engine: &'static str,
    seconds: f64,
    #[serde(flatten)]
    report: Report,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("kernel_m2: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<String, Box<dyn std::error::Error>> {
    let [engine, jobs, seed] = arguments else {
        return Err("expected three arguments: ENGINE JOBS SEED".into());
    };
    let names = Engine::ALL.map(Engine::name);
    let Some(engine) = Engine::ALL.into_iter().find(|known| known.name() == engine) else {
        return Err(format!("unknown engine '{engine}'; one of {}", names.join(", ")).into());
    };
    let number = |name: &str, text: &str| {
        text.parse::<u64>()
            .map_err(|_| format!("{name} '{text}' is not a non-negative integer"))
    };
    let mut model = Model::new(
        &Spec::bundled()?,
        number("JOBS", jobs)?,
        number("SEED", seed)?,
    );
    let begin = Instant::now();
    engine.run(&mut model)?;
    let seconds = begin.elapsed().as_secs_f64();
    let run = Run {
        engine: engine.name(),
        seconds,
        report: model.report(),
    };
    Ok(serde_json::to_string(&run)?)
}
