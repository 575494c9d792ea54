//! The types of spans, independent of the format of the file.

use std::fmt;

use crate::names::Name;

/// The ID of a distributed trace: of requests that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TraceId(pub(crate) u128);

/// A service and one of its operations.
pub(crate) type Method = (Name, Name);

/// The ID of a span in its trace; 0 for none.
pub(crate) type SpanId = u64;

/// The kind of a span: its part in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The file does not state it.
    Unknown,
    /// Work inside a service.
    Internal,
    /// A request at the service that serves it, or a message at the one that consumes it.
    Server,
    /// A call at the service that waits for its answer.
    Client,
    /// A message that is sent to a queue.
    Producer,
}

/// The protocol of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Rpc,
    Http,
    Messaging,
}

/// The kind of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Cache,
    Database,
}

/// The kind of an access to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The facts in the attributes of a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Facts {
    pub(crate) protocol: Option<Protocol>,
    pub(crate) store: Option<Store>,
    pub(crate) access: Option<Access>,
    /// Whether the cache had the data.
    pub(crate) hit: Option<bool>,
    pub(crate) error: bool,
    /// Whether it is application logic. All application logic of its parent is then marked.
    pub(crate) application: bool,
    /// Whether it is detached: nothing waits for it.
    pub(crate) detached: bool,
    pub(crate) request_compressed: Option<bool>,
    pub(crate) response_compressed: Option<bool>,
    pub(crate) request_bytes: Option<u32>,
    pub(crate) response_bytes: Option<u32>,
    /// The other side of a call, if it is named.
    pub(crate) peer: Name,
}

/// A span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) id: SpanId,
    pub(crate) parent: SpanId,
    /// Whether the parent does not wait for it (`FOLLOWS_FROM`).
    pub(crate) follows: bool,
    pub(crate) service: Name,
    pub(crate) operation: Name,
    pub(crate) kind: Kind,
    pub(crate) start_ns: u64,
    /// At or after the start.
    pub(crate) end_ns: u64,
    pub(crate) facts: Facts,
}

/// A span as read from a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft {
    pub(crate) trace: TraceId,
    /// The span; its end is not checked yet.
    pub(crate) span: Span,
    pub(crate) duration_ns: i64,
    /// Whether trace, span and start were present.
    pub(crate) complete: bool,
}

impl Default for Facts {
    fn default() -> Facts {
        Facts {
            protocol: None,
            store: None,
            access: None,
            hit: None,
            error: false,
            application: false,
            detached: false,
            request_compressed: None,
            response_compressed: None,
            request_bytes: None,
            response_bytes: None,
            peer: Name::NONE,
        }
    }
}

impl Default for Span {
    fn default() -> Span {
        Span {
            id: 0,
            parent: 0,
            follows: false,
            service: Name::NONE,
            operation: Name::NONE,
            kind: Kind::Unknown,
            start_ns: 0,
            end_ns: 0,
            facts: Facts::default(),
        }
    }
}

impl Span {
    pub(crate) fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl TraceId {
    /// The hexadecimal number in `text`; for other text a hash of its bytes.
    pub(crate) fn from_text(text: &str) -> TraceId {
        let number = u128::from_str_radix(text, 16);
        TraceId(number.unwrap_or_else(|_| u128::from(mixed(text.as_bytes()))))
    }
}

/// The ID of the span that `text` names; 0 for an empty text.
pub(crate) fn span_id(text: &str) -> SpanId {
    match u64::from_str_radix(text, 16) {
        Ok(number) => number,
        Err(_) if text.is_empty() => 0,
        Err(_) => mixed(text.as_bytes()),
    }
}

/// A hash of `bytes`: FNV-1a, so that equal files give equal results everywhere.
pub(crate) fn mixed(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
