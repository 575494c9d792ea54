//! gRPC messages survive a round trip: negative zeros, and nesting as deep as the limit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, LazyLock};

use accelflow_accel::grpc::GrpcCall;
use accelflow_accel::protobuf::{Schema, message_from_json, message_to_json};
use accelflow_accel::thrift::FunctionId;
use accelflow_accel::{AccelError, Accelerator, Call, Dser, Job, Limits, Record, Session};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

const INTERFACE: &str = r#"
    syntax = "proto3";
    package shop;
    message Item {
        map<string, double> shares = 4;
        Item inner = 7;
        map<int32, Item> items = 8;
        optional float ratio = 15;
        repeated Item list = 17;
        float weight = 20;
        repeated float ratios = 25;
        double precise = 2000;
    }
    service Shop { rpc Echo(Item) returns (Item); }
"#;

static SCHEMA: LazyLock<Arc<Schema>> =
    LazyLock::new(|| Arc::new(Schema::parse(INTERFACE).unwrap()));

fn to_json(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, AccelError> {
    message_to_json(&SCHEMA.message("shop.Item").unwrap(), bytes, limits)
}

fn from_json(json: &[u8], limits: &Limits) -> Result<Vec<u8>, AccelError> {
    message_from_json(&SCHEMA.message("shop.Item").unwrap(), json, limits)
}

/// A request that Dser delivers as a record.
fn record(bytes: &[u8], limits: Limits) -> Result<Record, AccelError> {
    let mut job = Job::receive(bytes.to_vec(), Session::default());
    job.call = Call::Grpc(GrpcCall::received(SCHEMA.clone(), "/shop.Shop/Echo", None));
    let all = [FunctionId(0)].into_iter().collect();
    let schema = accelflow_accel::Settings::default().schema;
    let mut dser = Dser::new(schema, limits).with_records(all);
    dser.run(&mut job)?;
    Ok(job.record.unwrap())
}

/// The message of the response `value`, written without JSON.
fn written(value: &Value, limits: Limits) -> Result<Vec<u8>, AccelError> {
    let mut bytes = Vec::new();
    let request = record(b"", limits)?;
    request.result(FunctionId(0), value, &mut bytes)?;
    Ok(bytes)
}

/// -0.0 is not the default value 0.0, which is not sent.
#[test]
fn negative_zero_is_kept() {
    let limits = Limits::default();
    let zero = json!({
        "precise": -0.0, "weight": -0.0, "ratio": -0.0, "ratios": [-0.0], "shares": {"a": -0.0},
        "items": {"1": {"precise": -0.0}}, "inner": {"weight": -0.0}, "list": [{"precise": -0.0}],
    });
    let bytes = from_json(zero.to_string().as_bytes(), &limits).unwrap();
    assert_eq!(written(&zero, limits), Ok(bytes.clone()));
    let read: Value = record(&bytes, limits).unwrap().read(&bytes).unwrap();
    let json: Value = serde_json::from_slice(&to_json(&bytes, &limits).unwrap()).unwrap();
    for read in [read, json] {
        for place in [
            "/precise",
            "/weight",
            "/ratio",
            "/ratios/0",
            "/shares/a",
            "/items/1/precise",
            "/inner/weight",
            "/list/0/precise",
        ] {
            let value = read.pointer(place).and_then(Value::as_f64).unwrap();
            assert_eq!(value.to_bits(), (-0.0f64).to_bits(), "{place}");
        }
    }
    // 0.0 is not sent.
    let zero = json!({"precise": 0.0, "weight": 0.0});
    assert_eq!(
        from_json(zero.to_string().as_bytes(), &limits),
        Ok(Vec::new())
    );
    assert_eq!(written(&zero, limits), Ok(Vec::new()));
}

/// The wire form of nested messages: one level, in a message, list or map, for each of `kinds`.
fn nested(kinds: &[u8]) -> Vec<u8> {
    kinds.iter().rev().fold(Vec::new(), |inner, kind| {
        let field = |key: &[u8], content: &[u8]| {
            let mut length = content.len();
            let mut bytes = key.to_vec();
            while length >= 0x80 {
                bytes.push(length as u8 | 0x80);
                length >>= 7;
            }
            bytes.push(length as u8);
            [bytes, content.to_vec()].concat()
        };
        match kind % 3 {
            0 => field(&[0x3a], &inner),
            1 => field(&[0x8a, 0x01], &inner),
            _ => field(
                &[0x42],
                &[vec![0x08, 0x05], field(&[0x12], &inner)].concat(),
            ),
        }
    })
}

proptest! {
    /// Messages that can be read can be written, as JSON and as values; deeper ones cannot.
    #[test]
    fn messages_are_echoed_as_deep_as_they_are_read(
        kinds in prop::collection::vec(0u8..3, 20..90),
        max_depth in 20usize..70,
    ) {
        let limits = Limits { max_depth, ..Limits::default() };
        let generous = Limits { max_depth: 200, ..limits };
        let bytes = nested(&kinds);
        // A map's entry is a message on the wire.
        let depth = 1 + kinds.iter().map(|kind| 1 + usize::from(kind % 3 == 2)).sum::<usize>();
        let read = to_json(&bytes, &limits);
        prop_assert_eq!(read.is_ok(), depth <= max_depth, "{} {:?}", depth, read.err());
        prop_assert_eq!(record(&bytes, limits).is_ok(), read.is_ok());
        // The library's limit is 100.
        let Ok(json) = to_json(&bytes, &generous) else {
            return Ok(());
        };
        let mut text = serde_json::Deserializer::from_slice(&json);
        text.disable_recursion_limit();
        let value = Value::deserialize(&mut text).unwrap();
        for echoed in [from_json(&json, &limits), written(&value, limits)] {
            match &read {
                Ok(_) => prop_assert_eq!(echoed.as_ref(), Ok(&bytes)),
                Err(_) => prop_assert_eq!(echoed.map_err(|error| error.reason()), Err("too_deep")),
            }
        }
    }
}

/// Regression: if any method of an interface mentioned `Any`, the messages of all others were
/// refused in pieces, also a `Timestamp`.
#[test]
fn messages_in_pieces_are_merged_unless_they_may_hold_any() {
    let interface = r#"
        syntax = "proto3";
        import "google/protobuf/any.proto";
        import "google/protobuf/timestamp.proto";
        message Pair { int32 a = 1; int32 b = 2; }
        message Two { Pair pair = 1; google.protobuf.Timestamp at = 2; Deep deep = 3; }
        message Deep { repeated Deeper more = 1; Pair pair = 2; }
        message Deeper { map<string, google.protobuf.Any> any = 1; }
        service S { rpc Echo(Two) returns (Two); }
    "#;
    let schema = Schema::parse(interface).unwrap();
    let kind = schema.message("Two").unwrap();
    let read = |bytes: &[u8]| message_to_json(&kind, bytes, &Limits::default());
    let pieces = b"\x0a\x02\x08\x05\x12\x02\x08\x01\x0a\x02\x10\x07\x12\x02\x08\x02";
    let json: Value = serde_json::from_slice(&read(pieces).unwrap()).unwrap();
    let merged = json!({"pair": {"a": 5, "b": 7}, "at": "1970-01-01T00:00:02Z"});
    assert_eq!(json, merged);
    let inner = b"\x1a\x08\x12\x02\x08\x05\x12\x02\x10\x07";
    let json: Value = serde_json::from_slice(&read(inner).unwrap()).unwrap();
    assert_eq!(json["deep"]["pair"], merged["pair"]);
    let error = read(b"\x1a\x00\x1a\x00").unwrap_err();
    assert!(
        error.to_string().contains("'Two.deep' comes twice"),
        "{error}"
    );
}
