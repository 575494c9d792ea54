//! Panics on a thread of its own, as a server's connection might, and goes on: `scripts/fuzz` fails
//! unless that is noticed.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|_input: &[u8]| {
    let thread = std::thread::spawn(|| panic!("on purpose"));
    let _ = thread.join();
});
