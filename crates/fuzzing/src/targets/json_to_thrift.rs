//! Fuzz target of the conversion from JSON to Thrift: any text is written as a struct of the
//! interface or refused. The written struct can be read, and is then written to the same bytes.

use crate::parties::social_network_struct;
use accelflow_accel::Limits;
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json, struct_to_json};

/// Writes JSON as a Thrift struct of SocialNetwork's interface. Panics unless the JSON is refused
/// with an error message, or the struct can be read and written back to the same bytes.
///
/// The input is (index of a function; whether the struct holds the function's result instead of its
/// arguments; whether the protocol is compact instead of binary; JSON text). An index beyond the
/// last function wraps around.
pub fn check(input: (u8, bool, bool, &[u8])) {
    let (function, reply, compact, json) = input;
    let schema = Schema::social_network();
    let id = social_network_struct(&schema, function, reply);
    let protocol = if compact {
        Protocol::Compact
    } else {
        Protocol::Binary
    };
    let limits = Limits::default();
    match struct_from_json(&schema, id, protocol, json, &limits) {
        Ok(wire) => {
            let text = struct_to_json(&schema, id, protocol, &wire, &limits).expect("just written");
            let again = struct_from_json(&schema, id, protocol, &text, &limits);
            assert_eq!(again.as_ref(), Ok(&wire));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
