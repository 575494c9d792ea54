//! Readers of files: each hands spans on, one by one.

pub(crate) mod jaeger;
pub(crate) mod json;
pub(crate) mod otlp_json;
pub(crate) mod otlp_protobuf;
pub(crate) mod source;
