//! A server of a small interface of gRPC, a client by a library that knows HTTP/2 and no gRPC, and
//! frames by hand.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use accelflow_accel::compress::Cmp;
use accelflow_accel::protobuf::{Schema, message_from_json, message_to_json};
use accelflow_accel::{Codec, Limits};
use accelflow_serve::{Config, HandlerError, HandlerResult, Request, Running, Server};
use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::waits::LONG;

pub(crate) const INTERFACE: &str = r#"
    syntax = "proto3";
    package test;
    message Pair { int64 a = 1; int64 b = 2; }
    message Text { string text = 1; Text inner = 2; }
    service Calculator {
        rpc Add(Pair) returns (Pair);
        rpc Echo(Text) returns (Text);
        rpc Refuse(Text) returns (Text);
        rpc Fail(Text) returns (Text);
        rpc Panic(Text) returns (Text);
        rpc Broken(Text) returns (Text);
        rpc Nothing(Text) returns (Text);
        rpc Unhandled(Text) returns (Text);
        rpc Watch(Text) returns (stream Text);
    }
"#;

pub(crate) fn schema() -> Arc<Schema> {
    Arc::new(Schema::parse(INTERFACE).expect("a constant"))
}

fn arguments(request: &Request<'_>) -> Value {
    serde_json::from_slice(request.arguments).expect("arguments are JSON")
}

fn add(request: &Request<'_>) -> HandlerResult {
    let arguments = arguments(request);
    let number = |name: &str| {
        arguments[name]
            .as_str()
            .and_then(|text| text.parse::<i64>().ok())
    };
    let (a, b) = number("a").zip(number("b")).expect("int64 is a string");
    let overflow = || HandlerError::Declared {
        field: "OUT_OF_RANGE".to_owned(),
        body: br#"{"message": "50 % too much: \u00fc"}"#.to_vec(),
    };
    let sum = a.checked_add(b).ok_or_else(overflow)?;
    Ok(json!({"a": sum.to_string()}).to_string().into_bytes())
}

/// Declares what its argument says.
fn refuse(request: &Request<'_>) -> HandlerResult {
    let text = arguments(request)["text"].as_str().map(str::to_owned);
    let (field, body) = text
        .as_deref()
        .and_then(|text| text.split_once(' '))
        .expect("two words");
    Err(HandlerError::Declared {
        field: field.to_owned(),
        body: body.as_bytes().to_vec(),
    })
}

/// A server with all handlers that are not missing on purpose.
pub(crate) fn server() -> Server {
    let mut server = Server::grpc(schema());
    let echo = |request: &Request<'_>| Ok(request.arguments.to_vec());
    let fail = |_: &Request<'_>| Err(HandlerError::Internal("no\nluck".to_owned()));
    let panics = |_: &Request<'_>| -> HandlerResult { panic!("on purpose") };
    let done = [
        server.handle("test.Calculator.Add", add),
        server.handle("Calculator.Echo", echo),
        server.handle("Refuse", refuse),
        server.handle("Fail", fail),
        server.handle("Panic", panics),
        server.handle("Broken", |_: &Request<'_>| Ok(b"{\"text\": 5}".to_vec())),
        server.handle("Nothing", |_: &Request<'_>| Ok(Vec::new())),
    ];
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    server
}

pub(crate) fn start(mut server: Server, config: Config) -> Running {
    server.set_config(config);
    super::start(server)
}

/// A message of the interface on the wire.
pub(crate) fn message(kind: &str, json: &Value) -> Vec<u8> {
    let kind = schema().message(kind).expect("declared");
    message_from_json(&kind, json.to_string().as_bytes(), &Limits::default()).expect("fits")
}

/// A message with its prefix.
pub(crate) fn prefixed(flag: u8, message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![flag];
    bytes.extend((message.len() as u32).to_be_bytes());
    bytes.extend_from_slice(message);
    bytes
}

pub(crate) fn gzip(data: &[u8]) -> Vec<u8> {
    let mut cmp = Cmp::new(Codec::Gzip, 1, Limits::default()).expect("a level");
    cmp.compress(data).expect("small")
}

pub(crate) fn text(value: &str) -> Vec<u8> {
    prefixed(0, &message("test.Text", &json!({"text": value})))
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) http: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: HeaderMap,
}

impl Reply {
    fn last(&self, name: &str) -> Option<&str> {
        let value = self.trailers.get(name).or_else(|| self.headers.get(name));
        value.map(|value| value.to_str().expect("ASCII"))
    }

    /// gRPC's code; 99 if there is none.
    pub(crate) fn code(&self) -> u8 {
        self.last("grpc-status")
            .map_or(99, |code| code.parse().expect("a number"))
    }

    pub(crate) fn why(&self) -> &str {
        self.last("grpc-message").unwrap_or_default()
    }

    /// The JSON of a message that is not compressed.
    pub(crate) fn json(&self, kind: &str) -> Value {
        assert_eq!((self.http, self.code()), (StatusCode::OK, 0), "{self:?}");
        assert_eq!(self.body[0], 0);
        let kind = schema().message(kind).expect("declared");
        let json = message_to_json(&kind, &self.body[5..], &Limits::default()).expect("decodes");
        serde_json::from_slice(&json).expect("JSON")
    }
}

/// One connection.
pub(crate) struct Client {
    pub(crate) runtime: Runtime,
    pub(crate) requests: SendRequest<Bytes>,
}

pub(crate) fn connect(address: SocketAddr) -> Client {
    connect_with_window(address, 1 << 20)
}

/// Connects, and lets the server send up to `window` bytes on a stream before they are read.
pub(crate) fn connect_with_window(address: SocketAddr, window: u32) -> Client {
    let stream = TcpStream::connect(address).expect("it listens");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let requests = runtime.block_on(client_with_window(stream, window));
    Client { runtime, requests }
}

/// The client's side of a connection, which the caller's runtime drives.
pub(crate) async fn client(stream: TcpStream) -> SendRequest<Bytes> {
    client_with_window(stream, 1 << 20).await
}

async fn client_with_window(stream: TcpStream, window: u32) -> SendRequest<Bytes> {
    stream.set_nonblocking(true).expect("a socket");
    let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
    let mut builder = h2::client::Builder::new();
    builder
        .initial_window_size(window)
        .initial_connection_window_size(1 << 20);
    let (requests, connection) = builder.handshake(stream).await.expect("HTTP/2");
    tokio::spawn(connection);
    requests
}

/// Has the server add 1 to a number.
pub(crate) async fn increment(
    requests: SendRequest<Bytes>,
    number: u64,
    headers: &[(&str, &str)],
) -> u64 {
    let request = request("/test.Calculator/Add", headers);
    let pair = message("test.Pair", &json!({"a": number.to_string(), "b": "1"}));
    let reply = exchange(requests, request, prefixed(0, &pair));
    let reply = tokio::time::timeout(LONG, reply).await;
    let sum = reply.expect("it does not hang").expect("a reply");
    let sum = &sum.json("test.Pair")["a"];
    sum.as_str()
        .and_then(|text| text.parse().ok())
        .expect("int64")
}

pub(crate) fn request(path: &str, headers: &[(&str, &str)]) -> http::Request<()> {
    let mut request = http::Request::post(format!("http://localhost{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).expect("a request")
}

/// Sends a request with its body and waits for all of the reply.
pub(crate) async fn exchange(
    requests: SendRequest<Bytes>,
    request: http::Request<()>,
    body: Vec<u8>,
) -> Result<Reply, h2::Error> {
    let mut requests = requests.ready().await?;
    let (response, mut stream) = requests.send_request(request, false)?;
    let mut body = Bytes::from(body);
    // The server may answer before it has read everything.
    let upload = async {
        while !body.is_empty() {
            stream.reserve_capacity(body.len());
            match std::future::poll_fn(|cx| stream.poll_capacity(cx)).await {
                Some(Ok(room)) => {
                    let part = body.split_to(room.min(body.len()));
                    if stream.send_data(part, false).is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
        let _ = stream.send_data(Bytes::new(), true);
    };
    let download = async {
        let (head, mut incoming) = response.await?.into_parts();
        let mut body = Vec::new();
        while let Some(part) = incoming.data().await {
            let part = part?;
            body.extend_from_slice(&part);
            incoming.flow_control().release_capacity(part.len())?;
        }
        let trailers = incoming.trailers().await?.unwrap_or_default();
        Ok(Reply {
            http: head.status,
            headers: head.headers,
            body,
            trailers,
        })
    };
    tokio::join!(upload, download).1
}

impl Client {
    pub(crate) fn call_with(
        &mut self,
        method: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Reply {
        let request = request(&format!("/test.Calculator/{method}"), headers);
        let reply = exchange(self.requests.clone(), request, body);
        let reply = self
            .runtime
            .block_on(async { tokio::time::timeout(LONG, reply).await });
        reply.expect("it does not hang").expect("a reply")
    }

    pub(crate) fn call(&mut self, method: &str, body: Vec<u8>) -> Reply {
        self.call_with(method, &[], body)
    }
}

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A header block without compression (RFC 7541, section 6.2.2).
pub(crate) fn block(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in headers {
        bytes.push(0);
        for part in [name, value] {
            bytes.push(u8::try_from(part.len()).expect("short"));
            bytes.extend(part.bytes());
        }
    }
    bytes
}

pub(crate) fn ask_for(method: &str) -> Vec<u8> {
    ask_for_path(&format!("/test.Calculator/{method}"))
}

/// The headers of a gRPC request for a path.
pub(crate) fn ask_for_path(path: &str) -> Vec<u8> {
    block(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        ("content-type", "application/grpc"),
    ])
}

/// A connection on which the client has sent its preface and SETTINGS.
pub(crate) fn raw(running: &Running) -> TcpStream {
    let mut stream = super::connect(running);
    stream.write_all(PREFACE).expect("it reads");
    stream
        .write_all(&frame(SETTINGS, 0, 0, &[]))
        .expect("it reads");
    stream
}

/// Reads one frame: type, flags, stream, payload. None at the end.
pub(crate) fn read_frame(stream: &mut impl Read) -> Option<(u8, u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).ok()?;
    let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Some((head[3], head[4], id, payload))
}

/// Reads to the end of the connection; the error code of the last GOAWAY, if there was one.
pub(crate) fn farewell(stream: &mut TcpStream) -> Option<u32> {
    let mut code = None;
    while let Some((kind, _, _, payload)) = read_frame(stream) {
        if kind == GOAWAY {
            code = Some(u32::from_be_bytes([
                payload[4], payload[5], payload[6], payload[7],
            ]));
        }
    }
    code
}
