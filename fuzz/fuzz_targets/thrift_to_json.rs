#![no_main]

use accelflow_fuzzing::targets::thrift_to_json;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, bool, bool, &[u8])| thrift_to_json::check(input));
