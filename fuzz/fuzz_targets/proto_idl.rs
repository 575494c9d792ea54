#![no_main]

use accelflow_fuzzing::targets::proto_idl;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| proto_idl::check(input));
