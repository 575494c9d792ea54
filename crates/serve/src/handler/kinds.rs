//! The two kinds of handlers: one works on JSON text, the other on values of the application's
//! types.

use std::sync::Arc;

use super::request::Request;
use super::returned::Returned;
use super::value::{HandlerError, HandlerResult};
use crate::scope::{with_abandonment, with_carried, with_deadline};

/// A handler, which answers the requests to one function of a server. The function's arguments and
/// results are JSON text.
///
/// The server calls a handler from several threads concurrently. A handler may block, but then
/// occupies its thread. With steering, this thread is one of
/// [`Steering::workers`](crate::Steering). Without steering, it is the connection's thread or, for
/// gRPC, one of [`Config::handler_threads`](crate::Config). The client of a handler that panics
/// gets INTERNAL_ERROR, in gRPC the status UNKNOWN.
pub trait Handler: Send + Sync {
    /// Answers one request. Returns the function's value as JSON text, empty for a void function.
    ///
    /// # Errors
    /// [`HandlerError`], which is reported to the client.
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

/// A handler, which answers the requests to one function of a server with values of the
/// application's own types.
///
/// The server does not convert arguments and results to JSON text, which saves time. There are
/// three exceptions: the server records costs, a Thrift message is compressed, or a gRPC message
/// has a special JSON form (`docs/message-conventions.md`). The rules for threads and panics are
/// those of [`Handler`].
pub trait ValueHandler: Send + Sync {
    /// Answers one request, and returns a result from [`Request::returns`] or [`Request::later`].
    ///
    /// # Errors
    /// [`HandlerError`], which is reported to the client.
    fn call(&self, request: &Request<'_>) -> Result<Returned, HandlerError>;
}

impl<F> ValueHandler for F
where
    F: Fn(&Request<'_>) -> Result<Returned, HandlerError> + Send + Sync,
{
    fn call(&self, request: &Request<'_>) -> Result<Returned, HandlerError> {
        self(request)
    }
}

/// A handler of either kind.
#[derive(Clone)]
pub(crate) enum AnyHandler {
    Json(Arc<dyn Handler>),
    Values(Arc<dyn ValueHandler>),
}

impl AnyHandler {
    /// Calls the handler on this thread. The handler's own calls inherit the request's deadline and
    /// terms, and continue its trace.
    pub(crate) fn call(&self, request: &Request<'_>) -> Result<Returned, HandlerError> {
        let _attached = request.context.map(|context| context.clone().attach());
        let call = || with_abandonment(request.abandoned, || self.call_now(request));
        let call = || with_carried(Some(request.carried), call);
        match request.deadline {
            Some(deadline) => with_deadline(deadline, call),
            None => call(),
        }
    }

    fn call_now(&self, request: &Request<'_>) -> Result<Returned, HandlerError> {
        match self {
            AnyHandler::Json(handler) => handler.call(request).map(Returned::json),
            AnyHandler::Values(handler) => handler.call(request),
        }
    }
}
