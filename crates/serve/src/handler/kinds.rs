//! The two kinds of handlers: those that return JSON text, and those that read and return values.

use std::sync::Arc;

use super::request::Request;
use super::returned::Returned;
use super::value::{HandlerError, HandlerResult};
use crate::scope::{with_abandonment, with_deadline};

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

/// Answers the requests to one function, and reads and returns values of the application's own types.
///
/// Where the server keeps no recording, its arguments and its value are no JSON text on the way: of
/// Thrift where nothing is compressed, of gRPC where no message within them is one that JSON has in a
/// form of its own (`docs/message-conventions.md`). Contract: that of [`Handler`].
pub trait ValueHandler: Send + Sync {
    /// Answers one request.
    ///
    /// # Errors
    /// [`HandlerError`], which the client is told.
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
    /// Calls the handler on this thread. What it calls there keeps the request's deadline, and is in
    /// its trace.
    pub(crate) fn call(&self, request: &Request<'_>) -> Result<Returned, HandlerError> {
        let _attached = request.context.map(|context| context.clone().attach());
        let call = || with_abandonment(request.abandoned, || self.call_now(request));
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
