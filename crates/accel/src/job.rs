//! What travels from accelerator to accelerator, and the contract of an accelerator.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use accelflow_trace::{Accel, Format};

use crate::compress::Codec;
use crate::error::AccelError;
use crate::grpc::GrpcCall;
use crate::http::HttpCall;
use crate::record::Record;
use crate::rpc::ThriftCall;
use crate::storage::StorageCall;
use crate::tcp::TcpSession;
use crate::tls::TlsSession;

/// One accelerator: a function on the job's bytes.
///
/// Contract:
/// - `run` reads `job.bytes` and the parts of the job its module documents, and replaces
///   `job.bytes` by its output; LdB leaves the bytes alone and sets `job.core`.
/// - On an error the job is unchanged, so that a core can take the same input over
///   (`cpu_fallback` in the paper's Listing 2): outputs are built aside and swapped in last.
/// - No input makes it panic or allocate beyond its [`Limits`](crate::Limits).
/// - The result depends on the job and the accelerator's settings alone. Instances keep scratch
///   memory between jobs but nothing that a later job can see; only LdB has state (its policy).
pub trait Accelerator: Send {
    /// Which of the nine it is.
    fn kind(&self) -> Accel;

    /// Processes one job.
    fn run(&mut self, job: &mut Job) -> Result<(), AccelError>;
}

/// One message on its way through a trace: the queue entry of the paper's Figure 8, in software.
#[derive(Debug)]
pub struct Job {
    /// The current payload.
    pub bytes: Vec<u8>,
    /// The format of the payload, where it is application data; `Str` for protocol data.
    pub format: Format,
    /// Whether the message is being received or sent.
    ///
    /// The caller sets it at the start of a trace: a TCP that comes first receives, any other
    /// sends. Ser sets it to `Send`, since what it makes leaves the server.
    pub direction: Direction,
    /// What branch conditions read.
    pub facts: Facts,
    /// What kind of message this is.
    pub call: Call,
    /// Set while the payload is compressed, or holds compressed data.
    pub packed: Option<Packed>,
    /// Set while the payload is a JSON envelope whose member `data` holds the payload proper in
    /// base64 (`docs/message-conventions.md`): the format of that data. JSON to string takes the
    /// data out; so do Cmp, Dcmp and Ser.
    pub envelope: Option<Format>,
    /// Set while the payload, of format JSON, is a record in the place of the text that the record
    /// means ([`Record`]). Transformations and Cmp take the text; RPC, Ser and LdB need none.
    pub record: Option<Record>,
    /// The connection's state.
    pub session: Session,
    /// The key that an affinity balancer hashes; the caller's choice (a user, a connection).
    pub affinity: u64,
    /// The core that LdB chose.
    pub core: Option<usize>,
}

impl Default for Job {
    fn default() -> Job {
        Job {
            bytes: Vec::new(),
            format: Format::Str,
            direction: Direction::Receive,
            facts: Facts::default(),
            call: Call::None,
            packed: None,
            envelope: None,
            record: None,
            session: Session::default(),
            affinity: 0,
            core: None,
        }
    }
}

impl Job {
    /// A job that receives `bytes` from a connection.
    pub fn receive(bytes: Vec<u8>, session: Session) -> Job {
        Job {
            bytes,
            session,
            direction: Direction::Receive,
            ..Job::default()
        }
    }

    /// A job that sends application data as a message of kind `call`.
    pub fn send(bytes: Vec<u8>, format: Format, call: Call, session: Session) -> Job {
        Job {
            bytes,
            format,
            session,
            call,
            direction: Direction::Send,
            ..Job::default()
        }
    }

    /// The application data and their format: what an envelope holds, else the payload as it is.
    /// Data that are compressed stay so; `packed` then says how.
    ///
    /// # Errors
    /// `bad_json`, `bad_base64` for an envelope that is none; those of [`Record::to_json`].
    pub fn data(&self) -> Result<(Cow<'_, [u8]>, Format), AccelError> {
        crate::transform::payload(self)
    }

    /// Puts `header` before the payload, where that lies if there is room.
    pub(crate) fn put_before(&mut self, header: &[u8]) {
        if self.bytes.capacity() - self.bytes.len() >= header.len() {
            self.bytes.splice(..0, header.iter().copied());
        } else {
            self.bytes = [header, &self.bytes].concat();
        }
    }

    /// Adds what the other arms of a join have brought, in their order: the payloads are written
    /// one behind the other, and nothing is known of their inside any more. All else stays what it
    /// is in this job, the first arm's.
    ///
    /// # Errors
    /// `wrong_format` unless all payloads are protocol data: texts or documents that stand one
    /// behind the other are neither. The job is then unchanged.
    pub fn join(&mut self, others: &[Job]) -> Result<(), AccelError> {
        let mut arms = std::iter::once(&*self).chain(others);
        if let Some(arm) = arms.find(|arm| arm.format != Format::Str) {
            return Err(AccelError::WrongFormat {
                step: "join",
                found: arm.format,
                expected: "protocol data (str)",
                hint: "; serialize it in its arm",
            });
        }
        for other in others {
            self.bytes.extend_from_slice(&other.bytes);
        }
        (self.packed, self.envelope, self.record) = (None, None, None);
        Ok(())
    }

    /// A second job with the same data, for a parallel arm of a trace.
    ///
    /// The session is not copied but given by the caller: two holders of one set of write keys
    /// would use a nonce twice.
    pub fn fork(&self, session: Session) -> Job {
        Job {
            bytes: self.bytes.clone(),
            format: self.format,
            direction: self.direction,
            facts: self.facts.clone(),
            call: self.call.clone(),
            packed: self.packed,
            envelope: self.envelope,
            record: self.record.clone(),
            session,
            affinity: self.affinity,
            core: self.core,
        }
    }
}

/// Whether a trace's TCP step receives or sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the wire to the application.
    #[default]
    Receive,
    /// From the application to the wire.
    Send,
}

/// What is compressed in a payload, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The compression method.
    pub codec: Codec,
    /// The format of the data once decompressed.
    pub format: Format,
}

/// What kind of message a payload is; tells RPC, Ser and Dser what to read and write.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Call {
    /// Not known yet: RPC finds out from the message header.
    #[default]
    None,
    /// A Thrift RPC message.
    Thrift(ThriftCall),
    /// A gRPC message.
    Grpc(GrpcCall),
    /// A message to or from the database cache or the database.
    Storage(StorageCall),
    /// An HTTP/1.1 message.
    Http(HttpCall),
}

/// The state of the connection a message belongs to.
///
/// Deliberately not `Clone`: see [`Job::fork`].
#[derive(Debug, Default)]
pub struct Session {
    /// Addresses, ports and sequence numbers.
    pub tcp: Option<TcpSession>,
    /// Record keys and record sequence numbers.
    pub tls: Option<TlsSession>,
}

/// The name of a fact: a constant of this crate, or a field name shared with the schema.
#[derive(Clone)]
pub enum FactName {
    /// A name known at compile time.
    Static(&'static str),
    /// A name from a schema or a caller.
    Shared(Arc<str>),
}

impl FactName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        match self {
            FactName::Static(name) => name,
            FactName::Shared(name) => name,
        }
    }
}

impl Borrow<str> for FactName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for FactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq for FactName {
    fn eq(&self, other: &FactName) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for FactName {}

impl From<&'static str> for FactName {
    fn from(name: &'static str) -> FactName {
        FactName::Static(name)
    }
}

impl From<Arc<str>> for FactName {
    fn from(name: Arc<str>) -> FactName {
        FactName::Shared(name)
    }
}

/// Named numbers that branch conditions read, ordered by name, and a few named texts.
///
/// Dser sets the integer, enum and boolean fields at the top level of the message, and then the
/// conditions of the twelve traces, which win over fields of the same name: `compressed`,
/// `exception` (RPC); `hit`, `found`, `compressed`, `c_compressed`, `exception` (storage);
/// `compressed`, `status` (HTTP). RPC sets `message_type`, `seqid` and the texts `service` and
/// `method`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    numbers: Vec<(FactName, i64)>,
    texts: Vec<(&'static str, Arc<str>)>,
}

impl Facts {
    /// Sets a number, replacing one of the same name.
    pub fn set(&mut self, name: impl Into<FactName>, value: i64) {
        let name = name.into();
        match self
            .numbers
            .binary_search_by(|(known, _)| known.as_str().cmp(name.as_str()))
        {
            Ok(place) => self.numbers[place].1 = value,
            Err(place) => self.numbers.insert(place, (name, value)),
        }
    }

    /// The number called `name`.
    pub fn get(&self, name: &str) -> Option<i64> {
        let place = self
            .numbers
            .binary_search_by(|(known, _)| known.as_str().cmp(name))
            .ok()?;
        Some(self.numbers[place].1)
    }

    /// All numbers in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.numbers
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
    }

    /// Sets a text, replacing one of the same name.
    pub fn set_text(&mut self, name: &'static str, value: Arc<str>) {
        match self.texts.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(place) => self.texts[place].1 = value,
            Err(place) => self.texts.insert(place, (name, value)),
        }
    }

    /// The text called `name`.
    pub fn text(&self, name: &str) -> Option<&str> {
        let place = self
            .texts
            .binary_search_by(|(known, _)| (*known).cmp(name))
            .ok()?;
        Some(&self.texts[place].1)
    }

    /// All texts in order of their names.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.texts
            .iter()
            .map(|(name, value)| (*name, value.as_ref()))
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.texts.clear();
    }
}
