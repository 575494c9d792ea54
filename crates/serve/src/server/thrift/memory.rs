//! Memory for Thrift requests. A request for which too little memory is free is refused with an
//! error reply, after which the client may retry it (the NACK of Cerebros).

use accelflow_accel::rpc::{self, LOADSHEDDING, MessageType, ThriftCall};

use super::connection::{Connection, Next};
use crate::memory::wipe::Wiped;
use crate::transport::close::Close;

/// The message to a client for whose request there is no memory.
const REPEAT_LATER: &str = "no memory for this call now: it was not processed and may be retried";

/// The result of such requests in the metrics.
const NO_MEMORY: &str = "no_memory";

impl Connection<'_> {
    /// Reserves memory for a message. Returns the location of the message, or `None` if it was
    /// refused.
    pub(super) fn reserve(&mut self, next: Next) -> Result<Option<Next>, Close> {
        let Some(arena) = &self.shared.admission.arena else {
            return Ok(Some(next));
        };
        let (Next::Received(bytes) | Next::Opened(bytes)) = next;
        self.memory = arena.try_reserve(bytes);
        if self.memory.is_none() {
            // Waiting replies are sent first.
            self.flush()?;
            self.memory = self.place.busy(|| arena.reserve(bytes));
        }
        match self.memory.is_some() {
            true => Ok(Some(next)),
            false => self.refuse_or_wait(next),
        }
    }

    /// Refuses a call for lack of memory. A oneway call waits instead, since its client would not
    /// learn of the refusal.
    fn refuse_or_wait(&mut self, next: Next) -> Result<Option<Next>, Close> {
        let Some(next) = self.in_plaintext(next)? else {
            return Ok(None);
        };
        let (source, length) = match next {
            Next::Received(length) => (&mut self.inbound, length),
            Next::Opened(length) => (&mut self.opened, length),
        };
        let frame = Wiped::new(source.bytes()[..length].to_vec());
        let header = rpc::read_header(&frame, self.shared.limits())?;
        let function = self.schema.find(header.name);
        let oneway = header.message_type == MessageType::Oneway
            || function.is_ok_and(|function| self.is_oneway(function));
        if oneway {
            let (shared, place) = (self.shared, self.place);
            self.memory = shared.admission.arena.as_ref().map(|arena| {
                place.busy(|| arena.await_room(length, || shared.admission.is_stopping()))
            });
            return Ok(Some(next));
        }
        match next {
            Next::Received(length) => self.inbound.consume(length),
            Next::Opened(length) => self.opened.consume(length),
        }
        self.shared.observers.metrics.request("", NO_MEMORY);
        self.send_exception(&header.exception(), LOADSHEDDING, REPEAT_LATER)?;
        Ok(None)
    }

    /// Returns the message in plaintext. The core decrypts it if it is in TLS records. `None` if
    /// these do not have a whole message.
    fn in_plaintext(&mut self, next: Next) -> Result<Option<Next>, Close> {
        let Next::Received(bytes) = next else {
            return Ok(Some(next));
        };
        if self.control.is_none() {
            return Ok(Some(next));
        }
        self.open_run(bytes)?;
        let whole = !self.opened.is_empty() && !self.has_unaligned_records;
        Ok(whole.then(|| Next::Opened(self.opened.bytes().len())))
    }

    /// Reserves additional memory that the arguments need. If there is not enough, refuses the
    /// call, which the client may retry, and returns false.
    pub(super) fn cover(
        &mut self,
        call: &ThriftCall,
        bytes: usize,
        oneway: bool,
    ) -> Result<bool, Close> {
        let Some(memory) = &mut self.memory else {
            return Ok(true);
        };
        if oneway {
            memory.cover_anyway(bytes);
            return Ok(true);
        }
        if memory.cover(bytes) {
            return Ok(true);
        }
        self.memory = None;
        self.ended(call, NO_MEMORY);
        self.send_exception(&call.exception(), LOADSHEDDING, REPEAT_LATER)?;
        Ok(false)
    }
}
