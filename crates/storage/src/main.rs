//! The command `accelflow-storage-gateway`: a gateway from storage messages over TLS to Redis and
//! PostgreSQL.

use std::path::PathBuf;
use std::process::ExitCode;

use accelflow_parameters::system_text;
use accelflow_storage::{Gateway, GatewayConfig, GatewayError};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

/// Serves storage messages (traces T4 to T8) over TLS from Redis and PostgreSQL.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The JSON file with the gateway's settings (docs/storage.md).
    config: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error, ExitCode::FAILURE),
    };
    match runtime.block_on(serve(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&*error, code(&*error)),
    }
}

fn fail(error: &dyn std::error::Error, code: ExitCode) -> ExitCode {
    eprintln!("accelflow-storage-gateway: error: {}", system_text(&error));
    code
}

/// The exit code: 2 for settings that are not allowed, 1 for what fails with good settings.
fn code(error: &(dyn std::error::Error + 'static)) -> ExitCode {
    match error.downcast_ref::<GatewayError>() {
        None | Some(GatewayError::Listen { .. } | GatewayError::Store { .. }) => ExitCode::FAILURE,
        Some(_) => ExitCode::from(2),
    }
}

async fn serve(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let gateway = Gateway::bind(&GatewayConfig::load(&arguments.config)?).await?;
    // The port may be the system's choice.
    println!("listening on {}", gateway.address()?);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    gateway.serve_until(stop).await;
    Ok(())
}
