//! The traces of a server, and who does their work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use accelflow_accel::balance::{CoreLoads, Policy};
use accelflow_accel::{
    AccelError, Accelerator, Call, Direction, Ensemble, Job, Limits, Session, Settings,
};
use accelflow_runtime::{Peer, PeerError};
use accelflow_trace::source::{Nodes, branch, seq, trans};
use accelflow_trace::{Accel, Format, Image, templates};

use crate::error::ServeError;

/// The names of the traces that one kind of connection takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceNames {
    pub(crate) receive: &'static str,
    pub(crate) send: &'static str,
    pub(crate) send_compressed: &'static str,
}

/// The paper's T1, T2 and T3.
pub(crate) const OVER_TLS: TraceNames = TraceNames {
    receive: "T1",
    send: "T2",
    send_compressed: "T3",
};

/// The same without Decr and Encr, for connections that are not encrypted.
pub(crate) const PLAIN: TraceNames = TraceNames {
    receive: "T1_plain",
    send: "T2_plain",
    send_compressed: "T3_plain",
};

/// The trace memory: the templates, and those of plain connections.
pub(crate) fn image() -> Result<Image, ServeError> {
    let mut library = templates()?;
    let mut receive = seq(&["TCP", "RPC", "Dser"])?;
    let mut decompress = vec![trans("JSON", "str")?];
    decompress.extend(seq(&["Dcmp"])?);
    receive.push(branch("out['compressed'] == 1", decompress, Nodes::new())?);
    receive.extend(seq(&["LdB"])?);
    library.register(PLAIN.receive, receive)?;
    library.register(PLAIN.send, seq(&["Ser", "RPC", "TCP"])?)?;
    library.register(PLAIN.send_compressed, seq(&["Cmp", "Ser", "RPC", "TCP"])?)?;
    crate::grpc::traces::register(&mut library)?;
    Ok(library.link()?)
}

/// Software bodies for `settings`, with the operating system's TCP, balancing over `cores`.
pub(crate) fn ensemble(
    settings: &Settings,
    cores: usize,
    next_core: &NextCore,
) -> Result<Ensemble, AccelError> {
    let policy = Box::new(next_core.clone());
    let mut ensemble = Ensemble::software(settings, policy, CoreLoads::idle(cores))?;
    ensemble.replace(Box::new(SocketTcp::new(settings.limits)));
    Ok(ensemble)
}

/// The TCP accelerator where the operating system does its work: the connection's thread has
/// received the whole message, or will send it. As receiving begins a new message, it forgets
/// what was known of the one before.
#[derive(Debug)]
pub struct SocketTcp {
    limits: Limits,
}

impl SocketTcp {
    /// A TCP body for messages within `limits`.
    pub fn new(limits: Limits) -> SocketTcp {
        SocketTcp { limits }
    }
}

impl Accelerator for SocketTcp {
    fn kind(&self) -> Accel {
        Accel::Tcp
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        // What records add to a message of the largest size is not held against it.
        let (size, limit) = (job.bytes.len(), self.limits.max_message_bytes);
        if size > limit + limit / 64 + 1024 {
            let what = "message of a connection";
            return Err(AccelError::TooLarge { what, size, limit });
        }
        if job.direction == Direction::Receive {
            job.facts.clear();
            job.packed = None;
            job.envelope = None;
            job.record = None;
            job.core = None;
            job.format = Format::Str;
        }
        Ok(())
    }
}

/// Round robin over all the ensembles of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct NextCore(Arc<AtomicUsize>);

impl Policy for NextCore {
    fn name(&self) -> &'static str {
        "round_robin"
    }

    fn pick(&mut self, _key: u64, loads: &[u32]) -> Option<usize> {
        let turn = self.0.fetch_add(1, Ordering::Relaxed);
        turn.checked_rem(loads.len())
    }
}

/// Whom replies over plain connections go to: the socket, which needs no session.
#[derive(Debug)]
pub(crate) struct SocketPeer;

impl Peer for SocketPeer {
    fn lend(&mut self, _: &Call) -> Result<Session, PeerError> {
        Ok(Session::default())
    }

    fn take_back(&mut self, _: &Call, _: Option<Session>) {}

    fn exchange(&mut self, _: &Call, _: &[u8]) -> Result<Vec<u8>, PeerError> {
        Err(PeerError::NoPeer("a trace that only replies".to_owned()))
    }
}
