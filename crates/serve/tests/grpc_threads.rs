//! Which threads run the handlers of gRPC.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use accelflow_serve::{Config, Request, Running};
use serde_json::json;

use crate::common::grpc::{connect, message, prefixed, server, start, text};

type Seen = Arc<Mutex<Vec<(ThreadId, bool)>>>;

/// A server whose `Nothing` notes its thread, and whether that is one for handlers.
fn noting(handler_threads: usize) -> (Running, Seen) {
    let seen = Seen::default();
    let mut server = server();
    let note = seen.clone();
    let handler = move |_: &Request<'_>| {
        let thread = thread::current();
        let worker = thread.name() == Some("accelflow-worker");
        note.lock().expect("short").push((thread.id(), worker));
        Ok(Vec::new())
    };
    server.handle("Nothing", handler).expect("declared");
    let config = Config {
        handler_threads,
        ..Config::default()
    };
    (start(server, config), seen)
}

fn call(handler_threads: usize) -> Vec<(ThreadId, bool)> {
    let (running, seen) = noting(handler_threads);
    let mut clients = [connect(running.address()), connect(running.address())];
    for _ in 0..10 {
        for client in &mut clients {
            assert_eq!(client.call("Nothing", text("x")).code(), 0);
        }
    }
    let seen = seen.lock().expect("free");
    seen.clone()
}

#[test]
fn without_threads_of_their_own_handlers_run_on_those_of_connections() {
    let seen = call(0);
    assert!(seen.iter().all(|(_, worker)| !worker));
    for (at, (thread, _)) in seen.iter().enumerate() {
        assert_eq!(*thread, seen[at % 2].0, "call {at}");
    }
    assert_ne!(seen[0].0, seen[1].0);
}

#[test]
fn one_request_at_a_time_needs_no_more_than_one_thread() {
    // As many as came at once, which is one; a second may have been on its way.
    let seen = call(64);
    assert!(seen.iter().all(|(_, worker)| *worker));
    let threads: BTreeSet<String> = seen.iter().map(|(it, _)| format!("{it:?}")).collect();
    assert!(threads.len() <= 2, "{threads:?}");
}

#[test]
fn panics_and_deep_messages_are_answered_on_any_thread() {
    let deep = (0..60).fold(json!({"text": "x"}), |inner, _| json!({"inner": inner}));
    let deep = message("test.Text", &deep);
    for handler_threads in [0, 2] {
        let (running, _) = noting(handler_threads);
        let mut client = connect(running.address());
        for _ in 0..3 {
            assert_eq!(client.call("Panic", text("x")).code(), 2);
            let reply = client.call("Echo", prefixed(0, &deep));
            assert_eq!((reply.code(), reply.body), (0, prefixed(0, &deep)));
        }
    }
}
