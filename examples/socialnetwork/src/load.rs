//! The load generator: requests begin when they are due, whether or not earlier ones have ended.
//!
//! As in wrk2, a response time is measured from the due time of its request, so that a server that
//! stalls is charged for all requests that were due meanwhile. TLS is rustls throughout.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use accelflow_accel::rpc::{MessageType, ThriftCall, read_header};
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_accel::{AccelError, Call, Ensemble, Job, Limits, Session};
use accelflow_trace::{Accel, Format};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use crate::requests::Kind;
use crate::site::{SERVER_NAME, Site};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Time limit for a response.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request that is ready to be sent.
struct Shot {
    due: Duration,
    kind: Kind,
    frame: Vec<u8>,
}

/// The result of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Response times in microseconds from when requests were due, by kind.
    pub(crate) latencies_us: BTreeMap<Kind, Vec<f64>>,
    /// Failed requests: exceptions, broken connections.
    pub(crate) errors: BTreeMap<Kind, u64>,
    /// Mean delay of sending after the due time, in microseconds.
    pub(crate) lateness_us: f64,
    /// Answered requests per second.
    pub(crate) rate_rps: f64,
}

impl Measured {
    pub(crate) fn mean_us(&self, kind: Kind) -> f64 {
        let all = self.latencies_us.get(&kind).map_or(&[][..], Vec::as_slice);
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }

    /// A quantile by nearest rank.
    pub(crate) fn percentile_us(&self, kind: Kind, percent: f64) -> f64 {
        let mut all = self.latencies_us.get(&kind).cloned().unwrap_or_default();
        all.sort_by(f64::total_cmp);
        let rank = (percent / 100.0 * all.len() as f64).ceil() as usize;
        all.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.latencies_us.get(&kind).map_or(0, Vec::len)
    }

    pub(crate) fn errors(&self) -> u64 {
        self.errors.values().sum()
    }
}

/// The requests of a load.
pub(crate) struct Load<'a> {
    /// Kinds of requests with their shares.
    pub(crate) mix: &'a [(Kind, f64)],
    pub(crate) rate_rps: f64,
    /// Only requests that are due later than this after the start count.
    pub(crate) warm_up: Duration,
    pub(crate) duration: Duration,
    /// Maximum number of requests under way.
    pub(crate) connections: usize,
    pub(crate) seed: u64,
}

/// Sends requests in a Poisson process.
pub(crate) fn open_loop(site: &Site, load: &Load<'_>) -> Result<Measured, Failure> {
    let shots = Arc::new(shots(load)?);
    let (next, start) = (
        Arc::new(AtomicUsize::new(0)),
        Instant::now() + Duration::from_millis(100),
    );
    let threads = (0..load.connections).map(|_| {
        let (site, shots, next) = (site.clone(), shots.clone(), next.clone());
        std::thread::spawn(move || {
            // Wake-ups of 50 us too late, the default, would be most of a response time.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
            let mut gun = Gun::new(site)?;
            let mut hits = Vec::new();
            while let Some(shot) = shots.get(next.fetch_add(1, Ordering::Relaxed)) {
                let due = start + shot.due;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let late = due.elapsed();
                let good = gun.fire(shot.kind, &shot.frame);
                hits.push((shot.due, shot.kind, late, due.elapsed(), good.is_ok()));
            }
            Ok::<_, Failure>(hits)
        })
    });
    let threads: Vec<_> = threads.collect();
    let mut measured = Measured::default();
    let (mut late, mut counted) = (0.0, 0);
    for thread in threads {
        let hits = thread
            .join()
            .map_err(|_| "a thread of the load generator panicked")??;
        for (due, kind, lateness, latency, good) in hits {
            if due < load.warm_up {
                continue;
            }
            if !good {
                *measured.errors.entry(kind).or_default() += 1;
                continue;
            }
            let all = measured.latencies_us.entry(kind).or_default();
            all.push(latency.as_secs_f64() * 1e6);
            late += lateness.as_secs_f64() * 1e6;
            counted += 1;
        }
    }
    measured.lateness_us = late / f64::from(counted.max(1));
    measured.rate_rps = f64::from(counted) / (load.duration - load.warm_up).as_secs_f64();
    Ok(measured)
}

/// Measures the capacity of the application in requests per second: each connection sends its next
/// request at once.
pub(crate) fn closed_loop(site: &Site, load: &Load<'_>) -> Result<f64, Failure> {
    let (counting, stop) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let all = Arc::new(shots(load)?);
    let next = Arc::new(AtomicUsize::new(0));
    let threads = (0..load.connections).map(|_| {
        let (counting, stop) = (counting.clone(), stop.clone());
        let (site, shots, next) = (site.clone(), all.clone(), next.clone());
        std::thread::spawn(move || {
            let mut gun = Gun::new(site)?;
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(shot) = shots.get(number % shots.len().max(1)) else {
                    break;
                };
                gun.fire(shot.kind, &shot.frame)?;
                count += u64::from(counting.load(Ordering::Relaxed));
            }
            Ok::<_, Failure>(count)
        })
    });
    let threads: Vec<_> = threads.collect();
    std::thread::sleep(load.warm_up);
    counting.store(true, Ordering::Relaxed);
    std::thread::sleep(load.duration - load.warm_up);
    stop.store(true, Ordering::Relaxed);
    let mut count = 0;
    for thread in threads {
        count += thread
            .join()
            .map_err(|_| "a thread of the load generator panicked")??;
    }
    Ok(count as f64 / (load.duration - load.warm_up).as_secs_f64())
}

/// All requests in the order in which they are due, encoded.
fn shots(load: &Load<'_>) -> Result<Vec<Shot>, Failure> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(load.seed);
    let mut unit = move || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let total: f64 = load.mix.iter().map(|(_, share)| share).sum();
    let (mut due, mut shots) = (0.0, Vec::new());
    let mut encoder = Encoder::new()?;
    loop {
        due += -(1.0 - unit()).ln() / load.rate_rps;
        if due >= load.duration.as_secs_f64() {
            return Ok(shots);
        }
        let mut drawn = unit() * total;
        let kind = load.mix.iter().find(|(_, share)| {
            drawn -= share;
            drawn < 0.0
        });
        let (kind, _) = kind
            .or(load.mix.last())
            .ok_or("the load has no kind of request")?;
        let number = load.seed << 24 | shots.len() as u64;
        shots.push(Shot {
            due: Duration::from_secs_f64(due),
            kind: *kind,
            frame: encoder.encode(*kind, number)?,
        });
    }
}

/// Encodes requests as frames.
struct Encoder {
    ensemble: Ensemble,
    schema: Arc<Schema>,
}

impl Encoder {
    fn new() -> Result<Encoder, AccelError> {
        Ok(Encoder {
            ensemble: Ensemble::with_cores(1)?,
            schema: Schema::social_network(),
        })
    }

    fn encode(&mut self, kind: Kind, number: u64) -> Result<Vec<u8>, AccelError> {
        self.frame(kind, &kind.arguments(number)?)
    }

    fn frame(&mut self, kind: Kind, arguments: &Value) -> Result<Vec<u8>, AccelError> {
        let call = ThriftCall::request(&self.schema, kind.method(), Protocol::Binary, 0)?;
        let arguments = arguments.to_string().into_bytes();
        let call = Call::Thrift(call);
        let mut job = Job::send(arguments, Format::Json, call, Session::default());
        let steps: &[Accel] = match kind.compressed() {
            true => &[Accel::Cmp, Accel::Ser, Accel::Rpc],
            false => &[Accel::Ser, Accel::Rpc],
        };
        for step in steps {
            self.ensemble.run(*step, &mut job)?;
        }
        Ok(job.bytes)
    }
}

/// Sends requests, over a connection of its own to each service.
pub(crate) struct Gun {
    site: Site,
    tls: Arc<ClientConfig>,
    connections: BTreeMap<&'static str, StreamOwned<ClientConnection, TcpStream>>,
    reply: Vec<u8>,
}

impl Gun {
    pub(crate) fn new(site: Site) -> Result<Gun, Failure> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&site.certificate)?)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Gun {
            site,
            tls: Arc::new(tls),
            connections: BTreeMap::new(),
            reply: Vec::new(),
        })
    }

    /// Sends a request and waits for a reply that is a result.
    pub(crate) fn call(&mut self, kind: Kind, arguments: &Value) -> Result<(), Failure> {
        let frame = Encoder::new()?.frame(kind, arguments)?;
        self.fire(kind, &frame)
    }

    fn fire(&mut self, kind: Kind, frame: &[u8]) -> Result<(), Failure> {
        let done = self.exchange(kind, frame);
        if done.is_err() {
            self.connections.remove(kind.service());
        }
        done?;
        check(&self.reply)
    }

    fn exchange(&mut self, kind: Kind, frame: &[u8]) -> Result<(), Failure> {
        if !self.connections.contains_key(kind.service()) {
            let stream = TcpStream::connect(self.site.address(kind.service()))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let name = ServerName::try_from(SERVER_NAME)?;
            let connection = ClientConnection::new(self.tls.clone(), name)?;
            let stream = StreamOwned::new(connection, stream);
            self.connections.insert(kind.service(), stream);
        }
        let stream = self.connections.get_mut(kind.service());
        let stream = stream.ok_or("no connection")?;
        stream.write_all(frame)?;
        stream.flush()?;
        self.reply.resize(4, 0);
        stream.read_exact(&mut self.reply)?;
        let head = [self.reply[0], self.reply[1], self.reply[2], self.reply[3]];
        let length = u32::from_be_bytes(head) as usize;
        if length > Limits::default().max_message_bytes {
            return Err("the reply is larger than a message may be".into());
        }
        self.reply.resize(4 + length, 0);
        stream.read_exact(&mut self.reply[4..])?;
        Ok(())
    }
}

/// Whether a reply is a result, not an exception.
fn check(reply: &[u8]) -> Result<(), Failure> {
    const EXCEPTION_FIELD: i16 = 1;
    let header = read_header(reply, &Limits::default())?;
    if header.message_type != MessageType::Reply {
        return Err(format!("{:?}", header.message_type).into());
    }
    match reply.get(header.body..) {
        Some([0, ..]) => Ok(()),
        Some([_, high, low, rest @ ..]) if i16::from_be_bytes([*high, *low]) == EXCEPTION_FIELD => {
            Err(format!("an exception: {}", String::from_utf8_lossy(rest)).into())
        }
        Some([_, _, _, ..]) => Ok(()),
        _ => Err("the reply has neither a result nor an exception".into()),
    }
}
