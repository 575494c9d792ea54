#![no_main]

use accelflow_fuzzing::targets::grpc_message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| grpc_message::check(input));
