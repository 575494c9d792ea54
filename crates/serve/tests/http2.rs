//! What connections of HTTP/2 bear from clients that flood, trickle, stall or speak something else.

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use accelflow_serve::Config;
use http::StatusCode;

use crate::common::grpc::{
    HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE, ask_for, ask_for_path, block,
    connect, exchange, farewell, frame, raw, read_frame, request, server, start, text,
};
use crate::common::{await_count, impatient};

/// The frames of each turn.
type Flood = Box<dyn Fn(u32) -> Vec<u8>>;

/// A health check, and the end of the one before, which the server has begun to serve.
fn check_and_reset(stream: u32) -> Vec<u8> {
    let mut both = frame(
        HEADERS,
        4,
        stream,
        &ask_for_path("/grpc.health.v1.Health/Check"),
    );
    if stream > 1 {
        both.extend(frame(RST_STREAM, 0, stream - 2, &8u32.to_be_bytes()));
    }
    both
}

#[test]
fn floods_end_the_connection() {
    const ENHANCE_YOUR_CALM: u32 = 11;
    let running = start(server(), Config::default());
    let reset = |stream: u32| {
        let mut both = frame(HEADERS, 4, stream, &ask_for("Echo"));
        both.extend(frame(RST_STREAM, 0, stream, &8u32.to_be_bytes()));
        both
    };
    const PRIORITY: u8 = 2;
    const UNKNOWN: u8 = 0xbe;
    const DATA: u8 = 0;
    const PADDED: u8 = 8;
    // DATA needs a stream: the request never ends.
    let data = |turn: u32, flags: u8, payload: &[u8]| match turn {
        0 => frame(HEADERS, 4, 1, &ask_for("Echo")),
        _ => frame(DATA, flags, 1, payload),
    };
    let floods: [(&str, Flood); 10] = [
        ("ping", Box::new(|_| frame(PING, 0, 0, &[7; 8]))),
        ("ping ack", Box::new(|_| frame(PING, 1, 0, &[7; 8]))),
        ("priority", Box::new(|_| frame(PRIORITY, 0, 1, &[0; 5]))),
        (
            "window",
            Box::new(|_| frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ),
        ("unknown", Box::new(|_| frame(UNKNOWN, 0, 0, &[0; 20]))),
        ("settings", Box::new(|_| frame(SETTINGS, 0, 0, &[]))),
        ("reset", Box::new(move |turn| reset(2 * turn + 1))),
        ("health", Box::new(|turn| check_and_reset(2 * turn + 1))),
        ("empty data", Box::new(move |turn| data(turn, 0, &[]))),
        // The length of the padding, and nothing but padding.
        (
            "padding",
            Box::new(move |turn| data(turn, PADDED, &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        ),
    ];
    for (name, flood) in floods {
        let mut stream = raw(&running);
        let mut reader = stream.try_clone().expect("a socket");
        // It is read meanwhile, so that the server is never the one that waits.
        let code = std::thread::spawn(move || farewell(&mut reader));
        for turn in 0..5_000 {
            if stream.write_all(&flood(turn)).is_err() {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Write);
        // What is still on its way when the server closes may take the GOAWAY with it.
        let code = code.join().expect("no panic");
        assert!(code.is_none_or(|code| code == ENHANCE_YOUR_CALM), "{name}");
    }
    await_count(&running, "accelflow_connections_total{end=\"flood\"}", 10);
    let mut client = connect(running.address());
    assert_eq!(
        client.call("Echo", text("x")).json("test.Text")["text"],
        "x"
    );
}

#[test]
fn bytes_that_are_not_http2_end_the_connection() {
    let running = start(server(), Config::default());
    let cases: [(&str, Vec<u8>); 6] = [
        (
            "HTTP/1.1",
            b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        ),
        ("half a preface", PREFACE[..10].to_vec()),
        (
            "no SETTINGS",
            [PREFACE, &frame(PING, 0, 0, &[0; 8])].concat(),
        ),
        ("a frame too large", [PREFACE, &[0xff; 9]].concat()),
        (
            "HPACK that is none",
            [
                PREFACE,
                &frame(SETTINGS, 0, 0, &[]),
                &frame(HEADERS, 5, 1, &[0xff; 20]),
            ]
            .concat(),
        ),
        (
            "DATA of no stream",
            [PREFACE, &frame(SETTINGS, 0, 0, &[]), &frame(0, 0, 5, b"x")].concat(),
        ),
    ];
    for (name, bytes) in cases {
        let mut stream = crate::common::connect(&running);
        stream.write_all(&bytes).expect("it reads");
        stream.shutdown(Shutdown::Write).expect("a socket");
        let _ = farewell(&mut stream);
        let mut client = connect(running.address());
        assert_eq!(
            client.call("Echo", text("x")).json("test.Text")["text"],
            "x",
            "{name}"
        );
    }
    await_count(&running, "accelflow_connections_total{end=\"http2\"}", 3);
}

#[test]
fn slow_clients_lose_their_connection() {
    let running = start(server(), impatient());
    // Half a preface, half a frame, a header block without end.
    let settings = frame(SETTINGS, 0, 0, &[]);
    let half = frame(HEADERS, 4, 1, &ask_for("Echo"));
    let open = frame(HEADERS, 0, 1, &ask_for("Echo"));
    let cases = [
        PREFACE[..10].to_vec(),
        [PREFACE, &settings, &half[..20]].concat(),
        [PREFACE, &settings, &open].concat(),
    ];
    for bytes in cases {
        let mut stream = crate::common::connect(&running);
        stream.write_all(&bytes).expect("it reads");
        let _ = farewell(&mut stream);
    }
    await_count(&running, "accelflow_connections_total{end=\"slow\"}", 3);
    let mut idle = raw(&running);
    assert_eq!(farewell(&mut idle), Some(0), "it is told");
    await_count(&running, "accelflow_connections_total{end=\"idle\"}", 1);
}

#[test]
fn a_request_without_end_is_given_up() {
    let config = Config {
        message_timeout: Duration::from_millis(300),
        ..Config::default()
    };
    let running = start(server(), config);
    let client = connect(running.address());
    let (code, why) = client.runtime.block_on(async {
        let mut requests = client.requests.clone().ready().await.expect("room");
        let asked = request("/test.Calculator/Echo", &[]);
        let (response, mut body) = requests.send_request(asked, false).expect("room");
        body.send_data(text("x").into(), false).expect("room");
        let response = response.await.expect("a reply");
        let header = |name| response.headers().get(name).expect("sent").clone();
        (header("grpc-status"), header("grpc-message"))
    });
    assert_eq!(code, "4");
    assert_eq!(why, "the request was not complete in time");
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let config = Config {
        write_timeout: Duration::from_millis(300),
        ..Config::default()
    };
    let running = start(server(), config);
    // Flow control holds the response back: the stream is reset.
    let mut stream = raw(&running);
    // Both requests are more than a connection may send before the server has widened its window.
    while read_frame(&mut stream).expect("it greets").0 != WINDOW_UPDATE {}
    let long = text(&"x".repeat(60_000));
    stream
        .write_all(&frame(HEADERS, 4, 1, &ask_for("Echo")))
        .expect("it reads");
    for (part, last) in long.chunks(16_384).zip([0, 0, 0, 1]) {
        stream
            .write_all(&frame(0, last, 1, part))
            .expect("it reads");
    }
    let mut again = frame(HEADERS, 4, 3, &ask_for("Echo"));
    for (part, last) in long.chunks(16_384).zip([0, 0, 0, 1]) {
        again.extend(frame(0, last, 3, part));
    }
    stream.write_all(&again).expect("it reads");
    let function = "test.Calculator.Echo";
    let unsent = format!("accelflow_requests_total{{function=\"{function}\",result=\"unsent\"}}");
    await_count(&running, &unsent, 1);
}

#[test]
fn headers_and_streams_are_bounded() {
    let config = Config {
        max_concurrent_streams: 3,
        ..Config::default()
    };
    let running = start(server(), config);
    let mut client = connect(running.address());
    let long = "x".repeat(20_000);
    let request = request("/test.Calculator/Echo", &[("x-long", &long)]);
    let reply = exchange(client.requests.clone(), request, text("x"));
    let reply = client.runtime.block_on(reply);
    assert!(
        reply
            .as_ref()
            .ok()
            .is_none_or(|reply| reply.http == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        "{reply:?}"
    );
    assert_eq!(
        client.call("Echo", text("x")).json("test.Text")["text"],
        "x"
    );
    // Three requests without end, and one too many.
    let mut stream = raw(&running);
    for id in [1, 3, 5, 7] {
        let head = frame(HEADERS, 4, id, &ask_for("Echo"));
        stream.write_all(&head).expect("it reads");
    }
    const REFUSED_STREAM: u32 = 7;
    let refused = loop {
        let (kind, _, id, payload) = read_frame(&mut stream).expect("it answers");
        if kind == RST_STREAM {
            break (
                id,
                u32::from_be_bytes([payload[0], payload[1], payload[2], payload[3]]),
            );
        }
    };
    assert_eq!(refused, (7, REFUSED_STREAM));
    let huge = block(&[("x", "y")]).repeat(5_000);
    let mut stream = raw(&running);
    let _ = stream.write_all(&frame(HEADERS, 0, 1, &huge[..16_384]));
    for _ in 0..1_000 {
        if stream.write_all(&frame(9, 0, 1, &huge[..16_384])).is_err() {
            break;
        }
    }
    assert!(farewell(&mut stream).is_none_or(|code| code != 0));
}
