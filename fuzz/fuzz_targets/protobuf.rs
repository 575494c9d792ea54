#![no_main]

use accelflow_fuzzing::targets::protobuf;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| protobuf::check(input));
