//! The processes that the commands start: they print `ready`, and end when their standard input
//! ends.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use accelflow_storage::{Gateway, GatewayConfig};
use clap::Args;

use crate::floor;
use crate::recorded::Recorded;
use crate::services::{self, World};
use crate::site::Site;

type Failure = Box<dyn std::error::Error>;

/// Time for requests to end when a process stops.
const GRACE: Duration = Duration::from_secs(2);

/// Options of a process of servers.
#[derive(Args)]
pub(crate) struct Options {
    /// The file with the addresses.
    site: PathBuf,
    /// The services.
    services: Vec<String>,
    /// The core to which all threads are pinned.
    #[arg(long)]
    core: Option<usize>,
    /// Whether requests are recorded.
    #[arg(long)]
    record: bool,
}

/// Pins this process, and its later children, to some cores.
pub(crate) fn pin(cores: &[usize]) -> Result<(), Failure> {
    let mut set = rustix::thread::CpuSet::new();
    for core in cores {
        set.set(*core);
    }
    let pinned = rustix::thread::sched_setaffinity(None, &set);
    Ok(pinned.map_err(|error| format!("cannot run on cores {cores:?}: {error}"))?)
}

/// The cores that this process may run on.
pub(crate) fn cores() -> Result<Vec<usize>, Failure> {
    let set = rustix::thread::sched_getaffinity(None)?;
    let most = rustix::thread::CpuSet::MAX_CPU;
    Ok((0..most).filter(|core| set.is_set(*core)).collect())
}

pub(crate) fn serve(options: &Options) -> Result<(), Failure> {
    if let Some(core) = options.core {
        pin(&[core])?;
    }
    let site = Site::load(&options.site)?;
    let world = Arc::new(World::new(&site)?);
    let floor = match options.services.iter().any(|name| name == floor::NAME) {
        true => Some(floor::start(&site)?),
        false => None,
    };
    let services = options.services.iter().filter(|name| *name != floor::NAME);
    let running = services
        .map(|name| Ok((name, services::start(&site, &world, name, options.record)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    println!("ready");
    wait_for_end();
    let mut recorded = Recorded {
        floor_us: floor.and_then(|floor| floor.mean_us()),
        ..Recorded::default()
    };
    for (name, running) in running {
        for (function, _) in services::functions(name) {
            let paths = running.recorded_paths(function).into_iter().map(Into::into);
            recorded
                .functions
                .insert(function.to_owned(), paths.collect());
        }
        running.stop(GRACE);
    }
    println!("{}", serde_json::to_string(&recorded)?);
    Ok(())
}

pub(crate) fn gateway(config: &Path) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let gateway = runtime.block_on(Gateway::bind(&GatewayConfig::load(config)?))?;
    runtime.spawn(gateway.serve());
    println!("ready");
    wait_for_end();
    runtime.shutdown_background();
    Ok(())
}

pub(crate) fn wait_for_end() {
    // An error ends it as well.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
