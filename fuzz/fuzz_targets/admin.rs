#![no_main]

use accelflow_fuzzing::targets::admin;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| admin::check(input));
