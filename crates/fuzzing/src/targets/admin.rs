//! Fuzz target of the operators' port: the port answers any bytes with at most one HTTP response,
//! and sends metrics and recordings only for a GET request.

use std::net::SocketAddr;
use std::sync::LazyLock;

use crate::parties::{config, converse, thrift_server};
use accelflow_serve::{Config, Running};

static SERVER: LazyLock<Running> = LazyLock::new(|| {
    let admin = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    thrift_server(Config { admin, ..config() }, None)
});

/// Sends `input` to the operators' HTTP port (metrics, recordings). Panics unless the port sends at
/// most one whole HTTP response, which has the status 200 only for a GET request.
///
/// If the first byte is odd, the other bytes become the query of a request for `/recording`;
/// otherwise the other bytes are sent unchanged.
pub fn check(input: &[u8]) {
    let address = SERVER.admin_address().expect("it was asked for");
    let bytes = match input.split_first() {
        None => return,
        Some((first, rest)) if first & 1 == 0 => rest.to_vec(),
        Some((_, query)) => {
            let (before, behind) = (
                &b"GET /recording?"[..],
                &b" HTTP/1.1\r\nhost: a\r\n\r\n"[..],
            );
            [before, query, behind].concat()
        }
    };
    let answer = converse(address, &bytes);
    if answer.is_empty() {
        return;
    }
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut response = httparse::Response::new(&mut headers);
    let head = response.parse(&answer).expect("a response");
    assert!(head.is_complete());
    // One response: hyper itself answers `400` to bytes that are not a request.
    let length = response
        .headers
        .iter()
        .find(|header| header.name == "content-length");
    let length = length.map_or("0", |header| {
        std::str::from_utf8(header.value).expect("digits")
    });
    assert_eq!(
        answer.len(),
        head.unwrap() + length.parse::<usize>().expect("digits")
    );
    match response.code.expect("complete") {
        200 => assert!(bytes.starts_with(b"GET ") || bytes.starts_with(b"\r\n")),
        code => assert!((400..500).contains(&code), "{code}"),
    }
}
