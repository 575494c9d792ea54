//! One connection: messages in, T1, the handler, T2 or T3, replies out.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use accelflow_accel::rpc::{self, MessageType, ThriftCall};
use accelflow_accel::thrift::FunctionId;
use accelflow_accel::tls::{self as records, ContentType};
use accelflow_accel::{Call, Job};
use accelflow_runtime::{Conversation, Message, Terms, trail};
use accelflow_trace::Accel;
use serde_json::json;

use crate::config::Compression;
use crate::error::Close;
use crate::executors::RunError;
use crate::handler::{HandlerError, Request};
use crate::http2;
use crate::inbound::{Inbound, frame_length, whole_records};
use crate::otel::RequestSpan;
use crate::recorder::Ran;
use crate::server::Shared;
use crate::tls::{self, Control, is_timeout, write_all};
use crate::traces::{OVER_TLS, PLAIN, TraceNames};
use crate::wipe::{Wiped, wipe_all};

/// `TApplicationException` types (Apache Thrift).
const UNKNOWN_METHOD: i32 = 1;
const INVALID_MESSAGE_TYPE: i32 = 2;
const INTERNAL_ERROR: i32 = 6;
const PROTOCOL_ERROR: i32 = 7;

pub(crate) struct Connection<'s> {
    shared: &'s Arc<Shared>,
    stream: &'s TcpStream,
    peer: SocketAddr,
    names: TraceNames,
    inbound: Inbound,
    conversation: Conversation,
    /// The control path of TLS, on a connection that has it.
    control: Option<Control>,
    /// Plaintext that the core has opened because records and messages do not end together.
    opened: Wiped,
    /// What the system calls that received the message took, if that is recorded.
    receiving: Duration,
    /// Of its tenant, and of the message that is being answered.
    terms: Terms,
    /// Of the message that is being answered, if spans are made.
    span: Option<RequestSpan>,
}

/// Where the next message lies.
enum Next {
    /// In this many received bytes.
    Received(usize),
    /// In this many bytes that the core has opened.
    Opened(usize),
}

impl<'s> Connection<'s> {
    pub(crate) fn new(
        shared: &'s Arc<Shared>,
        stream: &'s TcpStream,
        peer: SocketAddr,
        tenant: u16,
    ) -> Self {
        Connection {
            shared,
            stream,
            peer,
            names: PLAIN,
            inbound: Inbound::new(),
            conversation: Conversation::default(),
            control: None,
            opened: Wiped::default(),
            receiving: Duration::ZERO,
            terms: Terms {
                tenant,
                ..Terms::default()
            },
            span: None,
        }
    }

    /// Serves the connection to its end and says why it ended.
    pub(crate) fn run(mut self) -> Close {
        let close = match self.serve() {
            Ok(never) => match never {},
            Err(close) => close,
        };
        if let Some(session) = &mut self.conversation.session.tls
            && let Some(bye) = tls::close_notify(session, &self.shared.settings.limits)
        {
            // The client may be gone, which is no news by now.
            let _ = self.write(&bye);
        }
        close
    }

    fn serve(&mut self) -> Result<std::convert::Infallible, Close> {
        let config = &self.shared.config;
        self.stream.set_nodelay(true).map_err(Close::Io)?;
        let patience = Some(config.write_timeout);
        self.stream.set_write_timeout(patience).map_err(Close::Io)?;
        if let Some(identity) = &self.shared.identity {
            let deadline = Instant::now() + config.handshake_timeout;
            let (session, control) =
                tls::accept(identity, self.stream, &mut self.inbound, deadline)?;
            self.conversation.session.tls = Some(session);
            self.control = Some(control);
            self.names = OVER_TLS;
        }
        if let Some(gateway) = &self.shared.gateway {
            let inbound = std::mem::replace(&mut self.inbound, Inbound::new());
            let conversation = std::mem::take(&mut self.conversation);
            let (shared, stream, control) = (self.shared, self.stream, self.control.take());
            return http2::serve(
                shared,
                gateway,
                stream,
                self.peer,
                inbound,
                conversation,
                control,
            );
        }
        let patience = Some(config.idle_timeout);
        self.stream.set_read_timeout(patience).map_err(Close::Io)?;
        loop {
            let next = self.next()?;
            let (Next::Received(bytes) | Next::Opened(bytes)) = next;
            self.pass(bytes)?;
            let answered = match next {
                Next::Received(bytes) => self.run_received(bytes),
                Next::Opened(bytes) => self.run_opened(bytes),
            };
            if let (Some(spans), Some(span)) = (&self.shared.spans, self.span.take()) {
                spans.emit(span, None);
            }
            answered?;
            if self.shared.stopping.load(Ordering::Relaxed) && self.is_between_messages() {
                return Err(Close::Done);
            }
        }
    }

    /// Waits until the tenant may have a message of so many bytes pass.
    fn pass(&mut self, bytes: usize) -> Result<(), Close> {
        if let Some(tenants) = &self.shared.tenants {
            let terms = tenants.pass(self.terms.tenant, bytes);
            self.terms = terms.ok_or(Close::Stopped)?;
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
            let (filled, spent) = self.shared.timed(|| self.inbound.fill(&mut { stream }));
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

    /// Looks for a whole message in what has come.
    fn look(&mut self) -> Result<Option<Next>, Close> {
        let limits = &self.shared.settings.limits;
        if self.control.is_none() {
            let bytes = self.inbound.bytes();
            let length = frame_length(bytes, limits)?.filter(|length| *length <= bytes.len());
            return Ok(length.map(Next::Received));
        }
        loop {
            if !self.opened.is_empty() {
                let length = frame_length(&self.opened, limits)?;
                if let Some(length) = length.filter(|length| *length <= self.opened.len()) {
                    return Ok(Some(Next::Opened(length)));
                }
            }
            let records = whole_records(self.inbound.bytes())?;
            if records.bytes == 0 {
                return Ok(None);
            }
            let more = self.inbound.bytes().len() > records.bytes;
            if self.opened.is_empty() {
                // Nearly every client sends a message as one run of records of its own: full
                // ones and a last one that is not.
                if !more && !records.last_is_full {
                    return Ok(Some(Next::Received(records.bytes)));
                }
                if more && records.last_is_full && records.bytes <= limits.max_message_bytes {
                    return Ok(None);
                }
            }
            self.open_record()?;
        }
    }

    /// Opens one record on the core.
    fn open_record(&mut self) -> Result<(), Close> {
        let (Some(session), Some(control)) =
            (&mut self.conversation.session.tls, &mut self.control)
        else {
            return Ok(());
        };
        let mut content = Wiped::new(Vec::with_capacity(records::MAX_PLAINTEXT + 256));
        let bytes = self.inbound.bytes();
        let (kind, end) = records::open_first(&mut session.read, bytes, &mut content)?;
        self.inbound.consume(end);
        if kind != ContentType::ApplicationData {
            let limits = &self.shared.settings.limits;
            let reply = control.obey(session, kind, &content, limits)?;
            return self.write(&reply);
        }
        // A vector that grows in place may leave a copy behind.
        let mut joined = Vec::with_capacity(self.opened.len() + content.len());
        joined.extend_from_slice(&self.opened);
        joined.extend_from_slice(&content);
        self.opened = Wiped::new(joined);
        Ok(())
    }

    fn run_received(&mut self, bytes: usize) -> Result<(), Close> {
        let message = Message {
            terms: self.terms,
            ..Message::received(&self.inbound.bytes()[..bytes])
        };
        let executors = &self.shared.executors;
        let error = match executors.run(self.names.receive, &message, &mut self.conversation) {
            Ok(ran) => {
                self.inbound.consume(bytes);
                return self.answer(ran);
            }
            Err(error) => error,
        };
        if self.control.is_none() {
            let frame = Wiped::new(self.inbound.bytes()[..bytes].to_vec());
            self.inbound.consume(bytes);
            return self.refuse(&frame, &error);
        }
        // The run has left the keys as they were: the core looks at what is in the records.
        let end = self.inbound.bytes().len() - bytes;
        while self.inbound.bytes().len() > end {
            self.open_record()?;
        }
        let limits = &self.shared.settings.limits;
        let whole = !self.opened.is_empty()
            && frame_length(&self.opened, limits)? == Some(self.opened.len());
        // What stopped Decr, such as a key update, is done: the message may well be good.
        if !whole || error.is_at(Accel::Decr) {
            return Ok(());
        }
        let frame = std::mem::take(&mut self.opened);
        self.refuse(&frame, &error)
    }

    /// Runs T1 on a message that the core has opened: Decr finds it done.
    fn run_opened(&mut self, bytes: usize) -> Result<(), Close> {
        let frame = Wiped::new(self.opened[..bytes].to_vec());
        self.opened = Wiped::new(self.opened[bytes..].to_vec());
        let metrics = &self.shared.metrics;
        metrics.fallback(self.names.receive, "unaligned_records");
        if let Some(session) = &mut self.conversation.session.tls {
            session.ahead = frame.to_vec();
        }
        let message = Message {
            terms: self.terms,
            ..Message::received(&[])
        };
        let executors = &self.shared.executors;
        match executors.run(self.names.receive, &message, &mut self.conversation) {
            Ok(ran) => self.answer(ran),
            Err(error) => {
                if let Some(session) = &mut self.conversation.session.tls {
                    wipe_all(&mut session.ahead);
                }
                self.refuse(&frame, &error)
            }
        }
    }

    /// Calls the handler with what T1 delivered, and replies.
    fn answer(&mut self, mut received: Ran) -> Result<(), Close> {
        received.add_socket(std::mem::take(&mut self.receiving));
        let arrival = received.outcome.arrivals.drain(..).next();
        let Some(mut job) = arrival.map(|it| it.job) else {
            return Err(Close::Failed("T1 notified no core".to_owned()));
        };
        let Call::Thrift(call) = std::mem::take(&mut job.call) else {
            return Err(Close::Failed("T1 found no RPC message".to_owned()));
        };
        let function = format!("{}.{}", call.service, call.method);
        let metrics = &self.shared.metrics;
        if self.shared.spans.is_some() {
            let tenant = self.terms.tenant;
            self.span = Some(RequestSpan::new(&function, self.peer, tenant, &received));
        }
        if !matches!(call.message_type, MessageType::Call | MessageType::Oneway) {
            self.ended(&function, "invalid_message_type");
            let why = "only calls are answered";
            return self.send_exception(&call, INVALID_MESSAGE_TYPE, why);
        }
        let start = Instant::now();
        let recorded = self.shared.recorder.is_some();
        let (result, trail) = trail::follow(recorded, || self.handle(&call, &job));
        let app = start.elapsed();
        metrics.handler(app);
        if let Some(span) = &mut self.span {
            span.add_handler(start, app);
        }
        let compressed = job.facts.get("compressed") == Some(1);
        wipe_all(&mut job.bytes);
        if call.message_type == MessageType::Oneway || self.is_oneway(call.function) {
            let label = if result.is_ok() {
                "oneway"
            } else {
                "oneway_failed"
            };
            self.ended(&function, label);
            return Ok(());
        }
        match result {
            Ok(body) => {
                let compress = match self.shared.config.compression {
                    Compression::Never => false,
                    Compression::LikeRequest => compressed,
                    Compression::Always => true,
                };
                let trace = match compress {
                    true => self.names.send_compressed,
                    false => self.names.send,
                };
                let sent = self.send_result(&function, &call, trace, body, "ok")?;
                if let (Some(recorder), Some(trail), Some(sent)) =
                    (&self.shared.recorder, trail, sent)
                {
                    recorder.keep(&function, &received, &trail.or_wall(app), &sent);
                }
                Ok(())
            }
            Err(Refusal::Declared(body)) => {
                self.send_result(&function, &call, self.names.send, body, "exception")?;
                Ok(())
            }
            Err(Refusal::Rpc(kind, why)) => {
                let label = match kind {
                    UNKNOWN_METHOD => "no_handler",
                    _ => "handler_failed",
                };
                self.ended(&function, label);
                self.send_exception(&call, kind, &why)
            }
        }
    }

    /// The JSON of the result struct.
    fn handle(&self, call: &ThriftCall, job: &Job) -> Result<Vec<u8>, Refusal> {
        let Some(handler) = self.shared.handlers.get(call.function) else {
            let why = format!("no handler for {}.{}", call.service, call.method);
            return Err(Refusal::Rpc(UNKNOWN_METHOD, why));
        };
        let request = Request {
            service: &call.service,
            method: &call.method,
            arguments: &job.bytes,
            facts: &job.facts,
            peer: self.peer,
            core: job.core,
            deadline: None,
        };
        let called = catch_unwind(AssertUnwindSafe(|| self.shared.call(handler, &request)));
        let internal = |why: String| Refusal::Rpc(INTERNAL_ERROR, why);
        let value = match called {
            Err(_) => return Err(internal("the handler panicked".to_owned())),
            Ok(Ok(value)) => value,
            Ok(Err(HandlerError::Internal(why))) => return Err(internal(why)),
            Ok(Err(HandlerError::Declared { field, body })) => {
                return Err(Refusal::Declared(member(&field, &body)));
            }
        };
        let schema = &self.shared.settings.schema;
        let returns = schema.function(call.function).is_some_and(|function| {
            let result = schema.get(function.result);
            result.fields.first().is_some_and(|field| field.id == 0)
        });
        match (returns, value.is_empty()) {
            (false, _) => Ok(b"{}".to_vec()),
            (true, false) => Ok(member("success", &value)),
            (true, true) => Err(internal("the handler returned nothing".to_owned())),
        }
    }

    /// Counts how a request ended.
    fn ended(&mut self, function: &str, result: &'static str) {
        self.shared.metrics.request(function, result);
        if let Some(span) = &mut self.span {
            span.result = result;
        }
    }

    /// Sends a result, and tells what that took; or says why it cannot be sent.
    fn send_result(
        &mut self,
        function: &str,
        call: &ThriftCall,
        trace: &'static str,
        mut body: Vec<u8>,
        label: &'static str,
    ) -> Result<Option<Ran>, Close> {
        let sent = self.send(trace, call.reply(), &body);
        wipe_all(&mut body);
        match sent {
            Ok(mut ran) => {
                self.ended(function, label);
                if let Some(span) = &mut self.span {
                    span.add(&ran);
                }
                self.write_out(&mut ran)?;
                Ok(Some(ran))
            }
            Err(error) => {
                self.ended(function, "bad_result");
                let why = format!("the handler's result cannot be sent: {error}");
                self.send_exception(call, INTERNAL_ERROR, &why)?;
                Ok(None)
            }
        }
    }

    /// Whether nobody waits for a reply, by the interface: some libraries, as Apache Thrift's for
    /// Go, send every request as one that is answered.
    fn is_oneway(&self, function: FunctionId) -> bool {
        let function = self.shared.settings.schema.function(function);
        function.is_some_and(|function| function.oneway)
    }

    /// Tells the client why its request cannot be served; the connection ends if the request is
    /// not even a message.
    fn refuse(&mut self, frame: &[u8], error: &RunError) -> Result<(), Close> {
        let header = rpc::read_header(frame, &self.shared.settings.limits)?;
        let (kind, reason) = match error {
            RunError::Trace(failure) => match failure.error.reason {
                reason @ ("unknown_method" | "unknown_service") => (UNKNOWN_METHOD, reason),
                reason @ "panic" => (INTERNAL_ERROR, reason),
                reason => (PROTOCOL_ERROR, reason),
            },
            RunError::Set(_) => (INTERNAL_ERROR, "no_executor"),
        };
        self.shared.metrics.request("", reason);
        let function = self.shared.settings.schema.find(header.name);
        if header.message_type == MessageType::Oneway || function.is_ok_and(|it| self.is_oneway(it))
        {
            return Ok(());
        }
        let call = header.exception();
        self.send_exception(&call, kind, &error.to_string())
    }

    fn send_exception(&mut self, call: &ThriftCall, kind: i32, why: &str) -> Result<(), Close> {
        let body = json!({"message": why, "type": kind}).to_string();
        let sent = self.send(self.names.send, call.exception(), body.as_bytes());
        let mut ran = sent.map_err(|error| Close::Failed(error.to_string()))?;
        self.write_out(&mut ran)
    }

    /// Runs T2 or T3.
    fn send(
        &mut self,
        trace: &'static str,
        call: ThriftCall,
        body: &[u8],
    ) -> Result<Ran, RunError> {
        let message = Message {
            terms: self.terms,
            ..Message::json(body, Call::Thrift(call))
        };
        let executors = &self.shared.executors;
        executors.run(trace, &message, &mut self.conversation)
    }

    fn write_out(&mut self, ran: &mut Ran) -> Result<(), Close> {
        for mut sent in std::mem::take(&mut ran.outcome.sent) {
            let (written, spent) = self.shared.timed(|| self.write(&sent.bytes));
            wipe_all(&mut sent.bytes);
            written?;
            ran.add_socket(spent);
        }
        let limits = &self.shared.settings.limits;
        if let (Some(session), Some(control)) =
            (&mut self.conversation.session.tls, &mut self.control)
        {
            let update = control.refresh(session, limits)?;
            self.write(&update)?;
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Close> {
        if bytes.is_empty() {
            return Ok(());
        }
        let deadline = Instant::now() + self.shared.config.write_timeout;
        write_all(self.stream, bytes, deadline, "reply")
    }
}

/// Why a request has no result.
enum Refusal {
    /// A declared exception: the JSON of the result struct.
    Declared(Vec<u8>),
    /// A `TApplicationException` of this type.
    Rpc(i32, String),
}

/// `{"name":value}`; the name is one of an interface or is quoted as any other.
fn member(name: &str, value: &[u8]) -> Vec<u8> {
    let name = serde_json::Value::from(name).to_string();
    let mut json = Vec::with_capacity(name.len() + value.len() + 3);
    json.push(b'{');
    json.extend_from_slice(name.as_bytes());
    json.push(b':');
    json.extend_from_slice(value);
    json.push(b'}');
    json
}
