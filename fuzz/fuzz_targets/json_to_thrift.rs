#![no_main]

use accelflow_fuzzing::targets::json_to_thrift;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, bool, bool, &[u8])| json_to_thrift::check(input));
