//! The data of a job.

use crate::plan::MessageSize;

/// The message that a trace handles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payload {
    pub message: MessageSize,
    /// Whether the message is compressed after the current operation.
    pub compressed: bool,
    /// Its memory: all of it if a core reads or has written it, else the part that does not fit a
    /// queue entry.
    pub buffer: Option<Buffer>,
}

/// A piece of a service's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub address: u64,
    /// Index of the free list that it goes back to.
    pub list: usize,
}
