//! From a request to its handler, on this thread or on a worker that LdB chose.

use std::sync::Arc;
use std::time::Duration;

use accelflow_accel::thrift::FunctionId;

use super::steering::workers::SteeredWorkers;
use crate::handler::kinds::AnyHandler;
use crate::handler::request::Request;
use crate::handler::returned::Returned;
use crate::handler::table::Handlers;
use crate::handler::value::HandlerError;

/// The handlers of a running server, and the workers that run them if requests are steered.
pub(crate) struct Dispatch {
    handlers: Handlers,
    steered: Option<Arc<SteeredWorkers>>,
}

impl Dispatch {
    pub(crate) fn new(handlers: Handlers, steered: Option<Arc<SteeredWorkers>>) -> Dispatch {
        Dispatch { handlers, steered }
    }

    /// The handler of a function.
    pub(crate) fn handler(&self, function: FunctionId) -> Option<&AnyHandler> {
        self.handlers.get(function)
    }

    /// Calls a handler: here, or on the worker that LdB chose.
    pub(crate) fn call(
        &self,
        handler: &AnyHandler,
        request: &Request<'_>,
    ) -> Result<Returned, HandlerError> {
        match &self.steered {
            Some(steered) => steered.call(handler, request),
            None => handler.call(request),
        }
    }

    /// Whether the last call of a function's handler was quick, so that the next can be expected to be.
    pub(crate) fn is_quick(&self, function: FunctionId) -> bool {
        self.handlers.is_quick(function)
    }

    /// Notes how long a call took.
    pub(crate) fn took(&self, function: FunctionId, spent: Duration) {
        self.handlers.took(function, spent);
    }
}
