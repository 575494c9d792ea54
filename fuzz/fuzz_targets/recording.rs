#![no_main]

use accelflow_fuzzing::targets::recording;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| recording::check(input));
