#![no_main]

use accelflow_fuzzing::targets::rpc_header;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &[u8])| rpc_header::check(input));
