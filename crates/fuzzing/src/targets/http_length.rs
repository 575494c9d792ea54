//! Fuzz target of the function that determines the length of an HTTP response. For any bytes, the
//! function finds a length, states that it needs more bytes, or returns an error. Further bytes do
//! not change a length that was found, and exactly that many bytes are a response.

use accelflow_accel::http::{HttpCall, response_length};
use accelflow_accel::thrift::Schema;
use accelflow_accel::{Accelerator, Call, Dser, Job, Limits};

/// Determines the length of the HTTP response in `input`. Panics unless this fails with an error
/// message, needs more bytes, or finds a length that covers exactly one response and is the same
/// after more bytes arrive.
///
/// The bits of the first byte state whether the request was a HEAD, whether the connection has
/// ended, and what share of the other bytes arrives first.
pub fn check(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else {
        return;
    };
    let (to_head, ended) = (first & 1 == 1, first & 2 == 2);
    let limits = Limits {
        max_message_bytes: 64 * 1024,
        ..Limits::default()
    };
    let length = match response_length(bytes, to_head, ended, &limits) {
        Ok(length) => length,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    // A length found from the first bytes is that of the whole.
    let cut = bytes.len() * usize::from(first >> 2) / 64;
    if let Ok(Some(early)) = response_length(&bytes[..cut], to_head, false, &limits) {
        assert_eq!(length, Some(early));
    }
    let Some(length) = length.filter(|length| *length <= bytes.len()) else {
        return;
    };
    let method = if to_head { "HEAD" } else { "GET" };
    let call = HttpCall {
        close: ended,
        ..HttpCall::request(method, "localhost", "/").response(200)
    };
    let mut job = Job {
        bytes: bytes[..length].to_vec(),
        call: Call::Http(call),
        ..Job::default()
    };
    let mut dser = Dser::new(Schema::social_network(), limits);
    dser.run(&mut job).expect("its length was found");
    assert!(job.bytes.len() <= length);
}
