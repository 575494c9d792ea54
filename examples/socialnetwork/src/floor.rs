//! A server that does nothing, to measure the part of response times that the kernel and the load
//! generator add.
//!
//! Like the others, it uses rustls and a thread for each connection. It answers every request with
//! the same reply and reports the processor time of its threads, so that it can be subtracted.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use accelflow_runtime::thread_time;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::site::Site;

/// The name of this server among the services.
pub(crate) const NAME: &str = "Floor";

/// Processor time and requests of a server that does nothing.
#[derive(Default)]
pub(crate) struct Floor {
    nanoseconds: AtomicU64,
    requests: AtomicU64,
}

impl Floor {
    /// The processor time of a request in microseconds, if there was one.
    pub(crate) fn mean_us(&self) -> Option<f64> {
        let requests = self.requests.load(Ordering::Relaxed);
        let spent = self.nanoseconds.load(Ordering::Relaxed);
        (requests > 0).then(|| spent as f64 / 1e3 / requests as f64)
    }
}

/// Starts the server, which ends with the process.
pub(crate) fn start(site: &Site) -> Result<Arc<Floor>, Box<dyn std::error::Error>> {
    let address: SocketAddr = site.address(NAME);
    let chain = vec![CertificateDer::from_pem_file(&site.certificate)?];
    let key = PrivateKeyDer::from_pem_file(&site.key)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let config = Arc::new(config);
    let listener = TcpListener::bind(address)?;
    let floor = Arc::new(Floor::default());
    let counts = floor.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, counts) = (config.clone(), counts.clone());
            // A client that goes away ends its thread.
            std::thread::spawn(move || answer(stream, config, &counts));
        }
    });
    Ok(floor)
}

/// A reply of ComposeUniqueId, in Thrift's binary protocol.
const REPLY: &[u8] = b"\x00\x00\x00\x27\x80\x01\x00\x02\x00\x00\x00\x0fComposeUniqueId\x00\x00\x00\x00\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00";

fn answer(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    counts: &Floor,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    stream.set_nodelay(true)?;
    let mut stream = StreamOwned::new(ServerConnection::new(config)?, stream);
    let mut frame = Vec::new();
    loop {
        let begun = thread_time();
        let mut head = [0; 4];
        stream.read_exact(&mut head)?;
        frame.resize(u32::from_be_bytes(head) as usize, 0);
        stream.read_exact(&mut frame)?;
        stream.write_all(REPLY)?;
        stream.flush()?;
        let spent = thread_time().saturating_sub(begun).as_nanos();
        let spent = u64::try_from(spent).unwrap_or(u64::MAX);
        counts.nanoseconds.fetch_add(spent, Ordering::Relaxed);
        counts.requests.fetch_add(1, Ordering::Relaxed);
    }
}
