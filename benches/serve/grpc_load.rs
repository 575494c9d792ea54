//! The load of `benches/server_grpc.py`: unary calls of `bench.Bench/Echo` over HTTP/2, with as
//! little work for each as can be, so that it is the server that is measured.
//!
//!     grpc_load PORT BYTES CONNECTIONS DEPTH [CERTIFICATE]
//!
//! Frames are written and read as they are; headers are compressed once and then named by their
//! index. Each connection has DEPTH calls under way and begins the next when one is answered. Each
//! line of standard input is a number of calls, which every connection makes; then the median time
//! of a call is printed, in microseconds. Every answer must be the message that was sent.

use std::error::Error;
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustls::crypto::aws_lc_rs::{cipher_suite::TLS13_AES_256_GCM_SHA384, default_provider};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

type Failed = Box<dyn Error + Send + Sync>;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADER: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
/// END_STREAM of DATA and HEADERS, ACK of SETTINGS and PING.
const FLAG_1: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

const HEADER_TABLE_SIZE: u16 = 1;
const INITIAL_WINDOW_SIZE: u16 = 4;

/// What RFC 9113 begins with: windows, and the longest frame, which is not made use of beyond it.
const FIRST_WINDOW: i64 = 65_535;
const FRAME: usize = 16_384;
/// What the server may send of an answer, and of all of them before it hears that they came.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 1 << 24;
/// How long a server may be silent.
const PATIENCE: Duration = Duration::from_secs(20);

trait Transport: Read + Write + Send {}
impl<T: Read + Write + Send> Transport for T {}

/// A call under way.
struct Call {
    stream: u32,
    begun: Instant,
    /// How much of the message has been sent, and of the answer has come.
    sent: usize,
    got: usize,
    window: i64,
}

struct Connection {
    transport: Box<dyn Transport>,
    scheme: u8,
    message: Vec<u8>,
    input: Vec<u8>,
    output: Vec<u8>,
    calls: Vec<Call>,
    next_stream: u32,
    window: i64,
    first_window: i64,
    /// Bytes of DATA that the server has not been told of yet.
    unreported: u32,
    times: Vec<Duration>,
    /// Whether the server's settings have come.
    is_greeted: bool,
}

/// The echo's message in its prefix: a text of so many bytes, and eight numbers.
fn message(bytes: usize) -> Result<Vec<u8>, Failed> {
    let mut item = vec![0x0a];
    let mut rest = bytes;
    while rest >= 0x80 {
        item.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    item.push(rest as u8);
    item.resize(item.len() + bytes, b'x');
    item.extend([0x12, 8, 0, 1, 2, 3, 4, 5, 6, 7]);
    let mut message = vec![0];
    message.extend(u32::try_from(item.len())?.to_be_bytes());
    message.append(&mut item);
    Ok(message)
}

fn put_frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&length[1..]);
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend_from_slice(payload);
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |sum, byte| (sum << 8) | u32::from(*byte))
}

impl Connection {
    fn open(port: u16, bytes: usize, certificate: Option<&Path>) -> Result<Connection, Failed> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let transport: Box<dyn Transport> = match certificate {
            None => Box::new(stream),
            Some(certificate) => Box::new(secure(stream, certificate)?),
        };
        let mut output = PREFACE.to_vec();
        let mut settings = INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
        settings.extend(STREAM_WINDOW.to_be_bytes());
        put_frame(&mut output, SETTINGS, 0, 0, &settings);
        let more = CONNECTION_WINDOW.to_be_bytes();
        put_frame(&mut output, WINDOW_UPDATE, 0, 0, &more);
        let mut connection = Connection {
            transport,
            scheme: if certificate.is_some() { 0x87 } else { 0x86 },
            message: message(bytes)?,
            input: Vec::new(),
            output,
            calls: Vec::new(),
            next_stream: 1,
            window: FIRST_WINDOW,
            first_window: FIRST_WINDOW,
            unreported: 0,
            times: Vec::new(),
            is_greeted: false,
        };
        connection.greet()?;
        Ok(connection)
    }

    /// Exchanges the settings: its first calls may come later than a server waits for these.
    fn greet(&mut self) -> Result<(), Failed> {
        let mut buffer = vec![0; FRAME];
        while !self.is_greeted {
            self.send()?;
            self.receive(&mut buffer)?;
        }
        self.send()
    }

    /// Makes so many calls, `depth` at once.
    fn run(&mut self, count: usize, depth: usize) -> Result<Vec<Duration>, Failed> {
        let mut buffer = vec![0; 256 * 1024];
        let mut begun = 0;
        loop {
            while begun < count && self.calls.len() < depth {
                self.begin();
                begun += 1;
            }
            self.send_data();
            self.send()?;
            if self.times.len() == count {
                return Ok(std::mem::take(&mut self.times));
            }
            self.receive(&mut buffer)?;
        }
    }

    fn send(&mut self) -> Result<(), Failed> {
        if !self.output.is_empty() {
            self.transport.write_all(&self.output)?;
            self.transport.flush()?;
            self.output.clear();
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), Failed> {
        let read = self.transport.read(buffer)?;
        if read == 0 {
            return Err("the server closed the connection".into());
        }
        self.input.extend_from_slice(&buffer[..read]);
        self.obey_frames()
    }

    fn begin(&mut self) {
        let stream = self.next_stream;
        self.next_stream += 2;
        let mut block = vec![0x83, self.scheme];
        if stream == 1 {
            // To the table of both sides, from where they are taken later.
            for (head, value) in [
                (&b"\x44"[..], &b"/bench.Bench/Echo"[..]),
                (b"\x41", b"localhost"),
                (b"\x5f", b"application/grpc"),
                (b"\x40\x02te", b"trailers"),
            ] {
                block.extend_from_slice(head);
                block.push(value.len() as u8);
                block.extend_from_slice(value);
            }
        } else {
            block.extend([0xc1, 0xc0, 0xbf, 0xbe]);
        }
        put_frame(&mut self.output, HEADERS, END_HEADERS, stream, &block);
        self.calls.push(Call {
            stream,
            begun: Instant::now(),
            sent: 0,
            got: 0,
            window: self.first_window,
        });
    }

    /// Sends what the windows let through, of older calls first.
    fn send_data(&mut self) {
        for call in &mut self.calls {
            while call.sent < self.message.len() {
                let room = self.window.min(call.window).max(0) as usize;
                let part = (self.message.len() - call.sent).min(room).min(FRAME);
                if part == 0 {
                    break;
                }
                let payload = &self.message[call.sent..call.sent + part];
                call.sent += part;
                let last = u8::from(call.sent == self.message.len());
                put_frame(&mut self.output, DATA, last, call.stream, payload);
                call.window -= part as i64;
                self.window -= part as i64;
            }
        }
    }

    fn obey_frames(&mut self) -> Result<(), Failed> {
        let input = std::mem::take(&mut self.input);
        let mut rest = &input[..];
        while let Some(header) = rest.first_chunk::<HEADER>() {
            let length = number(&header[..3]) as usize;
            let Some(payload) = rest.get(HEADER..HEADER + length) else {
                break;
            };
            let stream = number(&header[5..]) & 0x7fff_ffff;
            self.obey(header[3], header[4], stream, payload)?;
            rest = &rest[HEADER + length..];
        }
        self.input.extend_from_slice(rest);
        if self.unreported > CONNECTION_WINDOW / 2 {
            let more = std::mem::take(&mut self.unreported).to_be_bytes();
            put_frame(&mut self.output, WINDOW_UPDATE, 0, 0, &more);
        }
        Ok(())
    }

    fn obey(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Result<(), Failed> {
        match kind {
            DATA if flags & PADDED == 0 => {
                self.unreported += payload.len() as u32;
                let call = find(&mut self.calls, stream)?;
                let expected = self.message.get(call.got..call.got + payload.len());
                if expected != Some(payload) {
                    return Err(format!("another message than the one of {stream}").into());
                }
                call.got += payload.len();
                self.end(flags, stream)
            }
            HEADERS => self.end(flags, stream),
            SETTINGS if flags & FLAG_1 == 0 => self.set(payload),
            PING if flags & FLAG_1 == 0 => {
                put_frame(&mut self.output, PING, FLAG_1, 0, payload);
                Ok(())
            }
            WINDOW_UPDATE if stream == 0 => {
                self.window += i64::from(number(payload));
                Ok(())
            }
            WINDOW_UPDATE => {
                // It may come after the end of the stream.
                if let Ok(call) = find(&mut self.calls, stream) {
                    call.window += i64::from(number(payload));
                }
                Ok(())
            }
            SETTINGS | PING | CONTINUATION => Ok(()),
            _ => Err(format!("a frame of kind {kind}, flags {flags}: {payload:?}").into()),
        }
    }

    fn set(&mut self, payload: &[u8]) -> Result<(), Failed> {
        for setting in payload.chunks_exact(6) {
            let value = number(&setting[2..]);
            match number(&setting[..2]) as u16 {
                INITIAL_WINDOW_SIZE => {
                    let change = i64::from(value) - self.first_window;
                    self.first_window += change;
                    for call in &mut self.calls {
                        call.window += change;
                    }
                }
                HEADER_TABLE_SIZE if value < 4_096 => {
                    return Err(format!("a header table of {value} bytes").into());
                }
                _ => {}
            }
        }
        put_frame(&mut self.output, SETTINGS, FLAG_1, 0, &[]);
        self.is_greeted = true;
        Ok(())
    }

    /// Ends a call if its last frame has come. That its status is OK shows in its message.
    fn end(&mut self, flags: u8, stream: u32) -> Result<(), Failed> {
        if flags & FLAG_1 == 0 {
            return Ok(());
        }
        let place = self.calls.iter().position(|call| call.stream == stream);
        let call = self.calls.remove(place.ok_or("an answer to nothing")?);
        if call.got != self.message.len() {
            return Err(format!("stream {stream} ended without its message").into());
        }
        self.times.push(call.begun.elapsed());
        Ok(())
    }
}

fn find(calls: &mut [Call], stream: u32) -> Result<&mut Call, Failed> {
    let found = calls.iter_mut().find(|call| call.stream == stream);
    found.ok_or_else(|| format!("no call is under way on stream {stream}").into())
}

/// TLS 1.3 with one cipher, so that all servers have the same.
fn secure(
    stream: TcpStream,
    certificate: &Path,
) -> Result<StreamOwned<ClientConnection, TcpStream>, Failed> {
    let mut provider = default_provider();
    provider.cipher_suites = vec![TLS13_AES_256_GCM_SHA384];
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let mut config = ClientConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let connection = ClientConnection::new(Arc::new(config), "localhost".try_into()?)?;
    Ok(StreamOwned::new(connection, stream))
}

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (numbers, certificate) = match arguments.as_slice() {
        [numbers @ .., certificate] if numbers.len() == 4 => (numbers, Some(certificate)),
        numbers if numbers.len() == 4 => (numbers, None),
        _ => return Err("usage: grpc_load PORT BYTES CONNECTIONS DEPTH [CERTIFICATE]".into()),
    };
    let (port, bytes) = (numbers[0].parse()?, numbers[1].parse()?);
    let (count, depth): (usize, usize) = (numbers[2].parse()?, numbers[3].parse()?);
    let certificate = certificate.map(Path::new);
    let mut connections: Vec<Connection> = (0..count)
        .map(|_| Connection::open(port, bytes, certificate))
        .collect::<Result<_, Failed>>()?;
    for line in std::io::stdin().lock().lines() {
        let calls: usize = line?.trim().parse()?;
        let mut times = thread::scope(|scope| -> Result<Vec<Duration>, Failed> {
            let threads: Vec<_> = connections
                .iter_mut()
                .map(|client| scope.spawn(move || client.run(calls, depth)))
                .collect();
            let mut times = Vec::new();
            for thread in threads {
                times.append(&mut thread.join().map_err(|_| "a connection panicked")??);
            }
            Ok(times)
        })?;
        times.sort_unstable();
        let median = times
            .get(times.len() / 2)
            .ok_or("no calls were asked for")?;
        println!("{:.1}", median.as_secs_f64() * 1e6);
    }
    Ok(())
}
