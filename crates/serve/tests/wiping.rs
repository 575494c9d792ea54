//! What the memory of a server's process still holds of messages whose connections are closed.
//!
//! The server is this program, run again with another task; its memory is searched from outside.

mod common;

use std::fs::{File, read_to_string};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

use accelflow_accel::balance::{CoreLoads, RoundRobin};
use accelflow_accel::compress::{Cmp, Codec};
use accelflow_accel::rpc::{MessageType, ThriftCall};
use accelflow_accel::thrift::Protocol;
use accelflow_accel::{Call, Ensemble, Job, Limits, Session, Settings};
use accelflow_serve::{
    Config, Execution, PoolSettings, Request, Running, Tenant, TlsIdentity, WIPING_ALLOCATOR,
    WipingAllocator,
};
use accelflow_trace::{Accel, Format};
use common::*;
use socket2::{Domain, Socket, Type};

// quoted: begin
#[global_allocator]
static MEMORY: WipingAllocator = WIPING_ALLOCATOR;
// quoted: end

/// What the server's process is to serve; not set in the process that searches.
const TASK: &str = "ACCELFLOW_WIPING_TASK";
const FOLDER: &str = "ACCELFLOW_WIPING_FOLDER";

/// What the handler of `note` keeps, so that the search has something to find.
static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

fn keep(request: &Request<'_>) -> accelflow_serve::HandlerResult {
    let mut kept = KEPT.lock().expect("no panic");
    kept.push(request.arguments.to_vec());
    Ok(Vec::new())
}

fn serve(task: &str) -> Running {
    if task == "grpc" {
        return common::grpc::start(common::grpc::server(), Config::default());
    }
    let mut server = server();
    if task.starts_with("tenants") {
        let tenant = |name: &str, last| {
            let address = std::net::IpAddr::from([127, 0, 0, last]);
            Tenant::new(name, vec![address.into()])
        };
        let two = vec![tenant("one", 2), tenant("other", 3)];
        server.set_tenants(two).expect("they can be told apart");
        server.set_config(Config {
            execution: match task {
                "tenants pools" => Execution::Ensemble(PoolSettings::default()),
                _ => Execution::Inline,
            },
            ..verbose()
        });
    }
    server.handle("Test.note", keep).expect("known");
    if task == "tls" {
        let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).expect("set"));
        let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
        server.set_tls(TlsIdentity::from_pem_files(&cert, &key).expect("just made"));
    }
    start(server)
}

/// The server: nothing unless it is run by the tests below. Says its port, and when all connections
/// have ended each time that it is asked.
#[test]
fn the_server() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let running = serve(&task);
    println!("\nport {}", running.address().port());
    for _ in std::io::stdin().lock().lines() {
        eventually("all connections have ended", || {
            running.metrics().contains("accelflow_connections_open 0\n")
        });
        println!("\nquiet");
    }
}

/// A server's process.
struct Served {
    child: Child,
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
    address: SocketAddr,
}

impl Served {
    fn start(task: &str, certificate: Option<&Certificate>) -> Served {
        let mut command = Command::new(std::env::current_exe().expect("a test's program"));
        command.args(["--exact", "the_server", "--nocapture"]);
        command.env(TASK, task).stdin(Stdio::piped());
        command.stdout(Stdio::piped());
        if let Some(certificate) = certificate {
            let file = certificate.file("cert.pem");
            command.env(FOLDER, file.parent().expect("a folder"));
        }
        let mut child = command.spawn().expect("a process");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut served = Served {
            child,
            input,
            output,
            address,
        };
        let port = served.hears("port ");
        served.address.set_port(port.parse().expect("a port"));
        served
    }

    /// What follows `word` in the line that begins with it.
    fn hears(&mut self, word: &str) -> String {
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("text");
            assert!(read > 0, "the server ended before it said '{word}'");
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    fn connect(&self) -> TcpStream {
        patient(TcpStream::connect(self.address).expect("it listens"))
    }

    /// How often `marker` is in the process's memory once all connections have ended.
    fn copies_of(&mut self, marker: &str) -> usize {
        self.input.write_all(b"quiet\n").expect("it reads");
        self.hears("quiet");
        let maps = read_to_string(format!("/proc/{}/maps", self.child.id())).expect("Linux");
        let mut memory = File::open(format!("/proc/{}/mem", self.child.id())).expect("own child");
        let mut copies = 0;
        for line in maps.lines() {
            let mut words = line.split(' ');
            let (range, access) = (words.next(), words.next());
            let range = range
                .and_then(|range| range.split_once('-'))
                .expect("a range");
            let number = |text| u64::from_str_radix(text, 16).expect("hexadecimal");
            let (start, end) = (number(range.0), number(range.1));
            if !access.is_some_and(|access| access.starts_with("rw")) {
                continue;
            }
            let mut bytes = vec![0; (end - start) as usize];
            memory.seek(SeekFrom::Start(start)).expect("a file");
            // What is mapped and not there, such as a guard page, ends the reading.
            if memory.read_exact(&mut bytes).is_ok() {
                copies += count(&bytes, marker.as_bytes());
            }
        }
        copies
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn count(mut bytes: &[u8], marker: &[u8]) -> usize {
    let mut found = 0;
    while let Some(at) = bytes.iter().position(|byte| *byte == marker[0]) {
        bytes = &bytes[at..];
        let step = match bytes.starts_with(marker) {
            true => marker.len(),
            false => 1,
        };
        found += usize::from(step > 1);
        bytes = &bytes[step..];
    }
    found
}

/// A text that only these messages have.
fn marked(name: &str, bytes: usize) -> (String, String) {
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).expect("later");
    let marker = format!("~{name}-{:020x}~", now.as_nanos());
    let text = marker.repeat(bytes / marker.len());
    (marker, text)
}

fn echo_thrift(stream: &mut (impl Read + Write), text: &str, protocol: Protocol) {
    let arguments = format!(r#"{{"value":{{"text":"{text}"}}}}"#);
    let (_, body) = call(stream, "echo", protocol, &arguments);
    assert_eq!(body, format!(r#"{{"success":{{"text":"{text}"}}}}"#));
}

#[test]
fn the_search_finds_a_text_that_is_kept() {
    let mut served = Served::start("thrift", None);
    let (marker, text) = marked("kept", 300);
    let mut stream = served.connect();
    let note = frame(
        "note",
        Protocol::Binary,
        1,
        &format!(r#"{{"text":"{text}"}}"#),
    );
    stream.write_all(&note).expect("it reads");
    assert_eq!(call(&mut stream, "nothing", Protocol::Binary, "{}").1, "{}");
    drop(stream);
    assert_eq!(served.copies_of(&marker), text.len() / marker.len());
}

#[test]
fn messages_of_thrift_are_wiped() {
    let mut served = Served::start("thrift", None);
    for (size, protocol) in [
        (300, Protocol::Binary),
        (300, Protocol::Compact),
        (200_000, Protocol::Binary),
        (200_000, Protocol::Compact),
    ] {
        let (marker, text) = marked("thrift", size);
        let mut stream = served.connect();
        for _ in 0..20 {
            echo_thrift(&mut stream, &text, protocol);
        }
        drop(stream);
        assert_eq!(served.copies_of(&marker), 0, "{size} bytes, {protocol:?}");
    }
}

#[test]
fn so_they_are_over_tls() {
    let certificate = Certificate::new("wiping");
    let mut served = Served::start("tls", Some(&certificate));
    for size in [300, 200_000] {
        let (marker, text) = marked("tls", size);
        let versions = [&rustls::version::TLS13];
        let mut stream = certificate.client_over(served.connect(), &versions, &[]);
        for _ in 0..20 {
            echo_thrift(&mut stream, &text, Protocol::Binary);
        }
        drop(stream);
        assert_eq!(served.copies_of(&marker), 0, "{size} bytes");
    }
}

#[test]
fn messages_of_grpc_are_wiped() {
    let mut served = Served::start("grpc", None);
    let (marker, text) = marked("grpc", 100_000);
    let mut client = common::grpc::connect(served.address);
    for _ in 0..10 {
        let reply = client.call("Echo", common::grpc::text(&text));
        assert_eq!(reply.json("test.Text")["text"], *text);
    }
    drop(client);
    assert_eq!(served.copies_of(&marker), 0);

    let (marker, text) = marked("gzip", 100_000);
    let plain = common::grpc::message("test.Text", &serde_json::json!({"text": text}));
    let mut cmp = Cmp::new(Codec::Gzip, 1, Limits::default()).expect("a level");
    let packed = cmp.compress(&plain).expect("it fits");
    let headers = [("grpc-encoding", "gzip"), ("grpc-accept-encoding", "gzip")];
    let mut client = common::grpc::connect(served.address);
    for _ in 0..10 {
        let body = common::grpc::prefixed(1, &packed);
        let reply = client.call_with("Echo", &headers, body);
        assert_eq!((reply.code(), reply.body[0]), (0, 1));
    }
    drop(client);
    assert_eq!(served.copies_of(&marker), 0);
}

/// A connection from an address of this machine, which tells a tenant.
fn connect_from(served: &Served, last: u8) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let address = SocketAddr::from(([127, 0, 0, last], 0));
    socket.bind(&address.into()).expect("all of 127/8 is here");
    socket.connect(&served.address.into()).expect("it listens");
    socket.into()
}

/// A call of `echo` with a compressed text, as a frame.
fn compressed_echo(text: &str) -> Vec<u8> {
    let settings = Settings {
        schema: schema(),
        ..Settings::default()
    };
    let policy = Box::new(RoundRobin::default());
    let bodies = Ensemble::software(&settings, policy, CoreLoads::idle(1));
    let mut bodies = bodies.expect("settings");
    let call = ThriftCall::request(&settings.schema, "echo", Protocol::Binary, 77);
    let call = Call::Thrift(call.expect("known"));
    let arguments = format!(r#"{{"value":{{"text":"{text}"}}}}"#).into_bytes();
    let mut job = Job::send(arguments, Format::Json, call, Session::default());
    for accel in [Accel::Cmp, Accel::Ser, Accel::Rpc] {
        bodies.run(accel, &mut job).expect("it fits");
    }
    job.bytes
}

/// A text that hardly compresses, with a marker in it.
fn noisy(name: &str) -> (String, String) {
    let (marker, _) = marked(name, 0);
    let mut state = 7_u64;
    let mut letter = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + (state >> 58) as u8)
    };
    let noise: String = (0..20_000)
        .map(&mut letter)
        .filter(|c| *c != '\\')
        .collect();
    let text = [&noise[..9_000], &marker, &noise[9_000..]].concat();
    (marker, text)
}

#[test]
fn nothing_of_a_tenant_is_left_once_another_was_served() {
    for task in ["tenants", "tenants pools"] {
        let mut served = Served::start(task, None);
        let (marker, text) = noisy("tenant");
        let echo = |stream: &mut TcpStream, text: &str| {
            stream.write_all(&compressed_echo(text)).expect("it reads");
            let (kind, _, _) = read_reply(&receive(stream).expect("a reply"));
            assert_eq!(kind, MessageType::Reply);
        };
        let mut stream = connect_from(&served, 2);
        for _ in 0..5 {
            echo(&mut stream, &text);
        }
        drop(stream);
        // The contexts of Zstandard hold what they have worked on last.
        assert!(
            served.copies_of(&marker) > 0,
            "{task}: the search would find nothing"
        );
        let mut stream = connect_from(&served, 3);
        echo(&mut stream, "short");
        drop(stream);
        assert_eq!(served.copies_of(&marker), 0, "{task}");
    }
}

/// A request that is refused leaves as little behind as one that is answered.
#[test]
fn refused_messages_are_wiped() {
    let mut served = Served::start("thrift", None);
    let (marker, text) = marked("refused", 20_000);
    for wrong in ["unhandled", "echo"] {
        let mut stream = served.connect();
        for _ in 0..20 {
            let arguments = format!(r#"{{"value":{{"text":"{text}"}}}}"#);
            let mut bytes = frame("echo", Protocol::Binary, 1, &arguments);
            match wrong {
                // Of the same length as a frame, and of a type that the field has not.
                "echo" => bytes[20] = 11,
                _ => bytes[12..16].copy_from_slice(b"none"),
            }
            stream.write_all(&bytes).expect("it reads");
            receive(&mut stream).expect("an exception");
        }
        drop(stream);
        assert_eq!(served.copies_of(&marker), 0, "{wrong}");
    }
}
