//! Fuzz target of the decompressor: arbitrary or damaged bytes decompress within the size limits or
//! are refused. Intact compressed bytes give the original data, also after other bytes were
//! refused.

use accelflow_accel::compress::{Cmp, Dcmp};
use accelflow_accel::{Codec, Limits};

/// The input of [`check`], in this order: whether the format is Snappy (else zstd); data to
/// compress; changes of the compressed data, each as (position, new byte); arbitrary bytes to
/// decompress.
pub type Input<'a> = (bool, &'a [u8], Vec<(u16, u8)>, &'a [u8]);

/// Decompresses arbitrary bytes, damaged bytes and intact bytes. Panics unless intact bytes give
/// the original data, and all others give data within the size limits or an error with a message.
pub fn check(input: Input<'_>) {
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
}
