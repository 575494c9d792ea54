//! The client of a Thrift request, to which the ensemble reports errors of calls that the handler
//! makes.

use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::{Call, Job};
use accelflow_runtime::{Conversation, Message, Terms, error_reply};

use crate::memory::buffers;
use crate::observe::run::TraceRun;
use crate::scope::Answering;
use crate::server::shared::Shared;
use crate::server::traces::ServerImage;
use crate::transport::close::Close;
use crate::transport::socket::write_all;

/// The connection of a request while its handler runs.
pub(super) struct LentCaller {
    pub(super) shared: Arc<Shared>,
    pub(super) stream: Arc<TcpStream>,
    pub(super) traces: Arc<ServerImage>,
    pub(super) terms: Terms,
    pub(super) call: ThriftCall,
    pub(super) conversation: Conversation,
    /// The run that has answered the request, once one has.
    pub(super) answered: Option<Result<TraceRun, Close>>,
    /// Whether the connection was taken back.
    pub(super) closed: bool,
}

impl Answering for LentCaller {
    fn answer(&mut self, trace: &str, job: &Job) -> bool {
        if self.closed || self.answered.is_some() {
            return false;
        }
        let (call, body) = error_reply(&self.call, job);
        let message = Message {
            terms: self.terms,
            ..Message::json(&[], Call::Thrift(call))
        };
        let (executors, traces) = (&self.shared.executors, &self.traces);
        let name = traces.error_trace(trace);
        let run = executors.run_on(traces, &name, body, &message, &mut self.conversation);
        // An exception that this service's interface does not declare is left to the handler.
        let Ok(mut run) = run else { return false };
        let deadline = Instant::now() + self.shared.config.write_timeout;
        let mut written = Ok(());
        for sent in std::mem::take(&mut run.outcome.sent) {
            if written.is_ok() {
                written = write_all(&self.stream, &sent.bytes, deadline, "reply");
            }
            buffers::give_back(sent.bytes);
        }
        let is_sent = written.is_ok();
        // Also after a failure, as a part of the error may be on its way.
        self.answered = Some(written.map(|()| run));
        is_sent
    }
}

/// Takes a connection back. No further answer can be sent over it. Returns its conversation, and
/// the run that has answered the request, if one has.
pub(super) fn take_back(
    lent: &Mutex<LentCaller>,
) -> (Conversation, Option<Result<TraceRun, Close>>) {
    let mut lent = lent.lock().unwrap_or_else(PoisonError::into_inner);
    lent.closed = true;
    (std::mem::take(&mut lent.conversation), lent.answered.take())
}
