//! Parts of an RPC processor in the place of the RPC accelerator: nothing changes but what they are
//! for, and a request that finds no memory is not lost.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accelflow_accel::Settings;
use accelflow_accel::rpc::{LOADSHEDDING, MessageType};
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{
    ArenaSettings, CallError, Client, ClientConfig, Config, Executed, HandlerError, Request,
    Returned, RpcProcessor, Running, Server, Steering, SteeringPolicy,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::common::services::{
    ADD, LONG, client as grpc_client, config as grpc_config, eventually, once,
};
use crate::common::*;

const BOTH: [Protocol; 2] = [Protocol::Binary, Protocol::Compact];

fn with(rpc: RpcProcessor) -> Config {
    Config { rpc, ..verbose() }
}

fn arena(bytes: usize) -> RpcProcessor {
    RpcProcessor {
        arena: Some(ArenaSettings::of(bytes)),
        ..RpcProcessor::default()
    }
}

#[derive(Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

/// Reads the text, and not the data.
#[derive(Deserialize)]
struct OnlyText<'a> {
    #[serde(borrow)]
    value: Few<'a>,
}

#[derive(Deserialize)]
struct Few<'a> {
    #[serde(borrow, default)]
    text: std::borrow::Cow<'a, str>,
    #[serde(default)]
    data: Option<IgnoredAny>,
}

fn value_server() -> Server {
    let mut server = server();
    let add = |request: &Request<'_>| -> Result<Returned, HandlerError> {
        let Sum { a, b } = request.read()?;
        Ok(request.returns(&a.wrapping_add(b)))
    };
    let echo = |request: &Request<'_>| -> Result<Returned, HandlerError> {
        let OnlyText { value } = request.read()?;
        let text = format!("{} {}", value.text, value.data.is_some());
        Ok(request.returns(&BTreeMap::from([("text", text)])))
    };
    server.handle_values("Test.add", add).expect("known");
    server.handle_values("Test.echo", echo).expect("known");
    server
}

/// What a client is told in one conversation, byte for byte, and which accelerators did how many
/// steps.
fn conversation(
    rpc: RpcProcessor,
    steering: Option<Steering>,
    tls: bool,
) -> (Vec<u8>, Vec<String>) {
    let certificate = Certificate::new(&format!("rpc-processor-{tls}"));
    let mut server = value_server();
    server.set_config(Config {
        steering,
        ..with(rpc)
    });
    if tls {
        server.set_tls(certificate.identity());
    }
    let running = start(server);
    let mut calls = Vec::new();
    for (turn, protocol) in BOTH.into_iter().cycle().take(40).enumerate() {
        let text = "x".repeat(turn * 97);
        let (method, arguments) = match turn % 4 {
            0 => ("add", format!(r#"{{"a":{turn},"b":1}}"#)),
            1 => ("unhandled", "{}".to_owned()),
            2 => ("note", format!(r#"{{"text":"{text}"}}"#)),
            _ => (
                "echo",
                format!(r#"{{"value":{{"text":"{text}","data":"AAEC"}}}}"#),
            ),
        };
        calls.extend(frame(method, protocol, turn as i32, &arguments));
    }
    let mut heard = Vec::new();
    let mut hear = |stream: &mut dyn std::io::Read| {
        let mut stream = stream;
        for _ in 0..30 {
            heard.extend(receive(&mut stream).expect("a reply"));
        }
    };
    if tls {
        let mut stream = certificate.connect(&running, &[&rustls::version::TLS13]);
        stream.write_all(&calls).expect("the server reads");
        stream.flush().expect("the server reads");
        hear(&mut stream);
    } else {
        let mut stream = connect(&running);
        stream.write_all(&calls).expect("the server reads");
        hear(&mut stream);
    }
    await_count(&running, r#"accelflow_handler_seconds_count"#, 30);
    let text = running.metrics();
    let counts = text.lines().filter(|line| {
        line.starts_with("accelflow_requests_total") || line.contains("_step_seconds_count")
    });
    let mut counts: Vec<String> = counts.map(str::to_owned).collect();
    counts.sort();
    (heard, counts)
}

#[test]
fn bytes_and_visits_are_the_same_with_and_without() {
    let all = RpcProcessor {
        split_schema: true,
        ..arena(1 << 20)
    };
    let split = RpcProcessor {
        split_schema: true,
        ..RpcProcessor::default()
    };
    let map = Steering {
        policy: SteeringPolicy::FunctionMap,
        workers: 2,
        ..Steering::default()
    };
    for tls in [false, true] {
        let without = conversation(RpcProcessor::default(), None, tls);
        assert!(
            without.1.iter().any(|count| count.contains("Dser")),
            "{:?}",
            without.1
        );
        for (rpc, steering) in [(split, None), (arena(1 << 20), None), (all, Some(map))] {
            assert_eq!(conversation(rpc, steering, tls), without, "{rpc:?}");
        }
    }
}

/// A handler that says that it has begun, and waits until it is let go.
fn gate() -> (Sender<()>, Receiver<()>, impl Fn() + Send + Sync) {
    let (go, gone) = channel::<()>();
    let (begin, begun) = channel();
    let both = Mutex::new((begin, gone));
    let wait = move || {
        let both = both.lock().expect("one call at a time");
        both.0.send(()).expect("it is awaited");
        let _ = both.1.recv_timeout(LONG);
    };
    (go, begun, wait)
}

/// A server with memory for hardly more than one call, whose handler of `nothing` waits, and who
/// counts the calls of the others.
fn scarce(patience: Duration) -> (Server, Sender<()>, Receiver<()>, Arc<AtomicUsize>) {
    let (go, begun, wait) = gate();
    let mut server = server();
    let mut rpc = arena(150);
    rpc.arena = rpc.arena.map(|arena| ArenaSettings { patience, ..arena });
    server.set_config(with(rpc));
    let blocks = move |_: &Request<'_>| {
        wait();
        Ok(Vec::new())
    };
    server.handle("Test.nothing", blocks).expect("known");
    let executed = Arc::new(AtomicUsize::new(0));
    let counts = executed.clone();
    let note = move |_: &Request<'_>| {
        counts.fetch_add(1, Ordering::Relaxed);
        Ok(Vec::new())
    };
    server.handle("Test.note", note).expect("known");
    let counts = executed.clone();
    let add = move |_: &Request<'_>| {
        counts.fetch_add(1, Ordering::Relaxed);
        Ok(b"3".to_vec())
    };
    server.handle("Test.add", add).expect("known");
    (server, go, begun, executed)
}

const PAIR: &str = r#"{"a":1,"b":2}"#;
const REFUSED: &str = r#"accelflow_requests_total{function="",result="no_memory"}"#;

fn refused() -> String {
    let why = "no memory for this call now: it was not processed and may be retried";
    format!(r#"{{"message":"{why}","type":{LOADSHEDDING}}}"#)
}

#[test]
fn a_call_without_memory_is_told_to_come_again_and_is_served_then() {
    let certificate = Certificate::new("nack");
    for tls in [false, true] {
        let (mut server, go, begun, executed) = scarce(Duration::ZERO);
        if tls {
            server.set_tls(certificate.identity());
        }
        let running = start(server);
        let trust = tls.then(|| certificate.trust());
        std::thread::scope(|scope| {
            let blocker = client(&running, &trust, 1);
            scope.spawn(move || {
                blocker
                    .call("Test.nothing", b"{}")
                    .map(drop)
                    .expect("an answer")
            });
            begun.recv_timeout(LONG).expect("it has the memory");
            // A stock client is told so, again and again, on a connection that stays.
            if tls {
                let mut stream = certificate.connect(&running, &[&rustls::version::TLS13]);
                for protocol in BOTH.repeat(3) {
                    let told = call(&mut stream, "add", protocol, PAIR);
                    assert_eq!(told, (MessageType::Exception, refused()));
                }
            } else {
                let mut stream = connect(&running);
                for protocol in BOTH.repeat(3) {
                    let told = call(&mut stream, "add", protocol, PAIR);
                    assert_eq!(told, (MessageType::Exception, refused()));
                }
            }
            // A client of ours knows that it may repeat the call.
            let once = client(&running, &trust, 1);
            let error = once
                .call("Test.add", PAIR.as_bytes())
                .expect_err("no memory");
            assert!(matches!(error, CallError::Unprocessed { .. }), "{error}");
            assert_eq!(error.executed(), Executed::No);
            assert_eq!(once.connections().open, 1, "the connection stays");
            assert_eq!(
                (counted(&running, REFUSED), executed.load(Ordering::Relaxed)),
                (7, 0)
            );
            let patient = client(&running, &trust, 1_000);
            let served = scope.spawn(move || patient.call("Test.add", PAIR.as_bytes()));
            await_count(&running, REFUSED, 8);
            go.send(()).expect("it waits");
            assert_eq!(served.join().expect("no panic").expect("an answer"), b"3");
        });
        assert_eq!(executed.load(Ordering::Relaxed), 1);
    }
}

fn client(running: &Running, trust: &Option<accelflow_serve::TlsTrust>, attempts: u32) -> Client {
    let settings = Settings {
        schema: schema(),
        ..Settings::default()
    };
    let mut config = ClientConfig {
        timeout: LONG,
        ..ClientConfig::default()
    };
    config.retry.max_attempts = attempts;
    config.retry.max_delay = Duration::from_millis(2);
    config.retry.budget_reserve = 1_000_000;
    let trust = trust.clone();
    Client::new(running.address(), settings, Protocol::Binary, trust, config).expect("settings")
}

#[test]
fn under_pressure_every_call_is_executed_once() {
    // Of eight clients two at a time find memory.
    let (mut server, _go, _begun, executed) = scarce(Duration::ZERO);
    server.set_config(with(arena(450)));
    let running = start(server);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let client = client(&running, &None, 1_000_000);
            scope.spawn(move || {
                for _ in 0..40 {
                    assert_eq!(
                        client.call("Test.add", PAIR.as_bytes()).expect("an answer"),
                        b"3"
                    );
                }
            });
        }
    });
    assert_eq!(executed.load(Ordering::Relaxed), 320);
    let ok = r#"accelflow_requests_total{function="Test.add",result="ok"}"#;
    await_count(&running, ok, 320);
}

#[test]
fn oneway_calls_and_patient_servers_wait_for_memory() {
    let (server, go, begun, executed) = scarce(Duration::ZERO);
    let running = start(server);
    let mut blocker = connect(&running);
    let nothing = frame("nothing", Protocol::Binary, 1, "{}");
    blocker.write_all(&nothing).expect("the server reads");
    begun.recv_timeout(LONG).expect("it has the memory");
    let mut stream = connect(&running);
    let note = frame("note", Protocol::Compact, 1, r#"{"text":"kept"}"#);
    stream.write_all(&note.repeat(5)).expect("the server reads");
    stream
        .write_all(&frame("add", Protocol::Binary, 6, PAIR))
        .expect("the server reads");
    go.send(()).expect("it waits");
    let (_, sequence, body) = read_reply(&receive(&mut stream).expect("a reply"));
    assert_eq!((sequence, &*body), (6, r#"{"success":3}"#));
    assert_eq!(
        (executed.load(Ordering::Relaxed), counted(&running, REFUSED)),
        (6, 0)
    );
    // With patience calls wait, too.
    let (server, go, begun, _) = scarce(LONG);
    let running = start(server);
    let mut blocker = connect(&running);
    blocker.write_all(&nothing).expect("the server reads");
    begun.recv_timeout(LONG).expect("it has the memory");
    let mut stream = connect(&running);
    stream
        .write_all(&frame("add", Protocol::Binary, 7, PAIR))
        .expect("the server reads");
    go.send(()).expect("it waits");
    let (_, sequence, _) = read_reply(&receive(&mut stream).expect("a reply"));
    assert_eq!((sequence, counted(&running, REFUSED)), (7, 0));
    // A server that stops does without memory, and loses nothing that it has read. Nothing tells
    // when it has read the call, so that a stop that comes too early is tried again.
    assert!((0..20).any(|_| executed_by_a_server_that_stops(&note) == 1));
}

/// How often the oneway call `note` is executed that comes to a server without memory that is told
/// to stop.
fn executed_by_a_server_that_stops(note: &[u8]) -> usize {
    let (server, go, begun, executed) = scarce(Duration::ZERO);
    let running = start(server);
    let mut blocker = connect(&running);
    let nothing = frame("nothing", Protocol::Binary, 1, "{}");
    blocker.write_all(&nothing).expect("the server reads");
    begun.recv_timeout(LONG).expect("it has the memory");
    let mut stream = connect(&running);
    // Once it is told so, its connection is served.
    let told = call(&mut stream, "add", Protocol::Binary, PAIR);
    assert_eq!(told, (MessageType::Exception, refused()));
    stream.write_all(note).expect("the server reads");
    let stopping = std::thread::spawn(move || running.stop(LONG));
    // The blocker's handler alone keeps the server up.
    let ended = receive(&mut stream);
    assert!(ended.is_err(), "the connection ends when its call is done");
    let executed = executed.load(Ordering::Relaxed);
    go.send(()).expect("it waits");
    assert_eq!(stopping.join().expect("no panic"), 0);
    executed
}

#[test]
fn a_payload_that_outgrows_its_reservation_is_refused_before_its_handler() {
    // The JSON of a control character is six times as long as it is.
    let text = r"\u0001".repeat(300);
    let large = format!(r#"{{"value":{{"text":"{text}"}}}}"#);
    let (server, go, begun, _) = scarce(Duration::ZERO);
    let mut server = server;
    server.set_config(with(arena(2_000)));
    let running = start(server);
    let mut stream = connect(&running);
    // Alone it may be as large as any.
    let (kind, _) = call(&mut stream, "echo", Protocol::Binary, &large);
    assert_eq!(kind, MessageType::Reply);
    let mut blocker = connect(&running);
    let nothing = frame("nothing", Protocol::Binary, 1, "{}");
    blocker.write_all(&nothing).expect("the server reads");
    begun.recv_timeout(LONG).expect("it has memory");
    let told = call(&mut stream, "echo", Protocol::Binary, &large);
    assert_eq!(told, (MessageType::Exception, refused()));
    let series = r#"accelflow_requests_total{function="Test.echo",result="no_memory"}"#;
    assert_eq!(counted(&running, series), 1);
    go.send(()).expect("it waits");
}

#[test]
fn a_stream_without_memory_is_refused_and_repeated() {
    let (go, begun, wait) = gate();
    let mut server = crate::common::grpc::server();
    let blocks = move |request: &Request<'_>| {
        wait();
        Ok(request.arguments.to_vec())
    };
    server
        .handle("test.Calculator.Nothing", blocks)
        .expect("known");
    let config = Config {
        rpc: arena(100),
        ..Config::default()
    };
    let running = crate::common::grpc::start(server, config);
    let address = running.address();
    let series = r#"accelflow_requests_total{function="test.Calculator.Add",result="no_memory"}"#;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let blocker = grpc_client(address, None, grpc_config());
            let text = format!(r#"{{"text":"{}"}}"#, "x".repeat(12));
            blocker
                .call("test.Calculator.Nothing", text.as_bytes())
                .map(drop)
                .expect("an answer");
        });
        begun.recv_timeout(LONG).expect("it has the memory");
        let impatient = grpc_client(address, None, once(LONG));
        let error = impatient
            .call("test.Calculator.Add", ADD)
            .expect_err("no memory");
        assert!(matches!(error, CallError::Unprocessed { .. }), "{error}");
        let patient = grpc_client(address, None, grpc_config());
        let served = scope.spawn(move || patient.call("test.Calculator.Add", ADD));
        eventually("it is refused, too", || counted(&running, series) >= 2);
        go.send(()).expect("it waits");
        let sum = served.join().expect("no panic").expect("an answer");
        assert_eq!(sum, br#"{"a":"42","b":"0"}"#);
    });
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let cases = [
        (
            ArenaSettings::of(0),
            "arena_bytes = 0: must be a whole number from 1 ",
        ),
        (
            ArenaSettings {
                reservation_ratio: 0,
                ..ArenaSettings::of(1)
            },
            "reservation_ratio = 0: must be a whole number from 1 ",
        ),
        (
            ArenaSettings {
                patience: Duration::MAX,
                ..ArenaSettings::of(1)
            },
            "patience_s = ",
        ),
    ];
    for (settings, why) in cases {
        let mut server = server();
        server.set_config(with(RpcProcessor {
            arena: Some(settings),
            ..RpcProcessor::default()
        }));
        let refused = server.start(([127, 0, 0, 1], 0).into()).expect_err(why);
        assert!(refused.to_string().starts_with(why), "{refused}");
    }
}
