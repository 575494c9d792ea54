#![no_main]

use accelflow_fuzzing::targets::trace_file;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|input: &[u8]| trace_file::check(input));

fuzz_mutator!(
    |data: &mut [u8], size: usize, max_size: usize, _seed: u32| {
        let size = fuzzer_mutate(data, size, max_size);
        trace_file::repair(&mut data[..max_size], size)
    }
);
