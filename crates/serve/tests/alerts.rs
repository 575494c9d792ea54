//! What a server says last on a connection of TLS whose client breaks its rules (RFC 8446, sections
//! 5, 5.2 and 6).

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use accelflow_accel::Limits;
use accelflow_accel::thrift::Protocol;
use accelflow_accel::tls::{CipherSuite, ContentType, RecordKeys, TlsSession, open_first, seal_as};
use accelflow_serve::{Config, Running};
use rustls::{AlertDescription, ClientConnection, ConnectionTrafficSecrets, StreamOwned};

use crate::common::grpc::{PREFACE, SETTINGS};
use crate::common::*;

/// A connection whose records the test writes.
struct Records {
    stream: TcpStream,
    session: TlsSession,
}

fn keys((sequence, secrets): (u64, ConnectionTrafficSecrets)) -> RecordKeys {
    let (suite, key, iv) = match &secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (CipherSuite::Aes128GcmSha256, key, iv),
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (CipherSuite::Aes256GcmSha384, key, iv),
        _ => panic!("the server knows no other"),
    };
    let iv = iv.as_ref().try_into().expect("12 bytes");
    let mut keys = RecordKeys::from_key(suite, key.as_ref(), iv).expect("a key");
    keys.resume_at(sequence);
    keys
}

impl Records {
    /// Takes over a connection on which all that has come was read.
    fn of(client: StreamOwned<ClientConnection, TcpStream>) -> Records {
        let (conn, stream) = client.into_parts();
        let secrets = conn.dangerous_extract_secrets().expect("TLS 1.3");
        let session = TlsSession {
            write: keys(secrets.tx),
            read: keys(secrets.rx),
            ahead: Vec::new(),
        };
        Records { stream, session }
    }

    fn seal(&mut self, content: ContentType, message: &[u8]) -> Vec<u8> {
        let limits = Limits::default();
        seal_as(&mut self.session.write, content, message, &limits).expect("small")
    }

    /// Sends bytes, and returns the alert that the server sends last, if it does.
    fn last_word(mut self, bytes: &[u8]) -> Option<[u8; 2]> {
        self.stream.write_all(bytes).expect("the server reads");
        let mut came = Vec::new();
        match self.stream.read_to_end(&mut came) {
            // What it has not read when it closes resets the connection.
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => {}
        }
        let (mut rest, mut last) = (&came[..], None);
        while !rest.is_empty() {
            let mut content = Vec::new();
            let opened = open_first(&mut self.session.read, rest, &mut content);
            let (kind, end) = opened.expect("the server's records are good");
            last = (kind == ContentType::Alert)
                .then(|| content[..].try_into().expect("an alert has two bytes"));
            rest = &rest[end..];
        }
        last
    }
}

fn thrift(certificate: &Certificate) -> Running {
    let mut server = server();
    server.set_tls(certificate.identity());
    start(server)
}

/// A client after its handshake that has read all that the server has said.
fn greeted(
    certificate: &Certificate,
    running: &Running,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut client = certificate.connect(running, &[&rustls::version::TLS13]);
    assert_eq!(call(&mut client, "nothing", Protocol::Binary, "{}").1, "{}");
    client
}

fn thrift_records(certificate: &Certificate, running: &Running) -> Records {
    Records::of(greeted(certificate, running))
}

fn http2_records(certificate: &Certificate, running: &Running) -> Records {
    let mut client = certificate.connect_for(running, &[&rustls::version::TLS13], &[b"h2"]);
    client.write_all(PREFACE).expect("the server reads");
    let settings = crate::common::grpc::frame(SETTINGS, 0, 0, &[]);
    client.write_all(&settings).expect("the server reads");
    // Its settings, a window, and the acknowledgement of ours, which is the last for now.
    loop {
        let (kind, flags, _, _) = crate::common::grpc::read_frame(&mut client).expect("a frame");
        if (kind, flags) == (SETTINGS, 1) {
            return Records::of(client);
        }
    }
}

type Offence = fn(&mut Records) -> Vec<u8>;

/// What a client sends, and the alert for it.
const OFFENCES: [(&str, Offence, u8); 10] = [
    (
        "a bad tag",
        |records| {
            let mut record = records.seal(ContentType::ApplicationData, b"four");
            record[9] ^= 1;
            record
        },
        20,
    ),
    ("too short for a tag", |_| vec![23, 3, 3, 0, 3, 1, 2, 3], 20),
    (
        "a header that promises too much",
        |_| vec![23, 3, 3, 0x41, 1],
        22,
    ),
    (
        "an unprotected handshake",
        |_| vec![22, 3, 3, 0, 4, 1, 0, 0, 0],
        10,
    ),
    ("a change of ciphers", |_| vec![20, 3, 3, 0, 1, 1], 10),
    ("another version", |_| vec![23, 3, 4, 0, 17], 50),
    (
        "a Finished after the handshake",
        |records| records.seal(ContentType::Handshake, &[20, 0, 0, 0]),
        10,
    ),
    (
        "a key update that asks for nothing known",
        |records| records.seal(ContentType::Handshake, &[24, 0, 0, 1, 2]),
        47,
    ),
    (
        "a key update with something behind it",
        |records| records.seal(ContentType::Handshake, &[24, 0, 0, 1, 0, 24]),
        50,
    ),
    (
        "half an alert",
        |records| records.seal(ContentType::Alert, &[1]),
        50,
    ),
];

#[test]
fn broken_rules_are_answered_by_fatal_alerts() {
    let certificate = Certificate::new("alerts");
    let running = thrift(&certificate);
    for (name, offence, alert) in OFFENCES {
        let mut records = thrift_records(&certificate, &running);
        let bytes = offence(&mut records);
        assert_eq!(records.last_word(&bytes), Some([2, alert]), "{name}");
    }
}

#[test]
fn broken_rules_of_http2_are_answered_by_fatal_alerts() {
    let certificate = Certificate::new("alerts-http2");
    let mut server = crate::common::grpc::server();
    server.set_tls(certificate.identity());
    let running = crate::common::grpc::start(server, Config::default());
    for (name, offence, alert) in OFFENCES {
        let mut records = http2_records(&certificate, &running);
        let bytes = offence(&mut records);
        assert_eq!(records.last_word(&bytes), Some([2, alert]), "{name}");
    }
}

#[test]
fn a_clean_end_is_recognised_and_alerts_are_not_answered() {
    const CLOSE_NOTIFY: [u8; 2] = [1, 0];
    const HANDSHAKE_FAILURE: [u8; 2] = [2, 40];
    let certificate = Certificate::new("alerts-clean");
    let running = thrift(&certificate);
    for (alert, answer) in [
        (CLOSE_NOTIFY, Some(CLOSE_NOTIFY)),
        (HANDSHAKE_FAILURE, None),
    ] {
        let mut records = thrift_records(&certificate, &running);
        let bytes = records.seal(ContentType::Alert, &alert);
        assert_eq!(records.last_word(&bytes), answer);
    }
    // A malformed Thrift frame is not a TLS error.
    let mut records = thrift_records(&certificate, &running);
    let bytes = records.seal(ContentType::ApplicationData, &[0xff; 8]);
    assert_eq!(records.last_word(&bytes), Some(CLOSE_NOTIFY));
    let ended = |end: &str| format!("accelflow_connections_total{{end=\"{end}\"}}");
    await_count(&running, &ended("done"), 1);
    await_count(&running, &ended("alert"), 1);
}

#[test]
fn key_updates_are_counted() {
    let certificate = Certificate::new("many-updates");
    let running = thrift(&certificate);
    // As many as are allowed at once, with calls between them.
    let mut client = greeted(&certificate, &running);
    for _ in 0..32 {
        client.conn.refresh_traffic_keys().expect("TLS 1.3");
        assert_eq!(call(&mut client, "nothing", Protocol::Binary, "{}").1, "{}");
    }
    drop(client);
    // More than that, also with calls between them; no machine takes a second for each.
    for with_calls in [false, true] {
        let mut client = greeted(&certificate, &running);
        let mut refused = None;
        for number in 0..1_000 {
            client.conn.refresh_traffic_keys().expect("TLS 1.3");
            if with_calls {
                let asked = frame("nothing", Protocol::Binary, number, "{}");
                let asked = client.write_all(&asked);
                refused = asked.and_then(|()| receive(&mut client)).err();
            } else {
                refused = client.flush().err();
            }
            if refused.is_some() {
                break;
            }
        }
        let alert = match refused.as_ref().and_then(alert_of) {
            Some(alert) => Ok(alert),
            // It was said before the connection ended.
            None => said(&mut client),
        };
        let expected = Ok(AlertDescription::UnexpectedMessage);
        assert_eq!(alert, expected, "{refused:?}");
    }
    let updates = r#"accelflow_connections_total{end="key_updates"}"#;
    await_count(&running, updates, 2);
}

fn alert_of(error: &std::io::Error) -> Option<AlertDescription> {
    match error.get_ref()?.downcast_ref() {
        Some(rustls::Error::AlertReceived(alert)) => Some(*alert),
        _ => None,
    }
}

/// The alert that a client finds in what has come, or what it finds in its place.
fn said(client: &mut StreamOwned<ClientConnection, TcpStream>) -> Result<AlertDescription, String> {
    loop {
        match client.conn.read_tls(&mut client.sock) {
            Ok(0) => return Err("the end".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
        match client.conn.process_new_packets() {
            Err(rustls::Error::AlertReceived(alert)) => return Ok(alert),
            Err(error) => return Err(error.to_string()),
            Ok(_) => {}
        }
        // Answers are of no interest.
        let _ = client.conn.reader().read(&mut [0; 64]);
    }
}
