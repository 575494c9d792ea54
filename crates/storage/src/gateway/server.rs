//! The connections of a gateway, which carry storage requests over TLS. The requests of one
//! connection are answered one after the other.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use accelflow_accel::storage::read_request;
use accelflow_accel::{AccelError, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::cache::Cache;
use super::config::{GatewayConfig, GatewayError};
use super::database::Database;
use super::stores::{Counts, Stores};
use crate::collections::Collections;

/// The longest time of a handshake, and from the first byte of a message to its last.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time that a gateway that stops waits for its last requests: that of a message.
const LAST_REQUESTS: Duration = MESSAGE_TIMEOUT;

/// How long a connection may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// A server between services and their storage: it listens for connections, and answers storage
/// messages over TLS with data from Redis (the cache) and PostgreSQL (the database).
pub struct Gateway {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    stores: Arc<Stores>,
    slots: Arc<Semaphore>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

impl Gateway {
    /// Creates a gateway: connects to the cache and the database, creates the tables in the
    /// database if they do not exist, and listens.
    ///
    /// # Errors
    /// [`GatewayError`] for an invalid setting, an unusable certificate or key, a cache or database
    /// that cannot be used, or an address that cannot be bound.
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
                counts: Arc::default(),
            }),
        })
    }

    /// Returns the address that the gateway listens on.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the counts of the gateway's requests. They are updated while the gateway serves.
    pub fn counts(&self) -> Arc<Counts> {
        self.stores.counts.clone()
    }

    /// Serves requests until the returned future is dropped. Connections beyond
    /// [`GatewayConfig::max_connections`] are closed at once.
    pub async fn serve(self) {
        self.serve_until(std::future::pending()).await;
    }

    /// Serves requests until `stop` completes. Then closes the listener and the idle connections,
    /// and waits until the requests that have begun to arrive are answered, but for at most 10
    /// seconds.
    pub async fn serve_until(self, stop: impl Future<Output = ()>) {
        let Gateway {
            listener,
            acceptor,
            stores,
            slots,
        } = self;
        let stopping = watch::Sender::new(false);
        let all = slots.available_permits();
        let accepting = async {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    // Out of descriptors: wait for some to be freed.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                let Ok(slot) = slots.clone().try_acquire_owned() else {
                    continue;
                };
                let (acceptor, stores) = (acceptor.clone(), stores.clone());
                let stopping = stopping.subscribe();
                tokio::spawn(async move {
                    // The service sees why its connection ended.
                    let _ = converse(stream, acceptor, &stores, stopping).await;
                    drop(slot);
                });
            }
        };
        tokio::select! {
            () = accepting => {}
            () = stop => {}
        }
        drop(listener);
        stopping.send_replace(true);
        let all = u32::try_from(all).unwrap_or(u32::MAX);
        let _ = timeout(LAST_REQUESTS, slots.acquire_many(all)).await;
    }
}

/// Answers the requests of one connection, one after the other.
async fn converse(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    stores: &Stores,
    mut stopping: watch::Receiver<bool>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = tokio::select! {
        stream = timeout(MESSAGE_TIMEOUT, acceptor.accept(stream)) => stream??,
        _ = stopping.wait_for(|stopping| *stopping) => return Ok(()),
    };
    loop {
        let mut head = [0; 4];
        let begun = tokio::select! {
            // A request that has arrived is answered.
            biased;
            begun = timeout(IDLE_TIMEOUT, stream.read(&mut head)) => begun??,
            // Without a close_notify, which services do not expect right behind a response.
            _ = stopping.wait_for(|stopping| *stopping) => return Ok(()),
        };
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

/// Reads the rest of a message, of whose length field `begun` bytes have been read. Memory grows
/// with the received bytes, not with the announced length.
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
            format!(
                "bytes of the request = {length}: must be at most {}",
                limits.max_message_bytes
            ),
        ));
    }
    let mut message = head.to_vec();
    let read = stream.take(length as u64).read_to_end(&mut message).await?;
    match read == length {
        true => Ok(message),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Sends a message in TLS records of its own, by which the peer finds its beginning.
async fn send(stream: &mut TlsStream<TcpStream>, message: &[u8]) -> io::Result<()> {
    stream.write_all(message).await?;
    stream.flush().await
}
