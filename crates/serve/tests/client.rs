//! Calls from service to service, and services that fail to answer.

mod common;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Mutex;
use std::time::Duration;

use accelflow_accel::Settings;
use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{CallError, Client, HandlerError, Request};
use common::*;

fn client(address: std::net::SocketAddr, protocol: Protocol, timeout: Duration) -> Client {
    let settings = Settings {
        schema: schema(),
        ..Settings::default()
    };
    Client::new(address, settings, protocol, timeout).expect("default settings")
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn values_and_failures_come_back_as_what_they_are() {
    let running = start(server());
    for protocol in [Protocol::Binary, Protocol::Compact] {
        let mut client = client(running.address(), protocol, LONG);
        let mut call = |method: &str, arguments: &str| client.call(method, arguments.as_bytes());
        let sum = call("add", r#"{"a":40,"b":2}"#).expect("adds");
        assert_eq!(sum, b"42");
        assert_eq!(call("nothing", "{}").expect("void"), b"");
        assert_eq!(call("note", r#"{"text":"x"}"#).expect("oneway"), b"");
        let max = format!(r#"{{"a":{},"b":1}}"#, i64::MAX);
        match call("add", &max) {
            Err(CallError::Declared { field, body }) => {
                assert_eq!(
                    (&*field, &*body),
                    ("refused", r#"{"code":7,"why":"overflow"}"#)
                );
            }
            other => panic!("{other:?}"),
        }
        match call("panics", "{}") {
            Err(CallError::Application { kind, message }) => {
                assert_eq!((kind, &*message), (6, "the handler panicked"));
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(call("sub", "{}"), Err(CallError::Unknown(_))));
        match call("add", r#"{"a":"x"}"#) {
            Err(CallError::Trace(failure)) => assert_eq!(failure.error.reason, "wrong_json_type"),
            other => panic!("{other:?}"),
        }
        assert_eq!(call("add", r#"{"a":1,"b":1}"#).expect("adds"), b"2");
    }
}

#[test]
fn handlers_call_other_services() {
    let inner = start(server());
    let mut outer = server();
    let nested = Mutex::new(client(inner.address(), Protocol::Compact, LONG));
    let handler = move |request: &Request<'_>| {
        let mut client = nested.lock().expect("no panic holds it");
        let called = client.call("add", request.arguments);
        called.map_err(|error| HandlerError::Internal(error.to_string()))
    };
    outer.handle("Test.add", handler).expect("a function");
    let outer = start(outer);
    let mut stream = connect(&outer);
    for turn in 0..5 {
        let arguments = format!(r#"{{"a":{turn},"b":1}}"#);
        let (kind, body) = call(&mut stream, "add", Protocol::Binary, &arguments);
        assert_eq!(kind, MessageType::Reply);
        assert_eq!(body, format!(r#"{{"success":{}}}"#, turn + 1));
    }
    let series = r#"accelflow_requests_total{function="Test.add",result="ok"}"#;
    assert_eq!(counted(&inner, series), 5);
    // The inner service is gone: the outer one says so, in its own reply.
    assert_eq!(inner.stop(LONG), 0);
    let (kind, body) = call(&mut stream, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    assert_eq!(kind, MessageType::Exception);
    assert!(body.contains("127.0.0.1"), "{body}");
}

#[test]
fn services_that_do_not_answer_are_given_up_and_called_anew() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let good = frame("add", Protocol::Binary, 5, r#"{"a":1,"b":1}"#);
    let answers = [vec![], vec![0, 0, 0, 32], vec![127, 0, 0, 0], good];
    let script = std::thread::spawn(move || {
        let mut kept = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a client");
            let read = stream.read(&mut [0; 1024]).expect("a call");
            assert!(read > 0);
            stream.write_all(&answer).expect("the client reads");
            kept.push(stream);
        }
        kept
    });
    let mut client = client(address, Protocol::Binary, Duration::from_millis(300));
    let mut reason = || match client.call("add", br#"{"a":1,"b":1}"#) {
        Err(CallError::Trace(failure)) => failure.error.reason.to_owned(),
        Err(CallError::OutOfStep { found, .. }) => found,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(), "peer_timeout");
    assert_eq!(reason(), "peer_timeout");
    assert_eq!(reason(), "peer_refused");
    assert_eq!(reason(), "add 5");
    drop(script.join().expect("no panic"));
    let gone = client.call("add", br#"{"a":1,"b":1}"#);
    assert!(matches!(gone, Err(CallError::Connect { .. })), "{gone:?}");
}
