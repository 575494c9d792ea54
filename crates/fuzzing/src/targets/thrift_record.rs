//! Fuzz target of typed Thrift records, which are checked messages in wire form. A handler receives
//! any bytes as a record if and only if it receives them as JSON, and then with the same values.
//! Any JSON value is written to the same bytes in both ways, or refused in both.

use std::sync::{Arc, LazyLock};

use crate::parties::{delivered, thrift_schema};
use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json};
use accelflow_accel::{Call, Limits};
use serde_json::{Value, json};

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(thrift_schema);

/// Checks that Thrift messages are handled alike as typed records and as JSON. Panics if one way
/// succeeds and the other fails, or if values or bytes differ.
///
/// The first byte of `input` selects the check. With bit 0 clear, the other bytes are the arguments
/// of a call: they are read in both ways, and the argument `value` is written as the call's result
/// in both ways. With bit 0 set, the other bytes are a JSON value, which is written as the result
/// in both ways. Bit 1 selects the compact protocol.
pub fn check(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let protocol = match first & 2 {
        0 => Protocol::Binary,
        _ => Protocol::Compact,
    };
    let call = ThriftCall::request(&SCHEMA, "echo", protocol, 1).expect("declared");
    let (id, limits) = (call.function, Limits::default());
    let echo = SCHEMA.function(id).expect("declared");
    let read = |bytes: &[u8]| delivered(bytes, Call::Thrift(call.clone()), id);
    let value = match first & 1 {
        0 => {
            let Some((record, text)) = read(rest) else {
                return;
            };
            let json: Value = serde_json::from_slice(&text).expect("what is written is JSON");
            assert_eq!(record.read::<Value>(rest), Ok(json.clone()));
            json["value"].clone()
        }
        _ => match serde_json::from_slice(rest) {
            Ok(value) => value,
            Err(_) => return,
        },
    };
    let none = struct_from_json(&SCHEMA, echo.arguments, protocol, b"{}", &limits);
    let (request, _) = read(&none.expect("no field is required")).expect("just written");
    let mut bytes = Vec::new();
    let written = request.result(id, &value, &mut bytes);
    let text = json!({ "success": value }).to_string();
    match struct_from_json(&SCHEMA, echo.result, protocol, text.as_bytes(), &limits) {
        Ok(expected) => assert_eq!((written.err(), bytes), (None, expected), "{text}"),
        // The errors may differ: the parser of JSON finds some wrong types first.
        Err(error) => assert!(written.is_err(), "{text}: {error}"),
    }
}
