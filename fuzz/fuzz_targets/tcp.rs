#![no_main]

use accelflow_fuzzing::targets::tcp::{self, Input};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: Input<'_>| tcp::check(input));
