//! One server with the eight services of AccelFlow's evaluation, for the page of the four papers.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use accelflow_accel::thrift::Schema;
use accelflow_serve::{
    ArenaSettings, Compression, Config, Control, Execution, PoolSettings, Request, RpcProcessor,
    Running, Server, Tenant, TenantSlo, TlsIdentity,
};
use accelflow_units::Bytes;
use clap::Args;
use serde::Deserialize;
use serde_json::json;

use crate::requests::EIGHT;
use crate::serve::pin;
use crate::services::{self, World};
use crate::site::Site;

type Failure = Box<dyn std::error::Error>;

/// Memory that messages reserve in Cerebros's processor: far more than a load takes.
const ARENA: usize = 64 << 20;

/// Options of the server.
#[derive(Args)]
pub(crate) struct Options {
    /// The file with the addresses.
    site: PathBuf,
    /// The core to which all threads are pinned.
    #[arg(long)]
    core: Option<usize>,
    /// The settings, as JSON.
    #[arg(long, default_value = "{}")]
    settings: String,
}

/// How the server executes traces, and what it has promised.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// Threads of each accelerator; `None` for the connections' threads.
    workers: Option<usize>,
    /// Whether parts of Cerebros's processor are in the place of the RPC accelerator.
    rpc: bool,
    record: bool,
    control: Option<ControlSettings>,
}

/// ARCUS's control plane.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlSettings {
    /// Accelerator time that there is, in seconds per second.
    capacity_s_per_s: f64,
    tenants: Vec<TenantSettings>,
}

/// A tenant and its promise.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantSettings {
    name: String,
    network: std::net::IpAddr,
    requests_per_s: f64,
    request_us: f64,
    request_bytes: u64,
}

/// Serves until standard input ends. Prints the port; answers the line `recording` with a
/// recording, and `promises` with the state of the control plane.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if let Some(core) = options.core {
        pin(&[core])?;
    }
    let settings: Settings = serde_json::from_str(&options.settings)?;
    let site = Site::load(&options.site)?;
    let running = start(&site, &settings)?;
    println!("{}", json!({"port": running.address().port()}));
    for line in std::io::stdin().lock().lines() {
        match line?.trim() {
            "recording" => println!("{}", recording(&running)),
            "promises" => println!("{}", promises(&running)),
            _ => break,
        }
    }
    running.stop(Duration::from_secs(2));
    Ok(())
}

fn start(site: &Site, settings: &Settings) -> Result<Running, Failure> {
    let world = Arc::new(World::new(site)?);
    let mut server = Server::new(Schema::social_network());
    let arena = settings.rpc.then(|| ArenaSettings::of(ARENA));
    server.set_config(Config {
        compression: Compression::LikeRequest,
        execution: match settings.workers {
            None => Execution::Inline,
            Some(workers) => Execution::Ensemble(PoolSettings {
                workers,
                ..PoolSettings::default()
            }),
        },
        rpc: RpcProcessor {
            split_schema: settings.rpc,
            arena,
        },
        ..Config::default()
    });
    server.set_tls(TlsIdentity::from_pem_files(
        Path::new(&site.certificate),
        Path::new(&site.key),
    )?);
    server.set_recording(settings.record);
    for kind in EIGHT {
        let name = kind.function();
        let found = services::functions(kind.service()).find(|(known, _)| *known == name);
        let (name, function) = found.ok_or_else(|| format!("there is no function {name}"))?;
        let world = world.clone();
        server.handle(name, move |request: &Request<'_>| function(&world, request))?;
    }
    if let Some(control) = &settings.control {
        let tenant = |tenant: &TenantSettings| Tenant {
            slo: Some(TenantSlo {
                time: Some(accelflow_units::Time::from_ns_f64(tenant.request_us * 1e3)),
                size: Some(Bytes(tenant.request_bytes)),
                ..TenantSlo::new(tenant.requests_per_s)
            }),
            ..Tenant::new(&tenant.name, vec![tenant.network.into()])
        };
        server.set_tenants(control.tenants.iter().map(tenant).collect())?;
        server.set_control(Control::new(control.capacity_s_per_s))?;
    }
    // Clients of either family: a tenant is told apart by its address.
    Ok(server.start(([0_u16; 8], 0).into())?)
}

/// The recording of all functions that were called.
fn recording(running: &Running) -> String {
    let functions = EIGHT.map(|kind| (kind.function(), kind.name()));
    let called = functions
        .iter()
        .filter(|(function, _)| !running.recorded_paths(function).is_empty());
    let called: Vec<(&str, &str)> = called
        .map(|(function, name)| (function.as_str(), *name))
        .collect();
    // The caller adds the machine and the date.
    let text = match running.recording(&called, "", "") {
        Ok(recording) => recording.to_json().map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match text {
        Ok(text) => json!({"recording": text}).to_string(),
        Err(error) => json!({"error": error}).to_string(),
    }
}

fn promises(running: &Running) -> String {
    let status = running.slo_status().into_iter().map(|tenant| {
        json!({"name": tenant.name, "periods": tenant.periods, "missed": tenant.missed, "shaped": tenant.shaped,
            "measured": tenant.measured, "promised": tenant.slo.is_some()})
    });
    json!({"promises": status.collect::<Vec<_>>()}).to_string()
}
