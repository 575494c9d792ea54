//! A call on its way from its caller's thread to the channel's, and what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use accelflow_accel::Codec;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::client::cancel::Slot;
use crate::client::error::CallError;
use crate::memory::wipe::Wiped;
use crate::observe::ledger::Tally;
use crate::transport::grpc::metadata::Metadata;

/// What the channel is to do.
pub(super) struct Order {
    /// `/package.Service/Method`.
    pub(super) path: Arc<str>,
    /// The message with its prefix.
    pub(super) message: Bytes,
    pub(super) gzip: bool,
    pub(super) deadline: Instant,
    pub(super) ticket: Arc<Ticket>,
    /// Whether the caller wants to know what the call cost.
    pub(super) noted: bool,
    /// Headers that continue the trace of the caller's span.
    pub(super) trace_context: Vec<(String, String)>,
    /// Headers that the caller adds.
    pub(super) metadata: Metadata,
    /// Resolves when the caller waits no more.
    pub(super) given_up: oneshot::Receiver<()>,
}

/// A response: status OK, and one message.
pub(super) struct Answer {
    /// The message with its prefix.
    pub(super) message: Wiped,
    /// What it may be compressed with.
    pub(super) codec: Option<Codec>,
    /// What the call's records cost, and how long its response was waited for, if that was wanted.
    pub(super) cost: Option<Cost>,
    /// For the memory that it takes.
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

/// What a call has cost between its messages.
pub(super) struct Cost {
    pub(super) secure: bool,
    pub(super) sent: Tally,
    pub(super) received: Tally,
    pub(super) wait: Duration,
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// It waits for room on a connection.
    Waiting = 0,
    /// It waits for a connection that is being opened.
    Connecting = 1,
    /// The service may know of it.
    Sent = 2,
    /// Nobody waits for it.
    GivenUp = 3,
}

/// What caller and channel share of a call.
pub(super) struct Ticket {
    stage: AtomicU8,
    pub(super) result: Arc<Slot<Result<Answer, CallError>>>,
}

impl Ticket {
    pub(super) fn new() -> Ticket {
        Ticket {
            stage: AtomicU8::new(Stage::Waiting as u8),
            result: Arc::new(Slot::new()),
        }
    }

    /// Notes that the call has come to `stage`; false if nobody waits for it any more.
    pub(super) fn advance(&self, stage: Stage) -> bool {
        let (set, fetch) = (Ordering::AcqRel, Ordering::Acquire);
        let open = |now| (now != Stage::GivenUp as u8).then_some(stage as u8);
        self.stage.fetch_update(set, fetch, open).is_ok()
    }

    /// Nobody waits any more: the call is not sent if it has not been yet. How far it came.
    pub(super) fn give_up(&self) -> Stage {
        match self.stage.swap(Stage::GivenUp as u8, Ordering::AcqRel) {
            0 => Stage::Waiting,
            1 => Stage::Connecting,
            2 => Stage::Sent,
            _ => Stage::GivenUp,
        }
    }
}
