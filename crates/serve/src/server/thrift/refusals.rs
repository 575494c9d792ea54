//! Error replies to Thrift requests that are refused, fail, or have a result that cannot be sent.

use accelflow_accel::rpc::{self, MessageType, ThriftCall};

use super::body::{INTERNAL_ERROR, INVALID_MESSAGE_TYPE, PROTOCOL_ERROR, UNKNOWN_METHOD};
use super::connection::Connection;
use crate::observe::metrics::name;
use crate::observe::reports::is_by_client;
use crate::server::executors::RunError;
use crate::transport::close::Close;

/// What clients are told of messages of other types.
pub(super) const NO_CALL: &str = "message type: must be call or oneway";

impl Connection<'_> {
    /// Tells the client that the handler's value cannot be encoded.
    pub(super) fn send_unfit(&mut self, call: &ThriftCall, why: &str) -> Result<(), Close> {
        self.ended(call, "bad_result");
        let why = format!("the handler's result cannot be sent: {why}");
        self.report(call, INTERNAL_ERROR, "bad_result", &why)
    }

    /// Reports an error of `call`, and sends the client as much of it as it may see.
    pub(super) fn report(
        &mut self,
        call: &ThriftCall,
        kind: i32,
        code: &'static str,
        why: &str,
    ) -> Result<(), Close> {
        let (reports, peer) = (&self.shared.observers.reports, self.peer.peer.address);
        let text = reports.report(code, &name(call), peer, why);
        self.send_exception(call, kind, &text)
    }

    /// Reports why a request cannot be served, and sends the client the reason. The connection ends
    /// if the request has no valid header.
    pub(super) fn refuse(&mut self, frame: &[u8], error: &RunError) -> Result<(), Close> {
        let header = rpc::read_header(frame, self.shared.limits());
        if let Err(error) = &header {
            self.report_foreign(frame, error);
        }
        let header = header?;
        let is_call = matches!(header.message_type, MessageType::Call | MessageType::Oneway);
        let (kind, reason) = match is_call {
            true => kind(error),
            // Its body was read as a result, so the error says nothing about it.
            false => (INVALID_MESSAGE_TYPE, "invalid_message_type"),
        };
        let function = self.schema.find(header.name).ok();
        let named = function.and_then(|id| self.schema.function(id));
        let named = named.map(|function| format!("{}.{}", function.service, function.name));
        let metrics = &self.shared.observers.metrics;
        metrics.request(named.as_deref().unwrap_or_default(), reason);
        if !is_call {
            return self.send_exception(&header.exception(), kind, NO_CALL);
        }
        let (reports, peer) = (&self.shared.observers.reports, self.peer.peer.address);
        let text = reports.report(reason, header.name, peer, &error.to_string());
        if header.message_type == MessageType::Oneway
            || function.is_some_and(|function| self.is_oneway(function))
        {
            return Ok(());
        }
        self.send_exception(&header.exception(), kind, &text)
    }
}

/// The type of the exception for a request that cannot be served, and the reason.
fn kind(error: &RunError) -> (i32, &'static str) {
    match error {
        RunError::Trace(failure) => match failure.error.reason {
            reason @ ("unknown_method" | "unknown_service") => (UNKNOWN_METHOD, reason),
            reason if is_by_client(reason) => (PROTOCOL_ERROR, reason),
            reason => (INTERNAL_ERROR, reason),
        },
        RunError::Set(_) => (INTERNAL_ERROR, "no_executor"),
    }
}
