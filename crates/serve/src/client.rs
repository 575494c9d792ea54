//! Calls to other Thrift services: T9, and T10 when the response is there.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use accelflow_accel::rpc::{MessageType, ThriftCall};
use accelflow_accel::thrift::Protocol;
use accelflow_accel::{AccelError, Call, Ensemble, Limits, Session, Settings};
use accelflow_runtime::{Conversation, Executor, Failure, Message, Peer, PeerError};
use serde_json::{Map, Value};
use zeroize::Zeroize;

use crate::error::{Close, ServeError};
use crate::inbound::{Inbound, frame_length};
use crate::tls::{is_timeout, write_all};
use crate::traces::{CALL, NextCore, PLAIN, ensemble, image};

/// Why a call has no value.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// An exception that the interface declares.
    #[error("exception '{field}': {body}")]
    Declared {
        /// The name of its field in `throws`.
        field: String,
        /// The JSON object of its members.
        body: String,
    },
    /// A `TApplicationException` of the other side.
    #[error("the service answers: {message} (type {kind})")]
    Application {
        /// Its type, by Apache Thrift's numbers.
        kind: i64,
        /// Its text.
        message: String,
    },
    /// The interface has no such function.
    #[error(transparent)]
    Unknown(#[from] AccelError),
    /// There is no connection.
    #[error("cannot connect to {address}: {error}")]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// The trace could not be carried to its end: arguments that do not fit, no response in time,
    /// a response that cannot be read.
    #[error(transparent)]
    Trace(#[from] Box<Failure>),
    /// A response to something else.
    #[error("call {expected} was answered by a response to {found}")]
    OutOfStep {
        /// Method and sequence number of the call.
        expected: String,
        /// Those of the response.
        found: String,
    },
}

/// A client of one Thrift service, over plain TCP. It has one connection, which it opens when it
/// is first needed and anew after any failure on it.
///
/// A call is sent once: whether one that failed was executed, only the service knows.
pub struct Client {
    executor: Executor<Ensemble>,
    settings: Settings,
    protocol: Protocol,
    sequence: i32,
    socket: Socket,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("address", &self.socket.address)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the service at `address`; each call has `timeout` from connection to response.
    ///
    /// # Errors
    /// None in practice but for settings that do not exist.
    pub fn new(
        address: SocketAddr,
        settings: Settings,
        protocol: Protocol,
        timeout: Duration,
    ) -> Result<Client, ServeError> {
        let bodies = ensemble(&settings, 1, &NextCore::default())?;
        Ok(Client {
            executor: Executor::new(image()?, bodies),
            socket: Socket {
                address,
                limits: settings.limits,
                timeout,
                deadline: Instant::now(),
                stream: None,
            },
            settings,
            protocol,
            sequence: 0,
        })
    }

    /// Calls `method` (or `service:method`) with the JSON object of its arguments and returns the
    /// JSON of its value; nothing for a void or oneway function.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn call(&mut self, method: &str, arguments: &[u8]) -> Result<Vec<u8>, CallError> {
        self.sequence = self.sequence.wrapping_add(1);
        let schema = &self.settings.schema;
        let call = ThriftCall::request(schema, method, self.protocol, self.sequence)?;
        self.socket.deadline = Instant::now() + self.socket.timeout;
        self.socket.open()?;
        let done = match call.message_type {
            MessageType::Oneway => self.send(&call, arguments).map(|()| Vec::new()),
            _ => self.exchange(&call, arguments),
        };
        if !matches!(
            done,
            Ok(_) | Err(CallError::Declared { .. } | CallError::Application { .. })
        ) {
            self.socket.stream = None;
        }
        done
    }

    fn send(&mut self, call: &ThriftCall, arguments: &[u8]) -> Result<(), CallError> {
        let message = Message::json(arguments, Call::Thrift(call.clone()));
        let mut conversation = Conversation::default();
        let run = self
            .executor
            .run(PLAIN.send, &message, &mut conversation, &mut self.socket);
        for sent in run?.sent {
            self.socket
                .write(&sent.bytes)
                .map_err(|close| self.socket.lost(close))?;
        }
        Ok(())
    }

    fn exchange(&mut self, call: &ThriftCall, arguments: &[u8]) -> Result<Vec<u8>, CallError> {
        let message = Message::json(arguments, Call::Thrift(call.clone()));
        let mut conversation = Conversation::default();
        let outcome = self
            .executor
            .run(CALL, &message, &mut conversation, &mut self.socket)?;
        let named = |call: &ThriftCall| format!("{} {}", call.method, call.sequence);
        let expected = named(call);
        let out_of_step = |found: String| CallError::OutOfStep {
            expected: expected.clone(),
            found,
        };
        let Some(mut job) = outcome.arrivals.into_iter().next().map(|it| it.job) else {
            return Err(out_of_step("nothing".to_owned()));
        };
        let kind = match &job.call {
            Call::Thrift(reply) if named(reply) == expected => reply.message_type,
            Call::Thrift(reply) => return Err(out_of_step(named(reply))),
            _ => return Err(out_of_step("something else".to_owned())),
        };
        let result: Map<String, Value> =
            serde_json::from_slice(&job.bytes).map_err(|error| AccelError::BadJson {
                line: error.line(),
                column: error.column(),
                why: error.to_string(),
            })?;
        job.bytes.zeroize();
        if kind == MessageType::Exception {
            let text = result.get("message").and_then(Value::as_str);
            return Err(CallError::Application {
                kind: result.get("type").and_then(Value::as_i64).unwrap_or(0),
                message: text.unwrap_or_default().to_owned(),
            });
        }
        match result.into_iter().next() {
            None => Ok(Vec::new()),
            Some((field, value)) if field == "success" => Ok(value.to_string().into_bytes()),
            Some((field, value)) => Err(CallError::Declared {
                field,
                body: value.to_string(),
            }),
        }
    }
}

/// The connection of a client, as traces see it.
struct Socket {
    address: SocketAddr,
    limits: Limits,
    timeout: Duration,
    /// That of the call that is made.
    deadline: Instant,
    stream: Option<TcpStream>,
}

impl Socket {
    fn left(&self) -> Duration {
        self.deadline
            .saturating_duration_since(Instant::now())
            // Zero would mean for ever.
            .max(Duration::from_millis(1))
    }

    fn open(&mut self) -> Result<(), CallError> {
        if self.stream.is_some() {
            return Ok(());
        }
        let address = self.address;
        let connected = TcpStream::connect_timeout(&address, self.left()).and_then(|stream| {
            stream.set_nodelay(true)?;
            Ok(stream)
        });
        let stream = connected.map_err(|error| CallError::Connect { address, error })?;
        self.stream = Some(stream);
        Ok(())
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Close> {
        let stream = self.stream.as_ref().ok_or(Close::Done)?;
        let left = Some(self.left());
        stream.set_write_timeout(left).map_err(Close::Io)?;
        write_all(stream, bytes, self.deadline, "request")
    }

    /// Reads one frame.
    fn read(&self) -> Result<Vec<u8>, Close> {
        let stream = self.stream.as_ref().ok_or(Close::Done)?;
        let mut inbound = Inbound::new();
        loop {
            let bytes = inbound.bytes();
            if let Some(length) = frame_length(bytes, &self.limits)?
                && length <= bytes.len()
            {
                // A surplus would be an answer that nobody has asked for: RPC refuses it.
                return Ok(bytes.to_vec());
            }
            if Instant::now() >= self.deadline {
                return Err(Close::Slow("response"));
            }
            let left = Some(self.left());
            stream.set_read_timeout(left).map_err(Close::Io)?;
            match inbound.fill(&mut { stream }) {
                Ok(0) => return Err(Close::Cut),
                Ok(_) => {}
                Err(error) if is_timeout(&error) => return Err(Close::Slow("response")),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Close::Io(error)),
            }
        }
    }

    fn lost(&self, close: Close) -> CallError {
        let error = match close {
            Close::Io(error) => error,
            other => io::Error::other(other.to_string()),
        };
        let address = self.address;
        CallError::Connect { address, error }
    }
}

impl Peer for Socket {
    fn lend(&mut self, _: &Call) -> Result<Session, PeerError> {
        Ok(Session::default())
    }

    fn take_back(&mut self, _: &Call, _: Option<Session>) {}

    fn exchange(&mut self, _: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        let answered = self.write(packets).and_then(|()| self.read());
        let party = self.address.to_string();
        answered.map_err(|close| match close {
            Close::Slow(_) => PeerError::Timeout(party),
            Close::Malformed(error) => PeerError::Refused { party, error },
            other => PeerError::NoPeer(format!("{party}: {other}")),
        })
    }
}
