//! What parts of an RPC processor cost and gain in software: a split schema, and memory reserved at
//! four times a message's size.
//!
//!     cargo run --profile extension -p accelflow-serve --example rpc_processor [ROUNDS]
//!
//! Rounds with and without the option alternate. The output has the median ratio of processor time
//! within a round, with quartiles; it depends little on the machine's other load. Below 1, the
//! option is faster. The function map is measured by the example `steering`.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use accelflow_accel::rpc::{ThriftCall, write_message};
use accelflow_accel::thrift::{FunctionSet, Protocol, Schema, struct_from_json};
use accelflow_accel::{Accelerator, Call, Dser, Job, Limits, Session};
use accelflow_serve::{ArenaSettings, Config, Request, RpcProcessor, Running, Server};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

type Failed = Box<dyn Error + Send + Sync>;

const INTERFACE: &str = "
    struct Media { 1: i64 id, 2: string kind }
    struct Mention { 1: i64 user, 2: string name }
    struct Post {
        1: i64 id,
        2: string text,
        3: list<Mention> mentions,
        4: list<Media> media,
        5: map<string, string> tags,
        6: i64 at,
    }
    service Bench { i64 compose(1: list<Post> posts, 2: i64 user) }
";

/// Everything that a request says.
#[derive(Deserialize)]
struct Whole {
    posts: Vec<Post>,
    user: i64,
}

#[derive(Deserialize)]
struct Post {
    id: i64,
    text: String,
    mentions: Vec<Value>,
    media: Vec<Value>,
    tags: Value,
    at: i64,
}

/// The numbers of the posts and the user.
#[derive(Deserialize)]
struct Numbers {
    posts: Vec<Number>,
    user: i64,
}

#[derive(Deserialize)]
struct Number {
    id: i64,
    at: i64,
}

/// The user alone.
#[derive(Deserialize)]
struct User {
    #[serde(rename = "posts")]
    _posts: IgnoredAny,
    user: i64,
}

fn arguments(posts: usize) -> Value {
    let post = |number: usize| {
        json!({
            "id": number,
            "text": "a post of a few words, as people write them".repeat(2),
            "mentions": (0..4).map(|user| json!({"user": user, "name": "somebody"})).collect::<Vec<_>>(),
            "media": [{"id": 5, "kind": "png"}],
            "tags": {"language": "en", "place": "here"},
            "at": 1_700_000_000_000i64,
        })
    };
    json!({"posts": (0..posts).map(post).collect::<Vec<_>>(), "user": 7})
}

fn body(
    schema: &Schema,
    protocol: Protocol,
    posts: usize,
) -> Result<(ThriftCall, Vec<u8>), Failed> {
    let call = ThriftCall::request(schema, "compose", protocol, 1)?;
    let id = schema.function(call.function).ok_or("declared")?.arguments;
    let json = arguments(posts).to_string();
    let bytes = struct_from_json(schema, id, protocol, json.as_bytes(), &Limits::default())?;
    Ok((call, bytes))
}

/// Seconds of processor time.
fn spent(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Quartile, median, quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}

fn shown(ratios: Vec<f64>) -> String {
    let [low, middle, high] = quartiles(ratios);
    format!("{middle:.3} ({low:.3} to {high:.3})")
}

/// What an application reads of the arguments.
type Reading = fn(&Job) -> Result<i64, Failed>;

fn read_whole(job: &Job) -> Result<i64, Failed> {
    let record = job.record.as_ref().ok_or("a record")?;
    let Whole { posts, user } = record.read(&job.bytes)?;
    let sum = posts.iter().map(|post| {
        black_box((&post.text, &post.mentions, &post.media, &post.tags));
        post.id + post.at
    });
    Ok(sum.sum::<i64>() + user)
}

fn read_numbers(job: &Job) -> Result<i64, Failed> {
    let record = job.record.as_ref().ok_or("a record")?;
    let Numbers { posts, user } = record.read(&job.bytes)?;
    Ok(posts.iter().map(|post| post.id + post.at).sum::<i64>() + user)
}

fn read_user(job: &Job) -> Result<i64, Failed> {
    let record = job.record.as_ref().ok_or("a record")?;
    Ok(record.read::<User>(&job.bytes)?.user)
}

/// Dser and the reading of its record, with a split schema over without.
fn split_schema(rounds: usize) -> Result<(), Failed> {
    println!("split schema: processor time of Dser and of reading the arguments, to without");
    println!("protocol  posts  bytes  everything              numbers of posts        user alone");
    let reads: [Reading; 3] = [read_whole, read_numbers, read_user];
    for protocol in [Protocol::Binary, Protocol::Compact] {
        for posts in [1, 16, 256] {
            let schema = Arc::new(Schema::parse(INTERFACE)?);
            let (call, bytes) = body(&schema, protocol, posts)?;
            let records: FunctionSet = [call.function].into_iter().collect();
            let limits = Limits::default();
            let mut dsers = [false, true].map(|split| {
                Dser::new(schema.clone(), limits)
                    .with_records(records.clone())
                    .with_split_schema(split)
            });
            let mut job = Job::receive(bytes.clone(), Session::default());
            job.call = Call::Thrift(call);
            let calls = 4_096 / posts;
            let mut line = format!(
                "{:<9} {posts:>5} {:>6}",
                format!("{protocol:?}"),
                bytes.len()
            );
            for read in reads {
                let mut ratios = Vec::new();
                for _ in 0..rounds {
                    let mut times = [0.0; 2];
                    for (dser, time) in dsers.iter_mut().zip(&mut times) {
                        let before = spent(ClockId::ThreadCPUTime);
                        for _ in 0..calls {
                            dser.run(&mut job)?;
                            black_box(read(&job)?);
                        }
                        *time = spent(ClockId::ThreadCPUTime) - before;
                    }
                    ratios.push(times[1] / times[0]);
                }
                line += &format!("  {:<22}", shown(ratios));
            }
            println!("{}", line.trim_end());
        }
    }
    Ok(())
}

fn start(schema: &Arc<Schema>, arena: Option<ArenaSettings>) -> Result<Running, Failed> {
    let mut server = Server::new(schema.clone());
    server.set_config(Config {
        rpc: RpcProcessor {
            arena,
            ..RpcProcessor::default()
        },
        ..Config::default()
    });
    server.handle("Bench.compose", |request: &Request<'_>| {
        Ok(black_box(request.arguments.len()).to_string().into_bytes())
    })?;
    Ok(server.start(([127, 0, 0, 1], 0).into())?)
}

fn ask(stream: &mut TcpStream, message: &[u8], reply: &mut Vec<u8>) -> Result<bool, Failed> {
    stream.write_all(message)?;
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    reply.resize(u32::from_be_bytes(head) as usize, 0);
    stream.read_exact(reply)?;
    // The type of a message in compact, and in strict binary; 2 is a reply.
    let kind = match reply[..] {
        [0x82, kind, ..] => kind >> 5,
        [_, _, _, kind, ..] => kind,
        _ => return Err("a reply without a header".into()),
    };
    Ok(kind == 2)
}

/// Requests on one connection, with an arena that always has room over without.
fn reserving(rounds: usize) -> Result<(), Failed> {
    println!("\nreserved memory: processor time of a request, server and client, to without");
    println!("posts  bytes  ratio");
    for posts in [1, 16, 256] {
        let schema = Arc::new(Schema::parse(INTERFACE)?);
        let (call, bytes) = body(&schema, Protocol::Binary, posts)?;
        let message = write_message(&call, &bytes, &Limits::default())?;
        let servers = [None, Some(ArenaSettings::of(1 << 30))].map(|arena| start(&schema, arena));
        let mut streams = Vec::new();
        for running in &servers {
            let running = running.as_ref().map_err(ToString::to_string)?;
            let stream = TcpStream::connect(running.address())?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        let (mut ratios, mut reply) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let mut times = [0.0; 2];
            for (stream, time) in streams.iter_mut().zip(&mut times) {
                let before = spent(ClockId::ProcessCPUTime);
                for _ in 0..4_096 / posts.max(4) {
                    ask(stream, &message, &mut reply)?;
                }
                *time = spent(ClockId::ProcessCPUTime) - before;
            }
            ratios.push(times[1] / times[0]);
        }
        println!("{posts:>5} {:>6}  {}", message.len(), shown(ratios));
    }
    Ok(())
}

/// The most memory that the process has had since it was last asked, in MiB.
fn peak_mib() -> Result<f64, Failed> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib: f64 = kib.ok_or("VmHWM")?.trim().parse()?;
    fs::write("/proc/self/clear_refs", "5")?;
    Ok(kib / 1024.0)
}

/// Many large requests at once, whose handlers take their time.
fn flood() -> Result<(), Failed> {
    const CLIENTS: usize = 48;
    const EACH: usize = 6;
    println!("\n{CLIENTS} clients with {EACH} requests each, handlers of 20 ms");
    println!("arena                     answered  told to come again  peak MiB");
    let schema = Arc::new(Schema::parse(INTERFACE)?);
    let (call, bytes) = body(&schema, Protocol::Compact, 2_000)?;
    let message = write_message(&call, &bytes, &Limits::default())?;
    let most = 5 * message.len() * 4;
    let patient = ArenaSettings {
        patience: Duration::from_secs(60),
        ..ArenaSettings::of(most)
    };
    for (name, arena) in [
        ("none", None),
        ("for 4 messages, no wait", Some(ArenaSettings::of(most))),
        ("for 4 messages, waiting", Some(patient)),
    ] {
        let mut server = Server::new(schema.clone());
        server.set_config(Config {
            rpc: RpcProcessor {
                arena,
                ..RpcProcessor::default()
            },
            ..Config::default()
        });
        server.handle("Bench.compose", |request: &Request<'_>| {
            thread::sleep(Duration::from_millis(20));
            Ok(black_box(request.arguments.len()).to_string().into_bytes())
        })?;
        let running = server.start(([127, 0, 0, 1], 0).into())?;
        peak_mib()?;
        let client = || -> Result<u64, Failed> {
            let mut stream = TcpStream::connect(running.address())?;
            let (mut reply, mut refused) = (Vec::new(), 0);
            for _ in 0..EACH {
                while !ask(&mut stream, &message, &mut reply)? {
                    arena.ok_or("refused although memory has no limit")?;
                    refused += 1;
                    thread::sleep(Duration::from_millis(5));
                }
            }
            Ok(refused)
        };
        let refused = thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
            let mut sum = 0;
            for client in clients {
                sum += client.join().map_err(|_| "a client panicked")??;
            }
            Ok::<u64, Failed>(sum)
        })?;
        println!(
            "{name:<25} {:>8} {refused:>19} {:>9.0}",
            CLIENTS * EACH,
            peak_mib()?
        );
        running.stop(Duration::from_secs(60));
    }
    println!("a message has {} KiB on the wire", message.len() / 1024);
    Ok(())
}

fn main() -> Result<(), Failed> {
    let rounds = std::env::args()
        .nth(1)
        .map_or(Ok(41), |text| text.parse())?;
    split_schema(rounds)?;
    reserving(rounds)?;
    flood()
}
