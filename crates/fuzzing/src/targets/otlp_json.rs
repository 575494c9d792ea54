//! Any text that begins as JSON is spans of OTLP, or are refused by name. What is read becomes a workload of
//! services whose paths have a beginning and an end.

use crate::spans::check_import;
use accelflow_import::Kind;

/// Checks one input.
pub fn check(data: &[u8]) {
    check_import(Kind::Otlp, [b"{\"resourceSpans\":", data].concat());
}
