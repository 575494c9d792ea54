//! Fuzz target of the parser of Thrift interfaces: any text is read as an interface, or refused
//! with a position inside the text. Each function of an interface is found by its name. A
//! function's arguments and result in which no field is set are the same after writing and reading,
//! unless a required field is missing.

use accelflow_accel::Limits;
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json, struct_to_json};

/// Parses `text` as a Thrift interface. Panics unless the text is refused with a line and column
/// inside the text, or each function's arguments and result, with no field set, are the same after
/// writing and reading.
pub fn check(text: &str) {
    let schema = match Schema::parse(text) {
        Ok(schema) => schema,
        Err(error) => {
            assert!((1..=text.matches('\n').count() + 1).contains(&error.line));
            assert!((1..=text.chars().count() + 1).contains(&error.column));
            return assert!(!error.why.is_empty());
        }
    };
    let limits = Limits::default();
    for function in schema.functions() {
        let found = schema.find_in(&function.service, &function.name);
        let id = found.expect("a service has the functions that it declares");
        assert!(schema.function(id).is_some());
        for id in [function.arguments, function.result] {
            for protocol in [Protocol::Binary, Protocol::Compact] {
                if let Ok(wire) = struct_from_json(&schema, id, protocol, b"{}", &limits) {
                    let json = struct_to_json(&schema, id, protocol, &wire, &limits)
                        .expect("just written");
                    if schema
                        .get(id)
                        .fields
                        .iter()
                        .all(|field| field.default.is_none())
                    {
                        assert_eq!(json, b"{}");
                    }
                    let again = struct_from_json(&schema, id, protocol, &json, &limits);
                    assert_eq!(again, Ok(wire));
                }
            }
        }
    }
}
