//! Dispatch of requests to handlers: on the thread that received the request, or on a worker that
//! LdB chooses.

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
    /// The time limits for answering calls, by function.
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

    /// Returns the deadline of a request to `function` that arrived at `arrived`: the earlier of
    /// the function's deadline and `due`.
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

    /// Records the times of receiving, handling and answering a request that had a deadline.
    pub(crate) fn learn(&self, function: FunctionId, spent: [Duration; 3]) {
        self.paces.learn(function, spent);
    }

    /// The handler of a function.
    pub(crate) fn handler(&self, function: FunctionId) -> Option<&AnyHandler> {
        self.handlers.get(function)
    }

    /// Calls a handler on this thread, or on the worker that LdB chose.
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

    /// Whether the last call of a function's handler was quick, which predicts the next.
    pub(crate) fn is_quick(&self, function: FunctionId) -> bool {
        self.handlers.is_quick(function)
    }

    /// Records the duration of a call.
    pub(crate) fn took(&self, function: FunctionId, spent: Duration) {
        self.handlers.took(function, spent);
    }
}
