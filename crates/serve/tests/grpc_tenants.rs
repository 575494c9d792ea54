//! Tenants share the threads of gRPC handlers: many connections of one do not hold up another.

use std::sync::{Arc, Condvar, Mutex};

use accelflow_serve::{Config, Request, Running, Tenant};
use serde_json::json;

use crate::common::grpc::{exchange, message, prefixed, request, server, start, text};
use crate::common::*;

const THREADS: usize = 8;

/// Handlers that wait until they are let go.
#[derive(Default)]
struct Gate {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock().expect("no panic");
        state.0 += 1;
        self.changed.notify_all();
        let waited = self
            .changed
            .wait_timeout_while(state, LONG, |state| !state.1);
        assert!(!waited.expect("no panic").1.timed_out(), "nobody opens");
    }

    fn await_begun(&self, count: usize) {
        let state = self.state.lock().expect("no panic");
        let waited = self
            .changed
            .wait_timeout_while(state, LONG, |state| state.0 < count);
        assert!(
            !waited.expect("no panic").1.timed_out(),
            "not so many begin"
        );
    }

    fn open(&self) {
        self.state.lock().expect("no panic").1 = true;
        self.changed.notify_all();
    }

    fn begun(&self) -> usize {
        self.state.lock().expect("no panic").0
    }
}

fn two_tenants(gate: &Arc<Gate>) -> Running {
    let mut server = server();
    let (gate, tenant) = (gate.clone(), |name: &str, last| {
        Tenant::new(name, vec![from(last).into()])
    });
    let block = move |_: &Request<'_>| {
        gate.pass();
        Ok(Vec::new())
    };
    server.handle("Nothing", block).expect("declared");
    let two = vec![tenant("greedy", 2), tenant("modest", 3)];
    server.set_tenants(two).expect("they can be told apart");
    let config = Config {
        handler_threads: THREADS,
        ..Config::default()
    };
    start(server, config)
}

#[test]
fn a_tenant_that_blocks_all_threads_leaves_another_tenant_one() {
    let gate = Arc::new(Gate::default());
    let running = two_tenants(&gate);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    // More connections than there are threads: those that all share, and those that are kept for
    // connections that have none.
    let blocked = runtime.block_on(async {
        let mut calls = Vec::new();
        for _ in 0..2 * THREADS + 4 {
            let stream = connect_from(&running, from(2));
            let requests = crate::common::grpc::client(stream).await;
            let request = request("/test.Calculator/Nothing", &[]);
            calls.push(tokio::spawn(exchange(requests, request, text("x"))));
        }
        // Everything is sent before this thread waits for the handlers.
        while gate.begun() < 2 * THREADS {
            tokio::task::yield_now().await;
        }
        calls
    });
    gate.await_begun(2 * THREADS);
    runtime.block_on(async {
        let requests = crate::common::grpc::client(connect_from(&running, from(3))).await;
        for number in 1..4 {
            let request = request("/test.Calculator/Add", &[]);
            let pair = message("test.Pair", &json!({"a": number.to_string(), "b": "1"}));
            let reply = exchange(requests.clone(), request, prefixed(0, &pair));
            let reply = tokio::time::timeout(LONG, reply).await;
            let reply = reply.expect("it does not wait").expect("a reply");
            assert_eq!(reply.json("test.Pair")["a"], (number + 1).to_string());
        }
    });
    assert_eq!(gate.begun(), 2 * THREADS, "the greedy tenant gets no more");
    gate.open();
    runtime.block_on(async {
        for call in blocked {
            let reply = call.await.expect("no panic").expect("a reply");
            assert_eq!(reply.code(), 0);
        }
    });
}
