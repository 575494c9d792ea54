//! The memory that a server keeps after large replies.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use accelflow_accel::Limits;
use accelflow_accel::rpc::{ThriftCall, write_message};
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_serve::{HandlerResult, Request, Running, Server};

use common::{connect, start};

const REPLY_BYTES: usize = 12 << 20;
const CONNECTIONS: usize = 6;
const REPLIES_OF_EACH: usize = 3;

/// The most that may stay resident: a few replies, of the 18 that were sent.
const MOST_KEPT_BYTES: usize = 3 * REPLY_BYTES;

/// How long the server has to free its last replies.
const PATIENCE: Duration = Duration::from_secs(30);

fn large(_: &Request<'_>) -> HandlerResult {
    let mut json = vec![b'x'; REPLY_BYTES];
    json[0] = b'"';
    json.push(b'"');
    Ok(json)
}

/// The process's resident memory (proc_pid_status(5): VmRSS).
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    1024 * kib.and_then(|kib| kib.parse::<usize>().ok()).expect("kB")
}

/// Reads a reply without keeping any of it.
fn discard(mut stream: &TcpStream) {
    let mut chunk = [0; 16 * 1024];
    stream.read_exact(&mut chunk[..4]).expect("a reply");
    let length = u32::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]) as usize;
    assert!(length > REPLY_BYTES);
    let mut left = length;
    while left > 0 {
        let part = left.min(chunk.len());
        stream.read_exact(&mut chunk[..part]).expect("the rest");
        left -= part;
    }
}

/// Asks for large replies on all connections at once, and leaves these open.
fn ask(running: &Running, request: &[u8]) -> Vec<TcpStream> {
    let streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(running)).collect();
    thread::scope(|scope| {
        for mut stream in &streams {
            scope.spawn(move || {
                for _ in 0..REPLIES_OF_EACH {
                    stream.write_all(request).expect("the server reads");
                    discard(stream);
                }
            });
        }
    });
    streams
}

#[test]
fn memory_of_large_replies_is_given_back() {
    // Settings of the environment hold before the server's own.
    for name in ["MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"] {
        assert!(std::env::var_os(name).is_none(), "{name} must not be set");
    }
    let schema = Schema::parse("service Test { string large() }").expect("a constant");
    let schema = Arc::new(schema);
    let mut server = Server::new(schema.clone());
    server.handle("large", large).expect("declared");
    let running = start(server);
    let call = ThriftCall::request(&schema, "large", Protocol::Binary, 1).expect("known");
    let request = write_message(&call, &[0], &Limits::default()).expect("small");
    let before = resident_bytes();
    let open = ask(&running, &request);
    let deadline = Instant::now() + PATIENCE;
    let mut after = resident_bytes();
    while after >= before + MOST_KEPT_BYTES && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
        after = resident_bytes();
    }
    assert!(
        after < before + MOST_KEPT_BYTES,
        "{} MiB are resident after the replies, {} before",
        after >> 20,
        before >> 20
    );
    drop(open);
}
