//! Errors: what operators are told of them, and what clients are.
//!
//! What went wrong inside may say more than a client should know: the text of an exception, the
//! steps of traces, the names of all functions. By default a client is told a stable code and an id,
//! and whoever keeps the log finds the rest under that.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Codes of errors for which the client is not to blame.
const NOT_THE_CLIENTS: [&str; 7] = [
    "bad_result",
    "device_failed",
    "failed",
    "handler_failed",
    "no_executor",
    "no_handler",
    "panic",
];

/// An error of a request, for the operators' log.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ErrorReport<'a> {
    /// What the client is told to find it by: 16 hexadecimal digits, which tell nothing of others.
    pub id: &'a str,
    /// The stable name of the kind of error, which the request is counted under in the metrics.
    pub code: &'static str,
    /// The function that was asked for, as the client has it; empty if it has named none.
    pub function: &'a str,
    /// Who has asked.
    pub peer: SocketAddr,
    /// What went wrong: place, value and what is allowed. Without characters that a log would take
    /// for the end of a line.
    pub text: &'a str,
    /// Whether it is the request that is wrong, of which any client can make any number.
    pub by_client: bool,
}

type Log = dyn Fn(&ErrorReport<'_>) + Send + Sync;

/// Where errors go.
#[derive(Default)]
pub(crate) struct Reports {
    pub(crate) log: Option<Box<Log>>,
    /// Whether clients are told everything, too.
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
    /// Reports an error; what the client is told of it.
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
                by_client: !NOT_THE_CLIENTS.contains(&code),
            });
        }
        self.client_text(code, &id, text)
    }

    /// What the client is told of an error that the log has under `id`.
    pub(crate) fn client_text(&self, code: &str, id: &str, text: &str) -> String {
        match self.verbose {
            true => text.to_owned(),
            false => format!("{code} (error {id})"),
        }
    }
}

/// A client's text must not forge lines of a log.
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
