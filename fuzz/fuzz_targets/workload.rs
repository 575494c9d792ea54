#![no_main]

use accelflow_fuzzing::targets::workload;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| workload::check(input));
