//! Fuzz target of the conversion from Thrift to JSON: any bytes are read as a struct of the
//! interface or refused. The JSON of a struct that is read gives the same struct in either
//! protocol.

use crate::parties::social_network_struct;
use accelflow_accel::Limits;
use accelflow_accel::thrift::{Protocol, Schema, StructId, struct_from_json, struct_to_json};
use serde_json::Value;

const PROTOCOLS: [Protocol; 2] = [Protocol::Binary, Protocol::Compact];

/// Converts a Thrift struct of SocialNetwork's interface to JSON. Panics unless the struct is
/// refused with an error message, or its JSON gives the same struct in the binary and the compact
/// protocol. Bytes that contain a compressed body instead of the struct's fields become the JSON
/// `{}`, which may be refused as a struct with missing fields.
///
/// The input is (index of a function; whether the struct holds the function's result instead of its
/// arguments; whether the protocol is compact instead of binary; bytes of the struct). An index
/// beyond the last function wraps around.
pub fn check(input: (u8, bool, bool, &[u8])) {
    let (function, reply, compact, bytes) = input;
    let schema = Schema::social_network();
    let id = social_network_struct(&schema, function, reply);
    let limits = Limits::default();
    let protocol = PROTOCOLS[usize::from(compact)];
    match struct_to_json(&schema, id, protocol, bytes, &limits) {
        Ok(json) => round_trip(&schema, id, &json, &limits),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn round_trip(schema: &Schema, id: StructId, json: &[u8], limits: &Limits) {
    let value: Value = serde_json::from_slice(json).expect("what is written is JSON");
    for protocol in PROTOCOLS {
        let wire = match struct_from_json(schema, id, protocol, json, limits) {
            Ok(wire) => wire,
            // A compressed body has no fields, and its JSON is made by Dser.
            Err(error) => {
                assert_eq!(error.reason(), "missing_field", "{error}");
                assert_eq!(json, b"{}");
                continue;
            }
        };
        let again = struct_to_json(schema, id, protocol, &wire, limits).expect("just written");
        let again: Value = serde_json::from_slice(&again).expect("what is written is JSON");
        assert_eq!(again, value);
    }
}
