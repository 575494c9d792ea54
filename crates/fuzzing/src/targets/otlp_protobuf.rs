//! Fuzz target of the import of OTLP spans in protocol buffers: any bytes are read as spans or
//! refused. Spans become a workload of services whose paths begin and end with a trace.

use crate::spans::check_import;
use accelflow_import::Kind;

/// Imports `data` as OTLP spans in protocol buffers. Panics unless the data are refused with an
/// error message, or become a workload of services whose paths begin and end with a trace.
pub fn check(data: &[u8]) {
    check_import(Kind::Otlp, data.to_vec());
}
