//! The same requests over TLS 1.3.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::sync::{Arc, Mutex};

use accelflow_accel::rpc::{MessageType, ThriftCall, write_message};
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json};
use accelflow_accel::{Limits, messages};
use accelflow_serve::{RecordingError, Request, ServeError, Server, TlsIdentity};
use accelflow_workload::profile::{Profile, RecordedPhase, Recording, RecordingOptions};
use accelflow_workload::suites::social_network;

use crate::common::*;

#[test]
fn calls_are_answered_over_tls() {
    let certificate = Certificate::new("calls");
    let mut server = server();
    server.set_tls(certificate.identity());
    let running = start(server);
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    for protocol in [Protocol::Binary, Protocol::Compact] {
        let added = call(&mut client, "add", protocol, r#"{"a":40,"b":2}"#);
        assert_eq!(added, (MessageType::Reply, r#"{"success":42}"#.to_owned()));
    }
    // Of one record, of exactly one full record, and of several.
    for size in [1, 1_000, 16_384 - 46, 16_384, 100_000] {
        let text = "x".repeat(size);
        let arguments = format!(r#"{{"value":{{"text":"{text}"}}}}"#);
        let (_, body) = call(&mut client, "echo", Protocol::Binary, &arguments);
        assert_eq!(body, format!(r#"{{"success":{{"text":"{text}"}}}}"#));
    }
    let steps = r#"accelflow_step_seconds_count{accelerator="Encr"}"#;
    assert_eq!(counted(&running, steps), 7);
    client.conn.send_close_notify();
    client.flush().expect("the server reads");
    assert_eq!(client.read(&mut [0]).expect("says goodbye, too"), 0);
    await_count(&running, r#"accelflow_connections_total{end="done"}"#, 1);
}

#[test]
fn records_and_messages_need_not_end_together() {
    let certificate = Certificate::new("unaligned");
    let mut server = server();
    server.set_tls(certificate.identity());
    let running = start(server);
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    let one = frame("add", Protocol::Binary, 1, r#"{"a":1,"b":1}"#);
    let two = frame("add", Protocol::Compact, 2, r#"{"a":2,"b":2}"#);
    let all = [&one[..], &two, &one, &two].concat();
    // Every write is a record: two messages and a half, then some crumbs, then the rest.
    let (first, rest) = all.split_at(one.len() + two.len() + 9);
    let (crumb, rest) = rest.split_at(2);
    for record in [first, crumb, rest] {
        client.write_all(record).expect("the server reads");
        client.flush().expect("the server reads");
    }
    let sequences: Vec<i32> = (0..4)
        .map(|_| read_reply(&receive(&mut client).expect("a reply")).1)
        .collect();
    assert_eq!(sequences, [1, 2, 1, 2]);
    let core = r#"accelflow_fallbacks_total{trace="T1",reason="unaligned_records"}"#;
    assert_eq!(counted(&running, core), 4);
    // The core sees that the next records end with their message: Decr has its work back.
    for _ in 0..3 {
        client.write_all(&one).expect("the server reads");
        assert_eq!(read_reply(&receive(&mut client).expect("a reply")).1, 1);
        assert_eq!(counted(&running, core), 5);
    }
    // Messages that come together in records of their own are Decr's, too.
    let long = "x".repeat(40_000);
    let long = format!(r#"{{"value":{{"text":"{long}"}}}}"#);
    let long = frame("echo", Protocol::Binary, 3, &long);
    let mut records = client.conn.writer();
    for message in [&one, &long, &two] {
        records.write_all(message).expect("there is room");
    }
    client.flush().expect("the server reads");
    let sequences: Vec<i32> = (0..3)
        .map(|_| read_reply(&receive(&mut client).expect("a reply")).1)
        .collect();
    assert_eq!(sequences, [1, 3, 2]);
    assert_eq!(counted(&running, core), 5);
}

#[test]
fn refusals_keep_the_keys_in_step() {
    let certificate = Certificate::new("refusals");
    let mut server = server();
    server.set_tls(certificate.identity());
    let running = start(server);
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    let good = frame("add", Protocol::Binary, 5, r#"{"a":1,"b":2}"#);
    let mut unknown = good.clone();
    unknown[12..15].copy_from_slice(b"sub");
    for _ in 0..3 {
        client.write_all(&unknown).expect("the server reads");
        let refused = receive(&mut client).expect("a reply");
        assert_eq!((refused[7], refused[refused.len() - 2]), (3, 1));
        client.write_all(&good).expect("the server reads");
        let (_, _, body) = read_reply(&receive(&mut client).expect("a reply"));
        assert_eq!(body, r#"{"success":3}"#);
    }
}

#[test]
fn keys_are_updated() {
    let certificate = Certificate::new("update");
    let mut server = server();
    server.set_tls(certificate.identity());
    let running = start(server);
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    for _ in 0..3 {
        let added = call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
        assert_eq!(added.1, r#"{"success":2}"#);
        // The update and the next call travel together, or apart if the call is not written yet.
        client.conn.refresh_traffic_keys().expect("TLS 1.3");
    }
    client.flush().expect("the server reads");
    let added = call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    assert_eq!(added.1, r#"{"success":2}"#);
}

/// Asserts that all calls of each step have inputs of the step's size. The requests of the test
/// below have the same contents; only the numbers of their sequence differ.
fn assert_one_size(phase: &RecordedPhase) {
    let RecordedPhase::Chains(chains) = phase else {
        panic!("{phase:?}");
    };
    for step in &chains[0].steps {
        let [group] = step.by_size[..] else {
            panic!("{step:?}");
        };
        assert_eq!(
            (group.input_bytes, group.calls),
            (step.input_bytes, step.samples)
        );
        assert_eq!(group.cost_ns, step.cost_ns);
    }
}

#[test]
fn live_requests_make_a_recording_for_the_simulator() {
    let certificate = Certificate::new("recording");
    let mut server = Server::new(Schema::social_network());
    let compose = |_: &Request<'_>| Ok(b"123456789".to_vec());
    let handled = server.handle("UniqueIdService.ComposeUniqueId", compose);
    handled.expect("a function of the interface");
    server.set_tls(certificate.identity());
    server.set_recording(true);
    let running = start(server);
    let names = [("UniqueIdService.ComposeUniqueId", "UniqId")];
    let none = running.recording(&names, "m", "2026-01-31");
    assert!(
        matches!(none, Err(RecordingError::NoRequests { .. })),
        "{none:?}"
    );
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    let schema = Schema::social_network();
    let limits = Limits::default();
    for sequence in 0..20 {
        let call = ThriftCall::request(&schema, "ComposeUniqueId", Protocol::Binary, sequence);
        let call = call.expect("known");
        let arguments = messages::request("ComposeUniqueId", 1, 1)
            .expect("known")
            .to_string();
        let id = schema.function(call.function).expect("known").arguments;
        let json = arguments.as_bytes();
        let body = struct_from_json(&schema, id, call.protocol, json, &limits).expect("fits");
        let frame = write_message(&call, &body, &limits).expect("small");
        client.write_all(&frame).expect("the server reads");
        receive(&mut client).expect("a reply");
    }
    let recording = running
        .recording(&names, "m", "2026-01-31")
        .expect("requests");
    let text = recording.to_json().expect("writes");
    let again = Recording::from_json(&text).expect("reads");
    let services: Vec<_> = social_network()
        .expect("built in")
        .into_iter()
        .filter(|service| service.name() == "UniqId")
        .collect();
    let image = accelflow_trace::templates()
        .expect("built in")
        .link()
        .expect("links");
    let options = RecordingOptions::default();
    let profile = Profile::from_recording(&again, &services, &image, &options);
    profile.expect("the simulator takes it");
    assert_one_size(&again.services[0].phases[0]);
    let RecordedPhase::Cpu {
        app_ns, samples, ..
    } = &again.services[0].phases[1]
    else {
        panic!("{:?}", again.services[0].phases);
    };
    assert!(app_ns.is_some_and(|time| time >= 1.0) && (19..=20).contains(samples));
    let requests = &again.services[0].requests;
    let count: u64 = requests.iter().map(|request| request.count).sum();
    assert!((19..=20).contains(&count), "{requests:?}");
    let said = &requests[0].facts[0][0]["T1"];
    assert_eq!(said.get("compressed"), Some(&0), "{requests:?}");
}

#[test]
fn older_versions_and_plain_text_are_refused() {
    let certificate = Certificate::new("versions");
    let mut server = server();
    server.set_tls(certificate.identity());
    server.set_config(impatient());
    let log = Arc::new(Mutex::new(Vec::new()));
    let keeper = log.clone();
    server.set_error_log(move |report| {
        let entry = (report.code, report.by_client, report.text.to_owned());
        keeper.lock().expect("no panic").push(entry);
    });
    let running = start(server);
    let mut old = certificate.connect(&running, &[&rustls::version::TLS12]);
    let error = old.write_all(b"x").expect_err("no TLS 1.2");
    assert!(error.to_string().contains("ProtocolVersion"), "{error}");
    // The errors are logged in this order only if the first has been.
    let refused = r#"accelflow_connections_total{end="handshake"}"#;
    await_count(&running, refused, 1);
    let mut plain = connect(&running);
    let bytes = frame("add", Protocol::Binary, 1, r#"{"a":1,"b":1}"#);
    plain.write_all(&bytes).expect("the server reads");
    let mut rest = Vec::new();
    let _ = plain.read_to_end(&mut rest);
    assert!(rest.len() < 10 && !rest.starts_with(&[0]), "{rest:?}");
    await_count(&running, refused, 2);
    let log = log.lock().expect("no panic").clone();
    assert_eq!(log.len(), 2, "{log:?}");
    for ((code, by_client, text), why) in log.iter().zip(["incompatible", "corrupt message"]) {
        assert_eq!((*code, *by_client), ("handshake", true));
        assert!(text.starts_with("TLS: ") && text.contains(why), "{text}");
    }
    let mut silent = connect(&running);
    assert_eq!(silent.read(&mut [0]).unwrap_or(0), 0);
    await_count(&running, r#"accelflow_connections_total{end="slow"}"#, 1);
}

/// A handshake message of which a part has come, and then what does not belong there: the rest of
/// the message is still in the server's hands when it says what is wrong (found by fuzzing).
#[test]
fn handshakes_that_break_off_are_refused() {
    let certificate = Certificate::new("broken-off");
    let mut server = server();
    server.set_tls(certificate.identity());
    let running = start(server);
    let mut hello = Vec::new();
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    client.conn.write_tls(&mut hello).expect("a vector");
    drop(client);
    // It now promises more than its record has.
    hello[6..9].copy_from_slice(&[0, 0xff, 0xff]);
    let rest: [&[u8]; 8] = [
        &[23, 3, 3, 0, 5, 1, 2, 3, 4, 5],
        &[23, 3, 3, 0, 0],
        &[20, 3, 3, 0, 1, 1],
        &[20, 3, 3, 0, 1, 2],
        &[21, 3, 3, 0, 2, 2, 40],
        &[21, 3, 3, 0, 1, 2],
        &[22, 3, 3, 0, 0],
        &[99, 3, 3, 0, 1, 1],
    ];
    for one in rest {
        let mut stream = connect(&running);
        stream
            .write_all(&[&hello, one].concat())
            .expect("the server reads");
        stream.shutdown(Shutdown::Write).expect("a socket");
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let handshake = r#"accelflow_connections_total{end="handshake"}"#;
    await_count(&running, handshake, 6);
    await_count(&running, "accelflow_connections_open", 0);
    let panics = r#"accelflow_connections_total{end="panic"}"#;
    assert_eq!(counted(&running, panics), 0, "{}", running.metrics());
}

/// What came before a client's `close_notify` is answered, as before the end of a plain stream.
#[test]
fn clients_that_have_closed_their_side_are_answered() {
    let certificate = Certificate::new("half-closed");
    let mut server = server();
    server.set_tls(certificate.identity());
    let running = start(server);
    let asked = |number| frame("add", Protocol::Compact, number, r#"{"a":1,"b":1}"#);
    for (count, cut) in [(1, 0), (3, 0), (2, 1)] {
        let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
        while client.conn.is_handshaking() {
            client.conn.complete_io(&mut client.sock).expect("TLS 1.3");
        }
        let mut bytes: Vec<u8> = (0..count).flat_map(asked).collect();
        bytes.truncate(bytes.len() - cut);
        client.conn.writer().write_all(&bytes).expect("small");
        client.conn.send_close_notify();
        // In one piece, so that the server finds the end behind the messages.
        let mut records = Vec::new();
        while client.conn.wants_write() {
            client.conn.write_tls(&mut records).expect("a vector");
        }
        client.sock.write_all(&records).expect("the server reads");
        for number in 0..count - i32::from(cut > 0) {
            let reply = read_reply(&receive(&mut client).expect("a reply"));
            assert_eq!(reply.1, number);
        }
        assert_eq!(client.read(&mut [0]).expect("a goodbye"), 0);
    }
    let ended = |end: &str| format!("accelflow_connections_total{{end=\"{end}\"}}");
    await_count(&running, &ended("done"), 2);
    await_count(&running, &ended("cut"), 1);
}

#[test]
fn forged_records_end_the_connection() {
    let certificate = Certificate::new("forged");
    let mut server = server();
    server.set_tls(certificate.identity());
    let running = start(server);
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    assert_eq!(call(&mut client, "nothing", Protocol::Binary, "{}").1, "{}");
    let mut record = vec![23, 3, 3, 0, 40];
    record.extend([7; 40]);
    client.sock.write_all(&record).expect("the server reads");
    let _ = client.sock.read_to_end(&mut Vec::new());
    await_count(&running, r#"accelflow_connections_total{end="bad_tag"}"#, 1);
}

#[test]
fn files_without_certificates_are_named() {
    let certificate = Certificate::new("files");
    let (cert, key) = (certificate.file("cert.pem"), certificate.file("key.pem"));
    let other = Certificate::new("files-other").file("key.pem");
    for (cert, key, bad) in [
        (&key, &key, &key),
        (&cert, &cert, &cert),
        (&cert, &other, &other),
    ] {
        match TlsIdentity::from_pem_files(Path::new(cert), Path::new(key)) {
            Err(ServeError::Certificate { path, .. }) => assert_eq!(&path, bad),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn files_without_a_key_or_certificate_are_refused() {
    let certificate = Certificate::new("tls-files");
    let (cert, key) = (certificate.file("cert.pem"), certificate.file("key.pem"));
    let (none, empty) = (Path::new("/dev/null"), Path::new(""));
    for (cert, key, said) in [
        (
            &*cert,
            none,
            "/dev/null: must have a private key in PEM form",
        ),
        (
            none,
            &*key,
            "/dev/null: must have at least one certificate in PEM form",
        ),
        (empty, &*key, "'': must be the path of a PEM file"),
        (&*cert, empty, "'': must be the path of a PEM file"),
    ] {
        let error = TlsIdentity::from_pem_files(cert, key).expect_err(said);
        assert_eq!(error.to_string(), said);
    }
}

#[test]
fn later_connections_have_the_certificate_that_was_set_last() {
    let [old, new, third] = ["renewed-old", "renewed-new", "renewed-not"].map(Certificate::new);
    let mut server = server();
    server.set_tls(old.identity());
    let running = start(server);
    let versions = [&rustls::version::TLS13];
    let mut open = old.connect(&running, &versions);
    let arguments = r#"{"a":1,"b":1}"#;
    call(&mut open, "add", Protocol::Binary, arguments);
    running.set_tls(new.identity()).expect("of the same kind");
    let mut later = new.connect(&running, &versions);
    for client in [&mut open, &mut later] {
        let (_, body) = call(client, "add", Protocol::Binary, arguments);
        assert_eq!(body, r#"{"success":2}"#);
    }
    let (files, ca) = (
        [third.file("cert.pem"), third.file("key.pem")],
        third.file("cert.pem"),
    );
    let asking = TlsIdentity::for_known_clients(&files[0], &files[1], &ca).expect("just made");
    let refused = running.set_tls(asking).map_err(|error| error.to_string());
    let why =
        "tls = with authorities of clients: must have none, as the server had when it was started";
    assert_eq!(refused, Err(why.to_owned()));
    let plain = start(crate::common::server());
    let refused = plain
        .set_tls(new.identity())
        .map_err(|error| error.to_string());
    let why = "tls is given: must be None, since the server was started without TLS";
    assert_eq!(refused, Err(why.to_owned()));
    new.connect(&running, &versions)
        .write_all(&frame("nothing", Protocol::Binary, 1, "{}"))
        .expect("the certificate is unchanged");
}
