//! Any bytes after the beginning of OTLP's JSON are read as spans, or refused with their name. Spans become a
//! workload of services whose paths have a beginning and an end.

use crate::spans::check_import;
use accelflow_import::Kind;

/// Imports `data` as OTLP spans in JSON, after the prefix `{"resourceSpans":`. Panics unless it is
/// refused with a text, or becomes a workload of services whose paths begin and end with a trace.
pub fn check(data: &[u8]) {
    check_import(Kind::Otlp, [b"{\"resourceSpans\":", data].concat());
}
