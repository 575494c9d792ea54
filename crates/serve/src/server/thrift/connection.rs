//! A server's Thrift connection, which receives requests with T1, calls handlers, and replies with
//! T2 or T3.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::Call;
use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::thrift::{FunctionId, Schema};
use accelflow_accel::tls::{self as records, ContentType};
use accelflow_runtime::{Conversation, Message, Terms, thread_time};
use accelflow_trace::Accel;
use serde_json::json;

use super::body::Body;
use super::outbound::Outbound;
use crate::memory::arena::Reservation;
use crate::memory::buffers;
use crate::memory::wipe::Wiped;
use crate::observe::metrics::Counters;
use crate::observe::observers::timed;
use crate::observe::run::TraceRun;
use crate::observe::telemetry::RequestSpan;
use crate::server::executors::RunError;
use crate::server::greeting::Greeted;
use crate::server::pace::Part;
use crate::server::peer::PeerAdmission;
use crate::server::places::Place;
use crate::server::shared::Shared;
use crate::server::tenants::gates::Charge;
use crate::server::traces::ServerImage;
use crate::transport::close::Close;
use crate::transport::inbound::{Inbound, frame_length, whole_records};
use crate::transport::socket::{is_timeout, write_all};
use crate::transport::tls::alerts;
use crate::transport::tls::control::Control;

/// A connection that speaks framed Thrift.
pub(crate) struct Connection<'s> {
    pub(super) shared: &'s Arc<Shared>,
    pub(super) schema: &'s Arc<Schema>,
    pub(super) place: &'s Arc<Place>,
    pub(super) stream: Arc<TcpStream>,
    pub(super) peer: PeerAdmission<'s>,
    /// The traces of the message that is being answered.
    pub(super) traces: Arc<ServerImage>,
    pub(super) inbound: Inbound,
    pub(super) conversation: Conversation,
    /// The control path of TLS; `None` without TLS.
    pub(super) control: Option<Control>,
    /// Plaintext that the core has decrypted because records and messages do not end together.
    pub(super) opened: Inbound,
    /// Whether the last records did not end with a message. The core then also decrypts the next
    /// ones, since Decr would probably fail.
    pub(super) has_unaligned_records: bool,
    /// The memory of the message that is being answered, if the server limits it.
    pub(super) memory: Option<Reservation>,
    /// Whether the client has stopped sending. Earlier requests are still answered.
    client_is_done: bool,
    /// Whether a whole message has arrived.
    has_spoken: bool,
    /// Whether the log has what the client speaks instead of Thrift.
    pub(super) is_foreign: bool,
    /// Replies that wait to be written with the next one.
    outbound: Outbound,
    counters: Counters,
    /// Time of the system calls that received the message, if requests are recorded.
    pub(super) receiving: Duration,
    /// Processor time of this thread when the last message had been answered, if requests are
    /// recorded.
    pub(super) since: Option<Duration>,
    /// The terms of the tenant, and of the message that is being answered.
    pub(super) terms: Terms,
    /// The account of that message, if its accelerator time is measured.
    pub(super) charge: Option<Charge>,
    /// Processor time of this thread that is not charged: its total at the last answer plus the
    /// time of handlers since then. `None` if nothing is measured.
    pub(super) uncharged: Option<Duration>,
    /// When the message that is being answered was complete and admitted.
    pub(super) begun: Instant,
    /// The span of the message that is being answered, if spans are made.
    pub(super) span: Option<RequestSpan>,
}

/// The location of the next message.
pub(super) enum Next {
    /// In the buffer of received bytes, with this length.
    Received(usize),
    /// In the plaintext that the core has decrypted, with this length.
    Opened(usize),
}

impl<'s> Connection<'s> {
    pub(crate) fn new(
        shared: &'s Arc<Shared>,
        schema: &'s Arc<Schema>,
        (place, stream): (&'s Arc<Place>, Arc<TcpStream>),
        peer: PeerAdmission<'s>,
        greeted: Greeted,
    ) -> Self {
        Connection {
            shared,
            schema,
            place,
            stream,
            traces: shared.traces.now(),
            inbound: greeted.inbound,
            conversation: greeted.conversation,
            control: greeted.control,
            opened: Inbound::unused(),
            has_unaligned_records: false,
            memory: None,
            client_is_done: false,
            has_spoken: false,
            is_foreign: false,
            outbound: Outbound::default(),
            counters: Counters::default(),
            receiving: Duration::ZERO,
            since: None,
            terms: Terms {
                tenant: peer.peer.tenant,
                ..Terms::default()
            },
            peer,
            charge: None,
            uncharged: None,
            begun: Instant::now(),
            span: None,
        }
    }

    /// Serves the connection to its end. Returns the reason of the end.
    pub(crate) fn run(mut self) -> Close {
        let close = match self.serve() {
            Ok(never) => match never {},
            Err(close) => close,
        };
        self.report_malformed(&close);
        // Writing fails if the client is gone, which is harmless now.
        let _ = self.flush();
        if let Some(session) = &mut self.conversation.session.tls
            && let Some(bye) = alerts::farewell(session, &close, self.shared.limits())
        {
            let _ = self.write(&bye);
            if alerts::is_fatal(&close) {
                alerts::linger(&self.stream);
            }
        }
        close
    }

    fn serve(&mut self) -> Result<std::convert::Infallible, Close> {
        let config = &self.shared.config;
        let patience = Some(config.first_byte_timeout.min(config.idle_timeout));
        self.stream.set_read_timeout(patience).map_err(Close::Io)?;
        let mut first = Some(self.next().map_err(Close::before_anything)?);
        self.has_spoken = true;
        let patience = Some(config.idle_timeout);
        self.stream.set_read_timeout(patience).map_err(Close::Io)?;
        loop {
            let next = first.take().map_or_else(|| self.next(), Ok)?;
            let (Next::Received(bytes) | Next::Opened(bytes)) = next;
            self.pass(bytes)?;
            self.traces = self.shared.traces.now();
            self.begun = Instant::now();
            let answered = match self.reserve(next)? {
                Some(Next::Received(bytes)) => self.run_received(bytes),
                Some(Next::Opened(bytes)) => self.run_opened(bytes),
                None => Ok(()),
            };
            self.memory = None;
            if let (Some(spans), Some(span)) = (&self.shared.observers.spans, self.span.take()) {
                spans.emit(span);
            }
            self.settle();
            answered?;
            self.since = self.shared.observers.records().then(thread_time);
            if self.is_between_messages() {
                if self.shared.admission.is_stopping() {
                    return Err(Close::Drained);
                }
                if self.place.is_evicted() {
                    let leaves_unread = true;
                    return Err(Close::Evicted { leaves_unread });
                }
            }
        }
    }

    /// Waits until the tenant's shaper admits a message of `bytes`.
    fn pass(&mut self, bytes: usize) -> Result<(), Close> {
        if let Some(tenants) = &self.shared.admission.tenants {
            self.flush()?;
            let pass = || tenants.pass(self.terms.tenant, bytes);
            let wait = || self.place.busy(pass);
            let (passage, waiting) = match self.uncharged {
                Some(_) => timed(wait),
                None => (wait(), Duration::ZERO),
            };
            let passage = passage.ok_or(Close::Stopped)?;
            (self.terms, self.charge) = (passage.terms, passage.charge);
            // The time spent waiting for tokens is not charged, since it grows with the number of
            // waiting threads.
            let uncharged = self.uncharged.map(|uncharged| uncharged + waiting);
            let is_charged = self.charge.is_some();
            self.uncharged = is_charged.then(|| uncharged.unwrap_or_else(thread_time));
        } else {
            self.terms.due = None;
        }
        Ok(())
    }

    /// Charges the message for the processor time of this thread since the last message, without
    /// the handler's time.
    fn settle(&mut self) {
        if let (Some(charge), Some(uncharged)) = (self.charge.take(), self.uncharged) {
            let now = thread_time();
            charge.add(now.saturating_sub(uncharged));
            self.uncharged = Some(now);
        }
    }

    fn is_between_messages(&self) -> bool {
        self.inbound.is_empty() && self.opened.is_empty()
    }

    /// Waits for a whole message.
    fn next(&mut self) -> Result<Next, Close> {
        let mut begun = None;
        loop {
            if let Some(next) = self.look()? {
                self.place.works();
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
            let filled = self.receive(between);
            match filled {
                Ok(0) if between && self.place.is_evicted() => {
                    let leaves_unread = false;
                    return Err(Close::Evicted { leaves_unread });
                }
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

    /// Reads from the socket once. `between` states whether the connection is between messages.
    fn receive(&mut self, between: bool) -> io::Result<usize> {
        if between {
            match self.has_spoken {
                true => self.place.idles(),
                false => self.place.is_new(),
            }
            if self.shared.admission.is_stopping() {
                // The server has seen the last request here, and left this to the connection.
                self.place.socket.shut_down(Shutdown::Read);
            }
        } else {
            self.place.works();
        }
        let stream = &*self.stream;
        let observers = &self.shared.observers;
        let (filled, spent) = observers.timed(|| self.inbound.fill(&mut { stream }));
        self.receiving += spent;
        if filled.as_ref().is_ok_and(|read| *read > 0) {
            self.place.works();
        }
        filled
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

    /// Decrypts a run of records on the core. If they form one message, Decr may process the next
    /// run.
    pub(super) fn open_run(&mut self, bytes: usize) -> Result<(), Close> {
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

    /// Decrypts one record on the core.
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
        // The failed run has not changed the keys, so the core can decrypt the records.
        self.open_run(bytes)?;
        // The core has handled what stopped Decr, such as a key update, so the message may be
        // valid.
        if self.opened.is_empty() || self.has_unaligned_records || error.is_at(Accel::Decr) {
            return Ok(());
        }
        let frame = Wiped::new(self.opened.bytes().to_vec());
        self.opened.consume(usize::MAX);
        self.refuse(&frame, &error)
    }

    /// Runs T1 on a message that the core has decrypted, so that Decr has nothing to do.
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

    /// Returns the terms of T1. Its deadline is its share of the request's time.
    fn receiving_terms(&self) -> Terms {
        let dispatch = &self.shared.dispatch;
        Terms {
            due: dispatch.part_due(None, Part::Receive, self.terms.due),
            ..self.terms
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
    pub(super) fn send(
        &mut self,
        compress: bool,
        call: ThriftCall,
        body: Body,
    ) -> Result<TraceRun, RunError> {
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
        let run = executors.run_on(traces, trace, body.bytes, &message, &mut self.conversation)?;
        self.charge_elsewhere(&run);
        Ok(run)
    }

    /// Charges the message for the work of the ensemble's workers.
    pub(super) fn charge_elsewhere(&self, run: &TraceRun) {
        if let Some(charge) = &self.charge {
            charge.add(run.elsewhere);
        }
    }

    pub(super) fn write_out(&mut self, run: &mut TraceRun) -> Result<(), Close> {
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

    /// Writes a reply, or delays it until the next one if more requests have arrived.
    fn reply(&mut self, bytes: &[u8]) -> Result<(), Close> {
        // A recording needs the cost of writing for each request.
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
    pub(super) fn flush(&mut self) -> Result<(), Close> {
        if self.outbound.is_empty() {
            return Ok(());
        }
        let deadline = Instant::now() + self.shared.config.write_timeout;
        let written = write_all(&self.stream, self.outbound.bytes(), deadline, "reply");
        self.outbound.clear();
        written
    }

    /// Writes bytes at once, after the waiting replies.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Close> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.flush()?;
        let deadline = Instant::now() + self.shared.config.write_timeout;
        write_all(&self.stream, bytes, deadline, "reply")
    }
}
