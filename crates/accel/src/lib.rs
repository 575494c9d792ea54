//! Software bodies of the nine accelerators of AccelFlow, working on real bytes.
//!
//! What travels between accelerators is a [`Job`]: a payload of bytes, as in the paper's queue
//! entries, with what the accelerators before have learned about it. An accelerator is an
//! [`Accelerator`]: it replaces the payload by its output, or returns an [`AccelError`] that names
//! place, value and what is allowed, and leaves the job as it was.
//!
//! | accelerator | module | receiving | sending |
//! |---|---|---|---|
//! | TCP | [`tcp`] | segments to message | message to segments |
//! | Encr, Decr | [`tls`] | TLS 1.3 records to plaintext | plaintext to records |
//! | RPC | [`rpc`], [`grpc`] | strips the header, finds the method | writes the header |
//! | Ser, Dser | [`Ser`], [`Dser`] | Thrift, protobuf, storage or HTTP message to JSON | and back |
//! | Cmp, Dcmp | [`compress`] | decompression | compression |
//! | LdB | [`balance`] | picks a core | |
//!
//! Between them, [`transform`] changes payloads between string, JSON and BSON. [`Ensemble`] has
//! one body of each. What the messages look like is in `docs/message-conventions.md`.

pub mod balance;
pub mod compress;
mod deserialize;
mod ensemble;
mod error;
pub mod grpc;
pub mod http;
mod job;
pub mod json;
mod limits;
pub mod messages;
pub mod protobuf;
mod record;
pub mod rpc;
mod serialize;
pub mod storage;
pub mod tcp;
pub mod thrift;
pub mod tls;
pub mod transform;
mod values;

pub use compress::Codec;
pub use deserialize::Dser;
pub use ensemble::{Ensemble, Settings};
pub use error::AccelError;
pub use job::{Accelerator, Call, Direction, FactName, Facts, Job, Packed, Session};
pub use limits::Limits;
pub use record::Record;
pub use serialize::Ser;
