//! The answer to a Thrift request: the handler, then T2, or T3 if the reply is compressed.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use accelflow_accel::rpc::{MessageType, ThriftCall};
use accelflow_accel::thrift::FunctionId;
use accelflow_accel::{Call, Job};
use accelflow_runtime::Terms;
use accelflow_runtime::thread_time;
use accelflow_runtime::trail::{self, Trail};

use super::body::{Body, INTERNAL_ERROR, INVALID_MESSAGE_TYPE, Refusal, UNKNOWN_METHOD, handle};
use super::caller::{LentCaller, take_back};
use super::connection::Connection;
use super::refusals::NO_CALL;
use crate::config::Compression;
use crate::memory::buffers;
use crate::observe::metrics::name;
use crate::observe::observers::timed;
use crate::observe::run::TraceRun;
use crate::observe::telemetry::RequestSpan;
use crate::scope::{Answering, Carried};
use crate::server::pace::Part;
use crate::transport::close::Close;

/// A request whose handler has returned.
struct Handled {
    start: Instant,
    /// The handler's duration.
    app: Duration,
    /// The processor time of this thread during the handler, if requests are recorded or charged.
    busy: Duration,
    result: Result<Body, Refusal>,
    /// The traces that the handler started, if requests are recorded.
    trail: Option<Trail>,
    /// The run of the error subtrace that has already answered the client, if there is one.
    by_trace: Option<Result<TraceRun, Close>>,
}

impl Connection<'_> {
    /// Calls the handler with the arguments that T1 delivered, and replies.
    pub(super) fn answer(&mut self, mut received: TraceRun) -> Result<(), Close> {
        received.add_socket(std::mem::take(&mut self.receiving));
        self.charge_elsewhere(&received);
        let arrival = received.outcome.arrivals.drain(..).next();
        let Some(mut job) = arrival.map(|arrival| arrival.job) else {
            return Err(Close::Failed(
                "the receiving trace ended without notifying a core".to_owned(),
            ));
        };
        let Call::Thrift(call) = std::mem::take(&mut job.call) else {
            return Err(Close::Failed(
                "the receiving trace found no Thrift message".to_owned(),
            ));
        };
        if let Some(spans) = &self.shared.observers.spans {
            let (tenant, peer) = (self.terms.tenant, self.peer.peer.address);
            let span = spans.begin(&name(&call), peer, tenant, &received, None);
            self.span = Some(span);
        }
        if !matches!(call.message_type, MessageType::Call | MessageType::Oneway) {
            self.ended(&call, "invalid_message_type");
            return self.send_exception(&call, INVALID_MESSAGE_TYPE, NO_CALL);
        }
        if !self.shared.dispatch.is_quick(call.function) {
            self.flush()?;
        }
        let oneway = call.message_type == MessageType::Oneway || self.is_oneway(call.function);
        if !self.cover(&call, job.bytes.len(), oneway)? {
            return Ok(());
        }
        let handled = self.handle(&call, &job, oneway)?;
        let compressed = job.facts.get("compressed") == Some(1);
        buffers::give_back(std::mem::take(&mut job.bytes));
        self.memory = None;
        if oneway {
            let label = match handled.result {
                Ok(_) => "oneway",
                Err(_) => "oneway_failed",
            };
            self.ended(&call, label);
            return Ok(());
        }
        let sent = match handled.by_trace {
            Some(run) => Some(self.answered_by_trace(&call, run)?),
            None => self.reply_with(&call, handled.result, compressed)?,
        };
        let (start, app) = (handled.start, handled.app);
        if self.terms.due.is_some() {
            let respond = start.elapsed().saturating_sub(app);
            let spent = [start - self.begun, app, respond];
            self.shared.dispatch.learn(call.function, spent);
        }
        let recorder = &self.shared.observers.recorder;
        if let (Some(recorder), Some(trail), Some(sent)) = (recorder, handled.trail, sent) {
            let outside = self.outside(handled.busy, [&received, &sent]);
            let trail = trail.or_wall(app);
            recorder.keep(&name(&call), &received, &trail, &sent, outside);
        }
        Ok(())
    }

    /// Calls the handler.
    fn handle(&mut self, call: &ThriftCall, job: &Job, oneway: bool) -> Result<Handled, Close> {
        let start = Instant::now();
        let mut carried = self.carried(call.function);
        let lent = match oneway {
            true => None,
            false => self.lend(call)?,
        };
        let caller = lent.clone();
        carried.caller = caller.map(|lent| -> Arc<Mutex<dyn Answering>> { lent });
        let recorded = self.shared.observers.records();
        let (shared, schema, peer) = (self.shared, self.schema, &self.peer.peer);
        let context = self.span.as_ref().map(RequestSpan::context);
        let handle = || handle(shared, schema, peer, (call, job), context, &carried);
        let handle = || self.place.busy(|| trail::follow(recorded, handle));
        let ((result, trail), busy) = match &mut self.uncharged {
            Some(uncharged) => {
                let (done, busy) = timed(handle);
                *uncharged += busy;
                (done, busy)
            }
            None => shared.observers.timed(handle),
        };
        let app = start.elapsed();
        let by_trace = lent.and_then(|lent| {
            let (conversation, answered) = take_back(&lent);
            self.conversation = conversation;
            answered
        });
        shared.observers.metrics.handler(app);
        shared.dispatch.took(call.function, app);
        if let Some(span) = &mut self.span {
            span.add_handler(start, app);
        }
        Ok(Handled {
            start,
            app,
            busy,
            result,
            trail,
            by_trace,
        })
    }

    /// Returns the processor time of this thread since the last answer, minus the handler's time
    /// `handler` and the steps of `runs`. `None` for the first message, whose time includes the
    /// connection's setup.
    fn outside(&self, handler: Duration, runs: [&TraceRun; 2]) -> Option<Duration> {
        let spent = thread_time().checked_sub(self.since?)?;
        let steps_ns: f64 = runs.iter().flat_map(|run| &run.costs_ns).sum();
        let steps = Duration::from_nanos(steps_ns as u64);
        Some(spent.saturating_sub(handler).saturating_sub(steps))
    }

    /// Lends the connection to the handler's calls, if the ensemble may answer the client.
    fn lend(&mut self, call: &ThriftCall) -> Result<Option<Arc<Mutex<LentCaller>>>, Close> {
        if !self.shared.config.errors_to_caller {
            return Ok(None);
        }
        // Waiting replies are sent first.
        self.flush()?;
        Ok(Some(Arc::new(Mutex::new(LentCaller {
            shared: self.shared.clone(),
            stream: self.stream.clone(),
            traces: self.traces.clone(),
            terms: self.terms,
            call: call.clone(),
            conversation: std::mem::take(&mut self.conversation),
            answered: None,
            closed: false,
        }))))
    }

    /// Records the run of an error subtrace that has answered the request. The handler's result is
    /// not sent.
    fn answered_by_trace(
        &mut self,
        call: &ThriftCall,
        run: Result<TraceRun, Close>,
    ) -> Result<TraceRun, Close> {
        self.ended(call, "error_by_trace");
        let mut run = run?;
        if let Some(span) = &mut self.span {
            span.add(&run);
        }
        self.write_out(&mut run)?;
        Ok(run)
    }

    /// The context that the handler's calls inherit. From here on the request has the deadline of
    /// its function.
    fn carried(&mut self, function: FunctionId) -> Carried {
        let (dispatch, tenants) = (&self.shared.dispatch, &self.shared.admission.tenants);
        self.terms.due = dispatch.due(function, self.begun, self.terms.due);
        let limit = tenants
            .as_ref()
            .and_then(|all| all.chains(self.terms.tenant));
        let terms = Terms {
            due: dispatch.part_due(Some(function), Part::Handle, self.terms.due),
            ..self.terms
        };
        Carried::new(terms, limit)
    }

    /// Replies with the handler's result. Returns the trace run that sent it.
    fn reply_with(
        &mut self,
        call: &ThriftCall,
        result: Result<Body, Refusal>,
        compressed: bool,
    ) -> Result<Option<TraceRun>, Close> {
        match result {
            Ok(body) => {
                let compress = match self.shared.config.compression {
                    Compression::Never => false,
                    Compression::LikeRequest => compressed,
                    Compression::Always => true,
                };
                self.send_result(call, compress, body, "ok")
            }
            Err(Refusal::Declared(body)) => {
                self.send_result(call, false, body, "exception")?;
                Ok(None)
            }
            Err(Refusal::Unfit(why)) => {
                self.send_unfit(call, &why)?;
                Ok(None)
            }
            Err(Refusal::Rpc(kind, why)) => {
                let label = match kind {
                    UNKNOWN_METHOD => "no_handler",
                    _ => "handler_failed",
                };
                self.ended(call, label);
                self.report(call, kind, label, &why)?;
                Ok(None)
            }
            Err(Refusal::Logged { id, why }) => {
                self.ended(call, "handler_failed");
                let text = self
                    .shared
                    .observers
                    .reports
                    .client_text("handler_failed", &id, &why);
                self.send_exception(call, INTERNAL_ERROR, &text)?;
                Ok(None)
            }
        }
    }

    /// Sends a result and returns the trace run that sent it, or sends the client the reason why it
    /// cannot be encoded.
    fn send_result(
        &mut self,
        call: &ThriftCall,
        compress: bool,
        body: Body,
        label: &'static str,
    ) -> Result<Option<TraceRun>, Close> {
        match self.send(compress, call.reply(), body) {
            Ok(mut run) => {
                self.ended(call, label);
                if let Some(span) = &mut self.span {
                    span.add(&run);
                }
                self.write_out(&mut run)?;
                Ok(Some(run))
            }
            Err(error) => {
                self.send_unfit(call, &error.to_string())?;
                Ok(None)
            }
        }
    }
}
