//! The gateway: storage messages over TLS on one side, Redis and PostgreSQL on the other.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use accelflow_accel::storage::{Operation, StorageRequest, StorageResponse, Stored, read_request};
use accelflow_accel::{AccelError, Limits};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::cache::Cache;
use crate::collections::{Collection, CollectionError, Collections, Kind, MAX_ITEM_BYTES};
use crate::database::Database;
use crate::payload::{self, PayloadError};

/// What a gateway is told: the file that its command reads, in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The PEM file of its certificates, its own first.
    pub certificates: PathBuf,
    /// The PEM file of its private key.
    pub key: PathBuf,
    /// The cache, as a URL: `redis://...`.
    pub redis: String,
    /// The database, as a URL or in `key=value` form.
    pub postgres: String,
    /// What it keeps.
    pub collections: Vec<Collection>,
    /// Most connections of services at once. Default 256.
    #[serde(default = "default_connections")]
    pub max_connections: usize,
    /// Connections to the database. Default 8.
    #[serde(default = "default_pool")]
    pub database_connections: usize,
    /// How long cache or database may take, each time they are asked, in milliseconds. Default
    /// 2,000.
    #[serde(default = "default_timeout")]
    pub store_timeout_ms: u64,
}

fn default_connections() -> usize {
    256
}

fn default_pool() -> usize {
    8
}

fn default_timeout() -> u64 {
    2_000
}

/// How long a service may take for a handshake, or from the first byte of a message to its last.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Why a gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// A file is of no use.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A number that is out of its range.
    #[error("{name} = {value}: must be from 1 to {most}")]
    Number {
        /// The setting.
        name: &'static str,
        /// What was given.
        value: u64,
        /// What is allowed.
        most: u64,
    },
    /// The collections cannot be.
    #[error(transparent)]
    Collections(#[from] CollectionError),
    /// The address is not to be had.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// Cache or database cannot be reached.
    #[error("cannot use {what}: {error}")]
    Store {
        /// Which one.
        what: &'static str,
        /// Why not.
        error: StoreError,
    },
}

/// Why a store did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Redis says no, or nothing.
    #[error("the cache: {0}")]
    Cache(#[from] redis::RedisError),
    /// PostgreSQL says no, or nothing.
    #[error("the database: {}", describe(.0))]
    Database(#[from] tokio_postgres::Error),
    /// There is no connection to the database.
    #[error("no connection to the database: {0}")]
    Pool(#[from] deadpool_postgres::PoolError),
    /// The pool cannot be made.
    #[error("the pool of connections: {0}")]
    Build(#[from] deadpool_postgres::BuildError),
    /// No answer in time. A write may yet be done.
    #[error("{0} did not answer in time")]
    Slow(&'static str),
    /// A unique document that is there already.
    #[error("{collection}/{key} exists already")]
    Exists {
        /// The collection.
        collection: String,
        /// The key.
        key: String,
    },
    /// An item of a list that is too large.
    #[error("an item of {0} bytes; must be at most {MAX_ITEM_BYTES}")]
    Item(usize),
    /// A request that makes no sense.
    #[error(transparent)]
    Request(#[from] CollectionError),
    /// A write without data.
    #[error("a write without data")]
    NoData,
    /// Data that cannot be used.
    #[error("{0}")]
    Payload(String),
}

impl From<PayloadError> for StoreError {
    fn from(error: PayloadError) -> StoreError {
        StoreError::Payload(error.to_string())
    }
}

/// What the server says is behind the short text of the client library.
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(server) => server.message().to_owned(),
        None => error.to_string(),
    }
}

impl GatewayConfig {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`GatewayError::File`] with line and column.
    pub fn load(path: &Path) -> Result<GatewayConfig, GatewayError> {
        let refused = |why: String| GatewayError::File {
            path: path.to_owned(),
            why,
        };
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| refused(error.to_string()))
    }

    fn check(&self) -> Result<(), GatewayError> {
        let numbers = [
            ("max_connections", self.max_connections as u64, 65_536),
            (
                "database_connections",
                self.database_connections as u64,
                1_024,
            ),
            ("store_timeout_ms", self.store_timeout_ms, 3_600_000),
        ];
        for (name, value, most) in numbers {
            if !(1..=most).contains(&value) {
                return Err(GatewayError::Number { name, value, most });
            }
        }
        Ok(())
    }

    fn tls(&self) -> Result<Arc<ServerConfig>, GatewayError> {
        let refused = |path: &Path, why: String| GatewayError::File {
            path: path.to_owned(),
            why,
        };
        let path = &self.certificates;
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let chain = chain.map_err(|error| refused(path, error.to_string()))?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| refused(&self.key, error.to_string()))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(|error| refused(path, error.to_string()))?;
        // A ticket would come between two messages; connections are kept, and not resumed.
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}

/// How many requests there were, and what became of them.
#[derive(Debug, Default)]
pub struct Counts {
    /// By [`Operation`], all requests.
    requests: [AtomicU64; 4],
    /// Reads of the cache that found the key.
    hits: AtomicU64,
    /// Requests that cache or database failed at.
    failures: AtomicU64,
}

impl Counts {
    /// The requests of a kind.
    pub fn requests(&self, operation: Operation) -> u64 {
        self.requests[operation as usize].load(Ordering::Relaxed)
    }

    /// The reads of the cache that found the key.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// The requests that cache or database failed at, or refused.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

/// A gateway that listens.
pub struct Gateway {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    stores: Arc<Stores>,
    slots: Arc<Semaphore>,
}

struct Stores {
    cache: Cache,
    database: Database,
    collections: Collections,
    limits: Limits,
    counts: Counts,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

impl Gateway {
    /// Connects to cache and database, makes the database's tables, and listens.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub async fn bind(config: &GatewayConfig) -> Result<Gateway, GatewayError> {
        config.check()?;
        let collections = Collections::new(config.collections.clone())?;
        let acceptor = TlsAcceptor::from(config.tls()?);
        let limits = Limits::default();
        let patience = Duration::from_millis(config.store_timeout_ms);
        let unusable = |what| move |error| GatewayError::Store { what, error };
        let cache = Cache::connect(&config.redis, patience, limits)
            .await
            .map_err(unusable("the cache"))?;
        let connections = config.database_connections;
        let database = Database::connect(&config.postgres, connections, patience, limits)
            .await
            .map_err(unusable("the database"))?;
        let address = config.listen;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| GatewayError::Listen { address, error })?;
        Ok(Gateway {
            listener,
            acceptor,
            slots: Arc::new(Semaphore::new(config.max_connections)),
            stores: Arc::new(Stores {
                cache,
                database,
                collections,
                limits,
                counts: Counts::default(),
            }),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the future is dropped. A connection beyond the most that there may be is
    /// closed at once.
    pub async fn serve(self) {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // Out of descriptors: some may be given back.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let Ok(slot) = self.slots.clone().try_acquire_owned() else {
                continue;
            };
            let (acceptor, stores) = (self.acceptor.clone(), self.stores.clone());
            tokio::spawn(async move {
                // Why a service's connection ended is the service's to know.
                let _ = converse(stream, acceptor, &stores).await;
                drop(slot);
            });
        }
    }
}

/// Answers the requests of one connection, one after the other.
async fn converse(stream: TcpStream, acceptor: TlsAcceptor, stores: &Stores) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = timeout(MESSAGE_TIMEOUT, acceptor.accept(stream)).await??;
    loop {
        let mut head = [0; 4];
        let first = stream.read(&mut head);
        let begun = timeout(IDLE_TIMEOUT, first).await??;
        if begun == 0 {
            return stream.shutdown().await;
        }
        let rest = read_rest(&mut stream, head, begun, &stores.limits);
        let message = timeout(MESSAGE_TIMEOUT, rest).await??;
        let request = read_request(&message, &stores.limits).map_err(malformed)?;
        let response = stores.answer(request).await.map_err(malformed)?;
        timeout(MESSAGE_TIMEOUT, send(&mut stream, &response)).await??;
    }
}

fn malformed(error: AccelError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// A whole message, of which `begun` bytes of the length are there. Memory grows with what has
/// come and not with what the length promises.
async fn read_rest(
    stream: &mut TlsStream<TcpStream>,
    mut head: [u8; 4],
    begun: usize,
    limits: &Limits,
) -> io::Result<Vec<u8>> {
    stream.read_exact(&mut head[begun..]).await?;
    let length = u32::from_be_bytes(head) as usize;
    if length > limits.max_message_bytes {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a message that is too large",
        ));
    }
    let mut message = head.to_vec();
    let read = stream.take(length as u64).read_to_end(&mut message).await?;
    match read == length {
        true => Ok(message),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Sends a message in records of its own: by that the other side finds its beginning.
async fn send(stream: &mut TlsStream<TcpStream>, message: &[u8]) -> io::Result<()> {
    stream.write_all(message).await?;
    stream.flush().await
}

impl Stores {
    /// The frame that answers a request.
    async fn answer(&self, request: StorageRequest) -> Result<Vec<u8>, AccelError> {
        let operation = request.operation;
        let counts = &self.counts;
        counts.requests[operation as usize].fetch_add(1, Ordering::Relaxed);
        let encoded = match self.act(request).await {
            Ok(response) => {
                counts
                    .hits
                    .fetch_add(response.hit.into(), Ordering::Relaxed);
                response
                    .encode(&self.limits)
                    .map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        encoded.or_else(|why| {
            counts.failures.fetch_add(1, Ordering::Relaxed);
            failed(operation, why).encode(&self.limits)
        })
    }

    async fn act(&self, request: StorageRequest) -> Result<StorageResponse, StoreError> {
        let operation = request.operation;
        let done = StorageResponse::done(operation);
        let collection = self.collections.get(&request.collection)?;
        let keys = collection.keys(&request.key, operation == Operation::DbInsert)?;
        match operation {
            Operation::CacheGet => {
                let data = self.cache.get(collection, &keys).await?;
                Ok(StorageResponse {
                    hit: data.is_some(),
                    data,
                    ..done
                })
            }
            Operation::DbFind => {
                let data = self.database.find(collection, &keys).await?;
                Ok(StorageResponse {
                    found: data.is_some(),
                    cache_compressed: collection.cache_compressed,
                    data,
                    ..done
                })
            }
            Operation::CacheSet => {
                let data = request.data.ok_or(StoreError::NoData)?;
                self.cache.set(collection, &keys, data).await?;
                Ok(done)
            }
            Operation::DbInsert => {
                let data = request.data.ok_or(StoreError::NoData)?;
                self.write(collection, &keys, data).await?;
                Ok(done)
            }
        }
    }

    /// Writes to the database and only then touches the cache. A cache that fails is no failure
    /// of the write, which is committed: its entry is too old for at most its time to live.
    async fn write(
        &self,
        collection: &Collection,
        keys: &[&str],
        data: Stored,
    ) -> Result<(), StoreError> {
        let cached = match collection.kind {
            Kind::Lists => {
                let item = payload::item(payload::plain(data, &self.limits)?)?;
                let added = self.database.add(collection, keys, &item).await?;
                match added.is_empty() {
                    true => Ok(()),
                    false => self.cache.prepend(collection, &added, &item).await,
                }
            }
            Kind::Documents | Kind::UniqueDocuments => {
                self.database.insert(collection, keys[0], &data).await?;
                self.cache.forget(collection, keys[0]).await
            }
        };
        if cached.is_err() {
            self.counts.failures.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// An operation that failed: a read of the cache is a miss, one of the database finds nothing.
fn failed(operation: Operation, why: String) -> StorageResponse {
    StorageResponse {
        exception: Some(why),
        ..StorageResponse::done(operation)
    }
}
