//! A gateway before real daemons.

#![allow(dead_code, reason = "no test uses all of it")]

#[path = "../../../serve/tests/common/shout.rs"]
pub(crate) mod shout;
#[path = "../../../serve/tests/common/taken.rs"]
pub(crate) mod taken;
#[path = "../../../runtime/tests/common/waits.rs"]
pub(crate) mod waits;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use accelflow_serve::Execution;
use accelflow_storage::local::{Postgres, Redis, installed};
use accelflow_storage::{Collection, Counts, Gateway, GatewayConfig, Kind, Storage, StorageConfig};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) struct World {
    pub(crate) redis: Redis,
    pub(crate) postgres: Postgres,
    pub(crate) config: GatewayConfig,
    pub(crate) address: SocketAddr,
    pub(crate) counts: Arc<Counts>,
    runtime: Option<Runtime>,
    folder: TempDir,
}

pub(crate) fn collection(name: &str, kind: Kind, cache_compressed: bool) -> Collection {
    Collection {
        name: name.to_owned(),
        kind,
        cache_ttl_s: 600,
        cache_compressed,
        max_items: 200,
    }
}

/// `None`, and why on standard error, where the daemons are not installed. Elsewhere than on a
/// developer's machine `ACCELFLOW_NEEDS_STORAGE=1` makes that a failure.
pub(crate) fn world() -> Option<World> {
    if let Err(error) = installed() {
        let needed = std::env::var_os("ACCELFLOW_NEEDS_STORAGE").is_some();
        assert!(!needed, "{error}");
        eprintln!("skipped: {error}");
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a key");
    let (certificates, key) = (
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    );
    std::fs::write(&certificates, made.cert.pem()).expect("a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    let redis = Redis::start(64).expect("Redis starts");
    let postgres = Postgres::start().expect("PostgreSQL starts");
    let config = GatewayConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        certificates,
        key,
        redis: redis.url(),
        postgres: postgres.url(),
        collections: vec![
            collection("plain", Kind::Documents, false),
            collection("packed", Kind::Documents, true),
            collection("once", Kind::UniqueDocuments, false),
            collection("list", Kind::Lists, true),
        ],
        max_connections: 64,
        database_connections: 4,
        store_timeout_ms: 1_500,
    };
    let mut world = World {
        redis,
        postgres,
        config,
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        runtime: None,
        counts: Arc::default(),
        folder,
    };
    world.start_gateway();
    Some(world)
}

impl World {
    fn start_gateway(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("threads");
        let gateway = runtime
            .block_on(Gateway::bind(&self.config))
            .expect("binds");
        self.address = gateway.address().expect("listens");
        self.config.listen = self.address;
        self.counts = gateway.counts();
        runtime.spawn(gateway.serve());
        self.runtime = Some(runtime);
    }

    /// Ends all connections of the gateway, and starts it again in the same place.
    pub(crate) fn restart_gateway(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
        self.start_gateway();
    }

    pub(crate) fn storage_config(&self) -> StorageConfig {
        StorageConfig {
            address: self.address,
            server_name: "localhost".to_owned(),
            roots: self.config.certificates.clone(),
            connections: 8,
            timeout: Duration::from_secs(20),
            execution: Execution::Inline,
        }
    }

    pub(crate) fn storage(&self) -> Storage {
        Storage::new(&self.storage_config()).expect("a certificate")
    }

    pub(crate) fn other_certificate(&self) -> PathBuf {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
        let path = self.folder.path().join("other.pem");
        std::fs::write(&path, made.expect("a key").cert.pem()).expect("a file");
        path
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
