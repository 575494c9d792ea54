//! `TraceConnection`: connections that callers define for runs of traces.

use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accelflow_accel::balance::{CoreLoads, RoundRobin};
use accelflow_accel::tcp::TcpSession;
use accelflow_accel::thrift::Schema;
use accelflow_accel::tls::{CipherSuite, TlsSession};
use accelflow_accel::{Ensemble, Session, Settings};
use accelflow_parameters::{Refusal, quoted};
use accelflow_runtime::{Conversation, Executor};
use accelflow_serve::{SocketPeer, SocketTcp};
use accelflow_trace::Image;
use pyo3::prelude::*;

use super::execution::{PyRun, finished, message, refused};
use super::failure::Failure;
use super::image::PyImage;

/// The names of the cipher suites, as in RFC 8446.
const SUITES: [(&str, CipherSuite); 2] = [
    ("TLS_AES_128_GCM_SHA256", CipherSuite::Aes128GcmSha256),
    ("TLS_AES_256_GCM_SHA384", CipherSuite::Aes256GcmSha384),
];

/// One end of a network connection: its interface, TLS keys, and TLS and TCP sequence numbers.
///
/// Each run of a trace continues the connection where the last run ended.
#[pyclass(frozen, name = "TraceConnection", module = "accelflow._native")]
pub(crate) struct PyConnection {
    schema: Arc<Schema>,
    state: Mutex<State>,
}

struct State {
    executor: Executor,
    conversation: Conversation,
}

impl PyConnection {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyConnection {
    /// Creates a connection for messages that a Thrift file (`.thrift`) declares.
    ///
    /// `read_secret` and `write_secret`, the application traffic secrets as SSLKEYLOGFILE has them,
    /// make the connection use TLS 1.3 with the cipher suite `suite`. `read_record` and
    /// `write_record` are then the sequence numbers of the next TLS records to read and to write.
    /// With the addresses `local` and `peer`, payloads are IPv4 packets; otherwise they are the
    /// bytes that a socket gives. LdB balances over `cores` cores. Raises TraceError for an
    /// interface, secret or address that cannot be used.
    #[new]
    #[pyo3(signature = (
        interface, *, include_dirs=Vec::new(), read_secret=None, write_secret=None,
        suite="TLS_AES_128_GCM_SHA256", read_record=0, write_record=0, local=None, peer=None, cores=36
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        interface: PathBuf,
        include_dirs: Vec<PathBuf>,
        read_secret: Option<Vec<u8>>,
        write_secret: Option<Vec<u8>>,
        suite: &str,
        read_record: u64,
        write_record: u64,
        local: Option<&str>,
        peer: Option<&str>,
        cores: usize,
    ) -> PyResult<PyConnection> {
        let schema = Schema::load(&interface, &include_dirs);
        let schema = schema.map_err(|error| Failure::new("bad_interface", error))?;
        let schema = Arc::new(schema);
        let tls = tls(suite, read_secret, write_secret)?;
        let tls = tls.map(|mut tls| {
            tls.read.resume_at(read_record);
            tls.write.resume_at(write_record);
            tls
        });
        let tcp = tcp(local, peer)?;
        let settings = Settings {
            schema: schema.clone(),
            ..Settings::default()
        };
        let policy = Box::new(RoundRobin::default());
        let bodies = Ensemble::software(&settings, policy, CoreLoads::idle(cores));
        let mut bodies = bodies.map_err(refused)?;
        if tcp.is_none() {
            bodies.replace(Box::new(SocketTcp::new(settings.limits)));
        }
        let conversation = Conversation {
            session: Session { tls, tcp },
            caller: None,
        };
        Ok(PyConnection {
            schema,
            state: Mutex::new(State {
                executor: Executor::new(Image::default(), bodies),
                conversation,
            }),
        })
    }

    /// Runs the trace `name` of `image` on `payload`, over this connection.
    ///
    /// `call` is that of `TraceExecutor.run`. Raises TraceError if a step fails; the connection is
    /// then unchanged, unless the run had sent a message.
    #[pyo3(signature = (image, name, payload, *, call=None))]
    fn run(
        &self,
        py: Python<'_>,
        image: &PyImage,
        name: &str,
        payload: &[u8],
        call: Option<Vec<String>>,
    ) -> PyResult<PyRun> {
        let message = message(&self.schema, payload, call)?;
        let done = py.detach(|| {
            let mut state = self.lock();
            let State {
                executor,
                conversation,
            } = &mut *state;
            if executor.image() != image.inner() {
                executor.set_image(image.inner().clone());
            }
            executor.run(name, &message, conversation, &mut SocketPeer)
        });
        finished(done, image.inner().kinds().to_vec())
    }

    /// The sequence numbers of the next TLS records to read and to write; None without TLS.
    #[getter]
    fn records(&self) -> Option<(u64, u64)> {
        let state = self.lock();
        let tls = state.conversation.session.tls.as_ref();
        tls.map(|tls| (tls.read.sequence(), tls.write.sequence()))
    }
}

/// The refusal of a connection without the setting `missing`, which belongs to `given`.
fn alone(missing: &str, given: &str) -> Failure {
    let allowed = format!("must be given together with {given}");
    Failure::new("bad_connection", Refusal::left_out(missing, allowed))
}

fn tls(
    suite: &str,
    read: Option<Vec<u8>>,
    write: Option<Vec<u8>>,
) -> Result<Option<TlsSession>, Failure> {
    let Some((_, suite)) = SUITES.into_iter().find(|(name, _)| *name == suite) else {
        let names: Vec<&str> = SUITES.into_iter().map(|(name, _)| name).collect();
        let refusal = Refusal::unknown("suite", suite, names);
        return Err(Failure::new("bad_connection", refusal));
    };
    match (read, write) {
        (None, None) => Ok(None),
        (Some(read), Some(write)) => {
            let made = TlsSession::from_secrets(suite, &write, &read);
            made.map(Some).map_err(refused)
        }
        (None, _) => Err(alone("read_secret", "write_secret")),
        (_, None) => Err(alone("write_secret", "read_secret")),
    }
}

fn tcp(local: Option<&str>, peer: Option<&str>) -> Result<Option<TcpSession>, Failure> {
    let read = |name: &str, text: &str| {
        let address = text.parse::<SocketAddrV4>();
        address.map_err(|_| {
            let allowed = "must be an IPv4 address and a port, such as 10.0.0.1:80";
            Failure::new("bad_connection", Refusal::new(name, quoted(text), allowed))
        })
    };
    match (local, peer) {
        (None, None) => Ok(None),
        (Some(local), Some(peer)) => {
            let (local, peer) = (read("local", local)?, read("peer", peer)?);
            Ok(Some(TcpSession::new(local, peer, 1, 1)))
        }
        (None, _) => Err(alone("local", "peer")),
        (_, None) => Err(alone("peer", "local")),
    }
}
