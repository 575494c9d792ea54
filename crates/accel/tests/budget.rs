//! The budget of one message: all its values are charged together, on every way of reading or
//! writing it, and before memory is allocated for them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use accelflow_accel::grpc::GrpcCall;
use accelflow_accel::protobuf::{self, message_from_json, message_to_json};
use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::thrift::{
    FunctionId, Protocol, Schema, StructId, struct_from_json, struct_to_json,
};
use accelflow_accel::transform::convert;
use accelflow_accel::{AccelError, Accelerator, Call, Dser, Job, Limits, Session};
use accelflow_trace::{Format, Transform};
use proptest::prelude::*;
use serde_json::{Value, json};

const INTERFACE: &str = r#"
    struct Empty {}
    struct Filled { 1: string text = "0123456789", 2: list<i32> three = [1, 2, 3] }
    struct All {
        1: list<list<Empty>> lists,
        2: map<i8, set<bool>> sets,
        3: map<string, Filled> named,
        4: list<Filled> filled,
        5: string text,
        6: binary data,
        7: All inner,
    }
    service Test { All echo(1: All value) }
"#;

const GRPC: &str = r#"
    syntax = "proto3";
    package test;
    import "google/protobuf/any.proto";
    import "google/protobuf/struct.proto";
    message Empty {}
    message Wide { int32 a = 1; int32 b = 2; repeated int32 c = 3; string d = 4; optional int32 e = 5; }
    message All {
        repeated Empty empties = 1;
        repeated bool bits = 2;
        map<int32, Wide> wide = 3;
        repeated Wide list = 4;
        string text = 5;
        bytes data = 6;
        All inner = 7;
    }
    message Open { google.protobuf.Any any = 1; google.protobuf.Struct fields = 2; repeated All all = 3; }
    service Test { rpc Echo(All) returns (All); rpc Open(Open) returns (Open); }
"#;

const BOTH: [Protocol; 2] = [Protocol::Binary, Protocol::Compact];

fn schema() -> Arc<Schema> {
    Arc::new(Schema::parse(INTERFACE).unwrap())
}

fn generous() -> Limits {
    Limits {
        max_elements: 1 << 30,
        max_value_bytes: 1 << 30,
        ..Limits::default()
    }
}

fn elements(max_elements: usize) -> Limits {
    Limits {
        max_elements,
        ..Limits::default()
    }
}

fn arguments() -> StructId {
    let schema = schema();
    let function = schema.find("echo").unwrap();
    schema.function(function).unwrap().arguments
}

fn thrift(protocol: Protocol, value: &Value) -> Vec<u8> {
    let text = json!({ "value": value }).to_string();
    struct_from_json(
        &schema(),
        arguments(),
        protocol,
        text.as_bytes(),
        &generous(),
    )
    .unwrap()
}

/// The outcome of each way to read the bytes: by Dser to text, by Dser to a record, and from the
/// record to a value.
fn read_thrift(protocol: Protocol, bytes: &[u8], limits: Limits) -> Result<(), AccelError> {
    let schema = schema();
    let text = struct_to_json(&schema, arguments(), protocol, bytes, &limits).map(drop);
    let mut job = Job::receive(bytes.to_vec(), Session::default());
    job.call = Call::Thrift(ThriftCall::request(&schema, "echo", protocol, 1).unwrap());
    let all = [schema.find("echo").unwrap()].into_iter().collect();
    let mut dser = Dser::new(schema.clone(), limits).with_records(all);
    let in_place = dser.run(&mut job);
    assert_eq!(in_place, text);
    // A record that Dser has not checked gives the same outcome.
    let mut seen = Job::receive(vec![0], Session::default());
    seen.call = Call::Thrift(ThriftCall::request(&schema, "echo", protocol, 1).unwrap());
    dser.run(&mut seen).unwrap();
    let value = seen.record.unwrap().read::<Value>(bytes).map(drop);
    assert_eq!(value, text);
    text
}

/// The fewest elements with which `read` accepts a message; with fewer it is too large.
fn needed(read: impl Fn(Limits) -> Result<(), AccelError>, most: usize) -> usize {
    let needed = (0..=most)
        .find(|most| read(elements(*most)).is_ok())
        .unwrap();
    for fewer in 0..needed {
        let error = read(elements(fewer)).unwrap_err();
        assert_eq!(error.reason(), "too_large", "{fewer}: {error}");
    }
    needed
}

#[test]
fn elements_are_counted_together_in_thrift() {
    // The field `value` counts in all of them.
    let cases = [
        (json!({}), 1),
        (json!({"lists": [[{}, {}], [{}], []]}), 1 + 1 + 3 + 3),
        (
            json!({"sets": [[1, [true]], [2, [false, true]]]}),
            1 + 1 + 4 + 3,
        ),
        // Two fields with default values, of which one has three elements.
        (json!({"filled": [{}]}), 1 + 1 + 1 + 2 + 3),
        (
            json!({"named": {"a": {"text": "", "three": []}}}),
            1 + 1 + 2 + 2,
        ),
        (json!({"inner": {"inner": {"text": "x"}}}), 1 + 3),
    ];
    for protocol in BOTH {
        for (value, expected) in &cases {
            let bytes = thrift(protocol, value);
            let read = |limits| read_thrift(protocol, &bytes, limits);
            assert_eq!(needed(read, 30), *expected, "{protocol:?} {value}");
        }
    }
}

/// A struct with default values is one byte on the wire, and all its fields in memory.
#[test]
fn default_values_are_charged() {
    for protocol in BOTH {
        // Without JSON, which would write the values.
        let count = 1_000u32.to_be_bytes();
        let bytes = match protocol {
            Protocol::Binary => {
                [&[12, 0, 1, 15, 0, 4, 12][..], &count, &[0; 1_000], &[0, 0]].concat()
            }
            Protocol::Compact => {
                [&[0x1c, 0x49, 0xfc, 0xe8, 0x07][..], &[0; 1_000], &[0, 0]].concat()
            }
        };
        let read = |limits| read_thrift(protocol, &bytes, limits);
        assert_eq!(read(elements(2 + 1_000 * 6)), Ok(()));
        let error = read(elements(2 + 1_000 * 6 - 1)).unwrap_err();
        assert_eq!(error.reason(), "too_large", "{error}");
        let few = |max_value_bytes| Limits {
            max_value_bytes,
            ..Limits::default()
        };
        // "0123456789" and [1,2,3].
        assert_eq!(read(few(1_000 * 19)), Ok(()));
        let error = read(few(1_000 * 19 - 1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "bytes of text and binary data in the message = 19000: must be at most 18999"
        );
    }
}

#[test]
fn unknown_fields_are_charged() {
    // A list of 100 empty structs in the field 30.
    let bytes = [
        &[12, 0, 1, 15, 0, 30, 12, 0, 0, 0, 100][..],
        &[0; 100],
        &[0, 0],
    ]
    .concat();
    let read = |limits| read_thrift(Protocol::Binary, &bytes, limits);
    assert_eq!(needed(read, 200), 102);
}

#[test]
fn a_count_is_refused_before_its_elements_are_read() {
    // More elements than bytes: the first error is their number.
    let bytes = [12, 0, 1, 15, 0, 1, 15, 0, 0x7f, 0xff, 0xff];
    let error = read_thrift(Protocol::Binary, &bytes, Limits::default()).unwrap_err();
    let expected = "number of fields and elements in the message = 8388609: must be at most 131072";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn text_and_binary_data_are_charged() {
    let bytes = |max_value_bytes| Limits {
        max_value_bytes,
        ..Limits::default()
    };
    for protocol in BOTH {
        let message = thrift(
            protocol,
            &json!({"text": "x".repeat(50), "data": "AAAA".repeat(10)}),
        );
        assert_eq!(read_thrift(protocol, &message, bytes(90)), Ok(()));
        let error = read_thrift(protocol, &message, bytes(89)).unwrap_err();
        assert_eq!(error.reason(), "too_large");
    }
    // JSON beyond the limit is not begun.
    let control = thrift(Protocol::Binary, &json!({"text": "\u{1}".repeat(100)}));
    for (max_message_bytes, fits) in [(619, true), (618, false)] {
        let limits = Limits {
            max_message_bytes,
            ..Limits::default()
        };
        let json = struct_to_json(&schema(), arguments(), Protocol::Binary, &control, &limits);
        assert_eq!(json.is_ok(), fits, "{max_message_bytes}");
    }
}

fn grpc(kind: &str, value: &Value) -> Vec<u8> {
    let schema = protobuf::Schema::parse(GRPC).unwrap();
    let kind = schema.message(kind).unwrap();
    message_from_json(&kind, value.to_string().as_bytes(), &generous()).unwrap()
}

fn read_grpc(method: &str, bytes: &[u8], limits: Limits) -> Result<(), AccelError> {
    let schema = Arc::new(protobuf::Schema::parse(GRPC).unwrap());
    let [text, in_place] = [false, true].map(|in_place| {
        let mut job = Job::receive(bytes.to_vec(), Session::default());
        let path = format!("/test.Test/{method}");
        job.call = Call::Grpc(GrpcCall::received(schema.clone(), &path, None));
        let all = (0..2).map(FunctionId).filter(|_| in_place).collect();
        let thrift = accelflow_accel::Settings::default().schema;
        Dser::new(thrift, limits).with_records(all).run(&mut job)
    });
    assert_eq!(text, in_place);
    text
}

#[test]
fn elements_are_counted_together_in_grpc() {
    let always = 6; // Fields of All that are there whatever is sent.
    let cases = [
        ("Echo", json!({}), always),
        ("Echo", json!({"empties": [{}, {}, {}]}), always),
        ("Echo", json!({"bits": vec![true; 100]}), always + 100),
        // An empty message has its fields without presence.
        ("Echo", json!({"list": vec![json!({}); 100]}), 100 + 100 * 4),
        (
            "Echo",
            json!({"wide": {"1": {}, "2": {"e": 5}}}),
            always + 2 * (2 + 4),
        ),
        ("Echo", json!({"inner": {"inner": {}}}), 3 * always),
    ];
    for (method, value, expected) in &cases {
        let bytes = grpc("test.All", value);
        let read = |limits| read_grpc(method, &bytes, limits);
        assert_eq!(needed(read, 1_000), *expected, "{value}");
    }
}

/// Regression: the scan of a message did not charge the content of an `Any` or of arbitrary JSON.
#[test]
fn messages_within_messages_are_counted_in_grpc() {
    let wide = vec![json!({}); 100];
    let any = json!({"any": {"@type": "type.googleapis.com/test.All", "list": wide}});
    let fields = json!({"fields": {"a": vec![0; 500]}});
    for value in [any, fields] {
        let bytes = grpc("test.Open", &value);
        let read = |limits| read_grpc("Open", &bytes, limits);
        assert_eq!(read(Limits::default()), Ok(()));
        assert_eq!(read(elements(499)).unwrap_err().reason(), "too_large");
    }
    // The content of an `Any` is charged before a tree is built from it, even a malformed one.
    let unread = b"\x0a\x0b\x0a\x06/test.All\x12\x01\xff".to_vec();
    assert!(read_grpc("Open", &unread, Limits::default()).is_err());
}

#[test]
fn text_of_json_and_bson_is_counted() {
    let many = format!("[{}]", vec!["{}"; 1_000].join(", "));
    let text = |dst| Transform {
        src: Format::Str,
        dst,
    };
    assert!(convert(many.as_bytes(), text(Format::Json), &elements(1_000)).is_ok());
    let error = convert(many.as_bytes(), text(Format::Json), &elements(999)).unwrap_err();
    assert_eq!(error.reason(), "too_large");
    let document = format!("{{\"a\":{many}}}");
    let bson = convert(document.as_bytes(), text(Format::Bson), &elements(1_001)).unwrap();
    let back = Transform {
        src: Format::Bson,
        dst: Format::Json,
    };
    assert!(convert(&bson, back, &elements(1_001)).is_ok());
    let error = convert(&bson, back, &elements(1_000)).unwrap_err();
    assert_eq!(error.reason(), "too_large");
    let none = "[ \n ]";
    assert!(convert(none.as_bytes(), text(Format::Json), &elements(0)).is_ok());
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        "[a-z\u{1}]{0,9}".prop_map(|text| json!({ "text": text })),
        prop::collection::vec(prop::collection::vec(Just(json!({})), 0..4), 0..4)
            .prop_map(|lists| json!({ "lists": lists })),
        prop::collection::vec(Just(json!({})), 0..4).prop_map(|filled| json!({"filled": filled})),
    ];
    leaf.prop_recursive(4, 8, 1, |inner| {
        inner.prop_map(|message| json!({ "inner": message }))
    })
}

proptest! {
    /// A reader with the limits of the writer can read its output.
    #[test]
    fn output_within_limits_is_read_within_them(value in values(), most in 0usize..40) {
        let limits = elements(most);
        let text = json!({ "value": value }).to_string();
        for protocol in BOTH {
            let whole = thrift(protocol, &value);
            let written =
                struct_from_json(&schema(), arguments(), protocol, text.as_bytes(), &limits);
            let read = read_thrift(protocol, &whole, limits);
            prop_assert_eq!(written.is_ok(), read.is_ok(), "{:?} {:?}", written, read);
            if let Ok(written) = written {
                prop_assert_eq!(written, whole);
            }
        }
    }
}

#[test]
fn grpc_output_within_limits_is_read_within_them() {
    let schema = protobuf::Schema::parse(GRPC).unwrap();
    let kind = schema.message("test.All").unwrap();
    for count in 0..60 {
        let value = json!({"list": vec![json!({}); count]});
        let bytes = grpc("test.All", &value);
        for most in [0, 10, 100, 200] {
            let limits = elements(most);
            let written = message_from_json(&kind, value.to_string().as_bytes(), &limits);
            let read = message_to_json(&kind, &bytes, &limits);
            assert_eq!(written.is_ok(), read.is_ok(), "{count} of {most}");
        }
    }
}
