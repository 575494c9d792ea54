#![no_main]

use accelflow_fuzzing::targets::http;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &[u8])| http::check(input));
