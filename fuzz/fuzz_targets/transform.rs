#![no_main]

use accelflow_fuzzing::targets::transform;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, &[u8])| transform::check(input));
