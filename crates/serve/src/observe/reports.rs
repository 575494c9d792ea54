//! Reports of requests' errors, to operators and to clients.
//!
//! The text of an error may reveal more than a client should know: the message of an exception, the
//! steps of traces, the names of all functions. By default a client gets only a stable code and an
//! id, and the operators' log has the full text under that id.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Codes of errors that the client has not caused. Those of custom accelerators are their author's:
/// a body that fails, or that does not fit its declaration or the trace.
const NOT_THE_CLIENTS: [&str; 13] = [
    "bad_result",
    "body_failed",
    "device_failed",
    "failed",
    "handler_failed",
    "no_body",
    "no_executor",
    "no_handler",
    "other_kind",
    "panic",
    "trailers_too_large",
    "wrong_direction",
    "wrong_facts",
];

/// Whether the client has caused an error of this code.
pub(crate) fn is_by_client(code: &str) -> bool {
    !NOT_THE_CLIENTS.contains(&code)
}

/// The report of an error for the operators' log
/// ([`Server::set_error_log`](crate::Server::set_error_log)): an error of a request or of a TLS
/// handshake, a client that does not speak framed Thrift, or metadata and status details that a
/// response left out because they were too large.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ErrorReport<'a> {
    /// The id of the error: 16 hexadecimal digits, from which other ids cannot be predicted. A
    /// client that is answered with the error also gets the id, unless it gets the text
    /// ([`Config::verbose_errors`](crate::Config)).
    pub id: &'a str,
    /// The stable name of the kind of error, such as `handler_failed`. If a request failed, this is
    /// also the request's result in the metrics.
    pub code: &'static str,
    /// The name of the called function as given in the request; empty if the request has none.
    pub function: &'a str,
    /// The address and port of the client.
    pub peer: SocketAddr,
    /// The full text of the error: where it occurred, the value found, and what is allowed. Control
    /// characters are escaped, so that the text is one line of a log.
    pub text: &'a str,
    /// Whether the client has caused the error. A log should limit such errors, since a client can
    /// cause any number of them.
    pub by_client: bool,
}

type Log = dyn Fn(&ErrorReport<'_>) + Send + Sync;

/// The log of errors, and the setting of how much of them clients see.
#[derive(Default)]
pub(crate) struct Reports {
    pub(crate) log: Option<Box<Log>>,
    /// Whether clients get the full text of errors.
    pub(crate) verbose: bool,
    ids: RandomState,
    count: AtomicU64,
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reports").finish_non_exhaustive()
    }
}

impl Reports {
    /// Reports an error. Returns the text for the client.
    pub(crate) fn report(
        &self,
        code: &'static str,
        function: &str,
        peer: SocketAddr,
        text: &str,
    ) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let id = format!("{:016x}", self.ids.hash_one(count));
        if let Some(log) = &self.log {
            let (function, text) = (printable(function), printable(text));
            log(&ErrorReport {
                id: &id,
                code,
                function: &function,
                peer,
                text: &text,
                by_client: is_by_client(code),
            });
        }
        self.client_text(code, &id, text)
    }

    /// Returns the client's text for an error that the log has under `id`.
    pub(crate) fn client_text(&self, code: &str, id: &str, text: &str) -> String {
        match self.verbose {
            true => text.to_owned(),
            false => format!("{code} (error {id})"),
        }
    }
}

/// Escapes control characters, so that a client's text cannot forge lines of a log.
fn printable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_control() {
            true => clean.extend(character.escape_default()),
            false => clean.push(character),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_one_line_each() {
        assert_eq!(printable("a\nb\u{1b}[1m é"), "a\\nb\\u{1b}[1m é");
    }
}
