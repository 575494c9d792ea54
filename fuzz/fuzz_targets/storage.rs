#![no_main]

use accelflow_fuzzing::targets::storage;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| storage::check(input));
