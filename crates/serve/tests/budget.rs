//! What one message and the responses of one connection may take: who asks for more is told so, and
//! the connection goes on.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_accel::protobuf;
use accelflow_accel::rpc::{MessageType, ThriftCall, write_message};
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_serve::{Config, HandlerError, Request, Returned, Server};
use serde_json::{Value, json};

use crate::common::grpc;
use crate::common::{LONG, connect, counted, receive, start};

const INTERFACE: &str = "
    struct Empty {}
    service Test {
        i64 count(1: list<list<Empty>> lists)
        i64 add(1: i64 a, 2: i64 b)
    }
";

/// A list of so many lists of so many empty structs.
fn lists(outer: u32, inner: u32) -> Vec<u8> {
    let mut bytes = vec![15, 0, 1, 15];
    bytes.extend(outer.to_be_bytes());
    for _ in 0..outer {
        bytes.push(12);
        bytes.extend(inner.to_be_bytes());
        bytes.resize(bytes.len() + inner as usize, 0);
    }
    bytes.push(0);
    bytes
}

#[test]
fn the_elements_of_a_thrift_message_are_counted_together() {
    let schema = Arc::new(Schema::parse(INTERFACE).expect("a constant"));
    let limits = Limits::default();
    let frame = |arguments: &[u8]| {
        let call = ThriftCall::request(&schema, "count", Protocol::Binary, 1).expect("known");
        write_message(&call, arguments, &limits).expect("small")
    };
    let count = |request: &Request<'_>| -> Result<Returned, HandlerError> {
        let arguments: Value = request.read()?;
        let lists = arguments["lists"].as_array().map_or(0, Vec::len);
        Ok(request.returns(&lists))
    };
    for records in [true, false] {
        let mut server = Server::new(schema.clone());
        let set = match records {
            true => server.handle_values("count", count),
            false => server.handle("count", |_: &Request<'_>| Ok(b"8".to_vec())),
        };
        set.expect("declared");
        let running = start(server);
        let mut client = connect(&running);
        // Each of the lists alone would be within the limit.
        for (bytes, kind) in [
            (lists(8, (1 << 14) - 3), MessageType::Reply),
            (lists(8, 1 << 14), MessageType::Exception),
            (lists(15, 1 << 20), MessageType::Exception),
            (lists(8, 100), MessageType::Reply),
        ] {
            client.write_all(&frame(&bytes)).expect("it reads");
            let reply = receive(&mut client).expect("a reply");
            match kind {
                MessageType::Reply => assert_eq!(reply.last_chunk(), Some(&[0, 8, 0])),
                _ => {
                    let text = String::from_utf8_lossy(&reply);
                    assert_eq!(reply[4..8], [0x80, 1, 0, 3], "an exception: {text}");
                    assert!(text.contains("too_large"), "{text}");
                    // PROTOCOL_ERROR is 7.
                    assert_eq!(reply.last_chunk(), Some(&[0, 0, 0, 7, 0]), "{text}");
                }
            }
        }
        let refused = r#"accelflow_requests_total{function="Test.count",result="too_large"}"#;
        assert_eq!(counted(&running, refused), 2);
    }
}

const GRPC: &str = r#"
    syntax = "proto3";
    package test;
    message Wide { int32 a = 1; int32 b = 2; int32 c = 3; }
    message All { repeated Wide list = 1; repeated bool bits = 2; }
    message Size { int64 bytes = 1; }
    message Text { string text = 1; }
    service Calculator {
        rpc Echo(All) returns (All);
        rpc Make(Size) returns (Text);
    }
"#;

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

#[test]
fn the_elements_of_a_grpc_message_are_counted_together() {
    let schema = Arc::new(protobuf::Schema::parse(GRPC).expect("a constant"));
    for records in [true, false] {
        let mut server = Server::grpc(schema.clone());
        let set = match records {
            true => server.handle_values("Echo", |request: &Request<'_>| {
                let value: Value = request.read()?;
                Ok(request.returns(&value))
            }),
            false => server.handle("Echo", |request: &Request<'_>| {
                Ok(request.arguments.to_vec())
            }),
        };
        set.expect("declared");
        let running = grpc::start(server, Config::default());
        let mut client = grpc::connect(running.address());
        let bits = |count: usize| [&[0x12][..], &varint(count), &vec![1; count]].concat();
        let wides = |count: usize| [0x0a, 0x00].repeat(count);
        for (message, code) in [
            (bits((1 << 17) - 10), 0),
            (bits(1 << 17), 8),
            // An empty message stands for three fields.
            (wides((1 << 15) - 10), 0),
            (wides((1 << 15) + 1), 8),
            ([wides(1 << 14), bits(1 << 16)].concat(), 8),
            (bits(10), 0),
        ] {
            let reply = client.call("Echo", grpc::prefixed(0, &message));
            assert_eq!(reply.code(), code, "{}", reply.why());
            if code == 0 {
                assert_eq!(reply.body[5..], message);
            } else {
                assert!(reply.why().contains("too_large"), "{}", reply.why());
            }
        }
    }
}

/// How many handlers have begun.
#[derive(Default)]
struct Begun {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Begun {
    fn add(&self) {
        *self.count.lock().expect("nobody panics") += 1;
        self.changed.notify_all();
    }

    fn wait_for(&self, count: usize) {
        let found = self.count.lock().expect("nobody panics");
        let waited = (self.changed).wait_timeout_while(found, LONG, |found| *found < count);
        let (found, late) = waited.expect("nobody panics");
        let begun = *found;
        drop(found);
        assert!(!late.timed_out(), "{begun} have begun, and not {count}");
    }

    fn now(&self) -> usize {
        *self.count.lock().expect("nobody panics")
    }
}

const RESPONSE: usize = 1_000_000;

/// A server that makes texts of the size that is asked for, and says when it does.
fn maker(begun: &Arc<Begun>, records: bool) -> Server {
    let mut server = Server::grpc(Arc::new(protobuf::Schema::parse(GRPC).expect("a constant")));
    let begun = begun.clone();
    let text = move |request: &Request<'_>| -> Result<String, HandlerError> {
        let size: Value = request.read()?;
        begun.add();
        let bytes = size["bytes"].as_str().and_then(|text| text.parse().ok());
        Ok("x".repeat(bytes.expect("int64 is a string")))
    };
    let set = match records {
        true => server.handle_values("Make", move |request: &Request<'_>| {
            Ok(request.returns(&json!({"text": text(request)?})))
        }),
        false => server.handle("Make", move |request: &Request<'_>| {
            Ok(json!({"text": text(request)?}).to_string().into_bytes())
        }),
    };
    set.expect("declared");
    server
}

fn small() -> Config {
    Config {
        limits: Limits {
            max_message_bytes: 2 * RESPONSE,
            ..Limits::default()
        },
        max_unsent_bytes: 8 * RESPONSE,
        handler_threads: 8,
        write_timeout: Duration::from_secs(600),
        ..Config::default()
    }
}

fn ask(stream: u32, bytes: usize) -> Vec<u8> {
    let message = [&[0x08][..], &varint(bytes)].concat();
    [
        grpc::frame(grpc::HEADERS, 4, stream, &grpc::ask_for("Make")),
        grpc::frame(0, 1, stream, &grpc::prefixed(0, &message)),
    ]
    .concat()
}

/// Lets the server send all there is.
fn open_windows(stream: &mut TcpStream) {
    let most = grpc::frame(grpc::SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]);
    let all = grpc::frame(grpc::WINDOW_UPDATE, 0, 0, &0x7000_0000u32.to_be_bytes());
    stream.write_all(&[most, all].concat()).expect("it reads");
}

/// Responses to a client that reads nothing are made only while its buffer has room; other clients
/// are served.
#[test]
fn responses_beyond_a_clients_room_are_not_made() {
    for records in [true, false] {
        let begun = Arc::<Begun>::default();
        let running = grpc::start(maker(&begun, records), small());
        let mut client = grpc::connect(running.address());
        let size = [&[0x08][..], &varint(RESPONSE)].concat();
        assert_eq!(client.call("Make", grpc::prefixed(0, &size)).code(), 0);
        let before = begun.now();
        let mut greedy = connect(&running);
        let mut bytes = grpc::PREFACE.to_vec();
        // SETTINGS_INITIAL_WINDOW_SIZE is 0.
        bytes.extend(grpc::frame(grpc::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]));
        for stream in 0..100 {
            bytes.extend(ask(2 * stream + 1, RESPONSE));
        }
        greedy.write_all(&bytes).expect("it reads");
        // Half of the room is for responses of the expected size. 3 of these fit, with their
        // rounded buffers.
        begun.wait_for(before + 2);
        // Whoever asks later, and is answered, comes after all that was let pass.
        for _ in 0..8 {
            assert_eq!(client.call("Make", grpc::prefixed(0, &size)).code(), 0);
        }
        let made = begun.now() - before - 8;
        assert!((2..=4).contains(&made), "{made}");
        // Once the client takes them, all are made.
        open_windows(&mut greedy);
        let mut ended = 0;
        while ended < 100 {
            let (kind, flags, stream, _) = grpc::read_frame(&mut greedy).expect("a frame");
            ended += usize::from(kind == grpc::HEADERS && flags & 1 == 1 && stream > 0);
        }
        assert_eq!(begun.now(), before + 8 + 100);
    }
}

/// Responses that are larger than was expected get the room that is left: some wait for it, on a
/// quarter of the threads, and the others are refused before they are written.
#[test]
fn responses_that_are_larger_than_expected_need_room() {
    let begun = Arc::<Begun>::default();
    let mut server = Server::grpc(Arc::new(protobuf::Schema::parse(GRPC).expect("a constant")));
    let made = begun.clone();
    let make = move |request: &Request<'_>| -> Result<Returned, HandlerError> {
        let size: Value = request.read()?;
        let bytes = size["bytes"].as_str().and_then(|text| text.parse().ok());
        let bytes: usize = bytes.expect("int64 is a string");
        if bytes > 10 {
            made.add();
            // All of them have begun, as nothing of their size was known.
            made.wait_for(8);
        }
        Ok(request.returns(&json!({"text": "x".repeat(bytes)})))
    };
    server.handle_values("Make", make).expect("declared");
    let config = Config {
        max_unsent_bytes: 3 * RESPONSE,
        ..small()
    };
    let running = grpc::start(server, config);
    let mut client = grpc::connect(running.address());
    let size = [&[0x08][..], &varint(10)].concat();
    assert_eq!(client.call("Make", grpc::prefixed(0, &size)).code(), 0);
    let mut greedy = connect(&running);
    let mut bytes = grpc::PREFACE.to_vec();
    bytes.extend(grpc::frame(grpc::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]));
    for stream in 0..8 {
        bytes.extend(ask(2 * stream + 1, RESPONSE + 300_000));
    }
    greedy.write_all(&bytes).expect("it reads");
    let mut refused = 0;
    while refused < 5 {
        let (kind, flags, _, block) = grpc::read_frame(&mut greedy).expect("a frame");
        assert_ne!(kind, 0, "the window is closed");
        refused += usize::from(kind == grpc::HEADERS && flags & 1 == 1);
        assert!(!block.is_empty() || kind == grpc::SETTINGS);
    }
    let unsent = r#"accelflow_requests_total{function="test.Calculator.Make",result="unsent"}"#;
    // A refusal is counted after it was sent.
    crate::common::await_count(&running, unsent, 5);
    assert_eq!(counted(&running, unsent), 5);
    open_windows(&mut greedy);
    let mut ended = 0;
    while ended < 3 {
        let (kind, flags, ..) = grpc::read_frame(&mut greedy).expect("a frame");
        ended += usize::from(kind == grpc::HEADERS && flags & 1 == 1);
    }
    let ok = r#"accelflow_requests_total{function="test.Calculator.Make",result="ok"}"#;
    crate::common::await_count(&running, ok, 4);
}
