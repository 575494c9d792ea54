//! A server of gRPC at its public face.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use accelflow_accel::compress::Dcmp;
use accelflow_accel::{Codec, Limits};
use accelflow_serve::{
    Config, Execution, PoolSettings, Request, Steering, SteeringPolicy, current_deadline,
};
use http::StatusCode;
use serde_json::json;

use crate::common::grpc::{
    GOAWAY, HEADERS, PING, PREFACE, ask_for, connect, exchange, farewell, frame, gzip, message,
    prefixed, raw, read_frame, request, server, start, text,
};
use crate::common::{Certificate, LONG, await_count, counted, eventually, verbose};

/// Name, headers, body, and the code of the status.
type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], Vec<u8>, u8);

#[test]
fn unary_calls_are_answered() {
    let running = start(server(), verbose());
    let mut client = connect(running.address());
    for (a, b) in [(40, 2), (-5, 5), (i64::MIN, i64::MAX)] {
        let pair = message("test.Pair", &json!({"a": a, "b": b}));
        let reply = client.call("Add", prefixed(0, &pair));
        assert_eq!(reply.json("test.Pair")["a"], (a + b).to_string());
        assert_eq!(reply.headers["content-type"], "application/grpc");
        assert_eq!(reply.headers["grpc-accept-encoding"], "identity,gzip");
        assert_eq!(reply.headers.get("grpc-encoding"), None);
    }
    assert_eq!(
        client.call("Nothing", text("x")).json("test.Text")["text"],
        ""
    );
    let series = "accelflow_requests_total{function=\"test.Calculator.Add\",result=\"ok\"}";
    await_count(&running, series, 3);
    for step in ["TCP", "RPC", "Dser", "LdB", "Ser"] {
        let series = format!("accelflow_step_seconds_count{{accelerator=\"{step}\"}}");
        assert!(counted(&running, &series) >= 4, "{step} has worked");
    }
}

#[test]
fn gzip_is_answered_with_gzip_if_the_client_takes_it() {
    let running = start(server(), verbose());
    let mut client = connect(running.address());
    let long = "0123456789".repeat(20_000);
    let plain = message("test.Text", &json!({"text": long}));
    let asked = prefixed(1, &gzip(&plain));
    let speaks = [
        ("grpc-encoding", "gzip"),
        ("grpc-accept-encoding", "identity, gzip"),
    ];
    let reply = client.call_with("Echo", &speaks, asked.clone());
    assert_eq!(reply.headers["grpc-encoding"], "gzip");
    assert_eq!((reply.code(), reply.body[0]), (0, 1));
    let mut dcmp = Dcmp::new(Limits::default());
    assert_eq!(
        dcmp.decompress(Codec::Gzip, &reply.body[5..]),
        Ok(plain.clone())
    );
    // A client that sends gzip and does not take it, and one that could and does not.
    let reply = client.call_with("Echo", &speaks[..1], asked);
    assert_eq!(reply.json("test.Text")["text"], long);
    let reply = client.call_with("Echo", &speaks, prefixed(0, &plain));
    assert_eq!(reply.json("test.Text")["text"], long);
}

#[test]
fn failures_have_the_codes_of_grpc() {
    let running = start(server(), verbose());
    let mut client = connect(running.address());
    let pair = message("test.Pair", &json!({"a": i64::MAX, "b": 1}));
    let declared = client.call("Add", prefixed(0, &pair));
    assert_eq!(
        (declared.code(), declared.why()),
        (11, "50 %25 too much: %C3%BC")
    );
    assert!(declared.body.is_empty() && declared.trailers.is_empty());
    for (said, code, part) in [
        ("NOT_FOUND {\"message\": \"gone\"}", 5, "gone"),
        ("UNAUTHENTICATED {}", 16, ""),
        ("OK {}", 13, "'OK' is not an error code of gRPC"),
        ("refused {}", 13, "'refused' is not an error code of gRPC"),
        ("ABORTED {\"why\": 1}", 13, "have no field 'why'"),
        ("ABORTED {\"message\": 1}", 13, "must be a string"),
        ("ABORTED 5", 13, "must be an object"),
    ] {
        let reply = client.call("Refuse", text(said));
        assert_eq!(reply.code(), code, "{said}: {reply:?}");
        assert!(reply.why().contains(part), "{said}: {reply:?}");
    }
    for (method, code, part) in [
        ("Fail", 2, "no%0Aluck"),
        ("Panic", 2, "the handler panicked"),
        ("Broken", 13, "the handler's result cannot be sent"),
        ("Unhandled", 12, "no handler for test.Calculator.Unhandled"),
        (
            "Subtract",
            12,
            "method = 'test.Calculator.Subtract': must be",
        ),
        ("Watch", 12, "must be a unary method"),
    ] {
        let reply = client.call(method, text("x"));
        assert_eq!(reply.code(), code, "{method}: {reply:?}");
        assert!(reply.why().contains(part), "{method}: {reply:?}");
    }
    assert_eq!(
        client.call("Echo", text("still here")).json("test.Text")["text"],
        "still here"
    );
}

/// Requests that cannot be read with a limit of 100,000 bytes, and their codes.
fn unreadable() -> Vec<Case<'static>> {
    let packed: &[_] = &[("grpc-encoding", "gzip")];
    let nested = (0..70).fold(Vec::new(), |inner: Vec<u8>, _| {
        let length = inner.len();
        let mut outer = match length < 128 {
            true => vec![0x12, length as u8],
            false => vec![0x12, length as u8 | 0x80, (length >> 7) as u8],
        };
        outer.extend(inner);
        outer
    });
    let bomb = gzip(&[b' '; 1_000_000]);
    let mut corrupt = gzip(b"\x0a\x01x");
    corrupt[12] ^= 0xff;
    vec![
        ("wrong type", &[], prefixed(0, b"\x08\x01"), 13),
        ("truncated field", &[], prefixed(0, b"\x0a\x05x"), 13),
        ("not UTF-8", &[], prefixed(0, b"\x0a\x01\xff"), 13),
        ("nested", &[], prefixed(0, &nested), 13),
        ("flag", &[], prefixed(2, b""), 13),
        (
            "compressed without encoding",
            &[],
            prefixed(1, &gzip(b"")),
            13,
        ),
        (
            "truncated message",
            &[],
            prefixed(0, b"\x0a\x01x")[..7].to_vec(),
            13,
        ),
        ("no message", &[], Vec::new(), 12),
        ("two messages", &[], [text("x"), text("y")].concat(), 12),
        ("too large", &[], prefixed(0, &[0; 100_001]), 8),
        ("bomb", packed, prefixed(1, &bomb), 8),
        ("corrupt gzip", packed, prefixed(1, &corrupt), 13),
        ("no gzip", packed, prefixed(1, b"plain"), 13),
        (
            "trailing gzip",
            packed,
            prefixed(1, &[gzip(b""), b"x".to_vec()].concat()),
            13,
        ),
    ]
}

#[test]
fn the_size_of_a_message_limits_no_bytes_of_several_requests() {
    let mut config = verbose();
    config.limits.max_message_bytes = 4_096;
    let running = start(server(), config);
    let client = connect(running.address());
    let requests = client.requests.clone();
    let replies = client.runtime.block_on(async {
        let path = "/test.Calculator/Echo";
        let text = text(&"x".repeat(1_000));
        // They arrive together.
        let sent = (0..40).map(|_| exchange(requests.clone(), request(path, &[]), text.clone()));
        let sent: Vec<_> = sent.map(tokio::spawn).collect();
        let mut replies = Vec::new();
        for reply in sent {
            replies.push(reply.await.expect("no panic").expect("a reply"));
        }
        replies
    });
    assert!(replies.iter().all(|reply| reply.code() == 0), "{replies:?}");
    // A message that is too large is refused, and its connection stays open.
    let mut client = client;
    assert_eq!(client.call("Echo", text(&"x".repeat(5_000))).code(), 8);
    assert_eq!(client.call("Echo", text("x")).code(), 0);
}

#[test]
fn requests_that_cannot_be_read_are_refused_and_the_connection_goes_on() {
    let limits = Limits {
        max_message_bytes: 100_000,
        max_decompressed_bytes: 100_000,
        ..Limits::default()
    };
    let config = Config {
        limits,
        ..verbose()
    };
    let running = start(server(), config);
    let mut client = connect(running.address());
    for (name, headers, body, code) in unreadable() {
        let reply = client.call_with("Echo", headers, body);
        assert_eq!(reply.code(), code, "{name}: {reply:?}");
        assert!(!reply.why().is_empty(), "{name}");
        assert_eq!(
            client.call("Echo", text("x")).json("test.Text")["text"],
            "x",
            "{name}"
        );
    }
    for (header, value, code) in [
        ("grpc-encoding", "deflate", 12),
        ("grpc-timeout", "5 minutes", 13),
        ("grpc-timeout", "100000000S", 13),
    ] {
        let reply = client.call_with("Echo", &[(header, value)], text("x"));
        assert_eq!(reply.code(), code, "{header}: {reply:?}");
    }
}

#[test]
fn requests_that_are_not_grpc_get_a_status_of_http() {
    let running = start(server(), verbose());
    let client = connect(running.address());
    let ask = |method: http::Method, kind: &str| {
        let request = http::Request::builder()
            .method(method)
            .uri("http://localhost/test.Calculator/Echo")
            .header("content-type", kind)
            .body(())
            .expect("a request");
        let reply = exchange(client.requests.clone(), request, text("x"));
        client.runtime.block_on(reply).expect("a reply").http
    };
    assert_eq!(
        ask(http::Method::GET, "application/grpc"),
        StatusCode::METHOD_NOT_ALLOWED
    );
    for kind in [
        "application/json",
        "application/grpc+json",
        "application/grpc-web",
        "",
    ] {
        assert_eq!(
            ask(http::Method::POST, kind),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "{kind}"
        );
    }
    for kind in ["application/grpc+proto", "application/grpc; charset=utf-8"] {
        assert_eq!(ask(http::Method::POST, kind), StatusCode::OK, "{kind}");
    }
}

#[test]
fn calls_on_one_connection_run_at_once() {
    let mut server = server();
    // Each waits for the other.
    let came = AtomicUsize::new(0);
    let meet = move |request: &Request<'_>| {
        came.fetch_add(1, Ordering::SeqCst);
        eventually("both are there", || came.load(Ordering::SeqCst) == 2);
        Ok(request.arguments.to_vec())
    };
    server.handle("Unhandled", meet).expect("declared");
    let running = start(server, verbose());
    let client = connect(running.address());
    let call = |name: &str| {
        let request = request("/test.Calculator/Unhandled", &[]);
        exchange(client.requests.clone(), request, text(name))
    };
    let replies = client
        .runtime
        .block_on(async { tokio::join!(call("one"), call("other")) });
    assert_eq!(replies.0.expect("a reply").json("test.Text")["text"], "one");
    assert_eq!(
        replies.1.expect("a reply").json("test.Text")["text"],
        "other"
    );
}

#[test]
fn large_messages_share_the_limit_of_buffers() {
    let mut config = verbose();
    config.limits.max_message_bytes = 2 << 20;
    let running = start(server(), config);
    let client = connect(running.address());
    let long = "x".repeat(1_500_000);
    let call = || {
        let request = request("/test.Calculator/Echo", &[]);
        exchange(client.requests.clone(), request, text(&long))
    };
    client.runtime.block_on(async {
        for reply in at_once((0..12).map(|_| call())).await {
            assert_eq!(reply.expect("a reply").body, text(&long));
        }
    });
}

/// Runs futures at once on this thread; their results in order.
async fn at_once<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = all.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |cx| {
        for (future, done) in &mut waiting {
            if done.is_none()
                && let std::task::Poll::Ready(output) = future.as_mut().poll(cx)
            {
                *done = Some(output);
            }
        }
        match waiting.iter().all(|(_, done)| done.is_some()) {
            true => std::task::Poll::Ready(waiting.drain(..).filter_map(|slot| slot.1).collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

#[test]
fn deadlines_and_cancelling_free_the_client_and_not_the_handler() {
    let mut server = server();
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let wait = move |request: &Request<'_>| {
        assert!(request.deadline.is_some() || request.arguments.len() < 100);
        let _ = gate.lock().expect("nobody panics").recv_timeout(LONG);
        Ok(Vec::new())
    };
    server.handle("Unhandled", wait).expect("declared");
    let running = start(server, verbose());
    let mut client = connect(running.address());
    let reply = client.call_with("Unhandled", &[("grpc-timeout", "50m")], text("x"));
    assert_eq!(
        (reply.code(), reply.why()),
        (4, "the deadline was exceeded")
    );
    let metric = |result: &str| {
        let function = "test.Calculator.Unhandled";
        format!("accelflow_requests_total{{function=\"{function}\",result=\"{result}\"}}")
    };
    await_count(&running, &metric("deadline"), 1);
    // A stream that is dropped is reset.
    let runtime = &client.runtime;
    let asked = exchange(
        client.requests.clone(),
        request("/test.Calculator/Unhandled", &[]),
        text("x"),
    );
    runtime.block_on(async {
        let soon = Duration::from_millis(500);
        tokio::time::timeout(soon, asked)
            .await
            .expect_err("the handler waits");
        tokio::time::sleep(soon).await;
    });
    await_count(&running, &metric("cancelled"), 1);
    assert_eq!(
        client.call("Echo", text("x")).json("test.Text")["text"],
        "x"
    );
    drop(release);
}

#[test]
fn calls_of_handlers_keep_the_clients_deadline() {
    let steering = Steering {
        workers: 1,
        policy: SteeringPolicy::RoundRobin,
        ..Steering::default()
    };
    for steering in [None, Some(steering)] {
        let mut server = server();
        let (tell, told) = mpsc::channel();
        let note = move |request: &Request<'_>| {
            let deadlines = (request.deadline, current_deadline());
            tell.send(deadlines).expect("the test listens");
            Ok(Vec::new())
        };
        server.handle("Unhandled", note).expect("declared");
        let config = Config {
            steering,
            ..verbose()
        };
        let running = start(server, config);
        let mut client = connect(running.address());
        for headers in [&[("grpc-timeout", "1H")][..], &[]] {
            let reply = client.call_with("Unhandled", headers, text("x"));
            assert_eq!(reply.code(), 0, "{}", reply.why());
            let (deadline, kept) = told.recv_timeout(LONG).expect("the handler was called");
            assert_eq!(deadline.is_some(), !headers.is_empty());
            assert_eq!(kept, deadline);
        }
    }
}

#[test]
fn stopping_lets_calls_end_and_says_goodbye() {
    let mut server = server();
    let (begun, begins) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let (begun, gate) = (Mutex::new(begun), Mutex::new(gate));
    let wait = move |request: &Request<'_>| {
        let _ = begun.lock().expect("nobody panics").send(());
        let _ = gate.lock().expect("nobody panics").recv_timeout(LONG);
        Ok(request.arguments.to_vec())
    };
    server.handle("Unhandled", wait).expect("declared");
    let running = start(server, verbose());
    let mut idle = raw(&running);
    let mut busy = raw(&running);
    let end_headers = 4;
    busy.write_all(&frame(HEADERS, end_headers, 1, &ask_for("Unhandled")))
        .and_then(|()| busy.write_all(&frame(0, 1, 1, &text("late"))))
        .expect("it reads");
    begins.recv_timeout(LONG).expect("the handler begins");
    let stopping = std::thread::spawn(move || running.stop(Duration::from_secs(30)));
    let mut data = Vec::new();
    let mut told = false;
    while let Some((kind, flags, _, payload)) = read_frame(&mut busy) {
        match kind {
            GOAWAY if !told => {
                told = true;
                release.send(()).expect("the handler waits");
            }
            PING if flags == 0 => busy
                .write_all(&frame(PING, 1, 0, &payload))
                .expect("it reads"),
            0 => data.extend(payload),
            _ => {}
        }
    }
    assert!(told);
    assert_eq!(data, text("late"));
    assert_eq!(farewell(&mut idle), Some(0));
    assert_eq!(
        stopping.join().expect("no panic"),
        0,
        "nothing had to be cut off"
    );
}

#[test]
fn ensemble_execution_answers_the_same() {
    let mut replies = Vec::new();
    for execution in [
        Execution::Inline,
        Execution::Ensemble(PoolSettings::default()),
    ] {
        let config = Config {
            execution,
            ..verbose()
        };
        let running = start(server(), config);
        let mut client = connect(running.address());
        let packed = [("grpc-encoding", "gzip"), ("grpc-accept-encoding", "gzip")];
        let long = message("test.Text", &json!({"text": "ab".repeat(5_000)}));
        let one = client.call_with("Echo", &packed, prefixed(1, &gzip(&long)));
        let other = client.call("Fail", text("x"));
        replies.push((one.body, one.trailers, other.headers));
    }
    let inline = replies.remove(0);
    assert_eq!(inline.0, replies[0].0);
    assert_eq!(inline.1, replies[0].1);
    assert_eq!(inline.2, replies[0].2);
}

#[test]
fn tls_without_alpn_is_refused() {
    let certificate = Certificate::new("grpc");
    let mut server = server();
    server.set_tls(certificate.identity());
    let running = start(server, verbose());
    let mut stream = certificate.connect(&running, &[&rustls::version::TLS13]);
    let _ = stream.write_all(PREFACE);
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut stream, &mut rest);
    await_count(
        &running,
        "accelflow_connections_total{end=\"handshake\"}",
        1,
    );
}
