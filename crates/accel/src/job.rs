//! Jobs: messages that move from accelerator to accelerator.

use std::borrow::Cow;

use accelflow_trace::Format;

use crate::call::Call;
use crate::codec::Codec;
use crate::envelope;
use crate::error::AccelError;
use crate::facts::Facts;
use crate::protocols::thrift::FunctionId;
use crate::record::Record;
use crate::session::Session;

/// A message on its way through a trace (a program of accelerator calls). It corresponds to the
/// queue entry in Figure 8 of AccelFlow (HPCA 2026).
#[derive(Debug)]
pub struct Job {
    /// The current payload: the result of the latest operation or transformation, or the bytes that
    /// have just arrived.
    pub bytes: Vec<u8>,
    /// The format of the payload if it is application data; `Str` for protocol data.
    pub format: Format,
    /// Whether the message is being received or sent.
    ///
    /// The code that starts a trace sets the direction. A trace that begins with TCP receives the
    /// message; any other trace sends. Ser sets the direction to `Send`, since its output leaves
    /// the server.
    pub direction: Direction,
    /// The facts of the message: values that branches of the trace test.
    pub facts: Facts,
    /// The kind of the message (Thrift, gRPC, storage or HTTP) and its header.
    pub call: Call,
    /// The Thrift function whose call the message answers; `None` if the message is not an answer,
    /// or not a Thrift message. RPC needs this function if several services have a function of the
    /// same name, since headers of answers do not name the service.
    pub answers: Option<FunctionId>,
    /// The compression of the payload, or of the data in its envelope; `None` if neither is
    /// compressed.
    pub packed: Option<Packed>,
    /// The format of the data in the envelope; `None` if the payload is not an envelope. An
    /// envelope is a JSON object whose member `data` has the actual payload in base64
    /// (`docs/message-conventions.md`). Transformations, Cmp, Dcmp and Ser take the data out.
    pub envelope: Option<Format>,
    /// The message type of the payload if the payload is a [`Record`] instead of JSON text; else
    /// `None`. [`Job::format`] is JSON in both cases. Transformations and Cmp convert the record to
    /// JSON text. Ser sends the record unchanged if it is the body of the message, and otherwise
    /// converts it.
    pub record: Option<Record>,
    /// The state of the connection that the message belongs to.
    pub session: Session,
    /// The key for load balancing, chosen by the code that creates the job: for example the number
    /// of a user, a connection or a function. LdB may keep messages with equal keys on the same
    /// core.
    pub affinity: u64,
    /// The index of the core that LdB has chosen; `None` before LdB.
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
            answers: None,
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
    /// Creates a job for `bytes` that were received over the connection of `session`.
    pub fn receive(bytes: Vec<u8>, session: Session) -> Job {
        Job {
            bytes,
            session,
            direction: Direction::Receive,
            ..Job::default()
        }
    }

    /// Creates a job for application data that are to be sent as a message of kind `call`.
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

    /// Returns the job's application data, then their format. The data are the payload, with two
    /// exceptions: for a record (a message in its wire form), its JSON text; for a JSON envelope,
    /// the data decoded from its member `data`. Compressed data stay compressed; [`Job::packed`]
    /// has the codec.
    ///
    /// # Errors
    /// `bad_json`, `bad_base64` for a malformed envelope; the errors of [`Record::to_json`].
    pub fn data(&self) -> Result<(Cow<'_, [u8]>, Format), AccelError> {
        if let Some(record) = &self.record {
            return Ok((Cow::Owned(record.to_json(&self.bytes)?), self.format));
        }
        match self.envelope {
            Some(inner) => Ok((Cow::Owned(envelope::read(&self.bytes)?), inner)),
            None => Ok((Cow::Borrowed(&self.bytes), self.format)),
        }
    }

    /// Inserts `header` before the payload, in place if the buffer has room.
    pub(crate) fn put_before(&mut self, header: &[u8]) {
        if self.bytes.capacity() - self.bytes.len() >= header.len() {
            self.bytes.splice(..0, header.iter().copied());
        } else {
            self.bytes = [header, &self.bytes].concat();
        }
    }

    /// Joins the parallel arms of a trace: appends the payloads of `others`, in order, to that of
    /// this job, which is the first arm. Marks the result as uncompressed, and as neither an
    /// envelope nor a record. All other fields stay unchanged.
    ///
    /// # Errors
    /// `wrong_format` unless all payloads are protocol data, since application data cannot be
    /// concatenated. The job is then unchanged.
    pub fn join(&mut self, others: &[Job]) -> Result<(), AccelError> {
        let mut arms = std::iter::once(&*self).chain(others);
        if let Some(arm) = arms.find(|arm| arm.format != Format::Str) {
            return Err(AccelError::WrongFormat {
                step: "join",
                found: arm.format,
                expected: "protocol data (str)",
                hint: "; serialize the payload in its arm of the join",
            });
        }
        for other in others {
            self.bytes.extend_from_slice(&other.bytes);
        }
        (self.packed, self.envelope, self.record) = (None, None, None);
        Ok(())
    }

    /// Creates a second job with the same data, for a parallel arm of a trace.
    ///
    /// The caller provides the second job's `session` (connection state), since two copies of the
    /// same TLS keys would encrypt different records with the same nonce.
    pub fn fork(&self, session: Session) -> Job {
        Job {
            bytes: self.bytes.clone(),
            format: self.format,
            direction: self.direction,
            facts: self.facts.clone(),
            call: self.call.clone(),
            answers: self.answers,
            packed: self.packed,
            envelope: self.envelope,
            record: self.record.clone(),
            session,
            affinity: self.affinity,
            core: self.core,
        }
    }
}

/// Whether a message is received or sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The message is received: it moves from the wire to the application.
    #[default]
    Receive,
    /// The message is sent: it moves from the application to the wire.
    Send,
}

/// The compression of a payload: its codec, and the format of the data inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The codec that compresses the payload.
    pub codec: Codec,
    /// The format of the data after decompression: JSON, BSON, or `Str` for data that are neither,
    /// such as a serialized gRPC message.
    pub format: Format,
}
