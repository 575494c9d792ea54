//! The state that all gRPC connections of a server share.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accelflow_accel::protobuf::Schema;
use tokio::sync::watch;

use super::io::IoDriver;
use super::workers::Workers;
use crate::config::Config;
use crate::memory::room::Sizes;
use crate::server::thread_scope::ThreadScope;

/// The number of descriptors that the own runtime of a connection's thread has: two of epoll, and
/// one that wakes it.
const OF_A_RUNTIME: usize = 3;

/// Whether one thread watches the sockets of all connections. If connections' threads run the
/// handlers themselves, they watch their sockets themselves too, so that a message wakes one thread
/// instead of two.
fn has_driver(config: &Config) -> bool {
    config.handler_threads > 0
}

/// The number of descriptors that a connection opens in addition to its socket.
pub(crate) fn more_descriptors(config: &Config) -> usize {
    match has_driver(config) {
        true => 0,
        false => OF_A_RUNTIME,
    }
}

/// The interface, the threads and the streams of a gRPC server.
pub(crate) struct Gateway {
    pub(crate) schema: Arc<Schema>,
    pub(crate) workers: Arc<Workers>,
    /// Watches the sockets of connections; `None` if their threads do so themselves.
    pub(crate) io: Option<IoDriver>,
    /// The sizes of recent responses.
    pub(crate) sizes: Arc<Sizes>,
    stop: watch::Sender<bool>,
    /// The clients whose connections speak HTTP/2. Such connections end by themselves when the
    /// server stops.
    speaking: Mutex<BTreeSet<SocketAddr>>,
}

impl Gateway {
    /// Creates the gateway of a server with `tenants` tenants, 0 if connections have none.
    pub(crate) fn new(
        schema: Arc<Schema>,
        config: &Config,
        tenants: usize,
        scope: Arc<ThreadScope>,
    ) -> io::Result<Gateway> {
        let io = has_driver(config).then(IoDriver::start);
        Ok(Gateway {
            sizes: Arc::new(Sizes::new(schema.methods().len(), config.handler_threads)),
            schema,
            io: io.transpose()?,
            workers: Arc::new(Workers::new(config.handler_threads, tenants, scope)),
            stop: watch::Sender::new(false),
            speaking: Mutex::default(),
        })
    }

    fn speaking(&self) -> MutexGuard<'_, BTreeSet<SocketAddr>> {
        self.speaking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a connection as speaking HTTP/2, until the returned guard is dropped.
    pub(crate) fn register(&self, peer: SocketAddr) -> Registered<'_> {
        self.speaking().insert(peer);
        Registered(self, peer)
    }

    /// Whether a client's connection speaks HTTP/2, so that it ends by itself when the server
    /// stops.
    pub(crate) fn speaks_http2(&self, peer: SocketAddr) -> bool {
        self.speaking().contains(&peer)
    }

    /// A flag that turns true when the server stops.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Notifies all connections that the server is stopping.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// A connection that speaks HTTP/2.
pub(crate) struct Registered<'g>(&'g Gateway, SocketAddr);

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.0.speaking().remove(&self.1);
    }
}
