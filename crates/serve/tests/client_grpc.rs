//! Calls of gRPC to services that answer, and what ends calls that they do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use accelflow_serve::{
    CallError, CallOptions, Cancel, ClientConfig, Config, Executed, GrpcCode, HandlerError,
    Request, with_deadline,
};
use h2::Reason;
use serde_json::{Value, json};

use crate::common::grpc::{self, schema};
use crate::common::services::*;
use crate::common::{Certificate, start};

#[test]
fn responses_and_statuses_come_back_unchanged() {
    let certificate = Certificate::new("client-grpc");
    let mut secure = grpc::server();
    secure.set_tls(certificate.identity());
    let (plain, secure) = (start(grpc::server()), start(secure));
    for (running, trust, compress) in [
        (&plain, None, false),
        (&plain, None, true),
        (&secure, Some(certificate.trust()), false),
        (&secure, Some(certificate.trust()), true),
    ] {
        let config = ClientConfig {
            compress,
            ..config()
        };
        let client = client(running.address(), trust, config);
        let call = |method: &str, request: &[u8]| client.call(method, request);
        let sum: Value = serde_json::from_slice(&call("Add", ADD).expect("adds")).expect("JSON");
        assert_eq!(sum, json!({"a": "42", "b": "0"}));
        for size in [0_u64, 1, 16_384, 70_000, 1_000_000] {
            let text: String = (0..size)
                .map(|n| char::from(b'a' + (n * n % 23) as u8))
                .collect();
            let sent = json!({"text": text});
            let echoed = call("Calculator.Echo", sent.to_string().as_bytes()).expect("echoes");
            let echoed: Value = serde_json::from_slice(&echoed).expect("JSON");
            assert_eq!(echoed["text"], sent["text"]);
        }
        let max = format!(r#"{{"a":"{}","b":"1"}}"#, i64::MAX);
        match call("test.Calculator.Add", max.as_bytes()) {
            Err(CallError::Status { code, message, .. }) => {
                assert_eq!(
                    (code, &*message),
                    (GrpcCode::OutOfRange, "50 % too much: ü")
                );
            }
            other => panic!("{other:?}"),
        }
        let unknown = ("status", Executed::Perhaps, GrpcCode::Unknown);
        assert_eq!(reason(call("Fail", b"{}")), unknown);
        assert_eq!(reason(call("Panic", b"{}")), unknown);
        let missing = ("status", Executed::Perhaps, GrpcCode::Unimplemented);
        assert_eq!(reason(call("Unhandled", b"{}")), missing);
        let not_there = ("unknown_method", Executed::No, GrpcCode::Unimplemented);
        assert_eq!(reason(call("None", b"{}")), not_there);
        assert_eq!(reason(call("Watch", b"{}")), not_there);
        let (bad, executed, _) = reason(call("Add", br#"{"a":{}}"#));
        assert_eq!((bad, executed), ("bad_json", Executed::No));
        assert_eq!(
            (client.connections().open, client.connections().waiting),
            (1, 0)
        );
        let metrics = client.metrics();
        assert_eq!(metric(&metrics, "calls_total|\"ok\""), 6);
        assert_eq!(metric(&metrics, "calls_total|\"status\""), 4);
    }
}

#[test]
fn many_calls_share_one_connection_and_wait_in_turn_beyond_its_streams() {
    let mut slow = accelflow_serve::Server::grpc(schema());
    let at_once = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let seen = at_once.clone();
    let work = move |request: &Request<'_>| {
        let now = seen.0.fetch_add(1, Ordering::SeqCst) + 1;
        seen.1.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(2));
        seen.0.fetch_sub(1, Ordering::SeqCst);
        Ok(request.arguments.to_vec())
    };
    slow.handle("Echo", work).expect("declared");
    let limits = Config {
        max_concurrent_streams: 4,
        ..Config::default()
    };
    let running = grpc::start(slow, limits);
    let config = ClientConfig {
        max_connections: 1,
        ..config()
    };
    let client = client(running.address(), None, config);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let client = &client;
            scope.spawn(move || {
                for turn in 0..20 {
                    let sent = json!({"text": format!("{thread} {turn}")});
                    let echoed = client.call("Echo", sent.to_string().as_bytes());
                    let echoed = echoed.expect("it waits its turn");
                    let echoed: Value = serde_json::from_slice(&echoed).expect("JSON");
                    assert_eq!(echoed["text"], sent["text"]);
                }
            });
        }
    });
    assert_eq!(client.connections().open, 1);
    let most = at_once.1.load(Ordering::SeqCst);
    assert!((2..=4).contains(&most), "{most}");
}

#[test]
fn a_full_channel_is_a_value_and_connections_are_bounded() {
    let called = Arc::new(AtomicUsize::new(0));
    let count = called.clone();
    let (address, service) = scripted(2, move |_, mut connection| {
        let count = count.clone();
        async move {
            let mut held = Vec::new();
            while let Some(Ok(request)) = connection.accept().await {
                held.push(request);
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let config = ClientConfig {
        max_connections: 2,
        calls_per_connection: 2,
        max_waiting: 1,
        ..once(LONG)
    };
    let client = client(address, None, config);
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..5)
            .map(|_| {
                let options = CallOptions {
                    cancel: Some(cancel.clone()),
                    ..CallOptions::default()
                };
                let client = &client;
                scope.spawn(move || client.call_with("Add", ADD, &options))
            })
            .collect();
        eventually("four calls are there, and one waits", || {
            let counts = client.connections();
            let counts = (counts.open, counts.idle, counts.waiting);
            called.load(Ordering::SeqCst) == 4 && counts == (2, 0, 1)
        });
        let full = ("pool_full", Executed::No, GrpcCode::ResourceExhausted);
        assert_eq!(reason(client.call("Add", ADD)), full);
        cancel.cancel();
        // The one that waited may have been sent in the place of another.
        for call in calls {
            let (reason, executed, code) = reason(call.join().expect("no panic"));
            assert_eq!((reason, code), ("cancelled", GrpcCode::Cancelled));
            assert_ne!(executed, Executed::Yes);
        }
    });
    drop(client);
    service.join().expect("no panic");
}

#[test]
fn a_call_after_its_deadline_does_not_connect() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = nobody.local_addr().expect("its address");
    drop(nobody);
    let client = client(address, None, config());
    let past = CallOptions {
        deadline: Some(Instant::now()),
        ..CallOptions::default()
    };
    for _ in 0..20 {
        let late = ("timeout", Executed::No, GrpcCode::DeadlineExceeded);
        assert_eq!(reason(client.call_with("Add", ADD, &past)), late);
    }
}

#[test]
fn deadlines_reach_the_service_and_end_the_call_on_both_sides() {
    let reset = Arc::new(AtomicUsize::new(0));
    let (seen, told) = (reset.clone(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let noted = told.clone();
    let (address, service) = scripted(1, move |_, mut connection| {
        let (seen, noted) = (seen.clone(), noted.clone());
        async move {
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let (seen, noted) = (seen.clone(), noted.clone());
                tokio::task::spawn_local(async move {
                    let headers = read(request).await;
                    let timeout = headers["grpc-timeout"].to_str().expect("ASCII");
                    noted.lock().expect("no panic").push(timeout.to_owned());
                    // The client leaves a connection on which the service sends nothing during a
                    // call.
                    let headers = respond.send_response(head(200, &[GRPC]), false);
                    let mut stream = headers.expect("open");
                    let code = std::future::poll_fn(|cx| stream.poll_reset(cx)).await;
                    assert_eq!(code.expect("a reset"), Reason::CANCEL);
                    seen.fetch_add(1, Ordering::SeqCst);
                });
            }
        }
    });
    let client = client(address, None, config());
    let late = ("timeout", Executed::Perhaps, GrpcCode::DeadlineExceeded);
    // Long enough for a busy machine to have sent the call.
    let soon = || Instant::now() + Duration::from_secs(3);
    let options = CallOptions {
        deadline: Some(soon()),
        ..CallOptions::default()
    };
    assert_eq!(reason(client.call_with("Add", ADD, &options)), late);
    // The deadline of a request that is being handled holds as well.
    let within = with_deadline(soon(), || client.call("Add", ADD));
    assert_eq!(reason(within), late);
    eventually("both streams are reset", || {
        reset.load(Ordering::SeqCst) == 2
    });
    for told in &*told.lock().expect("no panic") {
        let (count, unit) = told.split_at(told.len() - 1);
        let scale = match unit {
            "n" => 1,
            "u" => 1_000,
            "m" => 1_000_000,
            _ => panic!("{told}: more than was left"),
        };
        let count: u64 = count.parse().expect("digits");
        assert!((1..=3_000_000_000).contains(&(count * scale)), "{told}");
    }
    let past = CallOptions {
        deadline: Some(Instant::now()),
        ..CallOptions::default()
    };
    let (_, executed, code) = reason(client.call_with("Add", ADD, &past));
    assert_eq!(code, GrpcCode::DeadlineExceeded);
    assert_ne!(executed, Executed::Yes);
    drop(client);
    service.join().expect("no panic");
}

#[test]
fn deadlines_of_requests_are_passed_on_to_calls_in_their_handlers() {
    let inner = Arc::new(std::sync::Mutex::new(None));
    let noted = inner.clone();
    let mut last = accelflow_serve::Server::grpc(schema());
    let note = move |request: &Request<'_>| {
        *noted.lock().expect("no panic") = request.deadline;
        Ok(request.arguments.to_vec())
    };
    last.handle("Echo", note).expect("declared");
    let last = start(last);
    let onward = Arc::new(client(last.address(), None, config()));
    let mut first = accelflow_serve::Server::grpc(schema());
    let pass = move |request: &Request<'_>| {
        let called = onward.call("Echo", request.arguments);
        called.map_err(|error| HandlerError::Internal(error.to_string()))
    };
    first.handle("Echo", pass).expect("declared");
    let first = start(first);
    let client = client(first.address(), None, config());
    let deadline = Instant::now() + Duration::from_secs(20);
    let options = CallOptions {
        deadline: Some(deadline),
        ..CallOptions::default()
    };
    let echoed = client.call_with("Echo", br#"{"text":"x"}"#, &options);
    assert!(echoed.is_ok(), "{echoed:?}");
    let passed = inner.lock().expect("no panic").expect("a deadline");
    // Each hop counts from when the message has come.
    assert!(
        passed < deadline + Duration::from_secs(19),
        "earlier than the client's own limit"
    );
}

#[test]
fn idle_connections_are_closed_and_opened_again() {
    let running = start(grpc::server());
    let config = ClientConfig {
        idle_timeout: Duration::from_millis(20),
        ..config()
    };
    let client = client(running.address(), None, config);
    assert!(client.call("Add", ADD).is_ok());
    eventually("the connection is closed", || {
        client.connections().open == 0
    });
    eventually("it is counted", || {
        metric(&client.metrics(), "ended_total|idle") == 1
    });
    assert!(client.call("Add", ADD).is_ok());
}
