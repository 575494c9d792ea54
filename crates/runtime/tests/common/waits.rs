//! Waiting in tests: what never comes fails a test with a message, and does not hang it.

#![allow(dead_code, reason = "no test uses all of it")]

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long a test waits for what others bring about. A busy machine needs much less.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Waits for what other threads bring about, and fails if they do not.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG, "never: {what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The next client's connection, whose reads fail after [`LONG`].
#[track_caller]
pub(crate) fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).expect("a socket");
    let mut client = None;
    eventually("a client", || {
        client = listener.accept().ok();
        client.is_some()
    });
    let (stream, _) = client.expect("just accepted");
    stream.set_nonblocking(false).expect("a socket");
    patient(stream)
}

/// A connection whose reads and writes fail after [`LONG`].
pub(crate) fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(LONG)).expect("a socket");
    stream.set_write_timeout(Some(LONG)).expect("a socket");
    stream
}
