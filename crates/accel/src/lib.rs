//! Software bodies of the nine accelerators of AccelFlow, working on real bytes.
//!
//! A [`Job`] travels between accelerators: a payload of bytes, as in the paper's queue entries, and
//! the facts known about the payload. An [`Accelerator`] replaces the payload with its output, or
//! leaves the job unchanged and returns an [`AccelError`] with the position of the error, the value
//! found and the allowed values.
//!
//! | accelerator | module | receiving | sending |
//! |---|---|---|---|
//! | TCP | [`tcp`] | segments to message | message to segments |
//! | Encr, Decr | [`tls`] | TLS 1.3 records to plaintext | plaintext to records |
//! | RPC | [`rpc`], [`grpc`] | strips the header, finds the method | writes the header |
//! | Ser, Dser | [`Ser`], [`Dser`] | Thrift, protobuf, storage or HTTP message to JSON | JSON to message |
//! | Cmp, Dcmp | [`compress`] | decompression | compression |
//! | LdB | [`balance`] | picks a core | |
//!
//! Between two accelerators, [`transform`] changes payloads between string, JSON and BSON.
//! [`Ensemble`] has one body of each accelerator. `docs/message-conventions.md` describes the
//! messages.
//!
//! The files are in layers. Each layer imports only from those above it:
//!
//! | files | contents |
//! |---|---|
//! | `error`, `limits`, `budget`, `role`, `codec`, `json`, `values`, `envelope` | shared by all |
//! | `protocols/` | the wire formats of messages; no job, no accelerator |
//! | `call`, `record`, `session`, `facts`, `job`, `read`, `accelerator` | the message that travels, and the interface of a body |
//! | `transform`, `bodies/` | the transformations and the accelerators, one per file |
//! | `custom` | custom accelerators, whose bodies users supply |
//! | `ensemble` | all accelerators together |
//!
//! `messages` makes realistic messages for tests and demonstrations, from the shared files alone.

mod accelerator;
mod bodies;
mod budget;
mod call;
mod codec;
mod custom;
mod ensemble;
mod envelope;
mod error;
mod facts;
mod job;
pub mod json;
mod limits;
pub mod messages;
mod protocols;
mod read;
mod record;
mod role;
mod session;
pub mod transform;
mod values;

pub use accelerator::Accelerator;
pub use bodies::dser::Dser;
pub use bodies::ldb as balance;
pub use bodies::ser::Ser;
pub use call::Call;
pub use codec::Codec;
pub use custom::{CustomBody, Fact, Input, Output};
pub use ensemble::{Ensemble, Settings};
pub use error::AccelError;
pub use facts::{FactName, Facts};
pub use job::{Direction, Job, Packed};
pub use limits::Limits;
pub use protocols::{grpc, http, protobuf, storage, thrift};
pub use record::Record;
pub use role::Role;
pub use session::Session;

/// Compression with Zstandard, Snappy and gzip: the accelerators Cmp and Dcmp.
pub mod compress {
    pub use crate::bodies::cmp::{Cmp, DEFAULT_LEVEL};
    pub use crate::bodies::dcmp::Dcmp;
    pub use crate::codec::Codec;
}

/// The accelerator RPC, and the frames and headers of Thrift messages.
pub mod rpc {
    pub use crate::bodies::rpc::Rpc;
    pub use crate::protocols::thrift::{
        LOADSHEDDING, MessageHeader, MessageType, ThriftCall, read_header, read_message,
        write_message,
    };
}

/// The accelerator TCP, which converts messages to segments and back.
pub mod tcp {
    pub use crate::bodies::tcp::Tcp;
    pub use crate::protocols::tcp::{MSS, TcpSession, receive, send};
}

/// TLS 1.3 record protection: the accelerators Encr and Decr.
pub mod tls {
    pub use crate::bodies::tls::{Decr, Encr};
    pub use crate::protocols::tls::{
        CipherSuite, ContentType, MAX_PLAINTEXT, RecordKeys, TlsSession, open, open_first,
        open_first_in_place, record_length, seal, seal_as,
    };
}
