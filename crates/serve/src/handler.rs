//! What answers requests: the application's side of a server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use accelflow_accel::thrift::{FunctionId, Schema};
use accelflow_accel::{AccelError, Facts};

use crate::deadline::with_deadline;

/// A request as the trace T1 has delivered it to a core.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The service that declares the function.
    pub service: &'a str,
    /// The function.
    pub method: &'a str,
    /// The JSON object of its arguments (`docs/message-conventions.md`).
    pub arguments: &'a [u8],
    /// What the accelerators learned about the message.
    pub facts: &'a Facts,
    /// Who asks.
    pub peer: SocketAddr,
    /// The core that LdB chose.
    pub core: Option<usize>,
    /// Until when the client waits, if it said so; gRPC alone tells. Calls to other services from
    /// the handler's thread keep it.
    pub deadline: Option<Instant>,
}

/// Why a handler gives no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    /// An exception that the interface declares for the function. In gRPC every method has the
    /// status codes for exceptions: `NOT_FOUND` with `{"message": "..."}`.
    #[error("exception '{field}'")]
    Declared {
        /// The name of its field in `throws`.
        field: String,
        /// The JSON object of its members.
        body: Vec<u8>,
    },
    /// Anything else. The client is sent a `TApplicationException` INTERNAL_ERROR with
    /// this text, of gRPC the status UNKNOWN.
    #[error("{0}")]
    Internal(String),
}

/// What a handler returns: the JSON of the function's value, for a void function nothing.
pub type HandlerResult = Result<Vec<u8>, HandlerError>;

/// Answers the requests to one function.
///
/// Contract: called from several threads at once, each of which it may block: a connection's
/// thread waits for its own handler alone. A panic is answered with INTERNAL_ERROR.
pub trait Handler: Send + Sync {
    /// Answers one request.
    ///
    /// # Errors
    /// [`HandlerError`], which the client is told.
    fn call(&self, request: &Request<'_>) -> HandlerResult;
}

impl<F> Handler for F
where
    F: Fn(&Request<'_>) -> HandlerResult + Send + Sync,
{
    fn call(&self, request: &Request<'_>) -> HandlerResult {
        self(request)
    }
}

/// Calls a handler on this thread. What it calls there keeps the request's deadline.
pub(crate) fn call(handler: &dyn Handler, request: &Request<'_>) -> HandlerResult {
    match request.deadline {
        Some(deadline) => with_deadline(deadline, || handler.call(request)),
        None => handler.call(request),
    }
}

/// The handlers by the index of their functions: what RPC found is the place to look at.
#[derive(Default)]
pub(crate) struct Handlers {
    by_function: Vec<Option<Arc<dyn Handler>>>,
}

impl Handlers {
    /// Sets the handler of `Service.method`, replacing one that was there.
    pub(crate) fn set(
        &mut self,
        schema: &Schema,
        name: &str,
        handler: Arc<dyn Handler>,
    ) -> Result<(), AccelError> {
        let FunctionId(index) = match name.rsplit_once('.') {
            Some((service, method)) => schema.find_in(service, method)?,
            None => schema.find(name)?,
        };
        self.set_at(index, handler);
        Ok(())
    }

    /// Sets the handler of the function at `index`.
    pub(crate) fn set_at(&mut self, index: usize, handler: Arc<dyn Handler>) {
        if self.by_function.len() <= index {
            self.by_function.resize(index + 1, None);
        }
        self.by_function[index] = Some(handler);
    }

    pub(crate) fn get(&self, function: FunctionId) -> Option<&Arc<dyn Handler>> {
        self.by_function.get(function.0)?.as_ref()
    }
}
