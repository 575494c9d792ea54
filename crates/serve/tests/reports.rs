//! What clients are told of errors, and what the operators' log is.

use std::io::Write;
use std::sync::{Arc, Mutex};

use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_accel::{AccelError, CustomBody, Input, Output};
use accelflow_serve::{Config, CustomBodies, HandlerError, Request, Server};
use accelflow_trace::{Directions, Kind};

use crate::common::grpc::text;
use crate::common::shout::{SHOUT, Shout};
use crate::common::*;
use crate::custom_traces::traces;

/// What of a report is compared.
#[derive(Clone, Debug)]
struct Logged {
    id: String,
    code: &'static str,
    function: String,
    text: String,
    by_client: bool,
}

type Log = Arc<Mutex<Vec<Logged>>>;

fn logging(server: &mut Server) -> Log {
    let log = Log::default();
    let keeper = log.clone();
    server.set_error_log(move |report| {
        keeper.lock().expect("no panic").push(Logged {
            id: report.id.to_owned(),
            code: report.code,
            function: report.function.to_owned(),
            text: report.text.to_owned(),
            by_client: report.by_client,
        });
    });
    log
}

fn last(log: &Log) -> Logged {
    log.lock()
        .expect("no panic")
        .last()
        .cloned()
        .expect("a report")
}

#[test]
fn clients_of_thrift_receive_codes_and_ids() {
    let mut server = server();
    server.set_config(Config::default());
    let log = logging(&mut server);
    let running = start(server);
    let mut client = connect(&running);
    for (method, code, part) in [
        ("unhandled", "no_handler", "no handler for Test.unhandled"),
        ("panics", "handler_failed", "the handler panicked"),
        ("broken", "bad_result", "17"),
    ] {
        let (_, body) = call(&mut client, method, Protocol::Binary, "{}");
        let logged = last(&log);
        let told = format!(r#""{code} (error {})""#, logged.id);
        // The id is random, and may have the digits of `part`.
        let beside = body.replace(&logged.id, "");
        assert!(body.contains(&told) && !beside.contains(part), "{body}");
        assert_eq!((logged.code, logged.by_client), (code, false));
        assert_eq!(logged.function, format!("Test.{method}"));
        assert!(logged.text.contains(part), "{logged:?}");
    }
    let good = frame("add", Protocol::Binary, 5, r#"{"a":1,"b":2}"#);
    let mut unknown = good.clone();
    unknown[12..15].copy_from_slice(b"s\nb");
    let mut wrong_type = good.clone();
    wrong_type[19] = 8;
    for (bytes, code, function, parts) in [
        (unknown, "unknown_method", "s\\nb", ["must be", "T1"]),
        (wrong_type, "wrong_field_type", "add", ["T1", "Dser"]),
    ] {
        client.write_all(&bytes).expect("the server reads");
        let reply = receive(&mut client).expect("a reply");
        let told = String::from_utf8_lossy(&reply);
        let logged = last(&log);
        assert!(
            told.contains(&format!("{code} (error {})", logged.id)),
            "{told}"
        );
        for secret in ["T1", "Dser", "echo", "trace"] {
            assert!(!told.contains(secret), "{told}");
        }
        assert_eq!((logged.code, &*logged.function), (code, function));
        assert!(logged.by_client && !logged.text.contains('\n'));
        assert!(
            parts.iter().all(|part| logged.text.contains(part)),
            "{logged:?}"
        );
    }
    let all = log.lock().expect("no panic").clone();
    let ids: std::collections::BTreeSet<_> = all.iter().map(|report| &report.id).collect();
    assert_eq!((all.len(), ids.len()), (5, 5));
    assert!(ids.iter().all(|id| id.len() == 16));
}

/// An accelerator whose body does not yield the fact that it declares.
struct Mute(Kind);

impl CustomBody for Mute {
    fn kind(&self) -> &Kind {
        &self.0
    }

    fn run(&mut self, _: &Input<'_>) -> Result<Output, AccelError> {
        Ok(Output::default())
    }
}

#[test]
fn failures_of_custom_accelerators_are_not_the_clients() {
    let own =
        "trace own_receive:\n    TCP RPC Dser Shout LdB\ntrace own_respond:\n    Ser RPC TCP\n";
    let kind = || {
        Kind::new(
            "Shout",
            Directions::Both,
            Shout::new("", "").kind().yields().to_vec(),
        )
    };
    let mute = CustomBodies::new(move || vec![Box::new(Mute(kind().expect("a name")))]);
    for (bodies, code) in [
        (Shout::bodies("a", "b"), "body_failed"),
        (mute, "wrong_facts"),
    ] {
        let mut server = server();
        server.set_config(Config::default());
        let log = logging(&mut server);
        let mut given = traces(&[SHOUT, own].concat());
        given.source = given.source.with_bodies(bodies);
        server.set_traces(given).expect("they fit");
        let running = start(server);
        let mut client = connect(&running);
        let arguments = r#"{"value":{"text":"unspeakable"}}"#;
        let (kind, body) = call(&mut client, "echo", Protocol::Binary, arguments);
        let logged = last(&log);
        assert_eq!(kind, MessageType::Exception);
        assert!(body.ends_with(r#""type":6}"#), "{body}");
        assert_eq!((logged.code, logged.by_client), (code, false));
        let counted =
            format!(r#"accelflow_requests_total{{function="Test.echo",result="{code}"}} 1"#);
        assert!(
            running.metrics().contains(&counted),
            "{}",
            running.metrics()
        );
        // A oneway call is reported, too, although its client is told nothing.
        let note = frame("note", Protocol::Binary, 1, r#"{"text":"unspeakable"}"#);
        client.write_all(&note).expect("the server reads");
        let (_, _) = call(&mut client, "echo", Protocol::Binary, arguments);
        let functions: Vec<String> = log
            .lock()
            .expect("no panic")
            .iter()
            .map(|report| report.function.clone())
            .collect();
        assert_eq!(functions, ["echo", "note", "echo"]);
    }
}

#[test]
fn clients_of_grpc_receive_codes_and_ids() {
    let mut server = crate::common::grpc::server();
    let log = logging(&mut server);
    let running = crate::common::grpc::start(server, Config::default());
    let mut client = crate::common::grpc::connect(running.address());
    for (method, code, label, part) in [
        ("Fail", 2, "handler_failed", "no\\nluck"),
        ("Panic", 2, "handler_failed", "the handler panicked"),
        (
            "Broken",
            13,
            "bad_result",
            "the handler's result cannot be sent",
        ),
        ("Unhandled", 12, "no_handler", "test.Calculator.Unhandled"),
        ("Subtract", 12, "unknown_method", "must be"),
    ] {
        let reply = client.call(method, text("x"));
        let logged = last(&log);
        assert_eq!(reply.code(), code);
        assert_eq!(reply.why(), format!("{label} (error {})", logged.id));
        assert!(logged.text.contains(part), "{logged:?}");
        assert!(logged.function.contains(method), "{logged:?}");
        assert_eq!(logged.by_client, label == "unknown_method");
    }
    // What is the client's own to know is told as before, and needs no log.
    let reply = client.call("Watch", text("x"));
    assert!(reply.why().contains("must be a unary method"));
    let declared = client.call("Refuse", text("NOT_FOUND {\"message\": \"gone\"}"));
    assert_eq!(declared.why(), "gone");
    assert_eq!(log.lock().expect("no panic").len(), 5);
}

#[test]
fn log_entries_of_a_handler_are_found_by_their_id() {
    for verbose in [false, true] {
        let mut server = Server::new(schema());
        let failing = |_: &Request<'_>| {
            Err(HandlerError::Logged {
                id: "A-17".to_owned(),
                why: "the disk is full".to_owned(),
            })
        };
        server.handle("nothing", failing).expect("known");
        server.set_config(Config {
            verbose_errors: verbose,
            ..Config::default()
        });
        let log = logging(&mut server);
        let running = start(server);
        let (_, body) = call(&mut connect(&running), "nothing", Protocol::Binary, "{}");
        let told = match verbose {
            true => "the disk is full",
            false => "handler_failed (error A-17)",
        };
        assert_eq!(body, format!(r#"{{"message":"{told}","type":6}}"#));
        assert!(log.lock().expect("no panic").is_empty());
    }
}
