#![no_main]

use accelflow_fuzzing::targets::jaeger;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| jaeger::check(input));
