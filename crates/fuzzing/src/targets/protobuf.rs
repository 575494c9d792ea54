//! Fuzz target of protocol-buffers messages: any bytes are read as a message of the interface or
//! refused. The JSON of a message that is read gives the same message. The same holds for any JSON
//! that is a message.

use std::sync::LazyLock;

use crate::parties::PROTO;
use accelflow_accel::Limits;
use accelflow_accel::protobuf::{Schema, message_from_json, message_to_json};
use serde_json::Value;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::parse(PROTO).expect("a constant"));

/// Converts a protocol-buffers message to JSON and back. Panics unless the message is refused with
/// a text, or the JSON stays the same.
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
