#![no_main]

use accelflow_fuzzing::targets::otlp_json;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| otlp_json::check(input));
