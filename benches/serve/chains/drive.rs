//! The load on the servers, and the measurements of a round.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use accelflow_accel::thrift::Schema;
use accelflow_runtime::affinity::{pin, usable_cores};
use accelflow_runtime::measure::MeasureOptions;
use accelflow_serve::{Client, Execution, Running, Server, TlsIdentity, TlsTrust};
use accelflow_storage::local::{Postgres, Redis};
use accelflow_storage::{Collection, Gateway, GatewayConfig, Kind, Storage, StorageConfig};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::Failed;
use super::host::spent;
use super::process::{COLLECTION, INTERFACE, Process, Settings, Way, client, echo};

/// Calls at a time of the loaded host.
pub(crate) const CALLERS: usize = 4;

/// Calls before anything is measured: connections are made, code and caches get warm.
const WARM_UP: usize = 40;

/// Calls of a recording.
const RECORDED: usize = 400;

/// A chain that is measured: the call, and the bytes of its text or document.
struct Case {
    name: &'static str,
    function: &'static str,
    bytes: usize,
    compressed: bool,
}

const fn case(name: &'static str, function: &'static str, bytes: usize) -> Case {
    Case {
        name,
        function,
        bytes,
        compressed: false,
    }
}

const CASES: [Case; 7] = [
    case("T1, T2", "Echo", 256),
    case("T1, T2", "Echo", 4_096),
    case("T1, T2", "Echo", 16_384),
    case("T1, T2", "Echo", 65_536),
    Case {
        compressed: true,
        ..case("T1 with Dcmp, T3", "Echo", 16_384)
    },
    case("T1, T9, T10, T2", "Call", 1_024),
    case("T1, T4, T5, T2", "Read", 1_024),
];

impl Case {
    fn arguments(&self) -> Vec<u8> {
        let text = match self.function {
            "Read" => json!({ "key": "1" }),
            _ => json!({ "text": words(self.bytes) }),
        };
        text.to_string().into_bytes()
    }
}

/// A text of so many bytes, which compresses as words do.
fn words(bytes: usize) -> String {
    let mut text = String::new();
    for number in 0_u64.. {
        if text.len() >= bytes {
            break;
        }
        text += &format!("{} posts of user {} ", number * 7_919 % 1_009, number % 97);
    }
    text.truncate(bytes);
    text
}

/// Everything on the core of the ensembles: the called service, storage, and files.
struct World {
    folder: TempDir,
    callee: Running,
    gateway: SocketAddr,
    _runtime: Runtime,
    _daemons: (Redis, Postgres),
}

impl World {
    fn start() -> Result<World, Failed> {
        let folder = tempfile::tempdir()?;
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
        std::fs::write(folder.path().join("cert.pem"), made.cert.pem())?;
        std::fs::write(
            folder.path().join("key.pem"),
            made.signing_key.serialize_pem(),
        )?;
        let paths = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
        let mut server = Server::new(Schema::parse(INTERFACE)?.into());
        server.set_tls(TlsIdentity::from_pem_files(&paths[0], &paths[1])?);
        server.handle("Chains.Echo", echo)?;
        let callee = server.start(([127, 0, 0, 1], 0).into())?;
        let daemons = (Redis::start(64)?, Postgres::start()?);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let gateway = runtime.block_on(Gateway::bind(&configured(&paths, &daemons)))?;
        let address = gateway.address()?;
        runtime.spawn(gateway.serve());
        let world = World {
            folder,
            callee,
            gateway: address,
            _runtime: runtime,
            _daemons: daemons,
        };
        world.fill()?;
        Ok(world)
    }

    /// Writes the document that is read, and reads it once, so that the cache has it.
    fn fill(&self) -> Result<(), Failed> {
        let storage = Storage::new(&StorageConfig {
            address: self.gateway,
            server_name: "localhost".to_owned(),
            roots: self.path("cert.pem"),
            connections: 1,
            timeout: Duration::from_secs(20),
            execution: Execution::Inline,
        })?;
        let bytes = CASES.iter().find(|case| case.function == "Read");
        let document = json!({ "text": words(bytes.map_or(0, |case| case.bytes)) });
        storage.write(COLLECTION, "1", document.to_string().as_bytes())?;
        storage.read(COLLECTION, "1")?;
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn settings(&self, way: Way, record: bool) -> Settings {
        Settings {
            way,
            record,
            certificate: self.path("cert.pem"),
            key: self.path("key.pem"),
            callee: self.callee.address(),
            gateway: self.gateway,
        }
    }
}

fn configured(paths: &[PathBuf; 2], (redis, postgres): &(Redis, Postgres)) -> GatewayConfig {
    GatewayConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        certificates: paths[0].clone(),
        key: paths[1].clone(),
        redis: redis.url(),
        postgres: postgres.url(),
        collections: vec![Collection {
            name: COLLECTION.to_owned(),
            kind: Kind::Documents,
            cache_ttl_s: 36_000,
            cache_compressed: false,
            max_items: 200,
        }],
        max_connections: 256,
        database_connections: 2,
        store_timeout_ms: 10_000,
    }
}

/// A server's process with its clients: one for single calls, one for loads, each also compressing.
struct Measured {
    way: Way,
    process: Process,
    plain: Client,
    compressing: Client,
}

impl Measured {
    fn start(world: &World, way: Way, record: bool) -> Result<Measured, Failed> {
        let process = Process::start(&world.settings(way, record))?;
        let trust = TlsTrust::from_pem_file(&world.path("cert.pem"), "localhost")?;
        let connect =
            |compress| client(process.address, trust.clone(), compress, Execution::Inline);
        Ok(Measured {
            way,
            plain: connect(false)?,
            compressing: connect(true)?,
            process,
        })
    }

    fn client(&self, case: &Case) -> &Client {
        match case.compressed {
            true => &self.compressing,
            false => &self.plain,
        }
    }

    /// Calls in turn; returns the time of each in ns.
    fn calls(&self, case: &Case, calls: usize) -> Result<Vec<f64>, Failed> {
        let (client, arguments) = (self.client(case), case.arguments());
        let mut times = Vec::with_capacity(calls);
        for _ in 0..calls {
            let begun = Instant::now();
            client.call(case.function, &arguments)?;
            times.push(begun.elapsed().as_secs_f64() * 1e9);
        }
        Ok(times)
    }

    /// Calls of several callers at once.
    fn load(&self, case: &Case, calls: usize) -> Result<(), Failed> {
        thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS)
                .map(|_| scope.spawn(|| self.calls(case, calls.div_ceil(CALLERS)).map(drop)))
                .collect();
            callers
                .into_iter()
                .try_for_each(|caller| caller.join().map_err(|_| "a caller has panicked")?)
        })
    }

    /// One round: single calls on an idle host, and a load.
    fn round(&self, case: &Case, calls: usize) -> Result<Value, Failed> {
        let process = self.process.number();
        let before = spent(process)?;
        let mut times = self.calls(case, calls)?;
        times.sort_by(f64::total_cmp);
        let alone = spent(process)?.since(before);
        let (before, begun) = (spent(process)?, Instant::now());
        self.load(case, calls)?;
        let wall = begun.elapsed().as_secs_f64() * 1e9;
        let loaded = spent(process)?.since(before);
        let all = (calls.div_ceil(CALLERS) * CALLERS) as f64;
        Ok(json!({
            "response_ns": times[times.len() / 2],
            "host_ns": alone.host_ns as f64 / calls as f64,
            "worker_ns": alone.worker_ns as f64 / calls as f64,
            "loaded_host_ns": loaded.host_ns as f64 / all,
            "loaded_worker_ns": loaded.worker_ns as f64 / all,
            "loaded_wall_ns": wall / all,
        }))
    }
}

/// All chains on all servers, in rounds that alternate.
pub(crate) fn cases(options: &MeasureOptions) -> Result<Vec<Value>, Failed> {
    let [_, others, ..] = usable_cores()?[..] else {
        return Err("the host and the workers need a core each".into());
    };
    // The servers' processes bind themselves to the host's core.
    let all = rustix::thread::sched_getaffinity(None)?;
    pin(others)?;
    let world = World::start()?;
    rustix::thread::sched_setaffinity(None, &all)?;
    let servers: Result<Vec<Measured>, Failed> = Way::ALL
        .iter()
        .map(|way| Measured::start(&world, *way, false))
        .collect();
    let recorded = CASES.iter().map(|case| recording(&world, case));
    let recorded: Vec<Value> = recorded.collect::<Result<_, _>>()?;
    pin(others)?;
    let servers = servers?;
    for case in &CASES {
        for server in &servers {
            server.calls(case, WARM_UP)?;
            server.load(case, WARM_UP)?;
        }
    }
    let mut rounds: Vec<Vec<Value>> = CASES.iter().map(|_| Vec::new()).collect();
    for _ in 0..options.rounds {
        for (case, rounds) in CASES.iter().zip(&mut rounds) {
            let mut round = Map::new();
            for server in &servers {
                let found = server.round(case, options.calls as usize)?;
                round.insert(server.way.name().to_owned(), found);
            }
            rounds.push(Value::Object(round));
        }
    }
    let rows = CASES.iter().zip(recorded).zip(rounds);
    Ok(rows
        .map(|((case, recording), rounds)| {
            json!({
                "chain": case.name,
                "bytes": case.bytes,
                "recording": recording,
                "rounds": rounds,
            })
        })
        .collect())
}

/// What the steps of a call cost a server that executes them inline.
fn recording(world: &World, case: &Case) -> Result<Value, Failed> {
    let mut server = Measured::start(world, Way::Inline, true)?;
    server.calls(case, RECORDED)?;
    let function = format!("Chains.{}", case.function);
    server.process.recording(&function, case.function)
}
