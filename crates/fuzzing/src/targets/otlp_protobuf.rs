//! Any bytes are spans of OTLP as protocol buffers, or are refused by name. What is read becomes a workload of
//! services whose paths have a beginning and an end.

use crate::spans::check_import;
use accelflow_import::Kind;

/// Checks one input.
pub fn check(data: &[u8]) {
    check_import(Kind::Otlp, data.to_vec());
}
