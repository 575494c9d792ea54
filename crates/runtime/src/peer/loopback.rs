//! A replacement for all peers of a service, in this process and on real bytes.

use std::collections::BTreeMap;

use accelflow_accel::compress::{Cmp, DEFAULT_LEVEL};
use accelflow_accel::http::HttpCall;
use accelflow_accel::messages::{response, service_exception};
use accelflow_accel::rpc::MessageType;
use accelflow_accel::storage::{Operation, StorageRequest, StorageResponse, Stored, read_request};
use accelflow_accel::{AccelError, Call, Direction, Ensemble, Job, Limits, Packed, Session};
use accelflow_trace::{Accel, Format};

use super::answers::Answers;
use super::error::PeerError;
use super::interface::Peer;
use super::parties::Party;
use crate::connection::connection;

/// A peer in this process that replaces everything a service calls: cache, database, other Thrift
/// services and HTTP servers. It decrypts and decodes the requests, and returns its [`Answers`]
/// encoded, encrypted and framed. It refuses gRPC requests and oneway calls. Without
/// [`RpcAnswer::exception`](super::RpcAnswer::exception), it also refuses calls of methods that are
/// not in [`METHODS`](accelflow_accel::messages::METHODS).
#[derive(Debug)]
pub struct LoopbackPeer {
    /// The responses that the peer gives. The caller may change them between runs.
    pub answers: Answers,
    ensemble: Ensemble,
    limits: Limits,
    connections: BTreeMap<Party, Connection>,
    opened: u64,
    requests: Vec<StorageRequest>,
}

/// Both ends of a connection. `ours` is `None` while it is lent.
#[derive(Debug)]
struct Connection {
    ours: Option<Session>,
    theirs: Session,
}

impl LoopbackPeer {
    /// Creates a peer that responds with `answers`. Limits such as the largest message have their
    /// defaults.
    ///
    /// # Errors
    /// The errors of [`Ensemble::with_cores`], which do not occur in practice.
    pub fn new(answers: Answers) -> Result<LoopbackPeer, AccelError> {
        Ok(LoopbackPeer {
            ensemble: Ensemble::with_cores(1)?,
            limits: Limits::default(),
            answers,
            connections: BTreeMap::new(),
            opened: 0,
            requests: Vec::new(),
        })
    }

    /// Returns the requests to the cache and the database that have arrived since the last call of
    /// this function, in order of arrival.
    pub fn take_storage_requests(&mut self) -> Vec<StorageRequest> {
        std::mem::take(&mut self.requests)
    }

    /// Returns the packets of the response to request packets, from the other end of the
    /// connection.
    fn answer(
        &mut self,
        call: &Call,
        theirs: &mut Session,
        packets: &[u8],
    ) -> Result<Vec<u8>, AccelError> {
        let mut job = Job::receive(packets.to_vec(), std::mem::take(theirs));
        let done = self.read_and_answer(call, &mut job);
        *theirs = job.session;
        done.map(|()| job.bytes)
    }

    fn read_and_answer(&mut self, call: &Call, job: &mut Job) -> Result<(), AccelError> {
        self.run(job, &[Accel::Tcp, Accel::Decr])?;
        match call {
            Call::Storage(_) => self.store(job)?,
            Call::Http(call) => self.serve(call, job)?,
            Call::Thrift(_) | Call::None => self.execute(job)?,
            Call::Grpc(_) => {
                let why = "the peers in this process do not speak gRPC";
                return Err(AccelError::NoCall { step: "peer", why });
            }
        }
        job.direction = Direction::Send;
        self.run(job, &[Accel::Encr, Accel::Tcp])
    }

    fn run(&mut self, job: &mut Job, steps: &[Accel]) -> Result<(), AccelError> {
        steps
            .iter()
            .try_for_each(|step| self.ensemble.run(*step, job))
    }

    fn store(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let request = read_request(&job.bytes, &self.limits)?;
        job.bytes = self.stored(request.operation)?.encode(&self.limits)?;
        self.requests.push(request);
        Ok(())
    }

    fn stored(&self, operation: Operation) -> Result<StorageResponse, AccelError> {
        let answers = &self.answers;
        let done = StorageResponse::done(operation);
        Ok(match operation {
            Operation::CacheGet => StorageResponse {
                hit: answers.cache.hit,
                data: match answers.cache.hit {
                    true => Some(self.document(answers.cache.compressed)?),
                    false => None,
                },
                ..done
            },
            Operation::DbFind => StorageResponse {
                found: answers.database.found,
                cache_compressed: answers.database.cache_compressed,
                data: match answers.database.found {
                    true => Some(self.document(answers.database.compressed)?),
                    false => None,
                },
                ..done
            },
            Operation::CacheSet | Operation::DbInsert => StorageResponse {
                exception: answers.write_exception.clone(),
                ..done
            },
        })
    }

    fn document(&self, compressed: bool) -> Result<Stored, AccelError> {
        let plain = match self.answers.document.as_slice() {
            [] => b"{}",
            document => document,
        };
        let (bytes, codec) = match compressed {
            true => (self.compress(plain)?, Some(self.answers.codec)),
            false => (plain.to_vec(), None),
        };
        Ok(Stored {
            bytes,
            codec,
            format: Format::Json,
        })
    }

    fn compress(&self, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        Cmp::new(self.answers.codec, DEFAULT_LEVEL, self.limits)?.compress(data)
    }

    fn execute(&mut self, job: &mut Job) -> Result<(), AccelError> {
        self.run(job, &[Accel::Rpc, Accel::Dser])?;
        if job.packed.is_some() {
            self.run(job, &[Accel::Dcmp])?;
        }
        let Call::Thrift(call) = &job.call else {
            return Ok(());
        };
        if call.message_type == MessageType::Oneway {
            let why = "a oneway function has no reply";
            return Err(AccelError::NoCall { step: "RPC", why });
        }
        let answers = &self.answers;
        let body = match &answers.rpc.exception {
            Some(why) => service_exception(0, why),
            None => response(&call.method, answers.seed, answers.index)?,
        };
        let compressed = answers.rpc.compressed && answers.rpc.exception.is_none();
        job.call = Call::Thrift(call.reply());
        self.send(job, body.to_string().into_bytes(), compressed)?;
        self.run(job, &[Accel::Rpc])
    }

    fn serve(&mut self, call: &HttpCall, job: &mut Job) -> Result<(), AccelError> {
        job.call = Call::Http(call.clone());
        self.run(job, &[Accel::Dser])?;
        if job.packed.is_some() {
            self.run(job, &[Accel::Dcmp])?;
        }
        let answer = self.answers.http;
        job.call = Call::Http(call.response(answer.status));
        let body = match self.answers.document.as_slice() {
            [] => b"{}".to_vec(),
            document => document.to_vec(),
        };
        self.send(job, body, answer.compressed)
    }

    /// Compresses the body if `compressed`, and serializes it.
    fn send(&mut self, job: &mut Job, body: Vec<u8>, compressed: bool) -> Result<(), AccelError> {
        job.bytes = body;
        job.format = Format::Json;
        job.packed = None;
        job.envelope = None;
        job.record = None;
        job.direction = Direction::Send;
        if compressed {
            job.bytes = self.compress(&job.bytes)?;
            job.packed = Some(Packed {
                codec: self.answers.codec,
                format: std::mem::replace(&mut job.format, Format::Str),
            });
        }
        self.run(job, &[Accel::Ser])
    }
}

impl Peer for LoopbackPeer {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        let party = Party::of(call);
        if party == Party::Unknown {
            let why = "this run has no peer for such messages";
            return Err(PeerError::NoPeer(format!("{party}: {why}")));
        }
        if !self.connections.contains_key(&party) {
            // Number 0 is the demo client's.
            self.opened += 1;
            let (ours, theirs) = connection(self.opened).map_err(|error| refused(&party, error))?;
            let ours = Some(ours);
            self.connections
                .insert(party.clone(), Connection { ours, theirs });
        }
        let connection = self.connections.get_mut(&party);
        connection
            .and_then(|connection| connection.ours.take())
            .ok_or_else(|| PeerError::Busy(party.to_string()))
    }

    fn take_back(&mut self, call: &Call, session: Option<Session>) {
        let party = Party::of(call);
        match (session, self.connections.get_mut(&party)) {
            (Some(session), Some(connection)) => connection.ours = Some(session),
            (_, _) => {
                self.connections.remove(&party);
            }
        }
    }

    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        let party = Party::of(call);
        let Some(connection) = self.connections.get_mut(&party) else {
            return Err(PeerError::NoPeer(party.to_string()));
        };
        let mut theirs = std::mem::take(&mut connection.theirs);
        let answer = self.answer(call, &mut theirs, packets);
        if let Some(connection) = self.connections.get_mut(&party) {
            connection.theirs = theirs;
        }
        answer.map_err(|error| refused(&party, error))
    }

    fn waits(&self) -> bool {
        false
    }
}

fn refused(party: &Party, error: AccelError) -> PeerError {
    PeerError::Refused {
        party: party.to_string(),
        error,
    }
}
