#![no_main]

use accelflow_fuzzing::targets::tls_record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &[u8], u16, u8, &[u8])| tls_record::check(input));
