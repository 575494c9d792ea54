//! JSON over HTTP/1.1, from servers that frame their responses as servers may.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use accelflow_accel::Settings;
use accelflow_serve::{ClientConfig, HttpClient, HttpRequest, HttpResponse, RetryPolicy};

use crate::common::waits::accept;

/// A request as a server reads it: the head's lines, and the body.
type Seen = (Vec<String>, Vec<u8>);

fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" if head.is_empty() => return None,
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let length = head
        .iter()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// A server that answers each request by the next of `responses`, in the pieces given, and closes
/// the connection after those that are to end so.
fn scripted(responses: Vec<(Vec<&'static [u8]>, bool)>) -> (SocketAddr, JoinHandle<Vec<Seen>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let thread = std::thread::spawn(move || {
        let mut seen = Vec::new();
        let mut stream: Option<BufReader<TcpStream>> = None;
        for (pieces, close) in responses {
            let request = loop {
                let reader = stream.get_or_insert_with(|| BufReader::new(accept(&listener)));
                match read_request(reader) {
                    Some(request) => break request,
                    None => stream = None,
                }
            };
            seen.push(request);
            let reader = stream.as_mut().expect("just used");
            for piece in pieces {
                reader.get_mut().write_all(piece).expect("the client reads");
                std::thread::sleep(Duration::from_millis(1));
            }
            if close {
                stream = None;
            }
        }
        seen
    });
    (address, thread)
}

fn client(address: SocketAddr) -> HttpClient {
    client_with(address, false)
}

fn client_with(address: SocketAddr, compress: bool) -> HttpClient {
    let config = ClientConfig {
        compress,
        timeout: Duration::from_secs(20),
        retry: RetryPolicy {
            max_attempts: 1,
            ..RetryPolicy::default()
        },
        ..ClientConfig::default()
    };
    HttpClient::new(address, Settings::default(), None, config).expect("settings that exist")
}

const POST: HttpRequest<'_> = HttpRequest {
    method: "POST",
    target: "/compose",
    headers: &[("x-request", "1")],
    body: br#"{"text":"hello"}"#,
};

/// What comes from the server in which pieces, whether the connection then ends, and the status and
/// the body that this is.
type Case = (Vec<&'static [u8]>, bool, (u16, Vec<u8>));

fn whole_responses() -> Vec<Case> {
    const GZIP: &[u8] = &[
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xae, 5, 0, 0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0, 0,
    ];
    let ok = |body: &[u8]| (200, body.to_vec());
    vec![
        (
            vec![b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"],
            false,
            ok(b"{}"),
        ),
        (
            vec![
                b"HTTP/1.1 404 Not Found\r\nconte",
                b"nt-length: 4\r\n\r\nnu",
                b"ll",
            ],
            false,
            (404, b"null".to_vec()),
        ),
        (
            vec![
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[1,2,\r",
                b"\n2;why=not\r\n3]\r\n",
                b"0\r\nX-Trailer: 1\r\n\r",
                b"\n",
            ],
            false,
            ok(b"[1,2,3]"),
        ),
        (
            vec![
                b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n",
                b"HTTP/1.1 204 No Content\r\n\r\n",
            ],
            false,
            (204, Vec::new()),
        ),
        // Ends with its connection.
        (
            vec![b"HTTP/1.0 200 OK\r\n\r\n{\"a\":", b"1}"],
            true,
            ok(br#"{"a":1}"#),
        ),
        (
            vec![b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\n1"],
            true,
            ok(b"1"),
        ),
        (
            vec![
                b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 22\r\n\r\n",
                GZIP,
            ],
            false,
            ok(b"{}"),
        ),
    ]
}

#[test]
fn responses_end_where_rfc_9112_says() {
    let cases = whole_responses();
    let responses = cases
        .iter()
        .map(|(pieces, close, _)| (pieces.clone(), *close));
    let (address, thread) = scripted(responses.collect());
    let client = client(address);
    for (pieces, close, (status, body)) in cases {
        let response = client.request(&POST);
        let response = response.unwrap_or_else(|error| panic!("{pieces:?}: {error}"));
        assert_eq!(response, HttpResponse { status, body });
        assert_eq!(client.connections().idle, usize::from(!close), "{pieces:?}");
    }
    for (head, body) in thread.join().expect("no panic") {
        assert_eq!(head[0], "POST /compose HTTP/1.1");
        assert_eq!(head[1], format!("host: {address}"));
        assert!(head.contains(&"accept-encoding: zstd, gzip".to_owned()));
        assert!(head.contains(&"x-request: 1".to_owned()));
        assert!(head.contains(&"content-type: application/json".to_owned()));
        assert_eq!(body, POST.body);
    }
}

#[test]
fn requests_without_a_body_have_nothing_to_compress() {
    let (address, thread) = scripted(vec![
        (vec![b"HTTP/1.1 204 No Content\r\n\r\n"], false),
        (vec![b"HTTP/1.1 204 No Content\r\n\r\n"], false),
    ]);
    let client = client_with(address, true);
    let get = HttpRequest {
        method: "GET",
        target: "/item/5",
        headers: &[],
        body: b"",
    };
    for request in [&get, &POST] {
        client.request(request).expect("a response");
    }
    let seen = thread.join().expect("no panic");
    let encodings = seen.iter().map(|(head, _)| {
        let mut lines = head.iter();
        lines.any(|line| line.starts_with("content-encoding: "))
    });
    assert_eq!(encodings.collect::<Vec<_>>(), [false, true]);
    assert_eq!(seen[0].1, b"");
}

#[test]
fn responses_whose_end_is_not_clear_are_refused() {
    let cases: Vec<(&'static [u8], &str)> =
        vec![
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}", "malformed"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "malformed",
        ),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "malformed"),
        (b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "malformed"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n", "malformed"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n", "malformed"),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n",
            "malformed",
        ),
        (b"HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\n{}", "malformed"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", "malformed"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 2\r\n\r\n{}", "malformed"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "malformed"),
        (b"SSH-2.0-x\r\n", "malformed"),
        // More than the response, and less.
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}{}", "bad_response"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{", "lost"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n", "lost"),
        (b"", "lost"),
    ];
    let responses = cases
        .iter()
        .map(|(bytes, _)| (vec![*bytes], true))
        .collect();
    let (address, thread) = scripted(responses);
    let client = client(address);
    for (bytes, reason) in cases {
        let error = client.request(&POST).expect_err("refused");
        let text = String::from_utf8_lossy(bytes);
        assert!(
            error.reason().starts_with(reason),
            "{text}: {} {error}",
            error.reason()
        );
        assert_eq!(client.connections().open, 0);
    }
    thread.join().expect("no panic");
}

#[test]
fn requests_cannot_be_broken_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let client = client(listener.local_addr().expect("bound"));
    for request in [
        HttpRequest {
            target: "/a b",
            ..POST
        },
        HttpRequest { target: "", ..POST },
        HttpRequest {
            method: "PO ST",
            ..POST
        },
        HttpRequest {
            headers: &[("x", "1\r\ny: 2")],
            ..POST
        },
        HttpRequest {
            headers: &[("x y", "1")],
            ..POST
        },
        HttpRequest {
            headers: &[("Content-Length", "1")],
            ..POST
        },
        HttpRequest {
            headers: &[("transfer-encoding", "chunked")],
            ..POST
        },
    ] {
        let error = client.request(&request).expect_err("refused");
        assert_eq!(error.reason(), "bad_http", "{error}");
    }
    // Nothing was sent: the connection is still good.
    assert_eq!(client.connections().open, 1);
}
