//! Calls over TLS 1.3 to servers of rustls, which do what servers may and must not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use accelflow_accel::Settings;
use accelflow_accel::rpc::{ThriftCall, read_message, write_message};
use accelflow_accel::thrift::{Protocol, struct_from_json};
use accelflow_accel::{Limits, thrift::Schema};
use accelflow_serve::{
    CallOptions, Client, ClientConfig, Executed, RetryPolicy, ServeError, TlsTrust,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion,
};

use crate::common::*;

const ADD: &[u8] = br#"{"a":1,"b":1}"#;

type TlsStream = StreamOwned<ServerConnection, TcpStream>;
type Script = Box<dyn FnOnce(&mut TlsStream) + Send>;

struct Setup {
    versions: &'static [&'static SupportedProtocolVersion],
    client_certificates: bool,
    /// The largest record, headers included, that the server sends.
    fragment: Option<usize>,
}

const USUAL: Setup = Setup {
    versions: &[&rustls::version::TLS13],
    client_certificates: false,
    fragment: None,
};

/// A server that treats each connection by the next script.
fn scripted(
    certificate: &Certificate,
    setup: &Setup,
    scripts: Vec<Script>,
) -> (SocketAddr, JoinHandle<()>) {
    let own = CertificateDer::from_pem_file(certificate.file("cert.pem")).expect("made");
    let key = PrivateKeyDer::from_pem_file(certificate.file("key.pem")).expect("made");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(setup.versions)
        .expect("versions");
    let mut roots = RootCertStore::empty();
    roots.add(own.clone()).expect("a certificate");
    let builder = match setup.client_certificates {
        false => builder.with_no_client_auth(),
        true => {
            let roots = Arc::new(roots);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            builder.with_client_cert_verifier(verifier.expect("a root"))
        }
    };
    let mut config = builder.with_single_cert(vec![own], key).expect("a pair");
    config.max_fragment_size = setup.fragment;
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let thread = std::thread::spawn(move || {
        for script in scripts {
            let stream = waits::accept(&listener);
            let connection = ServerConnection::new(config.clone()).expect("a server");
            script(&mut StreamOwned::new(connection, stream));
        }
    });
    (address, thread)
}

/// Reads a call of `echo` and returns the response to it.
fn response(stream: &mut TlsStream) -> Vec<u8> {
    let frame = receive(stream).expect("a call");
    let (schema, limits) = (schema(), Limits::default());
    let (call, body) = read_message(&schema, &frame, &limits).expect("a call");
    let id = schema.function(call.function).expect("found").arguments;
    let body = &frame[body..];
    let json = accelflow_accel::thrift::struct_to_json(&schema, id, call.protocol, body, &limits);
    let json = String::from_utf8(json.expect("reads")).expect("JSON");
    let result = json.replacen("value", "success", 1);
    let result = match &*call.method {
        "add" => r#"{"success":2}"#,
        _ => &result,
    };
    reply(&schema, &call, result)
}

fn reply(schema: &Schema, call: &ThriftCall, result: &str) -> Vec<u8> {
    let limits = Limits::default();
    let id = schema.function(call.function).expect("found").result;
    let body = struct_from_json(schema, id, call.protocol, result.as_bytes(), &limits);
    write_message(&call.reply(), &body.expect("fits"), &limits).expect("small")
}

fn client(address: SocketAddr, trust: TlsTrust, timeout: Duration) -> Client {
    let settings = Settings {
        schema: schema(),
        ..Settings::default()
    };
    let config = ClientConfig {
        timeout,
        retry: RetryPolicy {
            max_attempts: 1,
            ..RetryPolicy::default()
        },
        ..ClientConfig::default()
    };
    let made = Client::new(address, settings, Protocol::Compact, Some(trust), config);
    made.expect("settings that exist")
}

fn fallbacks(client: &Client, reason: &str) -> u64 {
    let text = client.metrics();
    let reason = format!(r#"reason="{reason}""#);
    let line = text
        .lines()
        .find(|line| line.contains("fallbacks_total") && line.contains(&reason));
    let value = line.and_then(|line| line.rsplit_once(' '));
    value.map_or(0, |(_, value)| value.parse().expect("a count"))
}

fn echo(client: &Client, size: usize) {
    let text: String = (0..size)
        .map(|at| char::from(b'a' + (at % 23) as u8))
        .collect();
    let arguments = format!(r#"{{"value":{{"text":"{text}"}}}}"#);
    let echoed = client.call("echo", arguments.as_bytes()).expect("echoes");
    assert_eq!(
        echoed,
        format!(r#"{{"text":"{text}"}}"#).into_bytes(),
        "{size}"
    );
}

#[test]
fn responses_come_in_whatever_records() {
    let certificate = Certificate::new("client-records");
    let whole: Script = Box::new(|stream| {
        for _ in 0..8 {
            let response = response(stream);
            stream.write_all(&response).expect("the client reads");
        }
    });
    // Every write is a record: a length alone, a crumb, the rest.
    let pieces: Script = Box::new(|stream| {
        for _ in 0..8 {
            let response = response(stream);
            let (length, rest) = response.split_at(4);
            let (crumb, rest) = rest.split_at(1);
            for piece in [length, crumb, rest] {
                stream.write_all(piece).expect("the client reads");
                stream.flush().expect("the client reads");
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    });
    let sizes = [
        1,
        1_000,
        16_384 - 25,
        16_384 - 24,
        16_384 - 23,
        16_384,
        40_000,
        300_000,
    ];
    // The certificate takes many records of 101 bytes, too.
    for (script, fragment) in [(whole, None), (pieces, Some(101))] {
        let setup = Setup { fragment, ..USUAL };
        let (address, thread) = scripted(&certificate, &setup, vec![script]);
        let client = client(address, certificate.trust(), LONG);
        for size in sizes {
            echo(&client, size);
        }
        // The session tickets came before the first response.
        assert_eq!(fallbacks(&client, "control_records"), 1);
        match fragment {
            None => assert!(fallbacks(&client, "unaligned_records") < 8),
            Some(_) => assert!(fallbacks(&client, "unaligned_records") > 0),
        }
        thread.join().expect("no panic");
    }
}

#[test]
fn both_sides_may_update_keys() {
    let certificate = Certificate::new("client-update");
    let script: Script = Box::new(|stream| {
        for _ in 0..6 {
            let response = response(stream);
            // Before the response, which also asks the client for new keys.
            stream.conn.refresh_traffic_keys().expect("TLS 1.3");
            stream.write_all(&response).expect("the client reads");
            // After the response: found when the connection is taken up again.
            stream.conn.refresh_traffic_keys().expect("TLS 1.3");
            stream.flush().expect("the client reads");
        }
        assert_eq!(stream.read(&mut [0]).expect("a goodbye"), 0);
    });
    let (address, thread) = scripted(&certificate, &USUAL, vec![script]);
    let client = client(address, certificate.trust(), LONG);
    for size in [1, 100, 20_000, 1, 100, 50_000] {
        echo(&client, size);
    }
    assert_eq!(client.connections().open, 1);
    drop(client);
    thread.join().expect("no panic");
}

#[test]
fn sessions_are_resumed() {
    let certificate = Certificate::new("client-resume");
    let script = |resumed: bool| -> Script {
        Box::new(move |stream| {
            let response = response(stream);
            let kind = stream.conn.handshake_kind().expect("shaken");
            assert_eq!(kind == rustls::HandshakeKind::Resumed, resumed, "{kind:?}");
            stream.write_all(&response).expect("the client reads");
            stream.conn.send_close_notify();
            stream.flush().expect("the client reads");
        })
    };
    let (address, thread) = scripted(&certificate, &USUAL, vec![script(false), script(true)]);
    let client = client(address, certificate.trust(), LONG);
    echo(&client, 10);
    echo(&client, 10);
    thread.join().expect("no panic");
}

#[test]
fn wrong_certificates_and_versions_are_refused() {
    let certificate = Certificate::new("client-wrong");
    let other = Certificate::new("client-other");
    let cert = certificate.file("cert.pem");
    let misnamed = TlsTrust::from_pem_file(&cert, "example.org").expect("a name");
    let fails: fn() -> Script = || Box::new(|stream| assert!(stream.read(&mut [0]).is_err()));
    static OLD: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12];
    let old = Setup {
        versions: OLD,
        ..USUAL
    };
    for (setup, trust, said) in [
        (
            &USUAL,
            other.trust(),
            "not signed by a trusted authority: add",
        ),
        (
            &USUAL,
            misnamed,
            "not valid for name 'example.org', its names are localhost: set",
        ),
        (&old, certificate.trust(), "ProtocolVersion"),
    ] {
        let (address, thread) = scripted(&certificate, setup, vec![fails()]);
        let client = client(address, trust, LONG);
        let error = client.call("add", ADD).expect_err("no trust");
        assert_eq!(error.reason(), "tls", "{error}");
        assert!(error.to_string().contains(said), "{said}: {error}");
        thread.join().expect("no panic");
        assert_eq!(client.connections().open, 0);
    }
}

#[test]
fn the_refusal_of_a_certificate_says_what_to_do() {
    let fails: fn() -> Script = || Box::new(|stream| assert!(stream.read(&mut [0]).is_err()));
    let authority: fn(&mut CertificateParams) =
        |made| made.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let old: fn(&mut CertificateParams) = |made| made.not_after = date_time_ymd(2020, 1, 1);
    let early: fn(&mut CertificateParams) = |made| made.not_before = date_time_ymd(4000, 1, 1);
    for (name, change, said) in [
        (
            "authority",
            authority,
            "CA:TRUE), which a server cannot use: renew it with basicConstraints CA:FALSE",
        ),
        ("old", old, "has expired: renew it"),
        ("early", early, "is not valid yet: set the clock"),
    ] {
        let certificate = Certificate::new(&format!("client-{name}"));
        let mut made = CertificateParams::new(["localhost".to_owned()]).expect("a name");
        change(&mut made);
        let key = KeyPair::generate().expect("a key");
        let signed = made.self_signed(&key).expect("a certificate");
        std::fs::write(certificate.file("cert.pem"), signed.pem()).expect("a file");
        std::fs::write(certificate.file("key.pem"), key.serialize_pem()).expect("a file");
        let (address, thread) = scripted(&certificate, &USUAL, vec![fails()]);
        let error = client(address, certificate.trust(), LONG).call("add", ADD);
        let text = error.expect_err("no trust").to_string();
        assert!(text.contains(said), "{text}");
        thread.join().expect("no panic");
    }
}

#[test]
fn clients_prove_who_they_are() {
    let certificate = Certificate::new("client-identity");
    let (cert, key) = (certificate.file("cert.pem"), certificate.file("key.pem"));
    let setup = Setup {
        client_certificates: true,
        ..USUAL
    };
    let good: Script = Box::new(|stream| {
        let response = response(stream);
        assert!(stream.conn.peer_certificates().is_some());
        stream.write_all(&response).expect("the client reads");
    });
    let refuses: Script = Box::new(|stream| {
        assert!(stream.read(&mut [0]).is_err());
        // The alert is read, and not overtaken by a reset.
        let _ = stream.sock.shutdown(std::net::Shutdown::Write);
        let _ = stream.sock.read_to_end(&mut Vec::new());
    });
    let (address, thread) = scripted(&certificate, &setup, vec![good, refuses]);
    let known = TlsTrust::with_identity(&cert, "localhost", &cert, &key).expect("a pair");
    assert_eq!(
        client(address, known, LONG).call("add", ADD).expect("adds"),
        b"2"
    );
    let unknown = client(address, certificate.trust(), LONG);
    let error = unknown.call("add", ADD).expect_err("no certificate");
    // 116 is certificate_required.
    assert!(error.to_string().contains("116"), "{error}");
    assert_eq!(
        (error.reason(), error.executed()),
        ("tls", Executed::Perhaps)
    );
    drop(unknown);
    thread.join().expect("no panic");
    let swapped = TlsTrust::with_identity(&cert, "localhost", &key, &cert);
    assert!(matches!(swapped, Err(ServeError::Certificate { .. })));
    let name = TlsTrust::from_pem_file(&cert, "no name").expect_err("a space");
    assert_eq!(
        name.to_string(),
        "server_name = 'no name': must be a DNS name or an IP address"
    );
}

#[test]
fn services_may_die_at_any_time() {
    let certificate = Certificate::new("client-die");
    let silent: Script = Box::new(|stream| {
        receive(stream).expect("a call");
        let _ = stream.read(&mut [0]);
    });
    let cut: Script = Box::new(|stream| {
        let response = response(stream);
        stream.write_all(&response[..10]).expect("the client reads");
        stream.flush().expect("the client reads");
    });
    let cut_record: Script = Box::new(|stream| {
        receive(stream).expect("a call");
        stream.sock.write_all(&[23, 3, 3, 1, 0, 5]).expect("reads");
    });
    let forged: Script = Box::new(|stream| {
        receive(stream).expect("a call");
        let mut record = vec![23, 3, 3, 0, 40];
        record.extend([7; 40]);
        stream.sock.write_all(&record).expect("the client reads");
        let _ = stream.read(&mut [0]);
    });
    let polite: Script = Box::new(|stream| {
        receive(stream).expect("a call");
        stream.conn.send_close_notify();
        stream.flush().expect("the client reads");
        let _ = stream.read(&mut [0]);
    });
    let surplus: Script = Box::new(|stream| {
        let response = response(stream);
        let twice = [&response[..], &response].concat();
        stream.write_all(&twice).expect("the client reads");
        let _ = stream.read(&mut [0]);
    });
    let scripts = vec![silent, cut, cut_record, forged, polite, surplus];
    let (address, thread) = scripted(&certificate, &USUAL, scripts);
    let client = client(address, certificate.trust(), LONG);
    let soon = CallOptions {
        deadline: Some(std::time::Instant::now() + Duration::from_secs(2)),
        ..CallOptions::default()
    };
    let silent = client.call_with("add", ADD, &soon).expect_err("silence");
    assert_eq!(
        (silent.reason(), silent.executed()),
        ("timeout", Executed::Perhaps)
    );
    let (lost, malformed) = ("lost", "malformed_response");
    for reason in [lost, lost, malformed, lost, malformed] {
        let error = client.call("add", ADD).expect_err("not answered well");
        assert_eq!(
            (error.reason(), error.executed()),
            (reason, Executed::Perhaps),
            "{error}"
        );
        assert_eq!(client.connections().open, 0);
    }
    thread.join().expect("no panic");
}

#[test]
fn a_handshake_has_a_time_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let certificate = Certificate::new("client-shake");
    let client = client(address, certificate.trust(), Duration::from_secs(1));
    let error = client.call("add", ADD).expect_err("silence");
    assert_eq!(
        (error.reason(), error.executed()),
        ("timeout", Executed::No)
    );
    let greeter = std::thread::spawn(move || {
        // The first connection waits in the queue; it is gone by now.
        for _ in 0..2 {
            let _ = waits::accept(&listener).write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let error = client.call("add", ADD).expect_err("no TLS");
    assert_eq!(error.reason(), "tls", "{error}");
    greeter.join().expect("no panic");
}
