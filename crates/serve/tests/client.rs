//! Calls from service to service, and services that fail to answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use accelflow_accel::Settings;
use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{
    Address, CallError, CallOptions, Cancel, Client, ClientConfig, Executed, HandlerError,
    PoolCounts, Request, RetryPolicy, current_deadline, with_deadline,
};

use crate::common::*;

const ADD: &[u8] = br#"{"a":1,"b":1}"#;

fn config() -> ClientConfig {
    ClientConfig {
        timeout: LONG,
        ..ClientConfig::default()
    }
}

/// Without retries, and with time limits that tests can wait for.
fn hasty() -> ClientConfig {
    ClientConfig {
        timeout: Duration::from_secs(1),
        retry: RetryPolicy {
            max_attempts: 1,
            ..RetryPolicy::default()
        },
        ..ClientConfig::default()
    }
}

fn client(address: SocketAddr, protocol: Protocol, config: ClientConfig) -> Client {
    let settings = Settings {
        schema: schema(),
        ..Settings::default()
    };
    Client::new(address, settings, protocol, None, config).expect("settings that exist")
}

/// What a service of a test does with a connection.
type Script = Box<dyn FnOnce(TcpStream) + Send>;

/// A service that treats each connection by the next script, and then listens no more.
fn scripted(scripts: Vec<Script>) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let thread = std::thread::spawn(move || {
        for script in scripts {
            script(waits::accept(&listener));
        }
    });
    (address, thread)
}

/// Answers a call of `add` with 2.
fn answer(stream: &mut TcpStream) {
    let call = receive(stream).expect("a call");
    let (_, sequence, _) = read_call(&call);
    stream
        .write_all(&reply(sequence))
        .expect("the client reads");
}

fn read_call(frame: &[u8]) -> (MessageType, i32, String) {
    use accelflow_accel::Limits;
    use accelflow_accel::rpc::read_message;
    let (call, _) = read_message(&schema(), frame, &Limits::default()).expect("a call");
    (call.message_type, call.sequence, call.method.to_string())
}

fn reply(sequence: i32) -> Vec<u8> {
    use accelflow_accel::Limits;
    use accelflow_accel::rpc::{ThriftCall, write_message};
    use accelflow_accel::thrift::struct_from_json;
    let (schema, limits) = (schema(), Limits::default());
    let call = ThriftCall::request(&schema, "add", Protocol::Binary, sequence).expect("known");
    let id = schema.function(call.function).expect("found").result;
    let body = struct_from_json(&schema, id, call.protocol, br#"{"success":2}"#, &limits);
    write_message(&call.reply(), &body.expect("fits"), &limits).expect("small")
}

/// Text that is not compressed to nearly nothing, which servers take for a bomb.
fn varied(size: usize) -> String {
    let mut state = 1_u64;
    let mut letter = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'a' + (state >> 60) as u8)
    };
    (0..size).map(&mut letter).collect()
}

fn metric(client: &Client, series: &str) -> u64 {
    let text = client.metrics();
    let found = text.lines().find_map(|line| {
        let (name, value) = line.rsplit_once(' ')?;
        let labels: Vec<&str> = series.split('|').collect();
        labels
            .iter()
            .all(|label| name.contains(label))
            .then_some(value)
    });
    found.map_or(0, |value| value.parse().expect("a count"))
}

#[test]
fn values_and_failures_come_back_with_their_types() {
    let certificate = Certificate::new("client-values");
    let mut secure = server();
    secure.set_tls(certificate.identity());
    let (plain, secure) = (start(server()), start(secure));
    for (running, trust, protocol, compress) in [
        (&plain, None, Protocol::Binary, false),
        (&plain, None, Protocol::Compact, true),
        (&secure, Some(certificate.trust()), Protocol::Binary, true),
        (&secure, Some(certificate.trust()), Protocol::Compact, false),
    ] {
        let settings = Settings {
            schema: schema(),
            ..Settings::default()
        };
        let config = ClientConfig {
            compress,
            ..config()
        };
        let client = Client::new(running.address(), settings, protocol, trust, config);
        let client = client.expect("settings that exist");
        let call = |method: &str, arguments: &str| client.call(method, arguments.as_bytes());
        assert_eq!(call("add", r#"{"a":40,"b":2}"#).expect("adds"), b"42");
        assert_eq!(call("nothing", "{}").expect("void"), b"");
        assert_eq!(call("note", r#"{"text":"x"}"#).expect("oneway"), b"");
        let large = format!(r#"{{"value":{{"text":"{}"}}}}"#, varied(100_000));
        let echoed = call("Test.echo", &large).expect("echoes");
        assert_eq!(echoed, large.as_bytes()[9..large.len() - 1]);
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
        if !compress {
            let error = call("add", r#"{"a":"x"}"#).expect_err("no number");
            assert_eq!(error.reason(), "wrong_json_type");
            assert_eq!(error.executed(), Executed::No);
        }
        assert_eq!(call("add", r#"{"a":1,"b":1}"#).expect("adds"), b"2");
        // One connection has served all of them.
        assert_eq!(client.connections().open, 1, "{}", client.metrics());
    }
}

#[test]
fn handlers_call_other_services() {
    let inner = start(server());
    let mut outer = server();
    let nested = client(inner.address(), Protocol::Compact, config());
    let handler = move |request: &Request<'_>| {
        let called = nested.call("add", request.arguments);
        called.map_err(|error| HandlerError::Internal(error.to_string()))
    };
    outer.handle("Test.add", handler).expect("a function");
    outer.set_config(verbose());
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
fn calls_of_silent_services_time_out_and_later_ones_reconnect() {
    let other = frame("add", Protocol::Binary, 500, r#"{"a":1,"b":1}"#);
    let held = Arc::new(Mutex::new(Vec::new()));
    let script = |bytes: Vec<u8>, keep: bool| -> Script {
        let held = held.clone();
        Box::new(move |mut stream| {
            receive(&mut stream).expect("a call");
            stream.write_all(&bytes).expect("the client reads");
            if keep {
                held.lock().expect("no panic").push(stream);
            }
        })
    };
    let mut surplus = reply(6);
    surplus.push(0);
    let (address, thread) = scripted(vec![
        script(vec![], true),
        script(vec![0, 0, 0, 32], true),
        script(vec![0, 0, 0, 32], false),
        script(vec![127, 0, 0, 0], true),
        script(other, true),
        script(surplus, true),
    ]);
    let client = client(address, Protocol::Binary, hasty());
    for (reason, executed) in [
        ("timeout", Executed::Perhaps),
        ("timeout", Executed::Perhaps),
        ("lost", Executed::Perhaps),
        ("malformed_response", Executed::Perhaps),
        ("out_of_step", Executed::Perhaps),
        ("bad_response", Executed::Perhaps),
    ] {
        let error = client.call("add", ADD).expect_err("not answered well");
        assert_eq!(
            (error.reason(), error.executed()),
            (reason, executed),
            "{error}"
        );
        assert!(error.to_string().contains("127.0.0.1"), "{error}");
    }
    thread.join().expect("no panic");
    let gone = client.call("add", ADD).expect_err("nobody listens");
    assert_eq!((gone.reason(), gone.executed()), ("connect", Executed::No));
    assert_eq!(metric(&client, r#"calls_total|result="timeout""#), 2);
    assert_eq!(client.connections(), PoolCounts::default());
}

#[test]
fn connections_are_shared_and_bounded() {
    let running = start(server());
    let config = ClientConfig {
        max_connections: 3,
        ..config()
    };
    let client = client(running.address(), Protocol::Binary, config);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let client = &client;
            scope.spawn(move || {
                for turn in 0..50 {
                    let arguments = format!(r#"{{"a":{number},"b":{turn}}}"#);
                    let sum = client.call("add", arguments.as_bytes()).expect("adds");
                    assert_eq!(sum, (number + turn).to_string().into_bytes());
                }
            });
        }
    });
    let counts = client.connections();
    assert!(
        (1..=3).contains(&counts.open) && counts.waiting == 0,
        "{counts:?}"
    );
    assert_eq!(counts.open, counts.idle);
    assert!(counted(&running, "accelflow_connections_open") <= 3);
    assert_eq!(metric(&client, r#"calls_total|result="ok""#), 400);
}

#[test]
fn a_pool_without_room_is_a_value() {
    let (entered, wait) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let (address, thread) = scripted(vec![Box::new(move |mut stream: TcpStream| {
        let call = receive(&mut stream).expect("a call");
        entered.send(()).expect("the test waits");
        released.recv_timeout(LONG).expect("the test says when");
        stream.write_all(&reply(read_call(&call).1)).expect("reads");
        answer(&mut stream);
    })]);
    let config = ClientConfig {
        max_connections: 1,
        max_waiting: 1,
        ..config()
    };
    let client = client(address, Protocol::Binary, config);
    let soon = CallOptions {
        deadline: Some(Instant::now() + Duration::from_secs(1)),
        ..CallOptions::default()
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| client.call("add", ADD));
        wait.recv_timeout(LONG).expect("the service was called");
        let late = client
            .call_with("add", ADD, &soon)
            .expect_err("no connection");
        assert_eq!(
            (late.reason(), late.executed()),
            ("pool_timeout", Executed::No)
        );
        let second = scope.spawn(|| client.call("add", ADD));
        eventually("one waits", || client.connections().waiting > 0);
        let full = client.call("add", ADD).expect_err("one waits already");
        assert_eq!(
            (full.reason(), full.executed()),
            ("pool_full", Executed::No)
        );
        release.send(()).expect("the service waits");
        assert_eq!(first.join().expect("no panic").expect("adds"), b"2");
        assert_eq!(second.join().expect("no panic").expect("adds"), b"2");
    });
    thread.join().expect("no panic");
}

#[test]
fn connections_that_died_while_idle_are_replaced_unseen() {
    let (read, was_read) = mpsc::channel::<()>();
    let (finish, finished) = mpsc::channel::<()>();
    let was_read = Arc::new(Mutex::new(was_read));
    let script = |last_words: &'static [u8]| -> Script {
        let (was_read, finish) = (was_read.clone(), finish.clone());
        Box::new(move |mut stream| {
            answer(&mut stream);
            let was_read = was_read.lock().expect("no panic");
            was_read.recv_timeout(LONG).expect("the test reads");
            stream.write_all(last_words).expect("the client is there");
            if last_words.is_empty() {
                drop(stream);
                finish.send(()).expect("the test waits");
            } else {
                finish.send(()).expect("the test waits");
                // The client goes when it sees that.
                let _ = stream.read(&mut [0]);
            }
        })
    };
    let (address, thread) = scripted(vec![script(b""), script(b"unasked"), script(b"")]);
    let no_retries = ClientConfig {
        timeout: LONG,
        ..hasty()
    };
    let client = client(address, Protocol::Binary, no_retries);
    for turn in 0..3 {
        assert_eq!(client.call("add", ADD).expect("adds"), b"2");
        assert_eq!(metric(&client, r#"ended_total|end="dead""#), turn);
        read.send(()).expect("the service waits");
        finished.recv_timeout(LONG).expect("the service goes on");
    }
    thread.join().expect("no panic");
    assert_eq!(metric(&client, "retries_total"), 0);
}

#[test]
fn idle_connections_are_closed() {
    let (address, thread) = scripted(vec![Box::new(|mut stream: TcpStream| {
        answer(&mut stream);
        assert_eq!(stream.read(&mut [0]).expect("a closed connection"), 0);
    })]);
    let config = ClientConfig {
        idle_timeout: Duration::from_millis(50),
        ..config()
    };
    let client = client(address, Protocol::Binary, config);
    assert_eq!(client.call("add", ADD).expect("adds"), b"2");
    thread.join().expect("no panic");
    assert_eq!(client.connections(), PoolCounts::default());
    assert_eq!(metric(&client, r#"ended_total|end="idle""#), 1);
}

#[test]
fn only_safe_calls_are_retried() {
    let cut = || -> Script {
        Box::new(|mut stream| {
            receive(&mut stream).expect("a call");
            stream.write_all(&[0, 0]).expect("the client reads");
        })
    };
    let good = || -> Script { Box::new(|mut stream| answer(&mut stream)) };
    let (address, thread) = scripted(vec![cut(), cut(), cut(), good(), cut(), good()]);
    let mut client = client(address, Protocol::Binary, config());
    // Perhaps executed: only its caller can say whether twice does harm.
    let lost = client.call("add", ADD).expect_err("cut");
    assert_eq!(
        (lost.reason(), lost.executed()),
        ("lost", Executed::Perhaps)
    );
    assert_eq!(metric(&client, r#"retries_total|reason="lost""#), 0);
    let idempotent = CallOptions {
        idempotent: true,
        ..CallOptions::default()
    };
    let sum = client.call_with("add", ADD, &idempotent);
    assert_eq!(sum.expect("the third attempt"), b"2");
    assert_eq!(metric(&client, r#"retries_total|reason="lost""#), 2);
    assert!(client.set_idempotent("Test.sub").is_err());
    client.set_idempotent("Test.add").expect("a function");
    assert_eq!(client.call("add", ADD).expect("the second attempt"), b"2");
    thread.join().expect("no panic");
    // Not executed: attempts until they are used up.
    let gone = client.call("nothing", b"{}").expect_err("nobody listens");
    assert_eq!(gone.reason(), "connect");
    assert_eq!(metric(&client, r#"retries_total|reason="connect""#), 2);
}

#[test]
fn calls_end_when_they_are_cancelled() {
    let (silent, _held) = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        (listener.local_addr().expect("bound"), listener)
    };
    let config = ClientConfig {
        max_connections: 1,
        ..config()
    };
    let client = client(silent, Protocol::Binary, config);
    let cancel = Cancel::new();
    let options = CallOptions {
        cancel: Some(cancel.clone()),
        ..CallOptions::default()
    };
    std::thread::scope(|scope| {
        // One waits for its response, the other for the connection.
        let calls = [0, 1].map(|_| scope.spawn(|| client.call_with("add", ADD, &options)));
        eventually("one waits", || client.connections().waiting > 0);
        cancel.cancel();
        let mut reasons = calls.map(|call| {
            let error = call.join().expect("no panic").expect_err("cancelled");
            assert_eq!(error.reason(), "cancelled");
            error.executed() == Executed::Perhaps
        });
        reasons.sort_unstable();
        // Whether the first had sent its request by then is a race.
        assert!(!reasons[0]);
    });
    let late = client.call_with("add", ADD, &options);
    assert_eq!(late.expect_err("cancelled before").reason(), "cancelled");
    assert_eq!(client.connections(), PoolCounts::default());
}

#[test]
fn deadlines_are_passed_on() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let silent = listener.local_addr().expect("bound");
    let nested = client(silent, Protocol::Binary, config());
    assert_eq!(current_deadline(), None);
    let soon = Instant::now() + Duration::from_secs(1);
    let error = with_deadline(soon, || {
        // A later deadline inside does not lengthen it.
        with_deadline(soon + LONG, || {
            assert_eq!(current_deadline(), Some(soon));
            nested.call("add", ADD).expect_err("nobody answers")
        })
    });
    assert!(
        matches!(
            &error,
            CallError::Timeout {
                during: "waiting for the response",
                sent: true,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(current_deadline(), None);
    let past = CallOptions {
        deadline: Some(Instant::now()),
        ..CallOptions::default()
    };
    let error = nested.call_with("add", ADD, &past).expect_err("too late");
    assert_eq!(error.reason(), "timeout");
}

#[test]
fn requests_that_outgrow_socket_buffers_are_sent_whole() {
    let (begin, begins) = mpsc::channel();
    let size = 8 << 20;
    let (address, thread) = scripted(vec![Box::new(move |mut stream: TcpStream| {
        begins.recv_timeout(LONG).expect("the test calls");
        let call = receive(&mut stream).expect("a call");
        assert!(call.len() > size);
        // It goes without an answer: half-closed, then closed.
        stream.shutdown(std::net::Shutdown::Write).expect("open");
        let _ = stream.read(&mut [0]);
    })]);
    let client = client(address, Protocol::Binary, config());
    let arguments = format!(r#"{{"value":{{"text":"{}"}}}}"#, "x".repeat(size));
    std::thread::scope(|scope| {
        let call = scope.spawn(|| client.call("echo", arguments.as_bytes()));
        begin.send(()).expect("the service waits");
        let lost = call.join().expect("no panic").expect_err("half-closed");
        assert_eq!(lost.reason(), "lost", "{lost}");
    });
    thread.join().expect("no panic");
}

#[test]
fn invalid_settings_are_named() {
    let address: SocketAddr = "127.0.0.1:1".parse().expect("an address");
    let make = |config| {
        let made = Client::new(address, Settings::default(), Protocol::Binary, None, config);
        made.expect_err("refused").to_string()
    };
    for (config, said) in [
        (
            ClientConfig {
                timeout: Duration::ZERO,
                ..ClientConfig::default()
            },
            "timeout_s = 0: must be a number from 1e-9 to 1e9 s",
        ),
        (
            ClientConfig {
                connect_timeout: Duration::MAX,
                ..ClientConfig::default()
            },
            "connect_timeout_s = 18446744073709552000: must be a number from 1e-9 to 1e9 s",
        ),
        (
            ClientConfig {
                retry: RetryPolicy {
                    max_delay: Duration::from_secs(1_000_000_001),
                    ..RetryPolicy::default()
                },
                ..ClientConfig::default()
            },
            "retry.max_delay_s = 1000000001: must be a number from 0 to 1e9 s",
        ),
        (
            ClientConfig {
                max_connections: 0,
                ..ClientConfig::default()
            },
            "max_connections = 0: must be a whole number from 1 to 2147483647 connections",
        ),
        (
            ClientConfig {
                retry: RetryPolicy {
                    budget_ratio: f64::NAN,
                    ..RetryPolicy::default()
                },
                ..ClientConfig::default()
            },
            "retry.budget_ratio = NaN: must be a number from 0 to 1 retries/call",
        ),
    ] {
        assert_eq!(make(config), said);
    }
}

#[test]
fn addresses_have_a_host_and_a_port_of_a_server() {
    for text in [
        "",
        "localhost",
        ":80",
        "a:b",
        "a/b:80",
        "a:70000",
        "::1:80",
        "a:0",
        "[::1]:0",
    ] {
        let parsed = text.parse::<Address>();
        assert!(parsed.is_err(), "{text}: {parsed:?}");
    }
    for text in ["localhost:80", "127.0.0.1:80", "[::1]:80"] {
        let parsed: Address = text.parse().expect("an address");
        assert_eq!(parsed.to_string(), text);
    }
}
