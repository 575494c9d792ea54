//! The ensemble of software accelerators for connections that use the operating system's TCP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use accelflow_accel::balance::{BalancingPolicy, CoreLoads};
use accelflow_accel::{
    AccelError, Accelerator, Call, Direction, Ensemble, Job, Limits, Session, Settings,
};
use accelflow_runtime::{Peer, PeerError};
use accelflow_trace::{Accel, Format};

/// Creates software bodies for `settings`, with the operating system's TCP and balancing over
/// `cores`.
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

/// The TCP accelerator of connections that use the operating system's TCP. It only checks the size
/// of a message, since the connection's thread has already received the whole message, or will send
/// it. For a received message, it also clears the fields of the job (the message in the trace) that
/// describe the previous message, such as the facts.
#[derive(Debug)]
pub struct SocketTcp {
    limits: Limits,
}

impl SocketTcp {
    /// Creates the TCP accelerator for messages within `limits`.
    pub fn new(limits: Limits) -> SocketTcp {
        SocketTcp { limits }
    }
}

impl Accelerator for SocketTcp {
    fn kind(&self) -> Accel {
        Accel::Tcp
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        // A message of the largest size may have the overhead of its records in addition.
        let (size, limit) = (job.bytes.len(), self.limits.max_message_bytes);
        if size > limit + limit / 64 + 1024 {
            let what = "bytes of the message";
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

/// A round-robin policy that all ensembles of a server share.
#[derive(Clone, Debug, Default)]
pub(crate) struct NextCore(Arc<AtomicUsize>);

impl BalancingPolicy for NextCore {
    fn name(&self) -> &'static str {
        "round_robin"
    }

    fn pick(&mut self, _key: u64, loads: &[u32]) -> Option<usize> {
        let turn = self.0.fetch_add(1, Ordering::Relaxed);
        turn.checked_rem(loads.len())
    }
}

/// A [`Peer`] (other end of a connection) for traces that do not wait for responses, such as those
/// that receive or answer a request. Waiting for a response from this peer fails. A trace gets an
/// empty [`Session`] from this peer, without state of TCP or TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct SocketPeer;

impl Peer for SocketPeer {
    fn lend(&mut self, _: &Call) -> Result<Session, PeerError> {
        Ok(Session::default())
    }

    fn take_back(&mut self, _: &Call, _: Option<Session>) {}

    fn exchange(&mut self, _: &Call, _: &[u8]) -> Result<Vec<u8>, PeerError> {
        Err(PeerError::NoPeer(
            "any other server: this trace only replies".to_owned(),
        ))
    }
}
