#![no_main]

use accelflow_fuzzing::targets::client_thrift;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| client_thrift::check(input));
