//! Requests over plain TCP, good and bad.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_accel::{AccelError, Accelerator, Job, Limits};
use accelflow_serve::{Config, Execution, PoolSettings};
use accelflow_trace::Accel;

use crate::common::*;

const BOTH: [Protocol; 2] = [Protocol::Binary, Protocol::Compact];

#[test]
fn calls_are_answered_in_both_protocols() {
    let running = start(server());
    let mut client = connect(&running);
    for protocol in BOTH {
        let added = call(&mut client, "add", protocol, r#"{"a":40,"b":2}"#);
        assert_eq!(added, (MessageType::Reply, r#"{"success":42}"#.to_owned()));
        let echo = r#"{"value":{"text":"grüße \u0000","data":"AAEC/w=="}}"#;
        let echoed = call(&mut client, "Test:echo", protocol, echo);
        let expected = r#"{"success":{"text":"grüße \u0000","data":"AAEC/w=="}}"#;
        assert_eq!(echoed, (MessageType::Reply, expected.to_owned()));
        let nothing = call(&mut client, "nothing", protocol, "{}");
        assert_eq!(nothing, (MessageType::Reply, "{}".to_owned()));
    }
    let calls = r#"accelflow_requests_total{function="Test.add",result="ok"}"#;
    assert_eq!(counted(&running, calls), 2);
    let steps = r#"accelflow_step_seconds_count{accelerator="Dser"}"#;
    assert_eq!(counted(&running, steps), 6);
    drop(client);
    assert_eq!(running.stop(Duration::from_secs(60)), 0);
}

#[test]
fn failures_of_the_application_are_reported() {
    let mut server = server();
    server.set_config(verbose());
    let running = start(server);
    let mut client = connect(&running);
    let max = format!(r#"{{"a":{},"b":1}}"#, i64::MAX);
    let refused = call(&mut client, "add", Protocol::Binary, &max);
    let expected = r#"{"refused":{"code":7,"why":"overflow"}}"#.to_owned();
    assert_eq!(refused, (MessageType::Reply, expected));
    for (method, kind, word) in [
        ("unhandled", 1, "no handler for Test.unhandled"),
        ("panics", 6, "panicked"),
        ("broken", 6, "cannot be sent"),
    ] {
        let (message_type, body) = call(&mut client, method, Protocol::Compact, "{}");
        assert_eq!(message_type, MessageType::Exception);
        assert!(body.contains(word), "{body}");
        assert!(body.ends_with(&format!(r#""type":{kind}}}"#)), "{body}");
    }
    // The connection is as good as new.
    let added = call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    assert_eq!(added.1, r#"{"success":2}"#);
}

#[test]
fn requests_that_cannot_be_read_are_refused_and_the_connection_goes_on() {
    let running = start(server());
    let mut client = connect(&running);
    let good = frame("add", Protocol::Binary, 5, r#"{"a":1,"b":2}"#);
    let mut unknown = good.clone();
    unknown[12..15].copy_from_slice(b"sub");
    let mut cut = good.clone();
    cut.truncate(good.len() - 9);
    let length = (cut.len() - 4) as u32;
    cut[..4].copy_from_slice(&length.to_be_bytes());
    let mut wrong_type = good.clone();
    wrong_type[19] = 8;
    for (bytes, kind) in [(unknown, 1), (cut, 7), (wrong_type, 7)] {
        client.write_all(&bytes).expect("the server reads");
        let (message_type, sequence, body) = read_reply_of_any(&receive(&mut client));
        assert_eq!((message_type, sequence), (3, 5), "{body}");
        assert_eq!(body, kind);
    }
    client.write_all(&good).expect("the server reads");
    let (kind, _, body) = read_reply(&receive(&mut client).expect("a reply"));
    assert_eq!((kind, &*body), (MessageType::Reply, r#"{"success":3}"#));
}

/// Message type, sequence number and exception type of a binary reply, read by place: the method
/// may be one that no interface has.
fn read_reply_of_any(frame: &std::io::Result<Vec<u8>>) -> (u8, i32, u8) {
    let frame = frame.as_ref().expect("a reply");
    let name = u32::from_be_bytes([frame[8], frame[9], frame[10], frame[11]]) as usize;
    let at = 12 + name;
    let sequence = i32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    // The type is the last field: its value and the stop byte.
    (frame[7], sequence, frame[frame.len() - 2])
}

#[test]
fn messages_in_pieces_and_several_at_once_are_taken_apart() {
    let running = start(server());
    let mut client = connect(&running);
    let one = frame("add", Protocol::Binary, 1, r#"{"a":1,"b":1}"#);
    let two = frame("add", Protocol::Compact, 2, r#"{"a":2,"b":2}"#);
    for byte in &one {
        client.write_all(&[*byte]).expect("the server reads");
    }
    let three: Vec<u8> = [&two[..], &one, &two[..3]].concat();
    client.write_all(&three).expect("the server reads");
    client.write_all(&two[3..]).expect("the server reads");
    let replies: Vec<(i32, String)> = (0..4)
        .map(|_| {
            let (_, sequence, body) = read_reply(&receive(&mut client).expect("a reply"));
            (sequence, body)
        })
        .collect();
    let two = (2, r#"{"success":4}"#.to_owned());
    let one = (1, r#"{"success":2}"#.to_owned());
    assert_eq!(replies, [one.clone(), two.clone(), one, two]);
}

#[test]
fn a_client_that_has_closed_its_side_is_still_answered() {
    let running = start(server());
    let mut client = connect(&running);
    let note = frame("note", Protocol::Binary, 0, r#"{"text":"a"}"#);
    let add = frame("add", Protocol::Binary, 1, r#"{"a":1,"b":1}"#);
    client.write_all(&[note, add].concat()).expect("writes");
    client.shutdown(Shutdown::Write).expect("half of it");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("the server closes");
    assert_eq!(read_reply(&rest).2, r#"{"success":2}"#);
    await_count(&running, r#"accelflow_connections_total{end="done"}"#, 1);
}

#[test]
fn a_malformed_message_ends_its_connection_alone() {
    let small = Limits {
        max_message_bytes: 4_096,
        ..Limits::default()
    };
    let mut server = server();
    server.set_config(Config {
        limits: small,
        ..verbose()
    });
    let running = start(server);
    let mut bystander = connect(&running);
    let bad: [(&[u8], &str); 5] = [
        (b"GET / HTTP/1.1\r\n\r\n", "too_large"),
        (&[0x80, 1, 0, 1, 0, 0, 0, 3], "negative_length"),
        (&[0, 0, 0x10, 1, 0x80, 1, 0, 1], "too_large"),
        (&[0, 0, 0, 3, 0, 0, 0], "truncated"),
        (
            &[0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8],
            "bad_magic_or_version",
        ),
    ];
    for (bytes, reason) in bad {
        let series = format!(r#"accelflow_connections_total{{end="{reason}"}}"#);
        let before = counted(&running, &series);
        let mut client = connect(&running);
        client.write_all(bytes).expect("the server reads");
        let mut rest = Vec::new();
        // Bytes that the server never read make it a reset.
        let _ = client.read_to_end(&mut rest);
        assert!(rest.is_empty(), "{reason}");
        await_count(&running, &series, before + 1);
    }
    let added = call(&mut bystander, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    assert_eq!(added.1, r#"{"success":2}"#);
}

#[test]
fn slow_and_silent_clients_are_cut_off() {
    let mut server = server();
    server.set_config(impatient());
    let running = start(server);
    let mut idle = connect(&running);
    let mut slow = connect(&running);
    let bytes = frame("add", Protocol::Binary, 1, r#"{"a":1,"b":1}"#);
    // A byte now and then gains no time.
    for byte in &bytes[..bytes.len() - 1] {
        if slow.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(40));
    }
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest);
    assert!(rest.is_empty());
    assert_eq!(idle.read(&mut [0]).expect("closed in good order"), 0);
    await_count(&running, r#"accelflow_connections_total{end="silent"}"#, 1);
    await_count(&running, r#"accelflow_connections_total{end="slow"}"#, 1);
}

#[test]
fn there_are_no_more_connections_than_allowed() {
    let mut server = server();
    server.set_config(Config {
        max_connections: 2,
        ..verbose()
    });
    let running = start(server);
    let mut first = connect(&running);
    let mut second = connect(&running);
    for client in [&mut first, &mut second] {
        assert_eq!(call(client, "nothing", Protocol::Binary, "{}").1, "{}");
    }
    let mut third = connect(&running);
    assert_eq!(third.read(&mut [0]).unwrap_or(0), 0);
    drop(first);
    await_count(&running, r#"accelflow_connections_total{end="done"}"#, 1);
    let mut fourth = connect(&running);
    assert_eq!(call(&mut fourth, "nothing", Protocol::Binary, "{}").1, "{}");
}

/// Panics every second time.
struct Faulty(AtomicUsize);

impl Accelerator for Faulty {
    fn kind(&self) -> Accel {
        Accel::Ldb
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let turn = self.0.fetch_add(1, Ordering::Relaxed);
        assert!(turn.is_multiple_of(2), "broken hardware");
        job.core = Some(0);
        Ok(())
    }
}

#[test]
fn a_core_does_what_a_broken_accelerator_drops() {
    let mut server = server();
    server.prepare_ensembles(|ensemble| {
        ensemble.replace(Box::new(Faulty(AtomicUsize::new(0))));
    });
    let running = start(server);
    let mut client = connect(&running);
    for _ in 0..6 {
        let added = call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
        assert_eq!(added.1, r#"{"success":2}"#);
    }
    // Each replacement works once and then breaks.
    let series = r#"accelflow_fallbacks_total{trace="T1_plain",reason="panic"}"#;
    assert_eq!(counted(&running, series), 3);
}

#[test]
fn worker_pools_answer_as_the_connections_themselves_do() {
    let one = frame("add", Protocol::Binary, 1, r#"{"a":1,"b":1}"#);
    let two = frame("echo", Protocol::Compact, 2, r#"{"value":{"text":"x"}}"#);
    let three = frame("panics", Protocol::Compact, 3, "{}");
    let all = [&one[..], &two, &three].concat();
    let replies = [
        Execution::Inline,
        Execution::Ensemble(PoolSettings::default()),
    ]
    .map(|execution| {
        let mut server = server();
        server.set_config(Config {
            execution,
            ..verbose()
        });
        let running = start(server);
        let mut clients: Vec<_> = (0..8).map(|_| connect(&running)).collect();
        let mut replies = Vec::new();
        for client in &mut clients {
            client.write_all(&all).expect("the server reads");
        }
        for client in &mut clients {
            client.shutdown(Shutdown::Write).expect("half of it");
            let mut reply = Vec::new();
            client.read_to_end(&mut reply).expect("the server closes");
            replies.push(reply);
        }
        let series = r#"accelflow_pool_steps_total{accelerator="Dser",result="done"}"#;
        let expected = if execution == Execution::Inline {
            0
        } else {
            24
        };
        assert_eq!(counted(&running, series), expected);
        replies
    });
    assert_eq!(replies[0], replies[1]);
    assert!(!replies[0][0].is_empty());
}

#[test]
fn stopping_waits_for_requests_but_not_for_ever() {
    let (mut entered, mut release) = (None, None);
    let mut server = server();
    let (enter, was_entered) = std::sync::mpsc::channel();
    let (let_go, may_go) = std::sync::mpsc::channel::<()>();
    let (enter, may_go) = (std::sync::Mutex::new(enter), std::sync::Mutex::new(may_go));
    let waits = move |_: &accelflow_serve::Request<'_>| {
        let _ = enter.lock().map(|sender| sender.send(()));
        let _ = may_go.lock().map(|receiver| receiver.recv_timeout(LONG));
        Ok(b"\"at last\"".to_vec())
    };
    server.handle("Test.unhandled", waits).expect("a function");
    entered.replace(was_entered);
    release.replace(let_go);
    let running = start(server);
    let idle = connect(&running);
    let mut client = connect(&running);
    client
        .write_all(&frame("unhandled", Protocol::Binary, 1, "{}"))
        .expect("the server reads");
    entered
        .take()
        .and_then(|receiver| receiver.recv_timeout(LONG).ok())
        .expect("called");
    let address = running.address();
    let stopping = std::thread::spawn(move || running.stop(Duration::from_secs(60)));
    // The listener closes first, and only then are requests waited for.
    let connect = || std::net::TcpStream::connect(address);
    eventually("the port is closed", || connect().is_err());
    drop(release);
    let (_, _, body) = read_reply(&receive(&mut client).expect("a reply"));
    assert_eq!(body, r#"{"success":"at last"}"#);
    assert_eq!(stopping.join().expect("stops"), 0);
    drop(idle);
}

#[test]
fn a_grace_period_ends_once_the_caller_waits_no_longer() {
    let mut server = server();
    let (enter, entered) = std::sync::mpsc::channel();
    let (release, may_go) = std::sync::mpsc::channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    let waits = move |_: &accelflow_serve::Request<'_>| {
        let _ = enter.send(());
        // Until the test has seen the server stop.
        let _ = may_go.lock().map(|receiver| receiver.recv_timeout(LONG));
        Ok(b"\"too late\"".to_vec())
    };
    server.handle("Test.unhandled", waits).expect("a function");
    let running = start(server);
    let mut client = connect(&running);
    client
        .write_all(&frame("unhandled", Protocol::Binary, 1, "{}"))
        .expect("the server reads");
    entered.recv_timeout(LONG).expect("called");
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let more = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2;
    assert_eq!(running.stop_while(LONG, more), 1);
    assert_eq!(asked.into_inner(), 3);
    drop(release);
}

#[test]
fn a_server_that_stops_waits_for_the_rest_of_a_request() {
    const IDLE: &str = "accelflow_connections_idle";
    let running = start(server());
    let mut client = connect(&running);
    call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    eventually("it is idle", || counted(&running, IDLE) == 1);
    let asked = frame("add", Protocol::Binary, 1, r#"{"a":40,"b":2}"#);
    let (first, rest) = asked.split_at(9);
    client.write_all(first).expect("the server reads");
    eventually("it is not idle", || counted(&running, IDLE) == 0);
    let address = running.address();
    let stopping = std::thread::spawn(move || running.stop(Duration::from_secs(60)));
    let connect = || std::net::TcpStream::connect(address);
    eventually("the port is closed", || connect().is_err());
    client.write_all(rest).expect("the server reads");
    let (_, _, body) = read_reply(&receive(&mut client).expect("a reply"));
    assert_eq!(body, r#"{"success":42}"#);
    assert_eq!(stopping.join().expect("stops"), 0);
}

#[test]
fn a_server_that_stops_counts_the_connections_with_requests() {
    const IDLE: &str = "accelflow_connections_idle";
    let (enter, entered) = std::sync::mpsc::channel();
    let (release, may_go) = std::sync::mpsc::channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    let waits = move |_: &accelflow_serve::Request<'_>| {
        let _ = enter.send(());
        let _ = may_go.lock().map(|receiver| receiver.recv_timeout(LONG));
        Ok(b"\"too late\"".to_vec())
    };
    let mut server = server();
    server.handle("Test.unhandled", waits).expect("a function");
    let running = start(server);
    let mut waiting = connect(&running);
    let asked = frame("unhandled", Protocol::Binary, 1, "{}");
    waiting.write_all(&asked).expect("the server reads");
    entered.recv_timeout(LONG).expect("called");
    let silent = connect(&running);
    let mut others = [connect(&running), connect(&running)];
    for client in &mut others {
        call(client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    }
    eventually("both are idle", || counted(&running, IDLE) == 2);
    let [_idle, mut partial] = others;
    partial.write_all(&[0, 0, 0]).expect("the server reads");
    eventually("one is idle", || counted(&running, IDLE) == 1);
    assert_eq!(running.stop(Duration::ZERO), 2);
    drop((release, silent));
}
