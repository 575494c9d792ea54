//! What hostile clients send: each is refused by name, alone, and others are answered as before.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use accelflow_accel::compress::Cmp;
use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_accel::{AccelError, Accelerator, Codec, Job, Limits};
use accelflow_serve::{Config, Execution, PoolSettings, Running, Server};
use accelflow_trace::Accel;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::common::*;

const BOTH: [Protocol; 2] = [Protocol::Binary, Protocol::Compact];

/// A call of `method` whose arguments are these bytes, whatever they are.
fn raw(method: &str, protocol: Protocol, arguments: &[u8]) -> Vec<u8> {
    let mut frame = frame("nothing", protocol, 9, "{}");
    let name = match protocol {
        Protocol::Binary => [&(method.len() as u32).to_be_bytes()[..], method.as_bytes()].concat(),
        Protocol::Compact => [&[method.len() as u8][..], method.as_bytes()].concat(),
    };
    // Length field, version and type; in compact, the sequence number stands before the name.
    let message = match protocol {
        Protocol::Binary => [&frame[4..8], &name, &[0, 0, 0, 9], arguments].concat(),
        Protocol::Compact => [&frame[4..7], &name, arguments].concat(),
    };
    frame.truncate(4);
    frame[..].copy_from_slice(&(message.len() as u32).to_be_bytes());
    [frame, message].concat()
}

/// Sends bytes, says that this was all, and returns what comes back until the end.
fn exchange(running: &Running, bytes: &[u8]) -> Vec<u8> {
    let mut client = connect(running);
    // A server that has seen enough may close before it has read all.
    let _ = client.write_all(bytes);
    let _ = client.shutdown(Shutdown::Write);
    let mut replies = Vec::new();
    let _ = client.read_to_end(&mut replies);
    replies
}

/// Whether the bytes are whole frames, one after the other.
fn are_frames(mut bytes: &[u8]) -> bool {
    while let Some(head) = bytes.first_chunk::<4>() {
        let length = u32::from_be_bytes(*head) as usize;
        match bytes.get(4 + length..) {
            Some(rest) => bytes = rest,
            None => return false,
        }
    }
    bytes.is_empty()
}

fn is_well(client: &mut TcpStream) {
    let added = call(client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    assert_eq!(added, (MessageType::Reply, r#"{"success":2}"#.to_owned()));
}

fn server_with(config: Config) -> Server {
    let mut server = server();
    server.set_config(config);
    server
}

/// Arguments that cannot be read, and the reason.
type Unreadable = Vec<(Vec<u8>, &'static str)>;

/// The opening of a struct or a container so often that it is too deep.
fn nested(opening: &[u8]) -> Vec<u8> {
    opening.repeat(100_000)
}

fn binary_cases() -> Unreadable {
    let size = |count: u32| count.to_be_bytes();
    vec![
        (vec![], "truncated"),
        // Struct in struct, list of lists, map of maps in a field that the interface does not have.
        (nested(&[12, 0, 99]), "too_deep"),
        (
            [&[15, 0, 99][..], &nested(&[15, 0, 0, 0, 1])].concat(),
            "too_deep",
        ),
        (
            [&[13, 0, 99][..], &nested(&[3, 13, 0, 0, 0, 1, 7])].concat(),
            "too_deep",
        ),
        // A text and a list that promise more than there is, and lengths that are none.
        (
            [&[12, 0, 1, 11, 0, 1][..], &size(1 << 30)].concat(),
            "truncated",
        ),
        ([&[15, 0, 99, 10][..], &size(1 << 16)].concat(), "truncated"),
        ([&[15, 0, 99, 10][..], &size(1 << 30)].concat(), "too_large"),
        (
            [&[12, 0, 1, 11, 0, 1][..], &size(u32::MAX)].concat(),
            "negative_length",
        ),
        (
            [&[15, 0, 99, 10][..], &size(u32::MAX)].concat(),
            "negative_length",
        ),
        // A type that there is not, text that is none, and the same field twice.
        (vec![77, 0, 1, 0], "bad_wire_type"),
        (
            [&[12, 0, 1, 11, 0, 1][..], &size(2), &[0xc3, 0x28, 0, 0]].concat(),
            "bad_utf8",
        ),
        (
            [12, 0, 1, 0].repeat(2).into_iter().chain([0]).collect(),
            "duplicate_field",
        ),
    ]
}

fn compact_cases() -> Unreadable {
    vec![
        (vec![], "truncated"),
        (nested(&[0xfc]), "too_deep"),
        ([&[0xf9, 0x19][..], &nested(&[0x19])].concat(), "too_deep"),
        (vec![0x1c, 0x18, 0xff, 0xff, 0xff, 0xff, 0x07], "truncated"),
        (vec![0xf9, 0xf6, 0xff, 0xff, 0xff, 0xff, 0x07], "too_large"),
        (vec![0x1c, 0x18, 0x02, 0xc3, 0x28, 0, 0], "bad_utf8"),
        (
            vec![0x1c, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            "bad_varint",
        ),
        (vec![0x1e, 0], "bad_wire_type"),
    ]
}

#[test]
fn arguments_that_cannot_be_read_are_refused_with_a_reason() {
    let running = start(server());
    let mut client = connect(&running);
    for (protocol, cases) in [(BOTH[0], binary_cases()), (BOTH[1], compact_cases())] {
        for (arguments, reason) in cases {
            let series =
                format!(r#"accelflow_requests_total{{function="Test.echo",result="{reason}"}}"#);
            let before = counted(&running, &series);
            let bytes = raw("echo", protocol, &arguments);
            client.write_all(&bytes).expect("the server reads");
            let (kind, _, body) = read_reply(&receive(&mut client).expect("a reply"));
            assert_eq!(kind, MessageType::Exception, "{protocol:?} {reason}");
            assert!(
                body.ends_with(r#""type":7}"#),
                "{protocol:?} {reason}: {body}"
            );
            assert_eq!(
                counted(&running, &series),
                before + 1,
                "{protocol:?}: {body}"
            );
        }
    }
    is_well(&mut client);
}

#[test]
fn messages_that_are_no_calls_are_refused_as_such_whatever_is_in_them() {
    let running = start(server());
    let mut client = connect(&running);
    // A reply of `echo` has a result, which an empty struct lacks; an exception may be empty.
    for (kind, arguments) in [(2, &[0][..]), (2, &[0x77]), (3, &[0])] {
        for protocol in BOTH {
            let mut bytes = raw("echo", protocol, arguments);
            match protocol {
                Protocol::Binary => bytes[7] = kind,
                Protocol::Compact => bytes[5] = kind << 5 | 1,
            }
            client.write_all(&bytes).expect("the server reads");
            let (_, _, body) = read_reply(&receive(&mut client).expect("a reply"));
            let told = r#"{"message":"message type: must be call or oneway","type":2}"#;
            assert_eq!(body, told, "{protocol:?} {kind} {arguments:?}");
        }
    }
    let series = r#"accelflow_requests_total{function="Test.echo",result="invalid_message_type"}"#;
    assert_eq!(counted(&running, series), 6);
}

#[test]
fn oneway_functions_are_not_answered_whatever_the_message_says() {
    let running = start(server());
    let mut client = connect(&running);
    for protocol in BOTH {
        // The client here writes the type that the interface says; as a call, it differs by a byte.
        let mut note = frame("note", protocol, 1, r#"{"text":"a"}"#);
        match protocol {
            Protocol::Binary => note[7] = 1,
            Protocol::Compact => note[5] = 1 << 5 | 1,
        }
        let unreadable = raw("note", protocol, &[0x77]);
        client
            .write_all(&[note, unreadable].concat())
            .expect("the server reads");
        is_well(&mut client);
    }
    let noted = r#"accelflow_requests_total{function="Test.note",result="oneway"}"#;
    assert_eq!(counted(&running, noted), 2);
}

#[test]
fn compressed_bodies_that_inflate_are_refused() {
    let generous = Limits {
        max_message_bytes: 256 << 20,
        max_decompression_ratio: usize::MAX,
        ..Limits::default()
    };
    let running = start(server());
    let mut client = connect(&running);
    for (codec, number, size) in [(Codec::Zstd, 1, 200 << 20), (Codec::Snappy, 2, 200 << 20)] {
        let mut cmp = Cmp::new(codec, 1, generous).expect("a level");
        let bomb = cmp.compress(&vec![b' '; size]).expect("within its limits");
        let envelope = [
            &[3, 0x7d, 0, number, 11, 0x7d, 1][..],
            &(bomb.len() as u32).to_be_bytes(),
            &bomb,
            &[0],
        ];
        let bytes = raw("echo", Protocol::Binary, &envelope.concat());
        client.write_all(&bytes).expect("the server reads");
        let (kind, _, body) = read_reply(&receive(&mut client).expect("a reply"));
        assert_eq!(kind, MessageType::Exception, "{body}");
        assert!(body.ends_with(r#""type":7}"#), "{body}");
    }
    let refused: u64 = ["zip_bomb", "too_large"]
        .map(|reason| {
            format!(r#"accelflow_requests_total{{function="Test.echo",result="{reason}"}}"#)
        })
        .map(|series| counted(&running, &series))
        .iter()
        .sum();
    assert_eq!(refused, 2, "{}", running.metrics());
    is_well(&mut client);
}

#[test]
fn one_wrong_byte_anywhere_harms_nobody() {
    let running = start(server());
    let mut bystander = connect(&running);
    for protocol in BOTH {
        let good = frame(
            "echo",
            protocol,
            3,
            r#"{"value":{"text":"abc","data":"AAE="}}"#,
        );
        for place in 0..good.len() {
            for change in [1, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[place] ^= change;
                let replies = exchange(&running, &bytes);
                assert!(
                    are_frames(&replies),
                    "{protocol:?}, byte {place} ^ {change}"
                );
            }
        }
        for length in 0..good.len() {
            let replies = exchange(&running, &good[..length]);
            assert!(replies.is_empty(), "{protocol:?}, cut at {length}");
        }
        is_well(&mut bystander);
    }
    let panics = r#"accelflow_connections_total{end="panic"}"#;
    assert_eq!(counted(&running, panics), 0);
    // All but the bystander's connection are gone.
    eventually("all other connections end", || {
        counted(&running, "accelflow_connections_open") == 1
    });
}

#[test]
fn connections_that_end_within_a_message_are_cut() {
    let running = start(server());
    let bytes = frame("add", Protocol::Binary, 1, r#"{"a":1,"b":1}"#);
    let cut = r#"accelflow_connections_total{end="cut"}"#;
    // In good order in the middle; whole and then again half; and as a reset.
    assert!(exchange(&running, &bytes[..10]).is_empty());
    await_count(&running, cut, 1);
    let replies = exchange(&running, &[&bytes[..], &bytes[..10]].concat());
    assert_eq!(read_reply(&replies).2, r#"{"success":2}"#);
    await_count(&running, cut, 2);
    let mut rude = connect(&running);
    rude.write_all(&bytes).expect("the server reads");
    receive(&mut rude).expect("a reply");
    rude.write_all(&bytes).expect("the server reads");
    // What is closed before its reply was read is reset.
    drop(rude);
    is_well(&mut connect(&running));
}

#[test]
fn clients_that_do_not_read_are_cut_off() {
    let running = start(server_with(Config {
        write_timeout: Duration::from_millis(300),
        ..Config::default()
    }));
    let mut deaf = connect(&running);
    let text = "x".repeat(4 << 20);
    let arguments = format!(r#"{{"value":{{"text":"{text}"}}}}"#);
    let bytes = frame("echo", Protocol::Binary, 1, &arguments);
    // More than the sockets hold: the server waits for room, and not for ever.
    for _ in 0..4 {
        if deaf.write_all(&bytes).is_err() {
            break;
        }
    }
    await_count(&running, r#"accelflow_connections_total{end="slow"}"#, 1);
    is_well(&mut connect(&running));
}

#[test]
fn slow_handshakes_and_records_gain_no_time() {
    let certificate = Certificate::new("loris");
    let mut server = server_with(impatient());
    server.set_tls(certificate.identity());
    let running = start(server);
    // A client's first message, one byte at a time.
    let mut slow = connect(&running);
    for byte in [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3].iter().cycle().take(60) {
        if slow.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let slow_ends = r#"accelflow_connections_total{end="slow"}"#;
    await_count(&running, slow_ends, 1);
    // The same with a record after the handshake.
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    assert_eq!(call(&mut client, "nothing", Protocol::Binary, "{}").1, "{}");
    for byte in [23, 3, 3, 0, 200].iter().chain([7; 100].iter()) {
        if client.sock.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    await_count(&running, slow_ends, 2);
}

#[test]
fn clients_that_do_not_trust_the_certificate_are_gone_before_they_say_anything() {
    let (certificate, other) = (Certificate::new("trusted"), Certificate::new("other"));
    let mut server = server();
    server.set_tls(certificate.identity());
    let running = start(server);
    let mut stranger = other.connect(&running, &[&rustls::version::TLS13]);
    let error = stranger.write_all(b"x").expect_err("an unknown issuer");
    assert!(error.to_string().contains("certificate"), "{error}");
    drop(stranger);
    // A name that is not in the certificate.
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("elsewhere.example").expect("a name");
    let session = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut misled = StreamOwned::new(session, connect(&running));
    let error = misled.write_all(b"x").expect_err("another name");
    assert!(error.to_string().contains("not valid for name"), "{error}");
    drop(misled);
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    assert_eq!(call(&mut client, "nothing", Protocol::Binary, "{}").1, "{}");
    // They end on threads of their own.
    let ended = || {
        let series = ["handshake", "alert"]
            .map(|end| format!(r#"accelflow_connections_total{{end="{end}"}}"#));
        series
            .iter()
            .map(|sery| counted(&running, sery))
            .sum::<u64>()
    };
    eventually("both are counted", || ended() == 2);
}

/// Panics whenever the payload asks for it.
struct Faulty;

impl Accelerator for Faulty {
    fn kind(&self) -> Accel {
        Accel::Ldb
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let asked = job.bytes.windows(4).any(|pair| pair == b"boom");
        assert!(!asked, "broken hardware");
        job.core = Some(0);
        Ok(())
    }
}

#[test]
fn workers_that_panic_are_replaced_and_counted() {
    let mut server = server_with(Config {
        execution: Execution::Ensemble(PoolSettings::default()),
        ..Config::default()
    });
    server.prepare_ensembles(|ensemble| {
        ensemble.replace(Box::new(Faulty));
    });
    let running = start(server);
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let running = &running;
            threads.spawn(move || {
                let mut client = connect(running);
                for turn in 0..10 {
                    let text = if (turn + thread) % 2 == 0 {
                        "boom"
                    } else {
                        "fine"
                    };
                    let arguments = format!(r#"{{"value":{{"text":"{text}"}}}}"#);
                    let (kind, body) = call(&mut client, "echo", Protocol::Compact, &arguments);
                    assert_eq!(kind, MessageType::Reply, "{body}");
                    assert_eq!(body, format!(r#"{{"success":{{"text":"{text}"}}}}"#));
                }
            });
        }
    });
    let panics = r#"accelflow_pool_steps_total{accelerator="LdB",result="panic"}"#;
    assert_eq!(counted(&running, panics), 20, "{}", running.metrics());
}

#[test]
fn no_reply_holds_what_another_client_has_sent() {
    const SECRET: &str = "SECRET-OF-ANOTHER-TENANT";
    let secret = SECRET.repeat(200);
    for execution in [
        Execution::Inline,
        Execution::Ensemble(PoolSettings::default()),
    ] {
        let running = start(server_with(Config {
            execution,
            ..Config::default()
        }));
        let value = format!(r#"{{"value":{{"text":"{secret}"}}}}"#);
        let echo = frame("echo", Protocol::Binary, 1, &value);
        let mut flipped = echo.clone();
        // The text's type becomes another, so that the message fails after it was taken over.
        let place = echo
            .iter()
            .rposition(|byte| *byte == b'S')
            .map_or(0, |at| at % 64)
            + 30;
        flipped[place] ^= 0x40;
        let text = format!(r#"{{"text":"{secret}"}}"#);
        let secrets = [
            echo.clone(),
            echo[..echo.len() / 2].to_vec(),
            flipped,
            raw(&SECRET[..20], Protocol::Binary, secret.as_bytes()),
            raw("echo", Protocol::Compact, secret.as_bytes()),
            frame("note", Protocol::Compact, 2, &text),
            secret.clone().into_bytes(),
        ];
        let short = [
            frame("nothing", Protocol::Binary, 3, "{}"),
            frame("panics", Protocol::Compact, 4, "{}"),
            frame("broken", Protocol::Binary, 5, "{}"),
            frame("unhandled", Protocol::Compact, 6, "{}"),
            frame("echo", Protocol::Binary, 7, r#"{"value":{"text":"x"}}"#),
            raw("nobody", Protocol::Binary, &[0]),
            raw("echo", Protocol::Compact, &[0x1c, 0x18, 0x7f, b'x']),
        ];
        for turn in 0..40 {
            exchange(&running, &secrets[turn % secrets.len()]);
            let replies = exchange(&running, &short.concat());
            assert!(are_frames(&replies));
            let found = replies
                .windows(12)
                .any(|pair| pair == &SECRET.as_bytes()[..12]);
            assert!(!found, "turn {turn}: {}", String::from_utf8_lossy(&replies));
        }
    }
}
