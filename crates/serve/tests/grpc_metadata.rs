//! What calls of gRPC say beyond their message, and what handlers and their threads know of them.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use accelflow_serve::{
    CallOptions, Cancel, Config, GrpcRequest, Metadata, MetadataValue, Request, Running, Scope,
    Steering, SteeringPolicy, current_deadline,
};

use crate::common::grpc::{connect, exchange, request, schema, server, start, text};
use crate::common::services::{LONG, client, config, eventually};

fn with_and_without_steering() -> [Config; 2] {
    let steering = Steering {
        workers: 2,
        policy: SteeringPolicy::RoundRobin,
        ..Steering::default()
    };
    [None, Some(steering)].map(|steering| Config {
        steering,
        ..Config::default()
    })
}

#[test]
fn handlers_read_the_callers_metadata() {
    let own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for settings in with_and_without_steering() {
        let (tell, told) = mpsc::channel();
        let mut server = server();
        let note = move |request: &Request<'_>| {
            tell.send(request.metadata.clone())
                .expect("the test listens");
            Ok(Vec::new())
        };
        server.handle("Unhandled", note).expect("declared");
        let running = start(server, settings);
        let client = client(running.address(), None, config());
        let mut metadata = Metadata::new();
        let added = [
            metadata.add("authorization", "Bearer one"),
            metadata.add("x-region", "a"),
            metadata.add("x-region", "b"),
            metadata.add_bytes("x-key-bin", &[0, 255]),
            metadata.add("traceparent", own),
        ];
        assert!(added.iter().all(Result::is_ok), "{added:?}");
        let request = GrpcRequest {
            method: "Unhandled",
            message: b"{}",
            metadata: &metadata,
        };
        client
            .request_with(&request, &CallOptions::default())
            .expect("a response");
        let came = told.recv_timeout(LONG).expect("the handler was called");
        assert_eq!(came.get("authorization"), Some("Bearer one"));
        assert_eq!(came.get_bytes("x-key-bin"), Some(vec![0, 255]));
        let of = |name: &str| -> Vec<MetadataValue<'_>> {
            let named = came.iter().filter(|pair| pair.0 == name);
            named.map(|pair| pair.1).collect()
        };
        let (a, b) = (MetadataValue::Text("a"), MetadataValue::Text("b"));
        assert_eq!(of("x-region"), [a, b]);
        assert_eq!(of("traceparent"), [MetadataValue::Text(own)]);
        assert_eq!(came.iter().count(), 5, "{came:?}");
        // Calls that say nothing have none.
        client.call("Unhandled", b"{}").expect("a response");
        assert!(
            told.recv_timeout(LONG)
                .expect("the handler was called")
                .is_empty()
        );
    }
}

#[test]
fn malformed_metadata_is_refused_and_the_connection_goes_on() {
    let running = start(server(), Config::default());
    let mut client = connect(running.address());
    let reply = client.call_with("Echo", &[("x-key-bin", "A")], text("x"));
    let expected = (13, "metadata 'x-key-bin': must be base64");
    assert_eq!((reply.code(), reply.why()), expected);
    let reply = client.call_with("Echo", &[("x-key", "\u{e9}")], text("x"));
    let expected = "metadata 'x-key': text must be printable ASCII; for other bytes, use a name that ends in -bin";
    assert_eq!((reply.code(), reply.why()), (13, expected));
    let echoed = client.call_with("Echo", &[("x-key", "e"), ("x-key-bin", "AQ==")], text("x"));
    assert_eq!(echoed.code(), 0);
    let refused = "accelflow_requests_total{function=\"\",result=\"bad_metadata\"} 2";
    assert!(running.metrics().contains(refused), "{}", running.metrics());
}

/// A server whose one handler says that it has begun, and whether it then learned that nobody
/// waits.
fn waiting(settings: Config) -> (Running, mpsc::Receiver<&'static str>) {
    let (tell, told) = mpsc::channel();
    let mut server = server();
    let wait = move |request: &Request<'_>| {
        tell.send("begun").expect("the test listens");
        let (seen, scope) = (request.abandonment(), Scope::current());
        let elsewhere = std::thread::spawn(move || eventually("abandoned", seen));
        eventually("abandoned", || request.is_abandoned());
        elsewhere.join().expect("it was told, too");
        assert!(scope.is_some_and(|scope| scope.is_abandoned()));
        tell.send("learned").expect("the test listens");
        // The client's own deadline may be a millisecond later: until then, this would answer it.
        std::thread::sleep(Duration::from_millis(300));
        Ok(Vec::new())
    };
    server.handle("Unhandled", wait).expect("declared");
    (start(server, settings), told)
}

#[test]
fn handlers_learn_of_deadlines_and_cancelling() {
    for settings in with_and_without_steering() {
        let (running, told) = waiting(settings);
        let client = client(running.address(), None, config());
        client.call("Echo", b"{}").expect("it is connected");
        let options = CallOptions {
            deadline: Some(Instant::now() + Duration::from_secs(2)),
            ..CallOptions::default()
        };
        let late = client.call_with("Unhandled", b"{}", &options);
        assert_eq!(late.expect_err("nobody answers").reason(), "timeout");
        assert_eq!(told.recv_timeout(LONG), Ok("begun"));
        assert_eq!(told.recv_timeout(LONG), Ok("learned"));
        let cancel = Cancel::new();
        let options = CallOptions {
            cancel: Some(cancel.clone()),
            ..CallOptions::default()
        };
        std::thread::scope(|threads| {
            let called = threads.spawn(|| client.call_with("Unhandled", b"{}", &options));
            assert_eq!(told.recv_timeout(LONG), Ok("begun"));
            cancel.cancel();
            let called = called.join().expect("no panic");
            assert_eq!(called.expect_err("nobody answers").reason(), "cancelled");
        });
        assert_eq!(told.recv_timeout(LONG), Ok("learned"));
    }
}

#[test]
fn handlers_learn_that_their_connection_is_gone() {
    for settings in with_and_without_steering() {
        let (running, told) = waiting(settings);
        let leaving = connect(running.address());
        let asked = exchange(
            leaving.requests.clone(),
            request("/test.Calculator/Unhandled", &[]),
            text("x"),
        );
        leaving.runtime.block_on(async {
            tokio::select! {
                _ = asked => panic!("nobody answers"),
                () = tokio::time::sleep(LONG) => panic!("the handler is not called"),
                () = async { while told.try_recv().is_err() { tokio::task::yield_now().await } } => {}
            }
        });
        // The socket is closed, and nothing is said.
        drop(leaving);
        assert_eq!(told.recv_timeout(LONG), Ok("learned"));
    }
}

#[test]
fn handlers_on_the_connections_thread_learn_of_the_deadline() {
    let (running, told) = waiting(Config {
        handler_threads: 0,
        ..Config::default()
    });
    let mut client = connect(running.address());
    client.call_with("Unhandled", &[("grpc-timeout", "100m")], text("x"));
    assert_eq!(told.recv_timeout(LONG), Ok("begun"));
    assert_eq!(told.recv_timeout(LONG), Ok("learned"));
}

#[test]
fn a_scope_takes_the_deadline_to_other_threads() {
    let (tell, told) = mpsc::channel();
    let mut server = accelflow_serve::Server::grpc(schema());
    let note = move |request: &Request<'_>| {
        let scope = Scope::current();
        let elsewhere = std::thread::spawn(move || {
            let scope = scope?;
            assert!(current_deadline().is_none());
            let within = scope.enter(current_deadline);
            assert!(current_deadline().is_none());
            within.zip(scope.time_left())
        });
        let elsewhere = elsewhere.join().expect("no panic");
        tell.send((request.deadline, elsewhere))
            .expect("the test listens");
        Ok(Vec::new())
    };
    server.handle("Unhandled", note).expect("declared");
    let running = start(server, Config::default());
    let mut client = connect(running.address());
    client.call_with("Unhandled", &[("grpc-timeout", "1H")], text("x"));
    let (deadline, elsewhere) = told.recv_timeout(LONG).expect("the handler was called");
    let (within, left) = elsewhere.expect("a deadline");
    assert_eq!(deadline, Some(within));
    let hour = Duration::from_secs(3_600);
    assert!(
        left <= hour && left > hour - Duration::from_secs(600),
        "{left:?}"
    );
    client.call_with("Unhandled", &[], text("x"));
    let without = told.recv_timeout(LONG).expect("the handler was called");
    assert_eq!(without, (None, None), "no deadline to take along");
}
