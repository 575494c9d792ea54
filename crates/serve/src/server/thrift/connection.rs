//! A Thrift connection: messages in, T1, the handler, T2 or T3, replies out.

use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use accelflow_accel::Call;
use accelflow_accel::rpc::{MessageType, ThriftCall};
use accelflow_accel::thrift::{FunctionId, Schema};
use accelflow_accel::tls::{self as records, ContentType};
use accelflow_runtime::{Conversation, Message, Terms, trail};
use accelflow_trace::Accel;
use serde_json::json;

use super::body::{Body, INTERNAL_ERROR, INVALID_MESSAGE_TYPE, Refusal, UNKNOWN_METHOD, handle};
use super::caller::{LentCaller, take_back};
use super::outbound::Outbound;
use crate::config::Compression;
use crate::memory::buffers;
use crate::memory::wipe::Wiped;
use crate::observe::metrics::{Counters, name};
use crate::observe::run::TraceRun;
use crate::observe::telemetry::RequestSpan;
use crate::scope::{Answering, Carried};
use crate::server::executors::RunError;
use crate::server::greeting::Greeted;
use crate::server::pace::Part;
use crate::server::peer::PeerAdmission;
use crate::server::places::Place;
use crate::server::shared::Shared;
use crate::server::traces::ServerImage;
use crate::transport::close::Close;
use crate::transport::inbound::{Inbound, frame_length, whole_records};
use crate::transport::socket::{is_timeout, write_all};
use crate::transport::tls::alerts;
use crate::transport::tls::control::Control;

/// A connection that speaks framed Thrift.
pub(crate) struct Connection<'s> {
    pub(super) shared: &'s Arc<Shared>,
    pub(super) schema: &'s Schema,
    place: &'s Arc<Place>,
    stream: &'s TcpStream,
    pub(super) peer: PeerAdmission<'s>,
    /// The traces of the message that is being answered.
    traces: Arc<ServerImage>,
    inbound: Inbound,
    conversation: Conversation,
    /// The control path of TLS, on a connection that has it.
    control: Option<Control>,
    /// Plaintext that the core has opened because records and messages do not end together.
    opened: Inbound,
    /// Whether the last records did not end with a message. The core then opens the next ones, too,
    /// since Decr would probably fail.
    has_unaligned_records: bool,
    /// Whether the client sends nothing more. Requests that came before are still answered.
    client_is_done: bool,
    /// Replies that wait to be written with the next one.
    outbound: Outbound,
    counters: Counters,
    /// Time of the system calls that received the message, if requests are recorded.
    receiving: Duration,
    /// Processor time of this thread when the last message had been answered, if requests are
    /// recorded.
    since: Option<Duration>,
    /// The terms of the tenant, and of the message that is being answered.
    terms: Terms,
    /// When that message began to be received.
    begun: Instant,
    /// The span of the message that is being answered, if spans are made.
    span: Option<RequestSpan>,
}

/// Where the next message lies.
enum Next {
    /// In this many received bytes.
    Received(usize),
    /// In this many bytes of plaintext that the core has opened.
    Opened(usize),
}

impl<'s> Connection<'s> {
    pub(crate) fn new(
        shared: &'s Arc<Shared>,
        schema: &'s Schema,
        place: &'s Arc<Place>,
        peer: PeerAdmission<'s>,
        greeted: Greeted,
    ) -> Self {
        Connection {
            shared,
            schema,
            place,
            stream: &place.stream,
            traces: shared.traces.now(),
            inbound: greeted.inbound,
            conversation: greeted.conversation,
            control: greeted.control,
            opened: Inbound::unused(),
            has_unaligned_records: false,
            client_is_done: false,
            outbound: Outbound::default(),
            counters: Counters::default(),
            receiving: Duration::ZERO,
            since: None,
            terms: Terms {
                tenant: peer.peer.tenant,
                ..Terms::default()
            },
            peer,
            begun: Instant::now(),
            span: None,
        }
    }

    /// Serves the connection to its end; returns why it ended.
    pub(crate) fn run(mut self) -> Close {
        let close = match self.serve() {
            Ok(never) => match never {},
            Err(close) => close,
        };
        // Writing fails if the client is gone, which does not matter any more.
        let _ = self.flush();
        if let Some(session) = &mut self.conversation.session.tls
            && let Some(bye) = alerts::farewell(session, &close, self.shared.limits())
        {
            let _ = self.write(&bye);
            if alerts::is_fatal(&close) {
                alerts::linger(self.stream);
            }
        }
        close
    }

    fn serve(&mut self) -> Result<std::convert::Infallible, Close> {
        let config = &self.shared.config;
        let patience = Some(config.first_byte_timeout.min(config.idle_timeout));
        self.stream.set_read_timeout(patience).map_err(Close::Io)?;
        let mut first = Some(self.next().map_err(Close::before_anything)?);
        let patience = Some(config.idle_timeout);
        self.stream.set_read_timeout(patience).map_err(Close::Io)?;
        loop {
            let next = first.take().map_or_else(|| self.next(), Ok)?;
            let (Next::Received(bytes) | Next::Opened(bytes)) = next;
            self.pass(bytes)?;
            self.traces = self.shared.traces.now();
            self.begun = Instant::now();
            let answered = match next {
                Next::Received(bytes) => self.run_received(bytes),
                Next::Opened(bytes) => self.run_opened(bytes),
            };
            if let (Some(spans), Some(span)) = (&self.shared.observers.spans, self.span.take()) {
                spans.emit(span);
            }
            answered?;
            self.since = self.shared.observers.records().then(trail::thread_time);
            if self.shared.admission.is_stopping() && self.is_between_messages() {
                return Err(Close::Drained);
            }
        }
    }

    /// Waits until the tenant's shaper lets a message of `bytes` pass.
    fn pass(&mut self, bytes: usize) -> Result<(), Close> {
        if let Some(tenants) = &self.shared.admission.tenants {
            self.flush()?;
            let pass = || tenants.pass(self.terms.tenant, bytes);
            let terms = self.place.busy(pass);
            self.terms = terms.ok_or(Close::Stopped)?;
        } else {
            self.terms.due = None;
        }
        Ok(())
    }

    fn is_between_messages(&self) -> bool {
        self.inbound.is_empty() && self.opened.is_empty()
    }

    /// Waits for a whole message.
    fn next(&mut self) -> Result<Next, Close> {
        let mut begun = None;
        loop {
            if let Some(next) = self.look()? {
                if begun.is_some() {
                    let patience = Some(self.shared.config.idle_timeout);
                    self.stream.set_read_timeout(patience).map_err(Close::Io)?;
                }
                return Ok(next);
            }
            self.flush()?;
            let between = self.is_between_messages();
            if !between {
                let begun = *begun.get_or_insert_with(Instant::now);
                let left = self.shared.config.message_timeout;
                let left = left.saturating_sub(begun.elapsed());
                if left.is_zero() {
                    return Err(Close::Slow("message"));
                }
                self.stream
                    .set_read_timeout(Some(left))
                    .map_err(Close::Io)?;
            }
            let stream = self.stream;
            let (filled, spent) = self
                .shared
                .observers
                .timed(|| self.inbound.fill(&mut { stream }));
            self.receiving += spent;
            match filled {
                Ok(0) if between => return Err(Close::Done),
                Ok(0) => return Err(Close::Cut),
                Ok(_) => {}
                Err(error) if is_timeout(&error) && between => return Err(Close::Idle),
                Err(error) if is_timeout(&error) => return Err(Close::Slow("message")),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Close::Io(error)),
            }
        }
    }

    /// Looks for a whole message in the received bytes.
    fn look(&mut self) -> Result<Option<Next>, Close> {
        let limits = self.shared.limits();
        if self.control.is_none() {
            let length = frame_length(self.inbound.bytes(), limits)?;
            if let Some(length) = length {
                self.inbound.expect(length);
            }
            let length = length.filter(|length| *length <= self.inbound.bytes().len());
            return Ok(length.map(Next::Received));
        }
        loop {
            if !self.opened.is_empty() {
                let opened = self.opened.bytes();
                let length = frame_length(opened, limits)?;
                if let Some(length) = length.filter(|length| *length <= opened.len()) {
                    return Ok(Some(Next::Opened(length)));
                }
            }
            match (self.client_is_done, self.opened.is_empty()) {
                (true, true) => return Err(Close::Done),
                (true, false) => return Err(Close::Cut),
                (false, _) => {}
            }
            let records = whole_records(self.inbound.bytes())?;
            if records.bytes == 0 {
                return Ok(None);
            }
            if self.opened.is_empty() {
                match records.first_run {
                    Some(run) if self.has_unaligned_records => self.open_run(run)?,
                    Some(run) => return Ok(Some(Next::Received(run))),
                    None if self.has_unaligned_records => self.open_record()?,
                    None => {
                        let more = self.inbound.bytes().len() > records.bytes;
                        if more && records.bytes <= limits.max_message_bytes {
                            return Ok(None);
                        }
                        self.open_record()?;
                    }
                }
            } else {
                self.open_record()?;
            }
        }
    }

    /// Opens a run of records on the core. If they are one message, the next run may be one, too.
    fn open_run(&mut self, bytes: usize) -> Result<(), Close> {
        let end = self.inbound.bytes().len() - bytes;
        while self.inbound.bytes().len() > end && !self.client_is_done {
            self.open_record()?;
        }
        let opened = self.opened.bytes();
        if !opened.is_empty() {
            let length = frame_length(opened, self.shared.limits())?;
            self.has_unaligned_records = length != Some(opened.len());
        }
        Ok(())
    }

    /// Opens one record on the core.
    fn open_record(&mut self) -> Result<(), Close> {
        let (Some(session), Some(control)) =
            (&mut self.conversation.session.tls, &mut self.control)
        else {
            return Ok(());
        };
        let bytes = self.inbound.bytes_mut();
        let (kind, inside, end) = records::open_first_in_place(&mut session.read, bytes)?;
        let content = &bytes[inside];
        if kind == ContentType::ApplicationData {
            self.opened.append(content);
            self.inbound.consume(end);
        } else {
            let limits = self.shared.limits();
            let handled = control.handle_control(session, kind, content, limits);
            self.inbound.consume(end);
            self.client_is_done = matches!(handled, Err(Close::Done));
            return match self.client_is_done {
                true => Ok(()),
                false => self.write(&handled?),
            };
        }
        Ok(())
    }

    fn run_received(&mut self, bytes: usize) -> Result<(), Close> {
        let message = Message {
            terms: self.receiving_terms(),
            ..Message::received(&self.inbound.bytes()[..bytes])
        };
        let (executors, traces) = (&self.shared.executors, &self.traces);
        let error = match executors.run(traces, &traces.receive, &message, &mut self.conversation) {
            Ok(run) => {
                self.inbound.consume(bytes);
                return self.answer(run);
            }
            Err(error) => error,
        };
        if self.control.is_none() {
            let frame = Wiped::new(self.inbound.bytes()[..bytes].to_vec());
            self.inbound.consume(bytes);
            return self.refuse(&frame, &error);
        }
        // The failed run has left the keys as they were, so the core can open the records.
        self.open_run(bytes)?;
        // The core has handled what stopped Decr, such as a key update: the message may be good.
        if self.opened.is_empty() || self.has_unaligned_records || error.is_at(Accel::Decr) {
            return Ok(());
        }
        let frame = Wiped::new(self.opened.bytes().to_vec());
        self.opened.consume(usize::MAX);
        self.refuse(&frame, &error)
    }

    /// Runs T1 on a message that the core has opened, so that Decr has nothing to do.
    fn run_opened(&mut self, bytes: usize) -> Result<(), Close> {
        let metrics = &self.shared.observers.metrics;
        metrics.fallback(&self.traces.receive, "unaligned_records");
        let message = Message {
            terms: self.receiving_terms(),
            ..Message::opened(&self.opened.bytes()[..bytes])
        };
        let (executors, traces) = (&self.shared.executors, &self.traces);
        match executors.run(traces, &traces.receive, &message, &mut self.conversation) {
            Ok(run) => {
                self.opened.consume(bytes);
                self.answer(run)
            }
            Err(error) => {
                let frame = Wiped::new(self.opened.bytes()[..bytes].to_vec());
                self.opened.consume(bytes);
                self.refuse(&frame, &error)
            }
        }
    }

    /// Calls the handler with the arguments that T1 delivered, and replies.
    fn answer(&mut self, mut received: TraceRun) -> Result<(), Close> {
        received.add_socket(std::mem::take(&mut self.receiving));
        let arrival = received.outcome.arrivals.drain(..).next();
        let Some(mut job) = arrival.map(|arrival| arrival.job) else {
            return Err(Close::Failed("T1 notified no core".to_owned()));
        };
        let Call::Thrift(call) = std::mem::take(&mut job.call) else {
            return Err(Close::Failed("T1 found no RPC message".to_owned()));
        };
        if let Some(spans) = &self.shared.observers.spans {
            let tenant = self.terms.tenant;
            let span = spans.begin(
                &name(&call),
                self.peer.peer.address,
                tenant,
                &received,
                None,
            );
            self.span = Some(span);
        }
        if !matches!(call.message_type, MessageType::Call | MessageType::Oneway) {
            self.ended(&call, "invalid_message_type");
            let why = "only calls are answered";
            return self.send_exception(&call, INVALID_MESSAGE_TYPE, why);
        }
        if !self.shared.dispatch.is_quick(call.function) {
            self.flush()?;
        }
        let start = Instant::now();
        let oneway = call.message_type == MessageType::Oneway || self.is_oneway(call.function);
        let mut carried = self.carried(call.function);
        let lent = match oneway {
            true => None,
            false => self.lend(&call)?,
        };
        carried.caller = lent
            .clone()
            .map(|lent| -> Arc<Mutex<dyn Answering>> { lent });
        let recorded = self.shared.observers.records();
        let (shared, schema, peer) = (self.shared, self.schema, &self.peer.peer);
        let context = self.span.as_ref().map(RequestSpan::context);
        let handle = || handle(shared, schema, peer, (&call, &job), context, &carried);
        let handle = || self.place.busy(|| trail::follow(recorded, handle));
        let ((result, trail), handler) = shared.observers.timed(handle);
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
        let compressed = job.facts.get("compressed") == Some(1);
        buffers::give_back(std::mem::take(&mut job.bytes));
        if oneway {
            let label = match result {
                Ok(_) => "oneway",
                Err(_) => "oneway_failed",
            };
            self.ended(&call, label);
            return Ok(());
        }
        let sent = match by_trace {
            Some(run) => Some(self.answered_by_trace(&call, run?)?),
            None => self.reply_with(&call, result, compressed)?,
        };
        if self.terms.due.is_some() {
            let respond = start.elapsed().saturating_sub(app);
            let spent = [start - self.begun, app, respond];
            shared.dispatch.learn(call.function, spent);
        }
        if let (Some(recorder), Some(trail), Some(sent)) = (&shared.observers.recorder, trail, sent)
        {
            let outside = self.outside(handler, [&received, &sent]);
            let trail = trail.or_wall(app);
            recorder.keep(&name(&call), &received, &trail, &sent, outside);
        }
        Ok(())
    }

    /// The processor time of this thread since the last answer outside of the handler, which took
    /// `handler`, and the steps of `runs`; `None` for the first message, before which the connection
    /// was set up.
    fn outside(&self, handler: Duration, runs: [&TraceRun; 2]) -> Option<Duration> {
        let spent = trail::thread_time().checked_sub(self.since?)?;
        let steps_ns: f64 = runs.iter().flat_map(|run| &run.costs_ns).sum();
        let steps = Duration::from_nanos(steps_ns as u64);
        Some(spent.saturating_sub(handler).saturating_sub(steps))
    }

    /// Lends the connection to what the handler does, if the ensemble may answer its client.
    fn lend(&mut self, call: &ThriftCall) -> Result<Option<Arc<Mutex<LentCaller>>>, Close> {
        if !self.shared.config.errors_to_caller {
            return Ok(None);
        }
        // Whatever is written next comes after the replies that wait.
        self.flush()?;
        Ok(Some(Arc::new(Mutex::new(LentCaller {
            shared: self.shared.clone(),
            place: self.place.clone(),
            traces: self.traces.clone(),
            terms: self.terms,
            call: call.clone(),
            conversation: std::mem::take(&mut self.conversation),
            answered: None,
            closed: false,
        }))))
    }

    /// Notes that an error subtrace has answered the request; what the handler returns is not sent.
    fn answered_by_trace(
        &mut self,
        call: &ThriftCall,
        mut run: TraceRun,
    ) -> Result<TraceRun, Close> {
        self.ended(call, "error_by_trace");
        if let Some(span) = &mut self.span {
            span.add(&run);
        }
        self.write_out(&mut run)?;
        Ok(run)
    }

    /// The terms of T1, which gets its part of the request's time.
    fn receiving_terms(&self) -> Terms {
        let dispatch = &self.shared.dispatch;
        Terms {
            due: dispatch.part_due(None, Part::Receive, self.terms.due),
            ..self.terms
        }
    }

    /// What the calls of the handler keep. From now on the request is due when its function says.
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

    /// Replies with the handler's result; returns the trace run that sent it.
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

    /// Counts a request under its result.
    pub(super) fn ended(&mut self, call: &ThriftCall, result: &'static str) {
        self.counters
            .count(&self.shared.observers.metrics, call, result);
        if let Some(span) = &mut self.span {
            span.result = result;
        }
    }

    /// Sends a result and returns the trace run that sent it, or tells the client why it cannot be
    /// sent.
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

    /// Whether the interface declares a function oneway. Some libraries, such as Apache Thrift's
    /// for Go, send oneway requests as calls.
    pub(super) fn is_oneway(&self, function: FunctionId) -> bool {
        let function = self.schema.function(function);
        function.is_some_and(|function| function.oneway)
    }

    pub(super) fn send_exception(
        &mut self,
        call: &ThriftCall,
        kind: i32,
        why: &str,
    ) -> Result<(), Close> {
        let body = json!({"message": why, "type": kind}).to_string();
        let body = Body::json(body.into_bytes());
        let sent = self.send(false, call.exception(), body);
        let mut run = sent.map_err(|error| Close::Failed(error.to_string()))?;
        self.write_out(&mut run)
    }

    /// Runs T2 or T3.
    fn send(&mut self, compress: bool, call: ThriftCall, body: Body) -> Result<TraceRun, RunError> {
        let message = Message {
            terms: self.terms,
            record: body.record,
            ..Message::json(&[], Call::Thrift(call))
        };
        let (executors, traces) = (&self.shared.executors, &self.traces);
        let trace = match compress {
            true => &traces.send_compressed,
            false => &traces.send,
        };
        executors.run_on(traces, trace, body.bytes, &message, &mut self.conversation)
    }

    fn write_out(&mut self, run: &mut TraceRun) -> Result<(), Close> {
        let shared = self.shared;
        for sent in std::mem::take(&mut run.outcome.sent) {
            let (written, spent) = shared.observers.timed(|| self.reply(&sent.bytes));
            buffers::give_back(sent.bytes);
            written?;
            run.add_socket(spent);
        }
        let limits = shared.limits();
        if let (Some(session), Some(control)) =
            (&mut self.conversation.session.tls, &mut self.control)
        {
            let update = control.refresh(session, limits)?;
            self.write(&update)?;
        }
        Ok(())
    }

    /// Writes a reply, or lets it wait for the next one if more requests have arrived.
    fn reply(&mut self, bytes: &[u8]) -> Result<(), Close> {
        // A recording has the cost of writing for each request.
        let alone = self.is_between_messages() || self.shared.observers.records();
        if alone && self.outbound.is_empty() {
            return self.write(bytes);
        }
        if !self.outbound.add(bytes) {
            self.flush()?;
            if !self.outbound.add(bytes) {
                return self.write(bytes);
            }
        }
        Ok(())
    }

    /// Writes the waiting replies.
    fn flush(&mut self) -> Result<(), Close> {
        if self.outbound.is_empty() {
            return Ok(());
        }
        let deadline = Instant::now() + self.shared.config.write_timeout;
        let written = write_all(self.stream, self.outbound.bytes(), deadline, "reply");
        self.outbound.clear();
        written
    }

    /// Writes at once, after the waiting replies.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Close> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.flush()?;
        let deadline = Instant::now() + self.shared.config.write_timeout;
        write_all(self.stream, bytes, deadline, "reply")
    }
}
