#![no_main]

use accelflow_fuzzing::targets::condition;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, [i64; 4])| condition::check(input));
