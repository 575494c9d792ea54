//! Any bytes are spans of Jaeger, or are refused by name. What is read becomes a workload of
//! services whose paths have a beginning and an end.

#![no_main]

use accelflow_fuzz::check_import;
use accelflow_import::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| check_import(Kind::Jaeger, data.to_vec()));
