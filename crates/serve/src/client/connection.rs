//! A Thrift or HTTP connection of a client. It sends requests and receives responses with traces,
//! and falls back to the core where a trace cannot do the work.

use std::sync::Arc;
use std::time::Instant;

use accelflow_accel::tls::{self as records, ContentType};
use accelflow_accel::{AccelError, Call, Job, Limits};
use accelflow_runtime::thread_time;
use accelflow_runtime::trail::{self, TrailChain};
use accelflow_runtime::{Conversation, Failure, Message, Outcome, Terms};
use accelflow_trace::Accel;
use zeroize::Zeroizing;

use super::metrics::ClientMetrics;
use super::traces::ClientImage;
use super::trust::ClientControl;
use super::wire::{Framing, Wire, WireError};
use crate::transport::close::Close;
use crate::transport::engine::EngineExecutor;
use crate::transport::inbound::whole_records;
use crate::transport::tls::alerts;

/// A connection for calls, one at a time.
pub(super) struct Connection {
    pub(super) executor: EngineExecutor,
    /// The executor's traces.
    pub(super) traces: Arc<ClientImage>,
    /// The tenant of the connection's last exchange.
    pub(super) tenant: u16,
    pub(super) conversation: Conversation,
    /// The control path of TLS; `None` without TLS.
    pub(super) control: Option<ClientControl>,
    pub(super) wire: Wire,
    /// Plaintext that the core has decrypted.
    pub(super) opened: Zeroizing<Vec<u8>>,
    /// Whether sending has failed, so that nothing more can be sent.
    pub(super) broken: bool,
    pub(super) metrics: Arc<ClientMetrics>,
}

/// A request to send, and how to read its response.
#[derive(Clone, Copy)]
pub(super) struct Outgoing<'a> {
    pub(super) traces: &'a Arc<ClientImage>,
    pub(super) compress: bool,
    /// Whether the request has a response.
    pub(super) answered: bool,
    pub(super) framing: Framing,
    pub(super) call: &'a Call,
    /// The kind of message as which the response is read.
    pub(super) expected: &'a Call,
    /// The kind of message for a response that ends with its connection, if the protocol allows
    /// that.
    pub(super) expected_at_end: Option<&'a Call>,
    pub(super) body: &'a [u8],
    /// The terms of the request being handled, which apply to the call.
    pub(super) terms: Terms,
}

impl Outgoing<'_> {
    /// The trace that sends the request.
    fn trace(&self) -> &str {
        match (self.answered, self.compress) {
            (true, false) => &self.traces.call,
            (true, true) => &self.traces.call_compressed,
            (false, false) => &self.traces.oneway,
            (false, true) => &self.traces.oneway_compressed,
        }
    }
}

/// The reason why an exchange has no response.
pub(super) enum ExchangeError {
    /// The trace failed on the request.
    Request(Box<Failure>),
    /// The trace failed on the response.
    Response(Box<Failure>),
    Wire(WireError),
}

impl<T: Into<WireError>> From<T> for ExchangeError {
    fn from(error: T) -> ExchangeError {
        ExchangeError::Wire(error.into())
    }
}

impl Connection {
    /// Sends a message and returns its response, if it has one.
    pub(super) fn exchange(
        &mut self,
        outgoing: &Outgoing<'_>,
        deadline: Instant,
    ) -> Result<Option<Job>, ExchangeError> {
        let begun = trail::is_open().then(thread_time);
        self.note(begun.is_some());
        self.take_up(outgoing.traces, outgoing.terms.tenant);
        self.wire.begin(outgoing.framing, deadline);
        self.refresh_keys()?;
        self.wire.written = 0;
        let before = self.records_read();
        let trace = outgoing.trace();
        let message = Message {
            terms: outgoing.terms,
            ..Message::json(outgoing.body, outgoing.call.clone())
        };
        let run = self
            .executor
            .run(trace, &message, &mut self.conversation, &mut self.wire);
        let failure = match run {
            Ok(outcome) if outgoing.answered => {
                if let Some(begun) = begun {
                    let chain = self.chain(outgoing.traces, &outcome);
                    trail::add(begun, chain);
                }
                return self.answer(outcome).map(Some);
            }
            Ok(outcome) => {
                for sent in outcome.sent {
                    self.wire.write(&sent.bytes)?;
                }
                return Ok(None);
            }
            Err(failure) => failure,
        };
        if let Some(error) = self.wire.error.take() {
            return Err(ExchangeError::Wire(error));
        }
        if !self.wire.received {
            return Err(ExchangeError::Request(failure));
        }
        if self.control.is_none() {
            let Some(expected) = outgoing.expected_at_end.filter(|_| self.wire.ended) else {
                return Err(ExchangeError::Response(failure));
            };
            return self.receive_until_close(outgoing, expected).map(Some);
        }
        let answer = self.receive_by_core(outgoing, before, &failure);
        self.alert_service(answer).map(Some)
    }

    /// Prepares the executor for the next exchange. Sets its traces, and discards the data of other
    /// tenants.
    fn take_up(&mut self, traces: &Arc<ClientImage>, tenant: u16) {
        if std::mem::replace(&mut self.tenant, tenant) != tenant {
            self.executor.forget();
        }
        if !Arc::ptr_eq(&self.traces, traces) {
            let (image, bodies) = (&traces.image, &traces.bodies);
            self.executor.set_image(image, bodies, traces.generation);
            self.traces = traces.clone();
        }
    }

    /// Switches the measurement of the next exchange's costs on or off.
    fn note(&mut self, noted: bool) {
        self.wire.exchanges.note(noted);
        self.executor.note(noted);
    }

    /// The measured costs of an exchange, under the paper's trace names.
    fn chain(&mut self, traces: &ClientImage, outcome: &Outcome) -> TrailChain {
        let costs_ns = self.executor.take_costs();
        let exchanges = self.wire.exchanges.take();
        let steps = outcome.steps.iter().cloned().map(|mut step| {
            step.trace = traces.paper_name(&step.trace);
            step
        });
        TrailChain::new(steps.collect(), costs_ns, &exchanges)
    }

    /// Reads a response that ends with its connection, which the trace cannot see.
    fn receive_until_close(
        &mut self,
        outgoing: &Outgoing<'_>,
        expected: &Call,
    ) -> Result<Job, ExchangeError> {
        self.metrics
            .fallback(&outgoing.traces.answer, "until_close");
        let bytes = Zeroizing::new(self.wire.inbound.bytes().to_vec());
        let run = self.run_answer(outgoing, expected, &bytes);
        self.answer(run.map_err(ExchangeError::Response)?)
    }

    /// After an invalid TLS record, sends the service an alert.
    fn alert_service<T>(&mut self, done: Result<T, ExchangeError>) -> Result<T, ExchangeError> {
        if let Err(ExchangeError::Wire(WireError::Malformed(error))) = &done
            && let Some(session) = &mut self.conversation.session.tls
            && let Some(description) = alerts::of_record(error)
            && let Some(record) = alerts::fatal(session, description, &self.wire.limits)
        {
            let _ = self.wire.write(&record);
        }
        done
    }

    /// Whether another call may be made over this connection.
    pub(super) fn is_reusable(&self) -> bool {
        !self.broken && !self.wire.ended && self.wire.inbound.is_empty() && self.opened.is_empty()
    }

    /// Whether the connection still seems usable: it is not closed and has no unsolicited data.
    /// Makes one system call.
    pub(super) fn is_alive(&mut self) -> bool {
        let limits = self.wire.limits;
        self.wire.begin(self.wire.framing, Instant::now());
        while let Ok(more) = self.wire.try_fill() {
            if self.wire.ended || (more && self.control.is_none()) {
                return false;
            }
            while let Ok(true) = self.has_record() {
                if !matches!(self.open_record(&limits), Ok(true)) || self.wire.ended {
                    return false;
                }
            }
            if !more {
                return !self.broken && self.wire.inbound.is_empty();
            }
        }
        false
    }

    /// Closes the connection. Sends an alert first if the service still reads.
    pub(super) fn close(mut self) {
        if let Some(session) = &mut self.conversation.session.tls
            && let Some(bye) = alerts::farewell(session, &Close::Done, &self.wire.limits)
        {
            self.wire.deadline = Instant::now();
            let _ = self.wire.write(&bye);
        }
    }

    fn answer(&mut self, outcome: Outcome) -> Result<Job, ExchangeError> {
        self.wire.inbound.consume(usize::MAX);
        match outcome.arrivals.into_iter().next() {
            Some(arrival) => Ok(arrival.job),
            None => Err(WireError::Lost(
                "the client's trace ended without notifying a core".to_owned(),
            )
            .into()),
        }
    }

    /// The number of the next record that Decr will decrypt.
    fn records_read(&self) -> u64 {
        let session = self.conversation.session.tls.as_ref();
        session.map_or(0, |session| session.read.sequence())
    }

    fn rewind_to(&mut self, record: u64) {
        if let Some(session) = &mut self.conversation.session.tls {
            session.read.resume_at(record);
        }
    }

    /// Renews the write keys if they have protected enough records.
    fn refresh_keys(&mut self) -> Result<(), ExchangeError> {
        if let (Some(session), Some(control)) =
            (&mut self.conversation.session.tls, &mut self.control)
        {
            let update = control.refresh(session, &self.wire.limits)?;
            self.wire.write(&update)?;
        }
        Ok(())
    }

    /// Receives a response on the core, because its records include a control record or do not end
    /// with the message. `before` is the number of the first of these records.
    fn receive_by_core(
        &mut self,
        outgoing: &Outgoing<'_>,
        before: u64,
        failure: &Failure,
    ) -> Result<Job, ExchangeError> {
        let limits = self.wire.limits;
        let trace = &*outgoing.traces.answer;
        self.rewind_to(before);
        if failure.error.accelerator == Some(Accel::Decr) && self.skip_control(&limits)? {
            // The core has handled the control records. The trace processes the rest.
            self.metrics.fallback(trace, "control_records");
            let before = self.records_read();
            let records = Zeroizing::new(self.wire.receive()?);
            if let Ok(outcome) = self.run_answer(outgoing, outgoing.expected, &records) {
                return self.answer(outcome);
            }
            self.rewind_to(before);
        }
        self.metrics.fallback(trace, "unaligned_records");
        loop {
            match self.wire.message_length(&self.opened)? {
                Some(length) if length < self.opened.len() => {
                    let (what, at, extra) = ("response", length, self.opened.len() - length);
                    return Err(AccelError::TrailingBytes { what, at, extra }.into());
                }
                Some(length) if length == self.opened.len() => break,
                _ => {}
            }
            while !self.has_record()? {
                self.wire.fill()?;
            }
            self.open_record(&limits)?;
        }
        let at_end = outgoing.expected_at_end.filter(|_| self.wire.goodbye);
        let message = Message {
            call: at_end.unwrap_or(outgoing.expected).clone(),
            terms: outgoing.terms,
            ..Message::opened(&[])
        };
        let opened = std::mem::take(&mut *self.opened);
        let (conversation, wire) = (&mut self.conversation, &mut self.wire);
        let run = self
            .executor
            .run_on(trace, opened, &message, conversation, wire);
        let outcome = run.map_err(ExchangeError::Response)?;
        // Key updates may follow the response. After any other record the connection is not reused.
        while self.opened.is_empty() && self.has_record().unwrap_or(false) {
            if self.open_record(&limits).is_err() {
                self.broken = true;
                break;
            }
        }
        let job = outcome
            .arrivals
            .into_iter()
            .next()
            .map(|arrival| arrival.job);
        job.ok_or_else(|| {
            WireError::Lost("the client's trace ended without notifying a core".to_owned()).into()
        })
    }

    fn run_answer(
        &mut self,
        outgoing: &Outgoing<'_>,
        expected: &Call,
        packets: &[u8],
    ) -> Result<Outcome, Box<Failure>> {
        let message = Message {
            call: expected.clone(),
            terms: outgoing.terms,
            ..Message::received(packets)
        };
        let (trace, conversation) = (&outgoing.traces.answer, &mut self.conversation);
        self.executor
            .run(trace, &message, conversation, &mut self.wire)
    }

    /// Handles the control records at the beginning of the buffer. Returns whether there were any.
    /// The record after them is unchanged.
    fn skip_control(&mut self, limits: &Limits) -> Result<bool, ExchangeError> {
        let mut skipped = false;
        while self.has_record()? {
            let before = self.records_read();
            let Some(session) = &mut self.conversation.session.tls else {
                return Ok(false);
            };
            let mut content = Zeroizing::new(Vec::with_capacity(records::MAX_PLAINTEXT + 256));
            let bytes = self.wire.inbound.bytes();
            let (kind, end) = records::open_first(&mut session.read, bytes, &mut content)?;
            if kind == ContentType::ApplicationData {
                self.rewind_to(before);
                break;
            }
            self.wire.inbound.consume(end);
            self.handle_control(kind, &content, limits)?;
            skipped = true;
        }
        Ok(skipped)
    }

    fn has_record(&self) -> Result<bool, AccelError> {
        Ok(whole_records(self.wire.inbound.bytes())?.bytes > 0)
    }

    /// Decrypts one record on the core. Returns true for a control record; otherwise adds the
    /// content to `opened`.
    fn open_record(&mut self, limits: &Limits) -> Result<bool, ExchangeError> {
        let Some(session) = &mut self.conversation.session.tls else {
            return Ok(false);
        };
        let mut content = Zeroizing::new(Vec::with_capacity(records::MAX_PLAINTEXT + 256));
        let bytes = self.wire.inbound.bytes();
        let (kind, end) = records::open_first(&mut session.read, bytes, &mut content)?;
        self.wire.inbound.consume(end);
        if kind != ContentType::ApplicationData {
            self.handle_control(kind, &content, limits)?;
            return Ok(true);
        }
        let size = self.opened.len() + content.len();
        let limit = limits.max_message_bytes + limits.max_message_bytes / 64 + 1024;
        if size > limit {
            let what = "bytes of the response";
            return Err(AccelError::TooLarge { what, size, limit }.into());
        }
        // A vector that reallocates would leave a copy of the data behind.
        let mut joined = Vec::with_capacity(size);
        joined.extend_from_slice(&self.opened);
        joined.extend_from_slice(&content);
        self.opened = Zeroizing::new(joined);
        Ok(false)
    }

    fn handle_control(
        &mut self,
        kind: ContentType,
        content: &[u8],
        limits: &Limits,
    ) -> Result<(), ExchangeError> {
        let (Some(session), Some(control)) =
            (&mut self.conversation.session.tls, &mut self.control)
        else {
            return Ok(());
        };
        match control.handle_control(session, kind, content, limits) {
            Ok(reply) => {
                // If the service no longer reads, it may still have sent a response.
                self.broken |= self.wire.write(&reply).is_err();
                Ok(())
            }
            // Data before the end of the stream is still valid.
            Err(Close::Done) => {
                self.wire.ended = true;
                self.wire.goodbye = true;
                Ok(())
            }
            Err(close) => Err(close.into()),
        }
    }
}
