//! Fuzz target of typed gRPC records, which are checked messages in wire form. A handler receives
//! any bytes as a record if and only if it receives them as JSON, and then with the same values. A
//! value that can be written as a record is written to the same bytes as its JSON.

use std::sync::{Arc, LazyLock};

use crate::parties::delivered;
use accelflow_accel::grpc::GrpcCall;
use accelflow_accel::protobuf::{Schema, message_from_json};
use accelflow_accel::thrift::FunctionId;
use accelflow_accel::{Call, Limits, Record};
use serde_json::Value;

/// Types that have a special form in JSON have no records.
const INTERFACE: &str = r#"
    syntax = "proto3";
    package shop;
    enum Colour { COLOUR_UNSPECIFIED = 0; RED = 1; BLUE = 7; }
    message Item {
        string text = 1;
        bytes data = 2;
        repeated sint64 numbers = 3;
        map<string, double> shares = 4;
        Colour colour = 5;
        oneof choice { int32 small = 6; Item inner = 7; }
        map<int32, Item> items = 8;
        map<bool, Colour> flags = 9;
        optional uint32 count = 10;
        float weight = 11;
        sfixed64 offset = 12;
        repeated Item list = 13;
        repeated Colour colours = 14;
        repeated fixed32 loose = 15 [packed = false];
        map<uint64, bytes> blobs = 16;
        repeated bool bits = 17;
        optional string note = 18;
        sint32 change = 19;
    }
    service Shop { rpc Echo(Item) returns (Item); }
"#;

const ECHO: FunctionId = FunctionId(0);

static SCHEMA: LazyLock<Arc<Schema>> =
    LazyLock::new(|| Arc::new(Schema::parse(INTERFACE).expect("a constant")));

/// Checks that gRPC messages are handled alike as typed records and as JSON. Panics if a message is
/// read in one way and refused in the other, if the two ways read different values, or if they
/// write different bytes. Values that can be written only through JSON are not compared.
///
/// After an even first byte, the other bytes are a protocol-buffers message, which is read and
/// written. After an odd one, they are a JSON value, which is written.
pub fn check(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let call = GrpcCall::received(SCHEMA.clone(), "/shop.Shop/Echo", None);
    let read = |bytes: &[u8]| delivered(bytes, Call::Grpc(call.clone()), ECHO);
    let text = match first & 1 {
        0 => {
            let Some((record, text)) = read(rest) else {
                return;
            };
            let json: Value = serde_json::from_slice(&text).expect("what is written is JSON");
            assert_eq!(record.read::<Value>(rest), Ok(json));
            text
        }
        _ => rest.to_vec(),
    };
    let Ok(value) = serde_json::from_slice::<Value>(&text) else {
        return;
    };
    let (request, _) = read(b"").expect("the empty message");
    check_written(&request, &value);
}

/// Checks that a value is written to the same bytes as its JSON. Values that cannot be written as a
/// record are left to JSON.
fn check_written(request: &Record, value: &Value) {
    let mut bytes = Vec::new();
    if request.result(ECHO, value, &mut bytes).is_ok() {
        let kind = SCHEMA.message("shop.Item").expect("declared");
        let text = value.to_string();
        let expected = message_from_json(&kind, text.as_bytes(), &Limits::default());
        assert_eq!(Ok(bytes), expected, "{text}");
    }
}
