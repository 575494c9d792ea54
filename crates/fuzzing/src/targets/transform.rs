//! Fuzz target of transformations of a payload's format. A payload is refused with an error
//! message, or transformed. The result stays the same when it is transformed to the first format
//! and back.

use accelflow_accel::Limits;
use accelflow_accel::transform::convert;
use accelflow_trace::{Format, Transform};
use serde::de::IgnoredAny;

/// Converts a payload from one format to another. Panics unless the payload is refused with an
/// error message, or the result is the same after conversion to the first format and back.
///
/// The input is (index of the source format, index of the target format, payload), with indices
/// modulo 3 into [`Format::ALL`].
pub fn check(input: (u8, u8, &[u8])) {
    let (src, dst, bytes) = input;
    let [src, dst] = [src, dst].map(|index| Format::ALL[usize::from(index) % 3]);
    let limits = Limits::default();
    let there = Transform { src, dst };
    let back = Transform { src: dst, dst: src };
    let first = match convert(bytes, there, &limits) {
        Ok(first) => first,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if dst != Format::Bson {
        // By the grammar alone: numbers may be beyond every type.
        serde_json::from_slice::<IgnoredAny>(&first).expect("JSON or its text");
    }
    let returned = convert(&first, back, &limits).expect("the first way was possible");
    let second = convert(&returned, there, &limits).expect("the first way was possible");
    assert_eq!(second, first);
}
