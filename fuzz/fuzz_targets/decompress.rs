//! Any bytes decompress within the limits or are refused, by a body that has just refused others; what
//! was compressed, whole or damaged, likewise.

#![no_main]

use accelflow_accel::compress::{Cmp, Dcmp};
use accelflow_accel::{Codec, Limits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &[u8], Vec<(u16, u8)>, &[u8])| {
    let (snappy, data, changes, raw) = input;
    let codec = if snappy { Codec::Snappy } else { Codec::Zstd };
    let limits = Limits::default();
    let mut dcmp = Dcmp::new(limits);
    let mut try_on = |bytes: &[u8]| match dcmp.decompress(codec, bytes) {
        Ok(out) => assert!(out.len() <= limits.decompressed_limit(bytes.len())),
        Err(error) => assert!(!error.to_string().is_empty()),
    };
    try_on(raw);
    let mut cmp = Cmp::new(codec, 1, limits).expect("a level that exists");
    let whole = cmp.compress(data).expect("small enough");
    let mut damaged = whole.clone();
    for (place, value) in changes {
        let place = usize::from(place) % damaged.len();
        damaged[place] = value;
    }
    try_on(&damaged);
    assert_eq!(dcmp.decompress(codec, &whole).as_deref(), Ok(data));
});
