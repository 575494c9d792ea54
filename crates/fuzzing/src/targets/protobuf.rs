//! Fuzz target of protocol-buffers messages: any bytes are converted to JSON as a message of a test
//! interface, or refused. The JSON stays the same when it is converted to a message and back. The
//! bytes can also come from a conversion of JSON to a message.

use std::sync::LazyLock;

use crate::parties::PROTO;
use accelflow_accel::Limits;
use accelflow_accel::protobuf::{Schema, message_from_json, message_to_json};
use serde_json::Value;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::parse(PROTO).expect("a constant"));

/// Converts a protocol-buffers message to JSON, back to a message, and to JSON again. Panics unless
/// the message is refused with an error message, or the JSON stays the same.
///
/// An even first byte means that the other bytes are a message, an odd one that they are the JSON
/// of a message.
pub fn check(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let kind = SCHEMA.message("shop.Item").expect("declared");
    let limits = Limits::default();
    let message = match first & 1 {
        0 => Ok(rest.to_vec()),
        _ => message_from_json(&kind, rest, &limits),
    };
    let json = message.and_then(|message| message_to_json(&kind, &message, &limits));
    let json = match json {
        Ok(json) => json,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let value: Value = serde_json::from_slice(&json).expect("what is written is JSON");
    let message = message_from_json(&kind, &json, &limits).expect("just written");
    let again = message_to_json(&kind, &message, &limits).expect("just written");
    // The entries of a map have no order.
    let again: Value = serde_json::from_slice(&again).expect("what is written is JSON");
    assert_eq!(again, value);
}
