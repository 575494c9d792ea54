//! From a request to its handler, on this thread or on a worker that LdB chose.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::thrift::FunctionId;

use super::pace::{Paces, Part};
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
    /// The time within which calls of a function are to be answered.
    due_within: HashMap<FunctionId, Duration>,
    paces: Paces,
}

impl Dispatch {
    pub(crate) fn new(
        handlers: Handlers,
        steered: Option<Arc<SteeredWorkers>>,
        due_within: HashMap<FunctionId, Duration>,
    ) -> Dispatch {
        Dispatch {
            handlers,
            steered,
            due_within,
            paces: Paces::default(),
        }
    }

    /// The deadline of a request to `function` that arrived at `arrived`: that of the function or
    /// `due`, whichever is earlier.
    pub(crate) fn due(
        &self,
        function: FunctionId,
        arrived: Instant,
        due: Option<Instant>,
    ) -> Option<Instant> {
        let within = self.due_within.get(&function);
        let own = within.map(|within| arrived + *within);
        own.into_iter().chain(due).min()
    }

    /// The deadline of a part of a request, if the request has one.
    pub(crate) fn part_due(
        &self,
        function: Option<FunctionId>,
        part: Part,
        due: Option<Instant>,
    ) -> Option<Instant> {
        due.map(|due| self.paces.due(function, part, due))
    }

    /// Notes how long receiving, handling and answering a request took that had to be done in time.
    pub(crate) fn learn(&self, function: FunctionId, spent: [Duration; 3]) {
        self.paces.learn(function, spent);
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
