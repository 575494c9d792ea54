#![no_main]

use accelflow_fuzzing::targets::server_grpc;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| server_grpc::check(input));
