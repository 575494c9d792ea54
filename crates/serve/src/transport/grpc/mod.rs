//! The parts of gRPC that servers and clients share: status codes, headers, metadata, messages and
//! traces.

pub(crate) mod code;
pub(crate) mod headers;
pub(crate) mod message;
pub(crate) mod metadata;
pub(crate) mod response;
pub(crate) mod traces;
