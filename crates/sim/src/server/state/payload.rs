//! The data that a trace processes.

use accelflow_units::Bytes;

use crate::plan::{Form, MessageSize};

/// The message that a trace handles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payload {
    /// The size of the message that the trace processes.
    pub message: MessageSize,
    /// The size of the message divided by the mean size of the messages that the same trace of the
    /// same chain processes ([`MessageSize::relative`]).
    pub relative: f64,
    /// The size that the message has in its compressed form.
    pub packed: Bytes,
    /// Whether the message is compressed after the current operation.
    pub compressed: bool,
    /// The buffer in memory: of the whole payload if a core reads or has written the payload, else
    /// of the part that does not fit a queue entry. `None` if no part is in memory.
    pub buffer: Option<Buffer>,
}

impl Payload {
    /// A payload without memory, whose message is not compressed yet.
    pub(crate) fn new(message: MessageSize, ratio: f64) -> Payload {
        let mut payload = Payload {
            message,
            relative: 1.0,
            packed: Bytes(0),
            compressed: false,
            buffer: None,
        };
        payload.set_message(message, ratio);
        payload
    }

    /// Replaces the message. `ratio` is the size of a message over its compressed size.
    pub(crate) fn set_message(&mut self, message: MessageSize, ratio: f64) {
        self.message = message;
        self.relative = message.relative();
        self.packed = Form {
            compressed: true,
            ratio,
        }
        .size_of(message, true);
    }

    /// The size of the message in its form before or after compression.
    #[inline]
    pub(crate) fn size(&self, compressed: bool) -> Bytes {
        match compressed {
            true => self.packed,
            false => self.message.size,
        }
    }
}

/// A piece of a service's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// The memory address of the buffer.
    pub address: u64,
    /// Index of the allocator's list of free buffers to which the buffer returns.
    pub list: usize,
}
