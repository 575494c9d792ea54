//! Traces of a service's own on real sockets: what serves, what is refused, what is replaced.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use accelflow_accel::Settings;
use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{
    Client, ClientConfig, ClientTraces, Config, CustomBodies, Execution, PoolSettings, Request,
    Running, Server, ServerTraces, TraceSource,
};
use accelflow_trace::source::seq;
use accelflow_trace::text::parse;
use accelflow_trace::{Library, templates};
use accelflow_workload::profile::RecordedPhase;

use crate::common::shout::{SHOUT, Shout};
use crate::common::*;

/// A library with the traces of a text.
fn library(text: &str) -> Library {
    let mut library = Library::new();
    for (name, nodes) in parse(text).expect("a constant") {
        library.register(&name, nodes).expect("a possible trace");
    }
    library
}

pub(crate) fn traces(text: &str) -> ServerTraces {
    ServerTraces {
        source: TraceSource::of_library(&library(text)),
        receive: Some("own_receive".to_owned()),
        respond: Some("own_respond".to_owned()),
        respond_compressed: None,
    }
}

/// Traces for connections without TLS, under these names.
fn plain(receive: &str, respond: &str) -> ServerTraces {
    let text =
        format!("trace {receive}:\n    TCP RPC Dser LdB\ntrace {respond}:\n    Ser RPC TCP\n");
    ServerTraces {
        source: TraceSource::of_library(&library(&text)),
        receive: Some(receive.to_owned()),
        respond: Some(respond.to_owned()),
        respond_compressed: None,
    }
}

/// The accelerator calls of requests to a function, with their traces, path by path.
pub(crate) fn steps(running: &Running, function: &str) -> Vec<Vec<(String, String)>> {
    let of_phase = |phase| match phase {
        RecordedPhase::Cpu { .. } => Vec::new(),
        RecordedPhase::Chains(chains) => chains,
    };
    let mut paths = Vec::new();
    for path in running.recorded_paths(function) {
        let chains = path.phases.into_iter().flat_map(of_phase);
        let steps = chains.flat_map(|chain| chain.steps);
        paths.push(steps.map(|step| (step.trace, step.accelerator)).collect());
    }
    paths
}

/// The traces that requests to a function took, path by path.
fn paths(running: &Running, function: &str) -> Vec<Vec<String>> {
    let steps = steps(running, function).into_iter();
    let names = steps.map(|steps| steps.into_iter().map(|(trace, _)| trace));
    let mut paths: Vec<Vec<String>> = names.map(Iterator::collect).collect();
    for path in &mut paths {
        path.dedup();
    }
    paths.sort();
    paths
}

/// Waits until requests have taken these paths: a request is recorded after its reply.
pub(crate) fn await_paths(running: &Running, function: &str, expected: &[&[&str]]) {
    for _ in 0..600 {
        if paths(running, function) == expected {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(paths(running, function), expected);
}

fn has_ldb(running: &Running) -> bool {
    let steps = steps(running, "Test.add");
    steps.iter().flatten().any(|(_, accel)| accel == "LdB")
}

pub(crate) fn recording(mut server: Server, own: ServerTraces) -> Running {
    server.set_traces(own).expect("they fit");
    server.set_recording(true);
    start(server)
}

#[test]
fn custom_traces_serve_plain_connections() {
    let text = "
        trace own_receive:
            TCP RPC Dser
            branch out['compressed'] == 1
              on true:
                trans JSON>str
                Dcmp
            tail own_balance
        trace own_balance:
            LdB
        trace own_respond:
            Ser RPC TCP
    ";
    let running = recording(server(), traces(text));
    let mut client = connect(&running);
    for protocol in [Protocol::Binary, Protocol::Compact] {
        let added = call(&mut client, "add", protocol, r#"{"a":40,"b":2}"#);
        assert_eq!(added, (MessageType::Reply, r#"{"success":42}"#.to_owned()));
    }
    let max = format!(r#"{{"a":{},"b":1}}"#, i64::MAX);
    let refused = call(&mut client, "add", Protocol::Binary, &max);
    assert_eq!(refused.0, MessageType::Reply);
    let path: &[&str] = &["own_receive", "own_balance", "own_respond"];
    await_paths(&running, "Test.add", &[path]);
}

#[test]
fn custom_traces_serve_tls_and_take_the_place_of_templates() {
    let certificate = Certificate::new("own");
    let mut templates = templates().expect("register");
    templates.remove("T1");
    let t1 = seq(&["TCP", "Decr", "RPC", "Dser"]).expect("names");
    templates.register("T1", t1).expect("possible");
    let mut server = server();
    server.set_tls(certificate.identity());
    let own = ServerTraces {
        source: TraceSource::of_library(&templates),
        ..ServerTraces::default()
    };
    let running = recording(server, own);
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    let added = call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":2}"#);
    assert_eq!(added.1, r#"{"success":3}"#);
    // T1 ends without LdB now, which the recording shows.
    await_paths(&running, "Test.add", &[&["T1", "T2"]]);
    assert!(!has_ldb(&running));
}

const SHOUTING: &str = "
trace own_receive:
    TCP RPC Dser Shout
    branch shouted > 1
      on true:
        Shout
    LdB
trace own_respond:
    Shout Ser RPC TCP
";

/// What the handler of `echo` and its client see of a text.
fn shouted(client: &mut TcpStream, seen: &Receiver<String>, text: &str) -> (String, String) {
    let arguments = format!(r#"{{"value":{{"text":"{text}"}}}}"#);
    let (kind, reply) = call(client, "echo", Protocol::Compact, &arguments);
    assert_eq!(kind, MessageType::Reply, "{reply}");
    (
        seen.recv_timeout(LONG).expect("the handler was called"),
        reply,
    )
}

/// Checks that a call with this text is the service's error.
fn failed(client: &mut TcpStream, text: &str, why: &str) {
    let arguments = format!(r#"{{"value":{{"text":"{text}"}}}}"#);
    let (kind, body) = call(client, "echo", Protocol::Binary, &arguments);
    assert_eq!(kind, MessageType::Exception);
    assert!(body.contains(why) && body.contains("\"type\":6"), "{body}");
}

#[test]
fn accelerators_beside_the_nine_work_on_sockets() {
    let text = [SHOUT, SHOUTING].concat();
    let own = |bodies: CustomBodies| ServerTraces {
        source: TraceSource::of_library(&library(&text)).with_bodies(bodies),
        ..traces(&text)
    };
    for execution in [
        Execution::Inline,
        Execution::Ensemble(PoolSettings::default()),
    ] {
        let mut server = server();
        server.set_config(Config {
            execution,
            ..verbose()
        });
        let (see, seen) = channel();
        let see = Mutex::new(see);
        let echo = move |request: &Request<'_>| {
            let arguments = String::from_utf8_lossy(request.arguments).into_owned();
            let see = see.lock().expect("short");
            see.send(arguments).expect("it is awaited");
            Ok(br#"{"text":"quiet reply"}"#.to_vec())
        };
        server.handle("Test.echo", echo).expect("known");
        let refused = server.set_traces(traces(&text)).expect_err("no body");
        let why = "accelerator = 'Shout': must have a body, registered before";
        assert!(refused.to_string().starts_with(why), "{refused}");
        let first = own(Shout::bodies("quiet", "LOUD!"));
        server.set_traces(first).expect("they have a body");
        let running = start(server);
        let mut client = connect(&running);
        let (asked, reply) = shouted(&mut client, &seen, "quiet, quiet");
        assert!(asked.contains("LOUD!, LOUD!"), "{asked}");
        assert_eq!(reply, r#"{"success":{"text":"LOUD! reply"}}"#);
        // What it refuses is the service's error, and so is a panic; its worker lives.
        for (text, why) in [
            ("unspeakable", "not in this house"),
            ("explosive", "on purpose"),
        ] {
            for _ in 0..3 {
                failed(&mut client, text, why);
                assert!(shouted(&mut client, &seen, "quiet").0.contains("LOUD!"));
            }
        }
        // Bodies are replaced along with the traces that call them.
        let second = own(Shout::bodies("quiet", "NOISY"));
        assert_eq!(running.set_traces(second).expect("they fit"), 1);
        for _ in 0..20 {
            let (asked, reply) = shouted(&mut client, &seen, "quiet");
            assert!(
                asked.contains("NOISY") && reply.contains("NOISY"),
                "{asked} {reply}"
            );
        }
        let third = own(CustomBodies::default());
        assert!(running.set_traces(third).is_err(), "the old ones stay");
        assert!(shouted(&mut client, &seen, "quiet").0.contains("NOISY"));
    }
}

#[test]
fn clients_call_with_accelerators_beside_the_nine() {
    let running = start(server());
    let text = [
        SHOUT,
        "trace own_call:\n    Shout Ser RPC TCP\n    tail own_answer\n",
        "trace own_answer:\n    TCP RPC Dser Shout LdB\n",
    ]
    .concat();
    for execution in [
        Execution::Inline,
        Execution::Ensemble(PoolSettings::default()),
    ] {
        let settings = Settings {
            schema: schema(),
            ..Settings::default()
        };
        let config = ClientConfig {
            execution,
            ..ClientConfig::default()
        };
        let address = running.address();
        let client = Client::new(address, settings, Protocol::Binary, None, config);
        let client = client.expect("settings");
        let own = |bodies| ClientTraces {
            source: TraceSource::of_library(&library(&text)).with_bodies(bodies),
            call: Some("own_call".to_owned()),
            answer: Some("own_answer".to_owned()),
            ..ClientTraces::default()
        };
        assert!(
            client
                .set_traces(Some(own(CustomBodies::default())))
                .is_err()
        );
        for (by, turn) in [("LOUD!", 1), ("NOISY", 2)] {
            let bodies = Shout::bodies("quiet", by);
            assert_eq!(
                client.set_traces(Some(own(bodies))).expect("they fit"),
                turn
            );
            let reply = client.call("Test.echo", br#"{"value":{"text":"quiet"}}"#);
            let reply = String::from_utf8(reply.expect("an answer")).expect("JSON");
            assert_eq!(reply, format!(r#"{{"text":"{by}"}}"#));
        }
    }
}

#[test]
fn custom_traces_serve_grpc() {
    let text = "
        trace own_receive:
            RPC
            branch out['compressed'] == 1
              on true:
                Dcmp
            Dser LdB
        trace own_respond:
            Ser RPC
    ";
    let mut server = crate::common::grpc::server();
    server.set_traces(traces(text)).expect("they fit");
    let running = crate::common::grpc::start(server, Config::default());
    let mut client = crate::common::grpc::connect(running.address());
    let reply = client.call("Echo", crate::common::grpc::text("grüße"));
    assert_eq!(reply.json("test.Text")["text"], "grüße");
    drop(client);
    assert_eq!(running.stop(Duration::from_secs(60)), 0);
}

#[test]
#[allow(clippy::too_many_lines, reason = "it is a table")]
fn traces_that_do_not_fit_are_refused_with_the_reason() {
    let respond = "trace own_respond:\n    Ser RPC TCP\n";
    let receive = "trace own_receive:\n    TCP RPC Dser LdB\n";
    let of = |text: &str| text.to_owned();
    for (text, why) in [
        (
            format!("{respond}trace own_recieve:\n    TCP RPC Dser LdB\n"),
            "receive = 'own_receive': must be ",
        ),
        (
            format!("{respond}trace own_receive:\n    TCP Decr RPC Dser LdB\n"),
            "receive = 'own_receive': trace 'own_receive': Decr: must be RPC at this place, since \
             a message arrives through TCP, RPC, Dser in this order",
        ),
        (
            format!("{respond}trace own_receive:\n    TCP RPC LdB\n"),
            "the trace ends too early: Dser must follow, since a message arrives through TCP, RPC, Dser \
             in this order",
        ),
        (
            format!(
                "{respond}trace own_receive:\n    TCP RPC\n    branch out['compressed'] == 1\n      \
                 on true:\n        Dser\n    LdB\n"
            ),
            "the trace ends too early: Dser must follow",
        ),
        (
            format!(
                "{respond}trace own_receive:\n    TCP RPC Dser\n    tail next\ntrace next:\n    Ser RPC TCP\n"
            ),
            "trace 'next': Ser sends, but this trace must only receive",
        ),
        (
            format!("{respond}trace own_receive:\n    TCP RPC\n    Dcmp Dser LdB\n"),
            "Dcmp: must be where the payload is application data: after Dser",
        ),
        (
            format!("{respond}trace own_receive:\n    TCP RPC Dser\n    tail T6_error\n"),
            "'T6_error' answers the service's caller",
        ),
        (
            format!("{receive}trace own_respond:\n    Ser TCP\n"),
            "respond = 'own_respond': trace 'own_respond': TCP: must be RPC at this place, since a \
             message leaves through Ser, RPC, TCP in this order",
        ),
        (
            format!("{receive}trace own_respond:\n    Ser RPC TCP\n    tail own_receive\n"),
            "the trace waits for a message, but this trace must only send",
        ),
        (
            format!(
                "{receive}trace own_respond:\n    Ser\n    fork\n      arm 1:\n        RPC TCP\n      arm 2:\n        RPC TCP\n"
            ),
            "a fork would send more than one message",
        ),
        (
            format!("{receive}trace own_respond:\n    Ser RPC TCP\n    tail nowhere\n"),
            "nowhere",
        ),
        (of(receive), "respond = 'own_respond': must be "),
    ] {
        let mut server = server();
        let refused = server.set_traces(traces(&text)).expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}\n{why}");
        let running = start(server);
        // What is refused changes nothing.
        let again = running.set_traces(traces(&text)).expect_err(why);
        assert_eq!(again.to_string(), refused);
        let added = call(
            &mut connect(&running),
            "add",
            Protocol::Binary,
            r#"{"a":1,"b":2}"#,
        );
        assert_eq!(added.1, r#"{"success":3}"#);
    }
}

#[test]
fn a_misspelt_name_is_answered_with_the_right_one() {
    let mut own = plain("own_receive", "own_respond");
    own.receive = Some("own_recieve".to_owned());
    let refused = server()
        .set_traces(own)
        .expect_err("there is none")
        .to_string();
    assert!(refused.ends_with("did you mean own_receive?"), "{refused}");
}

#[test]
fn a_service_cannot_use_traces_of_another() {
    let mut library = library("trace own_respond:\n    Ser RPC TCP\n");
    let nodes = seq(&["TCP", "RPC", "Dser", "LdB"]).expect("names");
    library
        .register_for(Some("billing"), "own_receive", nodes.clone())
        .expect("free");
    let own = |service: &str| ServerTraces {
        source: TraceSource::of_library(&library).for_service(service),
        receive: Some("own_receive".to_owned()),
        respond: Some("own_respond".to_owned()),
        respond_compressed: None,
    };
    server().set_traces(own("billing")).expect("its own");
    let refused = server()
        .set_traces(own("shop"))
        .expect_err("another's")
        .to_string();
    let why = "receive = 'own_receive': trace 'own_receive' belongs to the service 'billing': must \
               belong to this service or to none";
    assert_eq!(refused, why);
}

/// A handler that says when it is called, and waits.
fn gated(server: &mut Server) -> (Receiver<()>, std::sync::mpsc::Sender<()>) {
    let (begun, begins) = channel();
    let (open, opened) = channel::<()>();
    let (begun, opened) = (Mutex::new(begun), Mutex::new(opened));
    let wait = move |_: &Request<'_>| {
        let _ = begun.lock().expect("no panic").send(());
        let _ = opened.lock().expect("no panic").recv_timeout(LONG);
        Ok(Vec::new())
    };
    server.handle("Test.nothing", wait).expect("known");
    (begins, open)
}

#[test]
fn a_request_ends_with_the_traces_that_received_it() {
    let mut server = server();
    let (begins, open) = gated(&mut server);
    let running = recording(server, plain("old_receive", "old_respond"));
    let mut client = connect(&running);
    let bytes = frame("nothing", Protocol::Binary, 1, "{}");
    client.write_all(&bytes).expect("the server reads");
    begins.recv_timeout(LONG).expect("the handler is called");
    let generation = running.set_traces(plain("new_receive", "new_respond"));
    assert_eq!(generation.expect("they fit"), 1);
    open.send(()).expect("the handler waits");
    receive(&mut client).expect("a reply");
    open.send(()).expect("the next one");
    call(&mut client, "nothing", Protocol::Binary, "{}");
    let [new, old]: [&[&str]; 2] = [
        &["new_receive", "new_respond"],
        &["old_receive", "old_respond"],
    ];
    await_paths(&running, "Test.nothing", &[new, old]);
    running.remove_traces().expect("there are others");
    open.send(()).expect("the next one");
    call(&mut client, "nothing", Protocol::Binary, "{}");
    let own: &[&str] = &["T1_plain", "T2_plain"];
    await_paths(&running, "Test.nothing", &[own, new, old]);
}

#[test]
fn nothing_is_lost_while_traces_are_replaced() {
    let running = start(server());
    let stop = Arc::new(AtomicBool::new(false));
    let address = running.address();
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let stop = stop.clone();
            thread::spawn(move || {
                let mut client = patient(TcpStream::connect(address).expect("the server listens"));
                let mut calls = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    let sum = call(&mut client, "add", Protocol::Binary, r#"{"a":20,"b":22}"#);
                    assert_eq!(sum, (MessageType::Reply, r#"{"success":42}"#.to_owned()));
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    let bad = traces("trace own_receive:\n    TCP RPC LdB\ntrace own_respond:\n    Ser RPC TCP\n");
    for turn in 0..200 {
        let own = plain(&format!("receive{turn}"), &format!("respond{turn}"));
        running.set_traces(own).expect("they fit");
        assert!(running.set_traces(bad.clone()).is_err());
        thread::yield_now();
    }
    stop.store(true, Ordering::Relaxed);
    let calls: u64 = clients
        .into_iter()
        .map(|c| c.join().expect("no error"))
        .sum();
    let series = r#"accelflow_requests_total{function="Test.add",result="ok"}"#;
    await_count(&running, series, calls);
    assert_eq!(counted(&running, series), calls);
    assert_eq!(running.remove_traces().expect("the server's own"), 201);
}

fn ask(running: &Running, method: &str, path: &str) -> String {
    let address = running.admin_address().expect("it has one");
    let mut stream = patient(TcpStream::connect(address).expect("it listens"));
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: 0\r\n\r\n"
    )
    .expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

/// A file that is removed with this.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn operators_replace_traces_by_those_of_a_file() {
    let path = std::env::temp_dir().join(format!("accelflow-own-{}.trace", std::process::id()));
    let file = File(path.clone());
    let write = |receive: &str| {
        let text =
            format!("trace own_receive:\n    {receive}\ntrace own_respond:\n    Ser RPC TCP\n");
        std::fs::write(&path, text).expect("a file");
    };
    write("TCP RPC Dser LdB");
    let mut server = server();
    server.set_config(Config {
        admin: Some("127.0.0.1:0".parse().expect("an address")),
        ..verbose()
    });
    let own = ServerTraces {
        source: TraceSource::from_file(&path).expect("just written"),
        receive: Some("own_receive".to_owned()),
        respond: Some("own_respond".to_owned()),
        respond_compressed: None,
    };
    let running = recording(server, own);
    let shown = ask(&running, "GET", "/traces");
    assert!(
        shown.contains(r#""generation":0"#) && shown.contains("own_receive"),
        "{shown}"
    );
    write("TCP RPC Dser");
    let replaced = ask(&running, "POST", "/traces/reload");
    assert!(
        replaced.starts_with("HTTP/1.1 200") && replaced.contains(r#""generation":1"#),
        "{replaced}"
    );
    let mut client = connect(&running);
    call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":2}"#);
    await_paths(&running, "Test.add", &[&["own_receive", "own_respond"]]);
    assert!(!has_ldb(&running));
    for (text, why) in [
        ("TCP Dser", "Dser: must be RPC at this place"),
        ("TPC", "TPC"),
    ] {
        write(text);
        let refused = ask(&running, "POST", "/traces/reload");
        assert!(
            refused.starts_with("HTTP/1.1 409") && refused.contains(why),
            "{refused}"
        );
    }
    drop(file);
    let refused = running
        .reload_traces()
        .expect_err("the file is gone")
        .to_string();
    assert!(refused.contains(".trace: "), "{refused}");
    let shown = ask(&running, "GET", "/traces");
    assert!(shown.contains(r#""generation":1"#), "{shown}");
    assert!(ask(&running, "GET", "/traces/reload").contains("405"));
    assert!(ask(&running, "POST", "/metrics").contains("405"));
}

#[test]
fn traces_that_are_not_from_a_file_are_not_read_again() {
    let running = start(crate::common::server());
    let refused = running
        .reload_traces()
        .expect_err("there is no file")
        .to_string();
    assert!(refused.contains("not read from a file"), "{refused}");
}
