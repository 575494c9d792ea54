//! Handlers of gRPC that read and return values of their own types are on the wire what JSON is.

use std::borrow::Cow;

use accelflow_accel::compress::Cmp;
use accelflow_accel::protobuf::Schema;
use accelflow_accel::{Codec, Limits};
use accelflow_serve::{
    Config, Execution, HandlerError, PoolSettings, Request, Returned, Running, Server, Steering,
    SteeringPolicy,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::common::grpc::{connect, message, prefixed, server, start, text};
use crate::common::{counted, verbose};

fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    let text = Cow::<'de, str>::deserialize(from)?;
    text.parse().map_err(serde::de::Error::custom)
}

#[derive(Deserialize, Serialize)]
struct Pair {
    #[serde(deserialize_with = "number")]
    a: i64,
    #[serde(deserialize_with = "number")]
    b: i64,
}

/// As `crate::common::grpc::server`'s.
fn add(request: &Request<'_>) -> Result<Returned, HandlerError> {
    let Pair { a, b } = request.read()?;
    match a.checked_add(b) {
        Some(a) => Ok(request.returns(&Pair { a, b: 0 })),
        None => Err(HandlerError::Declared {
            field: "OUT_OF_RANGE".to_owned(),
            body: br#"{"message": "50 % too much: \u00fc"}"#.to_vec(),
        }),
    }
}

fn echo(request: &Request<'_>) -> Result<Returned, HandlerError> {
    let value: Value = request.read()?;
    Ok(request.returns(&value))
}

fn value_server() -> Server {
    let mut server = server();
    let broken = |request: &Request<'_>| Ok(request.returns(&json!({"text": 5})));
    let nothing = |_: &Request<'_>| Ok(Returned::nothing());
    let panics = |_: &Request<'_>| -> Result<Returned, HandlerError> { panic!("on purpose") };
    let done = [
        server.handle_values("test.Calculator.Add", add),
        server.handle_values("Calculator.Echo", echo),
        server.handle_values("Broken", broken),
        server.handle_values("Nothing", nothing),
        server.handle_values("Panic", panics),
    ];
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    server
}

/// Status, its message, and the message of the response, for calls that succeed, are refused and
/// fail.
fn conversation(running: &Running) -> Vec<(u8, String, Vec<u8>)> {
    let mut client = connect(running.address());
    let pair = |a: i64, b: i64| prefixed(0, &message("test.Pair", &json!({"a": a, "b": b})));
    let nested = json!({"text": "grüße \" \u{0}", "inner": {"text": "", "inner": {}}});
    let long = text(&"0123456789".repeat(20_000));
    let gzip = [
        ("grpc-encoding", "gzip"),
        ("grpc-accept-encoding", "identity, gzip"),
    ];
    let mut cmp = Cmp::new(Codec::Gzip, 1, Limits::default()).expect("a level");
    let packed = prefixed(1, &cmp.compress(&long[5..]).expect("small"));
    let replies = [
        client.call("Add", pair(40, 2)),
        client.call("Add", pair(0, 0)),
        client.call("Add", pair(i64::MAX, 1)),
        client.call("Echo", prefixed(0, &message("test.Text", &nested))),
        client.call("Echo", long),
        client.call_with("Echo", &gzip, packed),
        client.call("Echo", prefixed(0, b"\x0a\x01\xff")),
        client.call("Echo", prefixed(0, b"\x08\x01")),
        client.call("Broken", text("x")),
        client.call("Nothing", text("x")),
        client.call("Panic", text("x")),
    ];
    let replies = replies.into_iter();
    let heard = replies.map(|reply| (reply.code(), reply.why().to_owned(), reply.body));
    heard.collect()
}

#[test]
fn values_have_the_bytes_of_their_json() {
    let mut by_json = server();
    // Errors tell the place in the JSON, which serde writes without a space.
    let broken = |_: &Request<'_>| Ok(b"{\"text\":5}".to_vec());
    by_json.handle("Broken", broken).expect("known");
    let expected = conversation(&start(by_json, verbose()));
    assert_eq!(expected.iter().filter(|(code, ..)| *code == 0).count(), 6);
    let ensemble = Config {
        execution: Execution::Ensemble(PoolSettings::default()),
        ..verbose()
    };
    let steered = Config {
        steering: Some(Steering {
            workers: 2,
            policy: SteeringPolicy::RoundRobin,
            ..Steering::default()
        }),
        ..verbose()
    };
    let no_threads = Config {
        handler_threads: 0,
        ..verbose()
    };
    for config in [verbose(), ensemble, steered, no_threads] {
        assert_eq!(conversation(&start(value_server(), config)), expected);
    }
    // A recording has the sizes of JSON, so there is some then.
    let mut recorded = value_server();
    recorded.set_recording(true);
    assert_eq!(conversation(&start(recorded, verbose())), expected);
}

#[derive(Deserialize)]
struct Borrowed<'a> {
    a: &'a str,
    b: &'a serde_json::value::RawValue,
}

#[test]
fn values_that_only_json_can_express_are_read_from_json() {
    let mut server = value_server();
    let borrows = |request: &Request<'_>| {
        let Borrowed { a, b } = request.read()?;
        let (again, sum) = (
            request.read::<Borrowed<'_>>()?,
            format!("{a}{}", &b.get()[1..2]),
        );
        assert_eq!((again.a, again.b.get()), (a, b.get()));
        let value = serde_json::value::to_raw_value(&sum).expect("a string");
        Ok(request.returns(&json!({"a": value})))
    };
    server.handle_values("Add", borrows).expect("known");
    let wrong = |request: &Request<'_>| request.read::<Pair>().map(|pair| request.returns(&pair));
    server.handle_values("Echo", wrong).expect("known");
    let running = start(server, verbose());
    let mut client = connect(running.address());
    let pair = message("test.Pair", &json!({"a": 40, "b": 2}));
    let reply = client.call("Add", prefixed(0, &pair));
    assert_eq!(reply.json("test.Pair")["a"], "402");
    let reply = client.call("Echo", text("x"));
    assert_eq!(reply.code(), 2);
    assert!(
        reply.why().contains("the arguments") && reply.why().contains("`a`"),
        "{reply:?}"
    );
}

#[test]
fn a_value_that_does_not_fit_is_reported_and_counted() {
    let running = start(value_server(), verbose());
    let mut client = connect(running.address());
    let reply = client.call("Broken", text("x"));
    assert_eq!(reply.code(), 13);
    assert!(reply.why().contains("cannot be sent"), "{reply:?}");
    let bad = r#"accelflow_requests_total{function="test.Calculator.Broken",result="bad_result"}"#;
    assert_eq!(counted(&running, bad), 1);
}

#[test]
fn methods_with_well_known_types_are_served_by_json() {
    let interface = r#"
        syntax = "proto3";
        package test;
        import "google/protobuf/timestamp.proto";
        message Text { google.protobuf.Timestamp at = 1; string text = 2; }
        service Calculator { rpc Echo(Text) returns (Text); }
    "#;
    let mut server = Server::grpc(Schema::parse(interface).expect("a constant").into());
    let late = |request: &Request<'_>| {
        let value: Value = request.read()?;
        assert_eq!(
            serde_json::from_slice::<Value>(request.arguments).ok(),
            Some(value.clone())
        );
        Ok(request.returns(&json!({"at": value["at"], "text": value["at"]})))
    };
    server.handle_values("Echo", late).expect("known");
    let running = start(server, verbose());
    let mut client = connect(running.address());
    let reply = client.call("Echo", prefixed(0, b"\x0a\x02\x08\x01"));
    assert_eq!(reply.code(), 0, "{reply:?}");
    assert_eq!(
        &reply.body[5..],
        b"\x0a\x02\x08\x01\x12\x141970-01-01T00:00:01Z"
    );
}
