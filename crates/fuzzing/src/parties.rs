//! The servers, clients and message interfaces that fuzz targets use. Servers listen only on the
//! loopback address and run until the process ends. Each wait for an answer has a time limit.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use accelflow_accel::rpc::{MessageType, read_header};
use accelflow_accel::thrift::{FunctionId, FunctionSet};
use accelflow_accel::{Accelerator, Call, Dser, Job, Limits, Record, Session, thrift};
use accelflow_serve::{
    ClientConfig, Config, HandlerError, HandlerResult, Request, RetryPolicy, Running, Server,
    TlsIdentity,
};

/// The time that a connection waits for an answer; longer than servers and clients here wait for
/// each other.
const PATIENCE: Duration = Duration::from_secs(15);

/// A Thrift interface with every kind of type.
pub(crate) const THRIFT: &str = r#"
    enum Colour { RED = 1, BLUE = 2 }
    union Choice { 1: i32 number, 2: string text }
    exception Refused { 1: i32 code, 2: string why }
    struct Item {
        1: string text = "none", 2: binary data, 3: list<i64> numbers, 4: map<string, double> shares,
        5: set<byte> bytes, 6: Colour colour, 7: Choice choice, 8: list<Item> parts, 9: bool flag,
        10: i16 small, 11: required i32 number = 7, 12: map<i32, list<bool>> table
    }
    service Shop {
        Item echo(1: Item value)
        i64 add(1: i64 a, 2: i64 b) throws (1: Refused refused)
        void nothing()
        oneway void note(1: string text)
        string broken()
        string unhandled()
    }
"#;

/// A gRPC interface with every kind of type. `Refuse` fails with the status that its text names.
pub(crate) const PROTO: &str = r#"
    syntax = "proto3";
    package shop;
    import "google/protobuf/any.proto";
    import "google/protobuf/duration.proto";
    import "google/protobuf/empty.proto";
    import "google/protobuf/field_mask.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    enum Colour { COLOUR_UNSPECIFIED = 0; RED = 1; }
    message Item {
        string text = 1;
        bytes data = 2;
        repeated sint64 numbers = 3;
        map<string, double> shares = 4;
        Colour colour = 5;
        oneof choice { int32 small = 6; Item inner = 7; }
        google.protobuf.Timestamp made = 8;
        google.protobuf.Duration lasts = 9;
        google.protobuf.Int32Value maybe = 10;
        google.protobuf.Value value = 11;
        optional uint32 count = 12;
        repeated Item parts = 13;
        map<int64, Item> table = 14;
        float ratio = 15;
        google.protobuf.FieldMask mask = 16;
        google.protobuf.Any any = 17;
        repeated Colour colours = 18;
        fixed64 wide = 19;
        sfixed32 narrow = 20;
        google.protobuf.Struct object = 21;
        google.protobuf.BytesValue bytes = 22;
    }
    service Shop {
        rpc Echo(Item) returns (Item);
        rpc Refuse(Item) returns (Item);
        rpc Broken(Item) returns (Item);
        rpc Clear(google.protobuf.Empty) returns (google.protobuf.Empty);
        rpc Unhandled(Item) returns (Item);
        rpc Watch(Item) returns (stream Item);
    }
"#;

/// The interface of [`THRIFT`].
pub(crate) fn thrift_schema() -> Arc<thrift::Schema> {
    static SCHEMA: LazyLock<Arc<thrift::Schema>> =
        LazyLock::new(|| Arc::new(thrift::Schema::parse(THRIFT).expect("a constant")));
    SCHEMA.clone()
}

/// Returns the arguments or the result of one of SocialNetwork's functions, chosen by `number`.
pub(crate) fn social_network_struct(
    schema: &thrift::Schema,
    number: u8,
    is_reply: bool,
) -> thrift::StructId {
    let functions = schema.functions();
    let function = &functions[usize::from(number) % functions.len()];
    match is_reply {
        true => function.result,
        false => function.arguments,
    }
}

/// Returns the record that Dser delivers for the body of a request to `function`, and its JSON.
///
/// # Panics
/// If one of the two is refused and the other is not, or for another reason.
pub(crate) fn delivered(
    bytes: &[u8],
    call: Call,
    function: FunctionId,
) -> Option<(Record, Vec<u8>)> {
    let deliver = |records: FunctionSet| {
        let mut job = Job::receive(bytes.to_vec(), Session::default());
        job.call = call.clone();
        let mut dser = Dser::new(thrift_schema(), Limits::default())
            .with_records(records)
            .with_split_schema(true);
        dser.run(&mut job).map(|()| job)
    };
    let text = deliver([].into_iter().collect());
    let in_place = deliver([function].into_iter().collect());
    match (text, in_place) {
        (Ok(text), Ok(in_place)) => {
            assert_eq!(in_place.bytes, bytes);
            assert_eq!(text.facts, in_place.facts);
            let record = in_place.record.expect("asked for");
            assert_eq!(record.to_json(bytes).as_ref(), Ok(&text.bytes));
            Some((record, text.bytes))
        }
        (text, in_place) => {
            assert_eq!(text.err(), in_place.err());
            None
        }
    }
}

/// Limits that are small enough for a fuzzer's inputs to reach them.
pub(crate) fn limits() -> Limits {
    Limits {
        max_message_bytes: 64 * 1024,
        max_decompressed_bytes: 256 * 1024,
        max_elements: 4_096,
        ..Limits::default()
    }
}

/// Returns a server's settings with the limits of [`limits`]. No input waits for a time limit, as
/// each ends its connection.
pub(crate) fn config() -> Config {
    Config {
        limits: limits(),
        cores: 1,
        handler_threads: 2,
        ..Config::default()
    }
}

fn member(request: &Request<'_>, name: &str) -> serde_json::Value {
    let arguments: serde_json::Value =
        serde_json::from_slice(request.arguments).expect("arguments are JSON");
    arguments[name].clone()
}

fn add(request: &Request<'_>) -> HandlerResult {
    let (a, b) = (member(request, "a").as_i64(), member(request, "b").as_i64());
    match a.unwrap_or(0).checked_add(b.unwrap_or(0)) {
        Some(sum) => Ok(sum.to_string().into_bytes()),
        None => Err(HandlerError::Declared {
            field: "refused".to_owned(),
            body: br#"{"code":7,"why":"overflow"}"#.to_vec(),
        }),
    }
}

/// Starts a server of [`THRIFT`].
pub(crate) fn thrift_server(config: Config, identity: Option<TlsIdentity>) -> Running {
    let mut server = Server::new(thrift_schema());
    let echo = |request: &Request<'_>| Ok(member(request, "value").to_string().into_bytes());
    let silent = |_: &Request<'_>| Ok(Vec::new());
    let done = [
        server.handle("Shop.echo", echo),
        server.handle("Shop.add", add),
        server.handle("Shop.nothing", silent),
        server.handle("Shop.note", silent),
        server.handle("Shop.broken", |_: &Request<'_>| Ok(b"17".to_vec())),
    ];
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    if let Some(identity) = identity {
        server.set_tls(identity);
    }
    start(server, config)
}

/// Starts a server of [`PROTO`].
pub(crate) fn grpc_server() -> Running {
    let schema = accelflow_accel::protobuf::Schema::parse(PROTO).expect("a constant");
    let mut server = Server::grpc(Arc::new(schema));
    let refuse = |request: &Request<'_>| {
        let text = member(request, "text");
        let words = text.as_str().unwrap_or_default();
        let (field, body) = words.split_once(' ').unwrap_or((words, "{}"));
        Err(HandlerError::Declared {
            field: field.to_owned(),
            body: body.as_bytes().to_vec(),
        })
    };
    let done = [
        server.handle("Echo", |request: &Request<'_>| {
            Ok(request.arguments.to_vec())
        }),
        server.handle("Refuse", refuse),
        server.handle("Broken", |_: &Request<'_>| Ok(b"{\"text\": 5}".to_vec())),
        server.handle("Clear", |_: &Request<'_>| Ok(Vec::new())),
    ];
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    start(server, config())
}

fn start(mut server: Server, config: Config) -> Running {
    server.set_config(config);
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    server.start(address).expect("a free port")
}

/// Sends bytes and the end of the stream, and returns all bytes until the other side ends it.
pub(crate) fn converse(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    // A server that refuses early does not read the rest.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    read_all(&mut stream)
}

/// Opens a connection that fails if no answer comes.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_nodelay(true).expect("a socket");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
    stream
}

/// Reads to the end of the stream, or to its loss.
pub(crate) fn read_all(stream: &mut impl Read) -> Vec<u8> {
    let (mut all, mut some) = (Vec::new(), [0; 16 * 1024]);
    loop {
        match stream.read(&mut some) {
            Ok(0) => return all,
            Ok(count) => all.extend_from_slice(&some[..count]),
            Err(error) => {
                use std::io::ErrorKind::{TimedOut, WouldBlock};
                let waits = matches!(error.kind(), TimedOut | WouldBlock);
                assert!(!waits, "nothing comes, and no end");
                return all;
            }
        }
    }
}

/// Makes an identity with a self-signed certificate for localhost. Its files are removed.
pub(crate) fn identity() -> TlsIdentity {
    let folder = std::env::temp_dir().join(format!("accelflow-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a name");
    let files = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&files.0, made.cert.pem()).expect("a file");
    std::fs::write(&files.1, made.signing_key.serialize_pem()).expect("a file");
    let identity = TlsIdentity::from_pem_files(&files.0, &files.1).expect("just made");
    std::fs::remove_dir_all(&folder).expect("the folder");
    identity
}

/// Cuts an input into pieces, each behind its length in two bytes; the last ends with the input.
pub(crate) fn pieces(input: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut found) = (input, Vec::new());
    while let Some(([high, low], behind)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (piece, behind) = behind.split_at(length.min(behind.len()));
        found.push(piece);
        rest = behind;
    }
    found
}

/// A frame of Thrift around a message.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("inputs are small");
    [&length.to_be_bytes(), message].concat()
}

/// A reply: its type, its sequence number, and its bytes. Exceptions have no bytes here, since
/// their texts name the failed trace.
pub(crate) type Replied = (MessageType, i32, Vec<u8>);

/// Checks that a server of [`THRIFT`] has sent whole replies, and returns them.
pub(crate) fn replies(mut sent: &[u8]) -> Vec<Replied> {
    let mut found = Vec::new();
    while !sent.is_empty() {
        let (length, _) = sent.split_first_chunk::<4>().expect("a frame begins");
        let length = 4 + u32::from_be_bytes(*length) as usize;
        let (frame, rest) = sent.split_at_checked(length).expect("a frame ends");
        let header = read_header(frame, &limits()).expect("a header");
        let body = match header.message_type {
            MessageType::Reply => frame.to_vec(),
            MessageType::Exception => Vec::new(),
            other => panic!("{other:?} from a server"),
        };
        found.push((header.message_type, header.sequence, body));
        sent = rest;
    }
    found
}

/// A client's settings: one connection, and no second attempt.
pub(crate) fn client_config() -> ClientConfig {
    ClientConfig {
        max_connections: 1,
        retry: RetryPolicy {
            max_attempts: 1,
            ..RetryPolicy::default()
        },
        ..ClientConfig::default()
    }
}

type Answer = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

/// A service that reads one request of each connection, sends the answer that was set, and ends the
/// connection.
pub(crate) struct Answerer {
    address: SocketAddr,
    answer: Arc<Mutex<Arc<Answer>>>,
}

impl Answerer {
    /// Starts to listen; `whole` tells whether a request is complete.
    pub(crate) fn new(whole: fn(&[u8]) -> bool) -> Answerer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let answer: Arc<Mutex<Arc<Answer>>> = Arc::new(Mutex::new(Arc::new(|_| Vec::new())));
        let given = answer.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let (mut request, mut some) = (Vec::new(), [0; 4096]);
                while !whole(&request) {
                    match stream.read(&mut some) {
                        Ok(0) | Err(_) => break,
                        Ok(count) => request.extend_from_slice(&some[..count]),
                    }
                }
                if whole(&request) {
                    let answer = given.lock().expect("no panic survives").clone();
                    // The client may have left.
                    let _ = stream.write_all(&answer(&request));
                }
            }
        });
        Answerer { address, answer }
    }

    /// The address on which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the answer to the next requests.
    pub(crate) fn answer_with(&self, bytes: Vec<u8>) {
        self.answer_by(move |_| bytes.clone());
    }

    /// Sets the function that makes the answers to the next requests.
    pub(crate) fn answer_by(&self, answer: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) {
        *self.answer.lock().expect("no panic survives") = Arc::new(answer);
    }
}
