//! DeathStarBench's SocialNetwork over accelflow's server, client and storage: `socialnetwork run`
//! starts it, loads it and prints response times; `socialnetwork measure` compares them with the
//! simulator's prediction. See docs/socialnetwork.md.

mod cluster;
mod floor;
mod graph;
mod load;
mod measure;
mod mocks;
mod predict;
mod recorded;
mod report;
mod requests;
mod run;
mod serve;
mod services;
mod site;
mod subject;

use std::path::PathBuf;
use std::process::ExitCode;

use accelflow_parameters::{Refusal, system_text};
use accelflow_serve::{WIPING_ALLOCATOR, WipingAllocator};
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// The servers hold users' data, so memory is wiped when it is freed.
#[global_allocator]
static MEMORY: WipingAllocator = WIPING_ALLOCATOR;

/// DeathStarBench's SocialNetwork, whose messages the accelerators' traces process.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Starts everything, drives the application, prints response times, and stops everything.
    Run(run::Options),
    /// Drives each service alone on a core of its own, at several loads, and compares its response
    /// times with the simulator's prediction from its recording.
    Measure(measure::Options),
    /// Serves some of the services (started by the other commands).
    #[command(hide = true)]
    Serve(serve::Options),
    /// Stand-ins of what the eight services call (started by `accelflow companions together`).
    #[command(hide = true)]
    Mocks(mocks::Options),
    /// One server with the eight services (started by `accelflow companions together`).
    #[command(hide = true)]
    Subject(subject::Options),
    /// A storage gateway (started by the other commands).
    #[command(hide = true)]
    Gateway {
        /// The JSON file with the gateway's settings (docs/storage.md).
        config: PathBuf,
    },
}

/// Stops the daemons of this process on a signal, since values are not dropped then.
fn end_with_signals() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let terminate = signal(SignalKind::terminate());
            let interrupt = signal(SignalKind::interrupt());
            if let (Ok(mut terminate), Ok(mut interrupt)) = (terminate, interrupt) {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                accelflow_storage::local::end_all();
                std::process::exit(130);
            }
        });
    });
    Ok(())
}

fn main() -> ExitCode {
    let started = end_with_signals();
    let done = match Arguments::parse().command {
        Command::Run(options) => started
            .map_err(Into::into)
            .and_then(|()| run::run(&options)),
        Command::Measure(options) => started
            .map_err(Into::into)
            .and_then(|()| measure::run(&options)),
        Command::Serve(options) => serve::serve(&options),
        Command::Mocks(options) => mocks::run(&options),
        Command::Subject(options) => subject::run(&options),
        Command::Gateway { config } => serve::gateway(&config),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("socialnetwork: error: {}", system_text(&error));
            match error.is::<Refusal>() {
                true => ExitCode::from(2), // as clap does for options
                false => ExitCode::FAILURE,
            }
        }
    }
}
