#![no_main]

use accelflow_fuzzing::targets::thrift_idl;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| thrift_idl::check(input));
