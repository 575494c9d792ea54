//! Calls of gRPC to services that do what services may not, that leave, and that die.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;

use accelflow_accel::{Limits, Settings};
use accelflow_serve::{CallOptions, ClientConfig, Executed, GrpcClient, GrpcCode};
use bytes::Bytes;
use h2::Reason;
use h2::server::{self, SendResponse};

use crate::common::grpc::{self, prefixed, schema};
use crate::common::services::*;
use crate::common::{Certificate, server as thrift_server, start, waits};

/// Has one call answered by `reply`, and then drives the connection to its end.
fn replied(
    reply: impl Fn(&mut SendResponse<Bytes>) + Clone + 'static + Send,
) -> (SocketAddr, JoinHandle<()>) {
    scripted(1, move |_, mut connection| {
        let reply = reply.clone();
        async move {
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let reply = reply.clone();
                tokio::task::spawn_local(async move {
                    read(request).await;
                    reply(&mut respond);
                });
            }
        }
    })
}

/// A name, the reply, and the reason and the code of the error.
type Wrong = (
    &'static str,
    fn(&mut SendResponse<Bytes>),
    &'static str,
    GrpcCode,
);

fn wrong_heads() -> Vec<Wrong> {
    vec![
        (
            "503 without gRPC",
            |reply| drop(reply.send_response(head(503, &[]), true)),
            "status",
            GrpcCode::Unavailable,
        ),
        (
            "404 without gRPC",
            |reply| drop(reply.send_response(head(404, &[]), true)),
            "status",
            GrpcCode::Unimplemented,
        ),
        (
            "200 of something else",
            |reply| drop(reply.send_response(head(200, &[("content-type", "text/html")]), true)),
            "status",
            GrpcCode::Unknown,
        ),
        (
            "a code that does not exist",
            |reply| drop(reply.send_response(head(200, &[GRPC, ("grpc-status", "77")]), true)),
            "status",
            GrpcCode::Unknown,
        ),
        (
            "no status",
            |reply| answer(reply, sum(), &[]),
            "malformed_response",
            GrpcCode::Internal,
        ),
    ]
}

fn wrong_messages() -> Vec<Wrong> {
    vec![
        (
            "no message",
            |reply| answer(reply, Vec::new(), &[("grpc-status", "0")]),
            "malformed_response",
            GrpcCode::Internal,
        ),
        (
            "two messages",
            |reply| answer(reply, [sum(), sum()].concat(), &[("grpc-status", "0")]),
            "malformed_response",
            GrpcCode::Internal,
        ),
        (
            "half a message",
            |reply| answer(reply, sum()[..6].to_vec(), &[("grpc-status", "0")]),
            "malformed_response",
            GrpcCode::Internal,
        ),
        (
            "a message beyond the limits",
            |reply| {
                answer(
                    reply,
                    vec![0, 0xff, 0xff, 0xff, 0xff],
                    &[("grpc-status", "0")],
                )
            },
            "malformed_response",
            GrpcCode::ResourceExhausted,
        ),
        (
            "no protobuf",
            |reply| answer(reply, prefixed(0, b"\xff\xff"), &[("grpc-status", "0")]),
            "bad_response",
            GrpcCode::Internal,
        ),
        (
            "compressed by nothing that was named",
            |reply| answer(reply, prefixed(1, b"x"), &[("grpc-status", "0")]),
            "bad_response",
            GrpcCode::Internal,
        ),
        (
            "a reset",
            |reply| reply.send_reset(Reason::ENHANCE_YOUR_CALM),
            "status",
            GrpcCode::ResourceExhausted,
        ),
    ]
}

#[test]
fn forbidden_answers_of_services_are_errors_with_grpcs_code() {
    for (what, reply, expected, code) in wrong_heads().into_iter().chain(wrong_messages()) {
        let (address, service) = replied(reply);
        let client = client(address, None, once(LONG));
        let found = reason(client.call("Add", ADD));
        assert_eq!(found, (expected, Executed::Perhaps, code), "{what}");
        drop(client);
        service.join().expect("no panic");
    }
}

#[test]
fn messages_that_are_too_large_end_the_call_and_not_the_connection() {
    let (address, service) = scripted(1, |_, mut connection| async move {
        let mut number = 0;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let turn = number;
            number += 1;
            tokio::task::spawn_local(async move {
                read(request).await;
                match turn {
                    0 => answer(&mut respond, prefixed(0, &[0; 3_000]), &[]),
                    _ => answer(&mut respond, sum(), &[("grpc-status", "0")]),
                }
            });
        }
    });
    let limits = Limits {
        max_message_bytes: 2_000,
        ..Limits::default()
    };
    let settings = Settings {
        limits,
        ..Settings::default()
    };
    let made = GrpcClient::new(schema(), address, settings, None, once(LONG));
    let client = made.expect("settings that exist");
    let large = (
        "malformed_response",
        Executed::Perhaps,
        GrpcCode::ResourceExhausted,
    );
    assert_eq!(reason(client.call("Add", ADD)), large);
    assert!(client.call("Add", ADD).is_ok());
    assert_eq!(client.connections().open, 1);
    drop(client);
    service.join().expect("no panic");
}

#[test]
fn a_service_that_sends_no_settings_receives_no_call() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let silent = client(address, None, once(Duration::from_millis(100)));
    let late = ("timeout", Executed::No, GrpcCode::DeadlineExceeded);
    assert_eq!(reason(silent.call("Add", ADD)), late);
    let config = ClientConfig {
        connect_timeout: Duration::from_millis(50),
        ..once(LONG)
    };
    let impatient = client(address, None, config);
    let connect = ("connect", Executed::No, GrpcCode::Unavailable);
    assert_eq!(reason(impatient.call("Add", ADD)), connect);
}

#[test]
fn calls_lost_with_a_service_are_repeated_if_that_is_safe() {
    let dies = |number: usize, mut connection: Conn| async move {
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            if number.is_multiple_of(2) {
                // The socket is closed with the call under way.
                return;
            }
            tokio::task::spawn_local(async move {
                read(request).await;
                answer(&mut respond, sum(), &[("grpc-status", "0")]);
            });
        }
    };
    let (address, service) = scripted(3, dies);
    let mut client = client(address, None, config());
    let lost = ("lost", Executed::Perhaps, GrpcCode::Unavailable);
    assert_eq!(reason(client.call("Add", ADD)), lost);
    assert!(client.call("Add", ADD).is_ok());
    drop(client);
    // A third connection, the fourth being none of this service's.
    let again = GrpcClient::new(schema(), address, Settings::default(), None, config());
    let again = again.expect("settings that exist");
    let options = CallOptions {
        idempotent: true,
        ..CallOptions::default()
    };
    let refused = reason(again.call_with("Add", ADD, &options));
    assert!(["lost", "connect"].contains(&refused.0), "{refused:?}");
    assert!(metric(&again.metrics(), "retries_total|lost") >= 1);
    client = again;
    client.set_idempotent("Add").expect("declared");
    assert_eq!(reason(client.call("Add", ADD)).0, "connect");
    drop(client);
    service.join().expect("no panic");
}

#[test]
fn calls_that_a_leaving_service_has_not_processed_are_made_elsewhere() {
    // The first connection answers its first call, and says GOAWAY with the next ones under way.
    let script = |number: usize, mut connection: Conn| async move {
        let mut turn = 0;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            turn += 1;
            if number == 0 && turn == 2 {
                respond.send_reset(Reason::REFUSED_STREAM);
                continue;
            }
            tokio::task::spawn_local(async move {
                read(request).await;
                answer(&mut respond, sum(), &[("grpc-status", "0")]);
            });
            if number == 0 && turn == 3 {
                connection.graceful_shutdown();
            }
        }
    };
    let (address, service) = scripted(2, script);
    let client = client(address, None, config());
    for turn in 0..20 {
        let answered = client.call("Add", ADD);
        assert!(answered.is_ok(), "{turn}: {answered:?}");
    }
    assert_eq!(metric(&client.metrics(), "retries_total|unprocessed"), 1);
    drop(client);
    service.join().expect("no panic");
}

/// Some services refuse more than their SETTINGS say, because they still count what has ended.
#[test]
fn calls_that_a_service_refuses_for_now_are_repeated_there() {
    let (address, service) = scripted(1, |_, mut connection| async move {
        let mut turn = 0;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            turn += 1;
            if turn != 5 {
                respond.send_reset(Reason::REFUSED_STREAM);
                continue;
            }
            tokio::task::spawn_local(async move {
                read(request).await;
                answer(&mut respond, sum(), &[("grpc-status", "0")]);
            });
        }
    });
    let client = client(address, None, config());
    assert!(client.call("Add", ADD).is_ok());
    let refused = || metric(&client.metrics(), "retries_total|unprocessed");
    assert_eq!(refused(), 4);
    // For ever, it is told in the end.
    let told = reason(client.call("Add", ADD));
    let unavailable = ("unprocessed", Executed::No, GrpcCode::Unavailable);
    assert_eq!(told, unavailable);
    assert_eq!(client.connections().open, 1);
    assert!((10..=30).contains(&(refused() - 4)), "{}", refused());
    drop(client);
    service.join().expect("no panic");
}

#[test]
fn streams_beyond_the_last_of_a_goaway_are_repeated_and_others_are_not() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let service = std::thread::spawn(move || {
        let mut stream = waits::accept(&listener);
        let mut preface = [0; 24];
        std::io::Read::read_exact(&mut stream, &mut preface).expect("a preface");
        let settings = grpc::frame(grpc::SETTINGS, 0, 0, &[]);
        stream.write_all(&settings).expect("it reads");
        let mut requests = 0;
        while requests < 4 {
            let (kind, _, _, _) = grpc::read_frame(&mut stream).expect("a frame");
            requests += usize::from(kind == grpc::HEADERS);
        }
        // The first two (streams 1 and 3) may be processed; the connection ends without a word.
        let goaway = [0, 0, 0, 3, 0, 0, 0, 0];
        let goaway = grpc::frame(grpc::GOAWAY, 0, 0, &goaway);
        stream.write_all(&goaway).expect("it reads");
        stream.shutdown(std::net::Shutdown::Write).expect("open");
        let next = scripted_on(listener);
        drop(stream);
        next
    });
    let client = client(address, None, config());
    let mut results: Vec<_> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| client.call("Add", ADD)))
            .collect();
        let ended = calls.into_iter().map(|call| call.join().expect("no panic"));
        ended
            .map(|result| result.map_err(|error| error.reason()))
            .collect()
    });
    results.sort_by_key(Result::is_err);
    assert!(results[..2].iter().all(Result::is_ok), "{results:?}");
    assert_eq!(results[2..], [Err("lost"), Err("lost")]);
    drop(client);
    service.join().expect("no panic").join().expect("no panic");
}

/// A service that answers all calls over one more connection.
fn scripted_on(listener: TcpListener) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let stream = waits::accept(&listener);
            stream.set_nonblocking(true).expect("a socket");
            let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
            let mut connection = server::handshake(stream).await.expect("HTTP/2");
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                tokio::task::spawn_local(async move {
                    read(request).await;
                    answer(&mut respond, sum(), &[("grpc-status", "0")]);
                });
            }
        });
    })
}

#[test]
fn a_missing_service_and_one_without_http2_over_tls_are_named() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("bound");
    drop(free);
    let gone = client(address, None, config());
    let connect = ("connect", Executed::No, GrpcCode::Unavailable);
    assert_eq!(reason(gone.call("Add", ADD)), connect);
    assert_eq!(metric(&gone.metrics(), "retries_total|connect"), 2);
    // A server of Thrift names no protocol.
    let certificate = Certificate::new("client-grpc-alpn");
    let mut thrift = thrift_server();
    thrift.set_tls(certificate.identity());
    let running = start(thrift);
    let wrong = client(running.address(), Some(certificate.trust()), config());
    let error = wrong.call("Add", ADD).expect_err("no HTTP/2");
    assert_eq!(error.reason(), "tls", "{error}");
}
