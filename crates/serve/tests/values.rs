//! Handlers that read and return values of their own types, and replies that are written together.

use std::io::Write;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use accelflow_accel::Settings;
use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_serve::{
    Client, ClientConfig, Compression, Config, Execution, HandlerError, PoolSettings, Request,
    Returned, Running, Server, Steering,
};
use serde::{Deserialize, Serialize};

use crate::common::*;

const BOTH: [Protocol; 2] = [Protocol::Binary, Protocol::Compact];

#[derive(Deserialize, Serialize)]
struct Echo<'a> {
    text: std::borrow::Cow<'a, str>,
    data: &'a str,
}

#[derive(Deserialize)]
struct Value<T> {
    value: T,
}

fn echo(request: &Request<'_>) -> Result<Returned, HandlerError> {
    let arguments: Value<serde_json::Value> = request.read()?;
    Ok(request.returns(&arguments.value))
}

// quoted: begin
#[derive(Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

fn add(request: &Request<'_>) -> Result<Returned, HandlerError> {
    let Sum { a, b } = request.read()?;
    match a.checked_add(b) {
        Some(sum) => Ok(request.returns(&sum)),
        None => Err(HandlerError::Declared {
            field: "refused".to_owned(),
            body: br#"{"code":7,"why":"overflow"}"#.to_vec(),
        }),
    }
}
// quoted: end

/// The same functions as those of `crate::common::server`.
fn value_server() -> Server {
    let mut server = Server::new(schema());
    server.set_config(verbose());
    let silent = |_: &Request<'_>| Ok(Returned::nothing());
    let broken = |request: &Request<'_>| Ok(request.returns(&17));
    let panics = |_: &Request<'_>| -> Result<Returned, HandlerError> { panic!("on purpose") };
    let done = [
        server.handle_values("Test.echo", echo),
        server.handle_values("Test.add", add),
        server.handle_values("Test.nothing", silent),
        server.handle_values("Test.note", silent),
        server.handle_values("broken", broken),
        server.handle_values("Test.panics", panics),
    ];
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    server
}

/// What a client gets for calls that succeed, are refused and fail.
fn conversation(running: &Running) -> Vec<(MessageType, String)> {
    let mut client = connect(running);
    let mut heard = Vec::new();
    for protocol in BOTH {
        for (method, arguments) in [
            ("add", r#"{"a":40,"b":2}"#.to_owned()),
            ("add", format!(r#"{{"a":{},"b":1}}"#, i64::MAX)),
            (
                "Test:echo",
                r#"{"value":{"text":"grüße \u0000","data":"AAEC/w=="}}"#.to_owned(),
            ),
            ("echo", r#"{"value":{}}"#.to_owned()),
            ("nothing", "{}".to_owned()),
            ("unhandled", "{}".to_owned()),
            ("panics", "{}".to_owned()),
        ] {
            heard.push(call(&mut client, method, protocol, &arguments));
        }
    }
    heard
}

#[test]
fn values_have_the_bytes_of_their_json() {
    let expected = conversation(&start(server()));
    let ensemble = Config {
        execution: Execution::Ensemble(PoolSettings::default()),
        ..verbose()
    };
    let steered = Config {
        steering: Some(Steering {
            workers: 2,
            policy: Default::default(),
            ..Steering::default()
        }),
        ..verbose()
    };
    let compressing = Config {
        compression: Compression::Always,
        ..verbose()
    };
    for config in [verbose(), ensemble, steered] {
        let mut server = value_server();
        server.set_config(config);
        assert_eq!(conversation(&start(server)), expected);
    }
    // Recordings have the sizes of JSON, so there is some then.
    let mut recorded = value_server();
    recorded.set_recording(true);
    assert_eq!(conversation(&start(recorded)), expected);
    // A compressed result is the same bytes, too.
    let mut servers = [server(), value_server()];
    let heard = servers.each_mut().map(|server| {
        let mut server = std::mem::replace(server, Server::new(schema()));
        server.set_config(compressing);
        let running = start(server);
        let mut client = connect(&running);
        let frame = frame("add", Protocol::Binary, 1, r#"{"a":40,"b":2}"#);
        client.write_all(&frame).expect("the server reads");
        receive(&mut client).expect("a reply")
    });
    assert_eq!(heard[0], heard[1]);
}

/// Also where arguments and results are JSON text, which has no such numbers: servers that record,
/// and compressed requests.
#[test]
fn values_may_be_nan_and_infinite() {
    let text = "struct Point { 1: double x, 2: optional string name }
        service Plane { list<Point> turn(1: list<Point> points) }";
    #[derive(Deserialize, Serialize)]
    struct Point {
        x: f64,
        name: Option<String>,
    }
    #[derive(Deserialize)]
    struct Turn {
        points: Vec<Point>,
    }
    let turn = |request: &Request<'_>| {
        let Turn { mut points } = request.read()?;
        points.iter_mut().for_each(|point| point.x = -point.x);
        Ok(request.returns(&points))
    };
    let schema = Arc::new(Schema::parse(text).expect("a constant"));
    for (records, compress) in [(false, false), (true, false), (false, true)] {
        let mut server = Server::new(schema.clone());
        server.handle_values("turn", turn).expect("declared");
        server.set_recording(records);
        let running = start(server);
        let settings = Settings {
            schema: schema.clone(),
            ..Settings::default()
        };
        let config = ClientConfig {
            compress,
            ..ClientConfig::default()
        };
        let client = Client::new(running.address(), settings, Protocol::Binary, None, config);
        let points = r#"[{"x":"Infinity"},{"x":"NaN","name":"NaN"},{"x":1.5},{"x":"-Infinity"}]"#;
        let called = client
            .expect("valid settings")
            .call("turn", format!(r#"{{"points":{points}}}"#).as_bytes());
        let turned = r#"[{"x":"-Infinity"},{"name":"NaN","x":"NaN"},{"x":-1.5},{"x":"Infinity"}]"#;
        let heard: serde_json::Value =
            serde_json::from_slice(&called.expect("no error")).expect("JSON");
        let turned: serde_json::Value = serde_json::from_str(turned).expect("a constant");
        assert_eq!(heard, turned, "records = {records}, compress = {compress}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_reported_and_counted() {
    let mut server = value_server();
    server.set_config(verbose());
    let running = start(server);
    let mut client = connect(&running);
    for protocol in BOTH {
        let (kind, body) = call(&mut client, "broken", protocol, "{}");
        assert_eq!(kind, MessageType::Exception);
        assert!(
            body.contains("cannot be sent") && body.contains("17"),
            "{body}"
        );
    }
    let bad = r#"accelflow_requests_total{function="Test.broken",result="bad_result"}"#;
    assert_eq!(counted(&running, bad), 2);
}

#[test]
fn arguments_that_are_another_type_are_an_internal_error() {
    let mut server = Server::new(schema());
    let wrong = |request: &Request<'_>| {
        let arguments: Value<Echo<'_>> = request.read()?;
        Ok(request.returns(&arguments.value))
    };
    server.handle_values("Test.add", wrong).expect("known");
    server.set_config(verbose());
    let running = start(server);
    let (kind, body) = call(&mut connect(&running), "add", BOTH[0], r#"{"a":1,"b":1}"#);
    assert_eq!(kind, MessageType::Exception);
    assert!(
        body.contains("the arguments") && body.contains("value"),
        "{body}"
    );
}

#[test]
fn calls_sent_together_are_answered_in_order() {
    let certificate = Certificate::new("together");
    for tls in [false, true] {
        let mut server = value_server();
        if tls {
            server.set_tls(certificate.identity());
        }
        let running = start(server);
        let calls: Vec<u8> = (0..300)
            .flat_map(|turn| {
                let (method, arguments) = match turn % 7 {
                    0 => ("unhandled", "{}".to_owned()),
                    1 => ("note", r#"{"text":"nobody answers"}"#.to_owned()),
                    2 => {
                        let text = "x".repeat(turn * 40);
                        ("echo", format!(r#"{{"value":{{"text":"{text}"}}}}"#))
                    }
                    _ => ("add", format!(r#"{{"a":{turn},"b":1}}"#)),
                };
                frame(method, BOTH[turn % 2], turn as i32, &arguments)
            })
            .collect();
        let answered = |turn: &usize| turn % 7 != 1;
        let check = |stream: &mut dyn std::io::Read| {
            let mut stream = stream;
            for turn in (0..300).filter(answered) {
                let (kind, sequence, body) = read_reply(&receive(&mut stream).expect("a reply"));
                assert_eq!(sequence, turn as i32);
                match turn % 7 {
                    0 => assert_eq!(kind, MessageType::Exception),
                    2 => assert_eq!(body.len(), r#"{"success":{"text":""}}"#.len() + turn * 40),
                    _ => assert_eq!(body, format!(r#"{{"success":{}}}"#, turn + 1)),
                }
            }
        };
        if tls {
            let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
            client.write_all(&calls).expect("the server reads");
            client.flush().expect("the server reads");
            check(&mut client);
        } else {
            let mut client = connect(&running);
            client.write_all(&calls).expect("the server reads");
            check(&mut client);
        }
        let sums = r#"accelflow_requests_total{function="Test.add",result="ok"}"#;
        await_count(&running, sums, 300 / 7 * 4);
    }
}

#[test]
fn a_reply_does_not_wait_for_a_slow_handler() {
    let (go, gone) = mpsc::channel::<()>();
    let gone = std::sync::Mutex::new(gone);
    let mut server = value_server();
    let blocks = move |_: &Request<'_>| {
        let gone = gone.lock().expect("one call at a time");
        let waited = gone.recv_timeout(Duration::from_secs(60));
        waited.map_err(|error| HandlerError::Internal(error.to_string()))?;
        Ok(Returned::nothing())
    };
    server.handle_values("Test.nothing", blocks).expect("known");
    let running = start(server);
    let mut client = connect(&running);
    let mut calls = Vec::new();
    for turn in 0..10 {
        calls.extend(frame("add", BOTH[0], turn, r#"{"a":1,"b":1}"#));
    }
    calls.extend(frame("nothing", BOTH[0], 10, "{}"));
    client.write_all(&calls).expect("the server reads");
    for turn in 0..10 {
        let (_, sequence, _) = read_reply(&receive(&mut client).expect("a reply"));
        assert_eq!(sequence, turn);
    }
    // Only now may the last handler go on.
    go.send(()).expect("it waits");
    let (_, sequence, body) = read_reply(&receive(&mut client).expect("a reply"));
    assert_eq!((sequence, body.as_str()), (10, "{}"));
}

#[test]
fn replies_to_good_calls_arrive_before_a_bad_frame_ends_the_connection() {
    let running = start(value_server());
    let mut client = connect(&running);
    let mut calls = frame("add", BOTH[0], 1, r#"{"a":1,"b":1}"#);
    calls.extend(frame("add", BOTH[0], 2, r#"{"a":1,"b":1}"#));
    calls.extend([0xff; 8]);
    client.write_all(&calls).expect("the server reads");
    for turn in [1, 2] {
        let (_, sequence, _) = read_reply(&receive(&mut client).expect("a reply"));
        assert_eq!(sequence, turn);
    }
    assert!(receive(&mut client).is_err());
}
