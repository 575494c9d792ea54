//! The values that threads of a gRPC client exchange: orders, which pass calls from the caller's
//! thread to the client's thread, and answers, which pass the results back.

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
use crate::transport::grpc::response::ReceivedMetadata;

/// A call for the client's thread.
pub(super) struct Order {
    /// `/package.Service/Method`.
    pub(super) path: Arc<str>,
    /// The message with its prefix.
    pub(super) message: Bytes,
    pub(super) gzip: bool,
    pub(super) deadline: Instant,
    pub(super) ticket: Arc<Ticket>,
    /// Whether to measure the costs of the call.
    pub(super) noted: bool,
    /// Headers that continue the trace of the caller's span.
    pub(super) trace_context: Vec<(String, String)>,
    /// Headers that the caller adds.
    pub(super) metadata: Metadata,
    /// Resolves when the caller has given up.
    pub(super) given_up: oneshot::Receiver<()>,
}

/// A response with status OK and one message.
pub(super) struct Answer {
    /// The message with its prefix.
    pub(super) message: Wiped,
    /// The codec of the message, which may be compressed.
    pub(super) codec: Option<Codec>,
    /// The costs of the call's records, and the wait for its response, if they were measured.
    pub(super) cost: Option<Cost>,
    /// The custom metadata of the response.
    pub(super) metadata: Box<ReceivedMetadata>,
    /// The permit for its memory.
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

/// The costs of a call apart from its messages.
pub(super) struct Cost {
    pub(super) secure: bool,
    pub(super) sent: Tally,
    pub(super) received: Tally,
    pub(super) wait: Duration,
}

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// The call waits for room on a connection.
    Waiting = 0,
    /// The call waits for a connection that is being opened.
    Connecting = 1,
    /// The call may have reached the service.
    Sent = 2,
    /// The caller has given up.
    GivenUp = 3,
    /// The service has refused the call, which is repeated after a pause.
    Refused = 4,
}

/// The state of a call that its caller and the client's thread share.
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

    /// Records the call's progress. Returns false if the caller has given up.
    pub(super) fn advance(&self, stage: Stage) -> bool {
        let (set, fetch) = (Ordering::AcqRel, Ordering::Acquire);
        let open = |now| (now != Stage::GivenUp as u8).then_some(stage as u8);
        self.stage.fetch_update(set, fetch, open).is_ok()
    }

    /// Gives up the call, so that it is not sent. Returns its progress so far.
    pub(super) fn give_up(&self) -> Stage {
        match self.stage.swap(Stage::GivenUp as u8, Ordering::AcqRel) {
            0 => Stage::Waiting,
            1 => Stage::Connecting,
            2 => Stage::Sent,
            4 => Stage::Refused,
            _ => Stage::GivenUp,
        }
    }
}
