//! Runs whole invocations of services on real messages.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accelflow_accel::messages::{self, Document, SERVICES, ServiceMessages};
use accelflow_accel::rpc::{MessageType, ThriftCall};
use accelflow_accel::storage::{Operation, StorageCall};
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_accel::{AccelError, Call, Ensemble, Job, Session};
use accelflow_trace::Accel;
use accelflow_workload::services::{Chain, Phase, Service};

use crate::demo;
use crate::error::Failure;
use crate::outcome::{Caller, Conversation, Message, Outcome, Sent};
use crate::peer::{Answers, LoopbackPeer};
use crate::run_traces::RunTraces;

/// The peers, which several runs can use.
type SharedPeer = Arc<Mutex<LoopbackPeer>>;

fn lock(peer: &SharedPeer) -> MutexGuard<'_, LoopbackPeer> {
    peer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One invocation of a service: the client's request, the results of each phase of the service's
/// path, and the response.
#[derive(Debug)]
pub struct ServiceRun {
    /// The arguments of the client's call, as JSON.
    pub request: Vec<u8>,
    /// The results of the phases of the service's path, in order.
    pub phases: Vec<PhaseRun>,
    /// The result in the last reply to the client, as JSON; `None` if the path does not end with a
    /// reply.
    pub response: Option<Vec<u8>>,
}

/// The results of one phase of a service's path. A phase is application logic on a core, or one or
/// several chains of traces (programs of accelerator calls).
#[derive(Debug)]
pub enum PhaseRun {
    /// A CPU phase: application logic, which this project does not include and so did not run.
    Cpu,
    /// The outcomes of the phase's chains of traces, which ran one after another in the order of
    /// the path.
    Chains(Vec<Outcome>),
}

impl PhaseRun {
    /// The outcomes of the phase's chains of traces; empty for a phase of application logic.
    pub fn chains(&self) -> &[Outcome] {
        match self {
            PhaseRun::Cpu => &[],
            PhaseRun::Chains(chains) => chains,
        }
    }
}

/// The error of an invocation of a service: a message is missing, or a trace or the client failed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceRunError {
    /// A service without built-in messages: neither its name nor its method is one of
    /// SocialNetwork's.
    #[error(
        "service {name}: method = '{method}': must be a method with built-in messages: {known}"
    )]
    NoMessages {
        /// The name of the service without messages.
        name: String,
        /// The method of the service.
        method: String,
        /// The methods that have built-in messages, as a list in words.
        known: String,
    },
    /// The message with which a chain of traces begins cannot be built, for example a reply in a
    /// service that has received no request.
    #[error("service {service}, phase {phase}, chain {chain}: {why}")]
    NoMessage {
        /// The name of the service.
        service: String,
        /// The index of the phase in the service's path, counted from 0.
        phase: usize,
        /// The index of the chain of traces in the phase, counted from 0.
        chain: usize,
        /// The reason why there is no message.
        why: String,
    },
    /// A trace of the service failed.
    #[error("service {service}, phase {phase}, chain {chain}: {failure}")]
    Trace {
        /// The name of the service.
        service: String,
        /// The index of the phase in the service's path, counted from 0.
        phase: usize,
        /// The index of the chain of traces in the phase, counted from 0.
        chain: usize,
        /// The error of the trace's run, with all earlier steps of the run.
        failure: Box<Failure>,
    },
    /// The client could not encode its request or decode its response.
    #[error("service {service}: its client failed: {error}")]
    Client {
        /// The name of the service.
        service: String,
        /// The error of encoding or decoding.
        error: AccelError,
    },
}

/// A test environment that runs services on real messages: a client that calls a service, and peers
/// (cache, database, other services) that the service calls.
#[derive(Debug)]
pub struct ServiceRunner {
    client: Ensemble,
    peer: SharedPeer,
}

/// Runs one invocation of `service` with a new client and new peers. `executor` runs the service's
/// traces. `seed` and `index` determine the contents of all messages.
///
/// # Errors
/// [`ServiceRunError`] for a service without built-in messages, for a chain of traces that lacks a
/// message, and if a trace or the client fails.
pub fn run_service<E: RunTraces>(
    executor: &mut E,
    service: &Service,
    seed: u64,
    index: u64,
) -> Result<ServiceRun, ServiceRunError> {
    let runner = ServiceRunner::new();
    let mut runner = runner.map_err(|error| client_error(service, error))?;
    runner.run(executor, service, seed, index)
}

impl ServiceRunner {
    /// Creates a client, and peers that act as cache, database and other services.
    ///
    /// # Errors
    /// The errors of [`Ensemble::with_cores`], which do not occur in practice.
    pub fn new() -> Result<ServiceRunner, AccelError> {
        Ok(ServiceRunner {
            client: Ensemble::with_cores(1)?,
            peer: Arc::new(Mutex::new(LoopbackPeer::new(Answers::default())?)),
        })
    }

    /// Runs one invocation of `service`. `executor` runs the service's traces. `seed` and `index`
    /// determine the contents of all messages.
    ///
    /// The workload states facts about the peers' responses, such as a cache hit, for each chain of
    /// traces of the service. The responses agree with these facts.
    ///
    /// # Errors
    /// [`ServiceRunError`] for a service without built-in messages, for a chain of traces that
    /// lacks a message, and if a trace or the client fails.
    pub fn run<E: RunTraces>(
        &mut self,
        executor: &mut E,
        service: &Service,
        seed: u64,
        index: u64,
    ) -> Result<ServiceRun, ServiceRunError> {
        let contents = Contents::new(service, seed, index)?;
        let failed = |error| client_error(service, error);
        let (client, server) = demo::connection(0).map_err(failed)?;
        let mut invocation = Invocation {
            service,
            contents,
            peer: &self.peer,
            connection: server,
            call: None,
            calls: 0,
        };
        let compressed = first_chain(service).fact("T1", "compressed") == Some(1);
        let request = invocation.contents.request().map_err(failed)?;
        let asked = invocation.contents.call().map_err(failed)?;
        let bytes = request.clone();
        let asking = demo::client_request(&mut self.client, client, asked, bytes, compressed);
        let Job { bytes, session, .. } = asking.map_err(failed)?;
        let mut phases = Vec::with_capacity(service.path().len());
        for phase in 0..service.path().len() {
            phases.push(invocation.phase(executor, phase, &bytes)?);
        }
        let response = self.read_reply(session, &phases).map_err(failed)?;
        Ok(ServiceRun {
            request,
            phases,
            response,
        })
    }

    /// Decodes, as the client, all replies in order, since each changes the state of the
    /// connection. Returns the last one if nothing is sent after it in the last phase's last chain.
    fn read_reply(
        &mut self,
        mut session: Session,
        phases: &[PhaseRun],
    ) -> Result<Option<Vec<u8>>, AccelError> {
        let last = phases.last().and_then(|phase| phase.chains().last());
        let ends = last.and_then(|outcome| outcome.sent.last());
        if !ends.is_some_and(is_for_client) {
            return Ok(None);
        }
        let chains = phases.iter().flat_map(PhaseRun::chains);
        let sent = chains.flat_map(|outcome| &outcome.sent);
        let mut response = None;
        for reply in sent.filter(|sent| is_for_client(sent)) {
            let mut job = Job::receive(reply.bytes.clone(), std::mem::take(&mut session));
            for step in [Accel::Tcp, Accel::Decr, Accel::Rpc, Accel::Dser] {
                self.client.run(step, &mut job)?;
            }
            if job.packed.is_some() {
                self.client.run(Accel::Dcmp, &mut job)?;
            }
            session = job.session;
            response = Some(job.bytes);
        }
        Ok(response)
    }
}

/// Whether `sent` went to the service's client: all other messages are requests to peers.
fn is_for_client(sent: &Sent) -> bool {
    let Call::Thrift(call) = &sent.call else {
        return false;
    };
    matches!(
        call.message_type,
        MessageType::Reply | MessageType::Exception
    )
}

/// The state of one invocation at the server.
struct Invocation<'a> {
    service: &'a Service,
    contents: Contents,
    peer: &'a SharedPeer,
    /// The server's end of the connection with the client.
    connection: Session,
    /// The client's request, once received.
    call: Option<ThriftCall>,
    /// The number of nested functions called so far.
    calls: usize,
}

impl Invocation<'_> {
    fn phase<E: RunTraces>(
        &mut self,
        executor: &mut E,
        phase: usize,
        packets: &[u8],
    ) -> Result<PhaseRun, ServiceRunError> {
        let chains = match &self.service.path()[phase] {
            Phase::Cpu => return Ok(PhaseRun::Cpu),
            Phase::Traces(chains) => chains,
        };
        let mut outcomes = Vec::with_capacity(chains.len());
        for (index, chain) in chains.iter().enumerate() {
            let outcome = match phase {
                0 => self.receive(executor, chain, packets),
                _ => self.start(executor, chain, (phase, index, chains.len()))?,
            };
            outcomes.push(outcome.map_err(|failure| ServiceRunError::Trace {
                service: self.service.name().to_owned(),
                phase,
                chain: index,
                failure,
            })?);
        }
        Ok(PhaseRun::Chains(outcomes))
    }

    fn receive<E: RunTraces>(
        &mut self,
        executor: &mut E,
        chain: &Chain,
        packets: &[u8],
    ) -> Result<Outcome, Box<Failure>> {
        let mut conversation = Conversation {
            session: std::mem::take(&mut self.connection),
            caller: None,
        };
        let message = Message::received(packets);
        let peer = Box::new(self.peer.clone());
        let outcome = executor.run_trace(chain.entry(), &message, &mut conversation, peer);
        self.connection = conversation.session;
        let outcome = outcome?;
        if let Some(Call::Thrift(call)) = outcome.result().map(|arrival| &arrival.job.call) {
            self.call = Some(call.clone());
        }
        Ok(outcome)
    }

    /// Runs a chain that the core starts.
    fn start<E: RunTraces>(
        &mut self,
        executor: &mut E,
        chain: &Chain,
        place: (usize, usize, usize),
    ) -> Result<Result<Outcome, Box<Failure>>, ServiceRunError> {
        let (bytes, call) = self.opening(chain, place)?;
        lock(self.peer).answers = Answers {
            seed: self.contents.seed,
            index: self.contents.index,
            document: self.contents.document_bytes(),
            ..Answers::for_chain(chain)
        };
        let session = std::mem::take(&mut self.connection);
        let replies = matches!(&call, Call::Thrift(_)) && is_reply(chain.entry());
        let mut conversation = match (replies, &self.call) {
            (false, Some(call)) => Conversation {
                session: Session::default(),
                caller: Some(Caller {
                    call: call.clone(),
                    session,
                }),
            },
            _ => Conversation {
                session,
                caller: None,
            },
        };
        let message = Message::json(&bytes, call);
        let peer = Box::new(self.peer.clone());
        let outcome = executor.run_trace(chain.entry(), &message, &mut conversation, peer);
        self.connection = match conversation.caller {
            Some(caller) => caller.session,
            None => conversation.session,
        };
        Ok(outcome)
    }

    /// Returns the application data and the kind of message with which a chain begins, by its
    /// template.
    fn opening(
        &mut self,
        chain: &Chain,
        (phase, index, chains): (usize, usize, usize),
    ) -> Result<(Vec<u8>, Call), ServiceRunError> {
        let no_message = |why: String| ServiceRunError::NoMessage {
            service: self.service.name().to_owned(),
            phase,
            chain: index,
            why,
        };
        let contents = &self.contents;
        let entry = chain.entry();
        let made = match template(entry) {
            "T2" | "T3" => {
                let call = self.call.as_ref().map(ThriftCall::reply);
                let call = call.ok_or_else(|| {
                    no_message(
                        "the trace replies, but no request was received before it".to_owned(),
                    )
                })?;
                contents.response().map(|body| (body, Call::Thrift(call)))
            }
            "T4" => contents
                .stored(Operation::CacheGet)
                .map(|(_, call)| (Vec::new(), call)),
            "T8" => contents.stored(write_operation(index, chains)),
            "T9" => {
                let called = self.calls;
                self.calls += 1;
                contents.nested(called)
            }
            _ => {
                let why = format!("no messages are built in for a chain that begins with {entry}");
                return Err(no_message(why));
            }
        };
        made.map_err(|error| no_message(error.to_string()))
    }
}

/// The operation of a write chain. DeathStarBench's Follow updates two documents in the database
/// and then the cache. The other seven services write to the database.
fn write_operation(chain: usize, chains: usize) -> Operation {
    match chains > 1 && chain + 1 == chains {
        true => Operation::CacheSet,
        false => Operation::DbInsert,
    }
}

/// The template of a trace, such as `T8` for `T8+Cmp`.
fn template(entry: &str) -> &str {
    entry.split('+').next().unwrap_or(entry)
}

fn is_reply(entry: &str) -> bool {
    matches!(template(entry), "T2" | "T3")
}

fn first_chain(service: &Service) -> Chain {
    let first = service.path().first().map(Phase::chains);
    let chain = first.and_then(|chains| chains.first());
    chain.cloned().unwrap_or_else(|| Chain::new("T1"))
}

fn client_error(service: &Service, error: AccelError) -> ServiceRunError {
    ServiceRunError::Client {
        service: service.name().to_owned(),
        error,
    }
}

/// The contents of one invocation's messages.
struct Contents {
    messages: ServiceMessages,
    document: Option<Document>,
    seed: u64,
    index: u64,
}

impl Contents {
    fn new(service: &Service, seed: u64, index: u64) -> Result<Contents, ServiceRunError> {
        let (name, method) = (service.name(), service.method());
        let by_name = SERVICES.iter().find(|known| known.name == name);
        let known = by_name.or_else(|| SERVICES.iter().find(|known| known.method == method));
        let messages = known.ok_or_else(|| ServiceRunError::NoMessages {
            name: name.to_owned(),
            method: method.to_owned(),
            known: SERVICES.map(|known| known.method).join(", "),
        })?;
        Ok(Contents {
            messages: *messages,
            document: messages::document(messages.name, seed, index),
            seed,
            index,
        })
    }

    fn request(&self) -> Result<Vec<u8>, AccelError> {
        let body = messages::request(self.messages.method, self.seed, self.index)?;
        Ok(body.to_string().into_bytes())
    }

    fn call(&self) -> Result<ThriftCall, AccelError> {
        thrift_call(self.messages.method, self.index)
    }

    fn response(&self) -> Result<Vec<u8>, AccelError> {
        let body = messages::response(self.messages.method, self.seed, self.index)?;
        Ok(body.to_string().into_bytes())
    }

    fn document_bytes(&self) -> Vec<u8> {
        let document = self.document.as_ref();
        document.map_or_else(Vec::new, |document| document.value.to_string().into_bytes())
    }

    fn stored(&self, operation: Operation) -> Result<(Vec<u8>, Call), AccelError> {
        let Some(document) = &self.document else {
            let why = "the trace reads or writes storage, but the service has no built-in data";
            return Err(AccelError::NoCall { step: "Ser", why });
        };
        let call = StorageCall::request(operation, document.collection, &document.key);
        Ok((self.document_bytes(), Call::Storage(call)))
    }

    /// The request of the nested call with this number.
    fn nested(&self, number: usize) -> Result<(Vec<u8>, Call), AccelError> {
        let Some(method) = self.messages.nested.get(number) else {
            let why = "the service has no built-in message for this call of another function";
            return Err(AccelError::NoCall { step: "Ser", why });
        };
        let body = messages::request(method, self.seed, self.index)?;
        let call = thrift_call(method, self.index)?;
        Ok((body.to_string().into_bytes(), Call::Thrift(call)))
    }
}

fn thrift_call(method: &str, index: u64) -> Result<ThriftCall, AccelError> {
    let schema = Schema::social_network();
    ThriftCall::request(
        &schema,
        method,
        Protocol::Binary,
        (index & 0x7fff_ffff) as i32,
    )
}
