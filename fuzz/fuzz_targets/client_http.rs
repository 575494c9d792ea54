#![no_main]

use accelflow_fuzzing::targets::client_http;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| client_http::check(input));
