//! Services of gRPC that tests script, and what their clients say of calls.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;

use accelflow_accel::Settings;
use accelflow_serve::{
    CallError, ClientConfig, Executed, GrpcClient, GrpcCode, RetryPolicy, TlsTrust,
};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::{self, Connection, SendResponse};
use http::{HeaderMap, HeaderValue, Response};
use serde_json::json;

use super::grpc::{message, prefixed, schema};
pub(crate) use super::waits::{LONG, eventually};

pub(crate) const ADD: &[u8] = br#"{"a":"40","b":"2"}"#;

pub(crate) fn config() -> ClientConfig {
    ClientConfig {
        timeout: LONG,
        ..ClientConfig::default()
    }
}

pub(crate) fn once(timeout: Duration) -> ClientConfig {
    ClientConfig {
        timeout,
        retry: RetryPolicy {
            max_attempts: 1,
            ..RetryPolicy::default()
        },
        ..ClientConfig::default()
    }
}

pub(crate) fn client(
    address: SocketAddr,
    trust: Option<TlsTrust>,
    config: ClientConfig,
) -> GrpcClient {
    let made = GrpcClient::new(schema(), address, Settings::default(), trust, config);
    made.expect("settings that exist")
}

pub(crate) fn reason(result: Result<Vec<u8>, CallError>) -> (&'static str, Executed, GrpcCode) {
    let error = result.expect_err("no value");
    (error.reason(), error.executed(), error.code())
}

pub(crate) fn metric(text: &str, series: &str) -> u64 {
    let found = text.lines().find_map(|line| {
        let (name, value) = line.rsplit_once(' ')?;
        let labels: Vec<&str> = series.split('|').collect();
        labels
            .iter()
            .all(|label| name.contains(label))
            .then_some(value)
    });
    found.map_or(0, |value| value.parse().expect("a count"))
}

pub(crate) type Conn = Connection<tokio::net::TcpStream, Bytes>;

/// A service that treats each of so many connections by a script, at the same time.
pub(crate) fn scripted<F, D>(connections: usize, script: F) -> (SocketAddr, JoinHandle<()>)
where
    F: Fn(usize, Conn) -> D + Send + 'static,
    D: Future<Output = ()> + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    listener.set_nonblocking(true).expect("a socket");
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&runtime, async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            let mut running = Vec::new();
            for number in 0..connections {
                let Ok(accepted) = tokio::time::timeout(LONG, listener.accept()).await else {
                    return;
                };
                let stream = accepted.expect("a client").0;
                let shaken = tokio::time::timeout(LONG, server::handshake(stream)).await;
                let connection = shaken.expect("a preface").expect("HTTP/2");
                running.push(tokio::task::spawn_local(script(number, connection)));
            }
            for script in running {
                let ended = tokio::time::timeout(LONG, script).await;
                ended.expect("the client ends").expect("no panic");
            }
        });
    });
    (address, thread)
}

pub(crate) fn head(status: u16, headers: &[(&'static str, &str)]) -> Response<()> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(()).expect("a response")
}

pub(crate) const GRPC: (&str, &str) = ("content-type", "application/grpc");

/// Answers with a body and trailers.
pub(crate) fn answer(
    respond: &mut SendResponse<Bytes>,
    body: Vec<u8>,
    trailers: &[(&'static str, &str)],
) {
    let mut stream = respond
        .send_response(head(200, &[GRPC]), false)
        .expect("open");
    stream.reserve_capacity(body.len());
    stream.send_data(Bytes::from(body), false).expect("open");
    let mut map = HeaderMap::new();
    for (name, value) in trailers {
        map.insert(*name, HeaderValue::from_str(value).expect("ASCII"));
    }
    stream.send_trailers(map).expect("open");
}

pub(crate) fn sum() -> Vec<u8> {
    prefixed(0, &message("test.Pair", &json!({"a": "42"})))
}

pub(crate) async fn read(request: http::Request<RecvStream>) -> HeaderMap {
    let (head, mut body) = request.into_parts();
    while let Some(Ok(part)) = body.data().await {
        let _ = body.flow_control().release_capacity(part.len());
    }
    head.headers
}
