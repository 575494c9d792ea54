#![no_main]

use accelflow_fuzzing::targets::http_length;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| http_length::check(input));
