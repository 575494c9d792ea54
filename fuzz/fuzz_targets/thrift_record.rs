#![no_main]

use accelflow_fuzzing::targets::thrift_record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| thrift_record::check(input));
