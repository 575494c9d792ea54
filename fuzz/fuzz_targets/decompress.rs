#![no_main]

use accelflow_fuzzing::targets::decompress::{self, Input};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: Input<'_>| decompress::check(input));
