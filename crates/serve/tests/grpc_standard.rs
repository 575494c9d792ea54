//! The standard services of gRPC servers beside their interface: health checks and reflection.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use accelflow_accel::protobuf::Schema;
use accelflow_serve::{Config, Request, Running, Server};
use serde_json::Value;

use crate::common::grpc::{
    Client, GOAWAY, HEADERS, PING, Reply, ask_for_path, connect, connect_with_window, exchange,
    frame, gzip, prefixed, raw, read_frame, request, server, start,
};
use crate::common::{LONG, eventually, verbose};

const DATA: u8 = 0;
const END_STREAM: u8 = 1;

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";
const REFLECT: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

const GZIP: &[(&str, &str)] = &[("grpc-encoding", "gzip")];

/// A health: a message that has the field 1, SERVING.
const SERVING: [u8; 7] = [0, 0, 0, 0, 2, 8, 1];

fn ask(client: &Client, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Reply {
    let reply = exchange(client.requests.clone(), request(path, headers), body);
    let reply = async { tokio::time::timeout(LONG, reply).await };
    let reply = client.runtime.block_on(reply).expect("it does not hang");
    reply.expect("a reply")
}

fn reflecting() -> Config {
    Config {
        reflection: true,
        ..verbose()
    }
}

#[test]
fn standard_methods_keep_deadlines() {
    let running = start(server(), verbose());
    let client = connect(running.address());
    let watch = |timeout| {
        ask(
            &client,
            WATCH,
            &[("grpc-timeout", timeout)],
            prefixed(0, &[]),
        )
    };
    // The health comes first, if the deadline leaves the time for it.
    let replies = ["200m", "2S", "20S"].into_iter().map(watch);
    let reply = { replies }.find(|reply| !reply.body.is_empty());
    let reply = reply.expect("the health");
    assert_eq!(reply.body, SERVING);
    assert_eq!(
        (reply.code(), reply.why()),
        (4, "the deadline was exceeded")
    );
    assert_eq!(watch("soon").code(), 13);
}

#[test]
fn standard_methods_take_gzip() {
    let running = start(server(), reflecting());
    let client = connect(running.address());
    // A field that no version of the protocols has, in 4,096 bytes in all.
    let longest = [vec![0x7a, 0xfd, 0x1f], vec![b'x'; 4_093]].concat();
    for bytes in [&[][..], &longest] {
        let reply = ask(&client, CHECK, GZIP, prefixed(1, &gzip(bytes)));
        assert_eq!((&reply.body[..], reply.code()), (&SERVING[..], 0));
        assert_eq!(reply.headers["grpc-accept-encoding"], "identity,gzip");
        assert_eq!(reply.headers.get("grpc-encoding"), None);
    }
    // Compressed and other questions on one stream: all services.
    let services = b"\x3a\x00";
    let (packed, plain) = (prefixed(1, &gzip(services)), prefixed(0, services));
    let both = ask(&client, REFLECT, GZIP, [packed, plain.clone()].concat());
    let one = ask(&client, REFLECT, &[], plain);
    assert_eq!((both.code(), one.code()), (0, 0));
    assert_eq!(both.body, one.body.repeat(2));
}

#[test]
fn standard_methods_refuse_what_they_cannot_inflate() {
    let running = start(server(), reflecting());
    let client = connect(running.address());
    let deflate: &[_] = &[("grpc-encoding", "deflate")];
    let bomb = gzip(&[b' '; 4_097]);
    let mut corrupt = gzip(b"\x0a\x01x");
    corrupt[12] ^= 0xff;
    for (headers, flag, message, code, why) in [
        (GZIP, 1, bomb, 8, "must have at most 4096 bytes"),
        (GZIP, 1, vec![0; 4_097], 8, "the message = 4097 bytes"),
        (GZIP, 1, corrupt, 13, "gzip"),
        (GZIP, 2, Vec::new(), 13, "= 2: must be 0 or 1"),
        (&[], 1, gzip(b""), 13, "have no grpc-encoding"),
        (deflate, 1, gzip(b""), 12, "must be one of identity,gzip"),
    ] {
        for path in [CHECK, WATCH, REFLECT] {
            let reply = ask(&client, path, headers, prefixed(flag, &message));
            assert_eq!(reply.code(), code, "{path}: {reply:?}");
            assert!(reply.why().contains(why), "{path}: {reply:?}");
        }
    }
    // An unknown encoding that no message has does not matter.
    let reply = ask(&client, CHECK, deflate, prefixed(0, &[]));
    assert_eq!((&reply.body[..], reply.code()), (&SERVING[..], 0));
}

/// An interface whose description has a few dozen KiB.
fn large() -> Arc<Schema> {
    let messages: String = (0..2_000)
        .map(|number| format!("message Message{number} {{ string text = 1; }}\n"))
        .collect();
    let service = "service Large { rpc Echo(Message0) returns (Message0); }";
    let source = format!("syntax = \"proto3\"; package large; {messages} {service}");
    Arc::new(Schema::parse(&source).expect("it is right"))
}

/// The most bytes of a step that sends the response of a recorded request.
fn most_sent(running: &Running, requests: u64) -> usize {
    let done = || {
        let paths = running.recorded_paths("large.Large.Echo");
        paths.iter().map(|path| path.requests).sum::<u64>() == requests
    };
    eventually(&format!("{requests} are recorded"), done);
    let recording = running.recording(&[("Echo", "UniqId")], "a machine", "2026-01-01");
    let recording = serde_json::to_value(recording.expect("recorded")).expect("JSON");
    let phases = &recording["services"][0]["phases"];
    let steps = phases[2]["chains"][0]["steps"].as_array().expect("a list");
    let bytes = |step: &Value| step["input_bytes"].as_f64().expect("a number");
    steps.iter().map(bytes).fold(0.0, f64::max) as usize
}

#[test]
fn recorded_requests_do_not_pay_for_an_answer_of_reflection_that_is_being_sent() {
    let mut server = Server::grpc(large());
    let echo = |request: &Request<'_>| Ok(request.arguments.to_vec());
    server.handle("Echo", echo).expect("declared");
    server.set_recording(true);
    let running = start(server, reflecting());
    // The client takes 16 KiB of a stream, and more only once it has read them.
    let client = connect_with_window(running.address(), 1 << 14);
    let echo = || {
        let reply = ask(&client, "/large.Large/Echo", &[], prefixed(0, b"\x0a\x01x"));
        assert_eq!(reply.code(), 0, "{reply:?}");
    };
    let question = prefixed(0, b"\x22\x0blarge.Large");
    let (response, mut asking) = client
        .requests
        .clone()
        .send_request(request(REFLECT, &[]), false)
        .expect("it is connected");
    asking
        .send_data(question.into(), true)
        .expect("it is small");
    let (part, mut body) = client.runtime.block_on(async {
        let mut body = response.await.expect("a response").into_body();
        let part = body.data().await.expect("data").expect("data");
        (part, body)
    });
    echo();
    let sent = most_sent(&running, 1);
    assert!(sent < 1_000, "{sent} bytes");
    // The rest comes, and then too.
    let length = client.runtime.block_on(async {
        let (mut length, mut last) = (0, part.len());
        loop {
            length += last;
            body.flow_control().release_capacity(last).expect("it came");
            match body.data().await {
                None => return length,
                Some(part) => last = part.expect("data").len(),
            }
        }
    });
    assert!(length > 1 << 15, "{length} bytes");
    echo();
    let sent = most_sent(&running, 2);
    assert!(sent < 1_000, "{sent} bytes");
}

#[test]
fn each_answer_of_reflection_permits_further_pings() {
    let running = start(server(), reflecting());
    let mut stream = raw(&running);
    let head = frame(HEADERS, 4, 1, &ask_for_path(REFLECT));
    stream.write_all(&head).expect("it reads");
    let turn = [
        frame(DATA, 0, 1, &prefixed(0, b"\x3a\x00")),
        frame(PING, 0, 0, &[7; 8]).repeat(5),
    ];
    let turn = turn.concat();
    // Twice as many PINGs as at once.
    for number in 0..400 {
        stream.write_all(&turn).expect("it reads");
        loop {
            match read_frame(&mut stream) {
                Some((DATA, ..)) => break,
                Some((GOAWAY, ..)) | None => panic!("refused after {number} answers"),
                Some(_) => {}
            }
        }
    }
}

/// Reads to the end of a stream. Returns its DATA.
fn rest_of_stream(stream: &mut TcpStream) -> Vec<u8> {
    let mut data = Vec::new();
    loop {
        let (kind, flags, _, payload) = read_frame(stream).expect("an answer");
        if kind == DATA {
            data.extend(payload);
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            return data;
        }
    }
}

#[test]
fn a_stop_waits_for_health_checks_that_have_begun_to_arrive() {
    const NOT_SERVING: [u8; 7] = [0, 0, 0, 0, 2, 8, 2];
    for path in [CHECK, WATCH] {
        let running = start(server(), verbose());
        let mut stream = raw(&running);
        let part = [
            frame(HEADERS, 4, 1, &ask_for_path(path)),
            frame(DATA, 0, 1, &[0, 0]),
            frame(PING, 0, 0, &[7; 8]),
        ];
        stream.write_all(&part.concat()).expect("it reads");
        let mut until = |what: u8, wanted_flags: u8| {
            while let Some((kind, flags, ..)) = read_frame(&mut stream) {
                if (kind, flags) == (what, wanted_flags) {
                    return;
                }
            }
            panic!("{path}: the connection ended");
        };
        // The server has seen the request, and then stops.
        until(PING, 1);
        let stopping = std::thread::spawn(move || running.stop(LONG));
        until(GOAWAY, 0);
        // Idle connections end meanwhile.
        std::thread::sleep(Duration::from_millis(800));
        let rest = frame(DATA, END_STREAM, 1, &[0, 0, 0]);
        stream.write_all(&rest).expect("it reads");
        assert_eq!(rest_of_stream(&mut stream), NOT_SERVING, "{path}");
        assert_eq!(stopping.join().expect("no panic"), 0, "{path}");
    }
}
