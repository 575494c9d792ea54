//! Readers of files of spans, which pass on spans one by one.

pub(crate) mod jaeger;
pub(crate) mod json;
pub(crate) mod otlp_json;
pub(crate) mod otlp_protobuf;
pub(crate) mod source;
