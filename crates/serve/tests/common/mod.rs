//! A server of a small interface, and clients that share nothing with it but the message formats.

#![allow(dead_code, unused_imports, reason = "no test uses all of it")]

pub(crate) mod grpc;
pub(crate) mod services;
pub(crate) mod shout;
pub(crate) mod taken;
#[path = "../../../runtime/tests/common/waits.rs"]
pub(crate) mod waits;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::Limits;
use accelflow_accel::rpc::{MessageType, ThriftCall, read_message, write_message};
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json, struct_to_json};
use accelflow_serve::{
    Config, HandlerError, HandlerResult, Request, Running, Server, TlsIdentity, TlsTrust,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use socket2::{Domain, Socket, Type};

pub(crate) use waits::{LONG, eventually, patient};

pub(crate) const INTERFACE: &str = "
    exception Refused { 1: i32 code, 2: string why }
    struct Echo { 1: string text, 2: binary data }
    service Test {
        Echo echo(1: Echo value)
        i64 add(1: i64 a, 2: i64 b) throws (1: Refused refused)
        void nothing()
        oneway void note(1: string text)
        string broken()
        string unhandled()
        string panics()
    }
";

pub(crate) fn schema() -> Arc<Schema> {
    Arc::new(Schema::parse(INTERFACE).expect("a constant"))
}

fn member(request: &Request<'_>, name: &str) -> serde_json::Value {
    let arguments: serde_json::Value =
        serde_json::from_slice(request.arguments).expect("arguments are JSON");
    arguments[name].clone()
}

fn add(request: &Request<'_>) -> HandlerResult {
    let (a, b) = (member(request, "a").as_i64(), member(request, "b").as_i64());
    match a.zip(b).and_then(|(a, b)| a.checked_add(b)) {
        Some(sum) => Ok(sum.to_string().into_bytes()),
        None => Err(HandlerError::Declared {
            field: "refused".to_owned(),
            body: br#"{"code":7,"why":"overflow"}"#.to_vec(),
        }),
    }
}

/// A server with all handlers that are not missing on purpose.
pub(crate) fn server() -> Server {
    let mut server = Server::new(schema());
    server.set_config(verbose());
    let echo = |request: &Request<'_>| Ok(member(request, "value").to_string().into_bytes());
    let broken = |_: &Request<'_>| Ok(b"17".to_vec());
    let panics = |_: &Request<'_>| -> HandlerResult { panic!("on purpose") };
    let silent = |_: &Request<'_>| Ok(Vec::new());
    let done = [
        server.handle("Test.echo", echo),
        server.handle("Test.add", add),
        server.handle("Test.nothing", silent),
        server.handle("Test.note", silent),
        server.handle("broken", broken),
        server.handle("Test.panics", panics),
    ];
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    server
}

/// Clients are told all there is to say of errors, which tests compare.
pub(crate) fn verbose() -> Config {
    Config {
        verbose_errors: true,
        ..Config::default()
    }
}

/// Time limits that tests of time limits can wait for.
pub(crate) fn impatient() -> Config {
    let soon = Duration::from_secs(1);
    Config {
        idle_timeout: soon,
        message_timeout: soon,
        handshake_timeout: soon,
        write_timeout: soon,
        ..verbose()
    }
}

pub(crate) fn start(server: Server) -> Running {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    server.start(address).expect("a free port")
}

/// A call as a frame.
pub(crate) fn frame(method: &str, protocol: Protocol, sequence: i32, arguments: &str) -> Vec<u8> {
    let (schema, limits) = (schema(), Limits::default());
    let call = ThriftCall::request(&schema, method, protocol, sequence).expect("known");
    let id = schema.function(call.function).expect("found").arguments;
    let body = struct_from_json(&schema, id, protocol, arguments.as_bytes(), &limits);
    write_message(&call, &body.expect("arguments fit"), &limits).expect("small")
}

/// A reply: type, sequence number, JSON of the result or the exception.
pub(crate) fn read_reply(frame: &[u8]) -> (MessageType, i32, String) {
    let (schema, limits) = (schema(), Limits::default());
    let (call, body) = read_message(&schema, frame, &limits).expect("a reply");
    let exception = "exception E { 1: string message, 2: i32 type }";
    let exceptions = Schema::parse(exception).expect("a constant");
    let (schema, id) = match call.message_type {
        MessageType::Exception => (&exceptions, exceptions.struct_id("E").expect("declared")),
        _ => {
            let function = schema.function(call.function).expect("found");
            (&*schema, function.result)
        }
    };
    let json = struct_to_json(schema, id, call.protocol, &frame[body..], &limits);
    let json = String::from_utf8(json.expect("decodes")).expect("JSON is UTF-8");
    (call.message_type, call.sequence, json)
}

/// Reads one frame.
pub(crate) fn receive(stream: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    stream.read_exact(&mut frame)?;
    let length = u32::from_be_bytes([frame[0], frame[1], frame[2], frame[3]]);
    frame.resize(4 + length as usize, 0);
    stream.read_exact(&mut frame[4..])?;
    Ok(frame)
}

pub(crate) fn connect(running: &Running) -> TcpStream {
    let stream = TcpStream::connect(running.address()).expect("the server listens");
    let stream = patient(stream);
    stream.set_nodelay(true).expect("a socket");
    stream
}

/// Calls and waits for the reply.
pub(crate) fn call(
    stream: &mut (impl Read + Write),
    method: &str,
    protocol: Protocol,
    arguments: &str,
) -> (MessageType, String) {
    stream
        .write_all(&frame(method, protocol, 77, arguments))
        .expect("the server reads");
    let (kind, sequence, json) = read_reply(&receive(stream).expect("a reply"));
    assert_eq!(sequence, 77);
    (kind, json)
}

/// The value of a metric, 0 if nothing has been counted under these labels.
pub(crate) fn counted(running: &Running, series: &str) -> u64 {
    let text = running.metrics();
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.map_or(0, |value| value.trim().parse().expect("a number"))
}

/// Waits until a metric has a value: connections end on threads of their own.
pub(crate) fn await_count(running: &Running, series: &str, least: u64) {
    let begun = Instant::now();
    while counted(running, series) < least {
        let metrics = || running.metrics();
        assert!(
            begun.elapsed() < LONG,
            "{series} stays below {least}:\n{}",
            metrics()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An address of this machine that a tenant has.
pub(crate) fn from(last: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 0, last).into()
}

/// A connection from a tenant's address.
pub(crate) fn connect_from(running: &Running, address: IpAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket
        .bind(&SocketAddr::new(address, 0).into())
        .expect("all of 127/8 is here");
    socket
        .connect(&running.address().into())
        .expect("the server listens");
    let stream: TcpStream = socket.into();
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).expect("a socket");
    stream
}

/// A certificate for localhost, signed by itself, in files that live as long as this.
pub(crate) struct Certificate {
    folder: PathBuf,
}

impl Certificate {
    pub(crate) fn new(name: &str) -> Certificate {
        let unique = format!("accelflow-serve-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(unique);
        std::fs::create_dir_all(&folder).expect("a folder");
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a name");
        std::fs::write(folder.join("cert.pem"), made.cert.pem()).expect("a file");
        let key = made.signing_key.serialize_pem();
        std::fs::write(folder.join("key.pem"), key).expect("a file");
        Certificate { folder }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(self.file("cert.pem")).expect("made")
    }

    pub(crate) fn identity(&self) -> TlsIdentity {
        let files = (self.file("cert.pem"), self.file("key.pem"));
        TlsIdentity::from_pem_files(&files.0, &files.1).expect("just made")
    }

    /// Whom a client of this project must trust.
    pub(crate) fn trust(&self) -> TlsTrust {
        TlsTrust::from_pem_file(&self.file("cert.pem"), "localhost").expect("just made")
    }

    /// A client that trusts this certificate and speaks `versions`.
    pub(crate) fn connect(
        &self,
        running: &Running,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> StreamOwned<ClientConnection, TcpStream> {
        self.connect_for(running, versions, &[])
    }

    /// Like [`Certificate::connect`], for one of `protocols` (ALPN).
    pub(crate) fn connect_for(
        &self,
        running: &Running,
        versions: &[&'static rustls::SupportedProtocolVersion],
        protocols: &[&[u8]],
    ) -> StreamOwned<ClientConnection, TcpStream> {
        self.client_over(connect(running), versions, protocols)
    }

    /// Like [`Certificate::connect_for`], over a connection that is there.
    pub(crate) fn client_over(
        &self,
        stream: TcpStream,
        versions: &[&'static rustls::SupportedProtocolVersion],
        protocols: &[&[u8]],
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der()).expect("a certificate");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        // For tests that go on with records of their own.
        config.enable_secret_extraction = true;
        let name = ServerName::try_from("localhost").expect("a name");
        let client = ClientConnection::new(Arc::new(config), name).expect("a client");
        StreamOwned::new(client, stream)
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
