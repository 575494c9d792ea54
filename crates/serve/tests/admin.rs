//! The operators' port: what it tells, and what it refuses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use accelflow_accel::thrift::Protocol;
use accelflow_serve::{Config, Running};

use crate::common::*;

fn start_with_admin(records: bool) -> (Running, SocketAddr) {
    let mut server = server();
    server.set_config(Config {
        admin: Some(([127, 0, 0, 1], 0).into()),
        ..Config::default()
    });
    server.set_recording(records);
    let running = start(server);
    let admin = running.admin_address().expect("it was asked for");
    (running, admin)
}

/// Status and body of whatever is said.
fn ask(admin: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = patient(TcpStream::connect(admin).expect("it listens"));
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|part| part.parse().ok());
    (status.unwrap_or(0), body.to_owned())
}

fn get(admin: SocketAddr, target: &str) -> (u16, String) {
    ask(
        admin,
        &format!("GET {target} HTTP/1.1\r\nHost: admin\r\n\r\n"),
    )
}

#[test]
fn metrics_are_those_of_the_server() {
    let (running, admin) = start_with_admin(false);
    let mut client = connect(&running);
    for _ in 0..3 {
        call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    }
    let (status, body) = get(admin, "/metrics");
    assert_eq!(status, 200);
    let line = r#"accelflow_requests_total{function="Test.add",result="ok"} 3"#;
    assert!(body.lines().any(|found| found == line), "{body}");
    assert!(body.ends_with("# EOF\n"));
}

#[test]
fn what_it_does_not_know_is_refused() {
    let (_running, admin) = start_with_admin(true);
    let recording = "/recording?date=2026-01-01";
    for (request, expected, words) in [
        (
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
            404,
            "allowed are /metrics",
        ),
        (
            "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".to_owned(),
            405,
            "GET",
        ),
        ("nonsense\r\n\r\n".to_owned(), 400, ""),
        (
            format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(100_000)),
            431,
            "",
        ),
        (
            format!("GET {recording} HTTP/1.1\r\nHost: a\r\n\r\n"),
            400,
            "Service.method=NAME",
        ),
        (
            "GET /recording?a.b=C HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
            400,
            "date",
        ),
        (
            format!("GET {recording}&Test.add=%41 HTTP/1.1\r\nHost: a\r\n\r\n"),
            400,
            "letters",
        ),
        (
            format!("GET {recording}&Test.add=X HTTP/1.1\r\nHost: a\r\n\r\n"),
            409,
            "must have had a request",
        ),
    ] {
        let (status, body) = ask(admin, &request);
        // A head that is too long may be answered with a reset before it was read.
        let reset = expected == 431 && status == 0;
        assert!(
            status == expected || reset,
            "{status}: {body} to {}",
            &request[..40.min(request.len())]
        );
        assert!(body.contains(words), "{body}");
    }
    let (quiet, admin) = start_with_admin(false);
    let (status, body) = get(admin, "/recording?date=2026-01-01&Test.add=X");
    assert_eq!(status, 409);
    assert!(body.contains("recording is off"), "{body}");
    drop(quiet);
    assert!(
        TcpStream::connect(admin).is_err(),
        "the port closes with the server"
    );
}

#[test]
fn many_silent_connections_do_not_keep_others_out_for_ever() {
    let (_running, admin) = start_with_admin(false);
    let silent: Vec<_> = (0..15)
        .map(|_| TcpStream::connect(admin).expect("listens"))
        .collect();
    assert_eq!(get(admin, "/metrics").0, 200);
    drop(silent);
    assert_eq!(get(admin, "/metrics").0, 200);
}

#[test]
fn recordings_with_a_wrong_date_or_a_service_twice_are_refused() {
    let (_running, admin) = start_with_admin(true);
    let is_date = "must be a date, as YYYY-MM-DD";
    for (query, words) in [
        (
            "date=2026-02-29&Test.add=X",
            format!("date = '2026-02-29': {is_date}"),
        ),
        ("", "date: must be given, as YYYY-MM-DD".to_owned()),
        (
            "date=2026-99-99&Test.add=X",
            format!("date = '2026-99-99': {is_date}"),
        ),
        (
            "date=garbage&Test.add=X",
            format!("date = 'garbage': {is_date}"),
        ),
        (
            "date=2028-02-29&Test.add=X&Test.echo=X",
            "service name for Test.echo = 'X': must differ from the name for Test.add".to_owned(),
        ),
    ] {
        let (status, body) = get(admin, &format!("/recording?{query}"));
        assert_eq!(status, 400, "{body}");
        assert!(body.contains(&words), "{body}");
    }
}
