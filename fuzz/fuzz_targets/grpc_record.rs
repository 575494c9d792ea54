#![no_main]

use accelflow_fuzzing::targets::grpc_record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| grpc_record::check(input));
