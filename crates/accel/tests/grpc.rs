//! gRPC messages through RPC, Cmp, Dcmp, Ser and Dser.

use std::sync::Arc;

use accelflow_accel::balance::{CoreLoads, RoundRobin};
use accelflow_accel::grpc::{GrpcCall, message_length, write_message};
use accelflow_accel::protobuf::{Schema, message_from_json, message_to_json};
use accelflow_accel::{AccelError, Call, Codec, Ensemble, Job, Limits, Session, Settings};
use accelflow_trace::{Accel, Format};
use proptest::prelude::*;
use serde_json::{Value, json};

const INTERFACE: &str = r#"
    syntax = "proto3";
    package shop.v1;
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/duration.proto";
    import "google/protobuf/wrappers.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/empty.proto";

    enum Colour { COLOUR_UNSPECIFIED = 0; RED = 1; }
    message Item {
        string text = 1;
        bytes data = 2;
        repeated sint64 numbers = 3;
        map<string, double> shares = 4;
        Colour colour = 5;
        oneof choice { int32 small = 6; Item inner = 7; }
        google.protobuf.Timestamp made = 8;
        google.protobuf.Duration lasts = 9;
        google.protobuf.Int32Value maybe = 10;
        google.protobuf.Value any = 11;
        optional uint32 count = 12;
        bool compressed = 13;
        uint64 number_of_things = 14;
        optional float ratio = 15;
    }
    service Shop {
        rpc Echo(Item) returns (Item);
        rpc Clear(google.protobuf.Empty) returns (google.protobuf.Empty);
        rpc Watch(Item) returns (stream Item);
    }
    service Other { rpc Clear(Item) returns (Item); }
"#;

fn schema() -> Arc<Schema> {
    Arc::new(Schema::parse(INTERFACE).expect("a constant"))
}

fn item(json: &Value) -> Result<Vec<u8>, AccelError> {
    let kind = schema().message("shop.v1.Item").expect("declared");
    message_from_json(&kind, json.to_string().as_bytes(), &Limits::default())
}

fn json_of(bytes: &[u8], limits: &Limits) -> Result<Value, AccelError> {
    let kind = schema().message("shop.v1.Item").expect("declared");
    let text = message_to_json(&kind, bytes, limits)?;
    Ok(serde_json::from_slice(&text).expect("what is written is JSON"))
}

/// Regression: the shortest decimals of the largest float are beyond its range as a 64-bit number.
#[test]
fn every_float_comes_back() {
    for value in [f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, 0.1, -0.0] {
        let bytes = [&[0x7d][..], &value.to_le_bytes()].concat();
        let json = json_of(&bytes, &Limits::default()).expect("decodes");
        let again = item(&json).expect("just written");
        let back = json_of(&again, &Limits::default()).expect("decodes");
        assert_eq!(back, json, "{value}");
        assert_eq!(
            json["ratio"].as_f64().map(|ratio| ratio as f32),
            Some(value)
        );
    }
}

fn reason(bytes: &[u8]) -> &'static str {
    let error = json_of(bytes, &Limits::default()).expect_err("malformed");
    error.reason()
}

#[test]
fn json_is_proto_json() {
    let all = json!({
        "text": "grüße", "data": "AAECAw==", "numbers": ["-1", "9223372036854775807"],
        "shares": {"a": 0.5}, "colour": "RED", "inner": {"small": 7},
        "made": "2026-11-22T03:04:05.500Z", "lasts": "1.500s", "maybe": 0, "any": [1.0, null, "x"],
        "count": 0, "numberOfThings": "18446744073709551615",
    });
    let bytes = item(&all).expect("fits");
    let back = json_of(&bytes, &Limits::default()).expect("decodes");
    for (name, value) in all.as_object().expect("an object") {
        match name.as_str() {
            "inner" => assert_eq!(back["inner"]["small"], 7),
            _ => assert_eq!(back[name], *value, "{name}"),
        }
    }
    // Fields without presence are always written, others if they are set.
    let empty = json_of(b"", &Limits::default()).expect("an empty message");
    assert_eq!(
        empty,
        json!({"text": "", "data": "", "numbers": [], "shares": {}, "colour":
            "COLOUR_UNSPECIFIED", "compressed": false, "numberOfThings": "0"})
    );
    // Forms that a parser must accept: numbers for strings, names of the interface, enum numbers.
    let lenient = json!({"numbers": [1], "number_of_things": 2, "colour": 1, "text": null});
    let read = json_of(&item(&lenient).expect("fits"), &Limits::default()).expect("decodes");
    assert_eq!(read["numberOfThings"], "2");
    assert_eq!(
        (&read["numbers"], &read["colour"]),
        (&json!(["1"]), &json!("RED"))
    );
}

#[test]
fn published_wire_examples_decode() {
    // From the protobuf documentation: field 1 = "testing", a packed field, an unknown field.
    let text = b"\x0a\x07testing";
    assert_eq!(
        json_of(text, &Limits::default()).expect("decodes")["text"],
        "testing"
    );
    let packed = b"\x1a\x03\x01\x02\x04\x18\x06";
    let numbers = json_of(packed, &Limits::default()).expect("packed and single ones mix");
    assert_eq!(numbers["numbers"], json!(["-1", "1", "2", "3"]));
    let unknown = b"\xa2\x1f\x02hi\xa8\x1f\x96\x01\x30\x01";
    let known = json_of(unknown, &Limits::default()).expect("unknown fields are skipped");
    assert_eq!(known["small"], 1);
    // The last field of a oneof counts, and the last value of a repeated scalar field.
    let twice = b"\x30\x01\x3a\x00\x30\x05";
    let read = json_of(twice, &Limits::default()).expect("decodes");
    assert_eq!((read.get("inner"), &read["small"]), (None, &json!(5)));
}

#[test]
fn malformed_messages_are_named() {
    assert_eq!(reason(b"\x0a"), "truncated");
    assert_eq!(reason(b"\x0a\x05abc"), "truncated");
    assert_eq!(reason(b"\x30\xff"), "truncated");
    assert_eq!(
        reason(b"\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
        "bad_varint"
    );
    assert_eq!(reason(b"\x0a\x02\xff\xfe"), "bad_utf8");
    assert_eq!(reason(b"\x08\x01"), "wrong_field_type");
    assert_eq!(reason(b"\x00\x01"), "bad_frame");
    assert_eq!(reason(b"\x0c"), "bad_frame");
    assert_eq!(reason(b"\x0e"), "wrong_field_type");
    assert_eq!(reason(b"\xa6\x1f"), "bad_wire_type");
    assert_eq!(reason(b"\xa3\x1f\x08\x01"), "truncated");
    let named = json_of(b"\x30\x01\x08\x01", &Limits::default()).unwrap_err();
    assert_eq!(
        named.to_string(),
        "'shop.v1.Item.text' at byte 2 has type varint: must be length-delimited, as in the schema"
    );
}

#[test]
fn messages_are_bounded() {
    let mut nested = Vec::new();
    for _ in 0..70 {
        let mut outer = vec![0x3a];
        let mut length = nested.len();
        while length >= 0x80 {
            outer.push(length as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.extend_from_slice(&nested);
        nested = outer;
    }
    assert_eq!(reason(&nested), "too_deep");
    let few = Limits {
        max_elements: 3,
        ..Limits::default()
    };
    let many = json_of(b"\x1a\x04\x01\x02\x03\x04", &few).unwrap_err();
    assert_eq!(many.reason(), "too_large");
    let groups = [0xa3, 0x1f].repeat(100);
    assert_eq!(reason(&groups), "too_deep");
    let small = Limits {
        max_message_bytes: 64,
        ..Limits::default()
    };
    // Ten bytes each of which takes six in JSON.
    let grows = [&b"\x0a\x28"[..], &[1; 40]].concat();
    assert_eq!(json_of(&grows, &small).unwrap_err().reason(), "too_large");
    let deep = "[".repeat(200) + &"]".repeat(200);
    let text = format!("{{\"any\":{deep}}}");
    let kind = schema().message("shop.v1.Item").expect("declared");
    let error = message_from_json(&kind, text.as_bytes(), &Limits::default()).unwrap_err();
    assert_eq!(error.reason(), "too_deep");
}

const MAPS: &str = r#"
        syntax = "proto3";
        package test;
        import "google/protobuf/struct.proto";
        message Maps {
            string first = 9;
            map<string, string> names = 1;
            map<int64, Maps> inner = 2;
            repeated Maps list = 3;
            google.protobuf.Struct open = 4;
            map<bool, float> ratios = 5;
            Maps one = 6;
        }
        service Service { rpc Echo(Maps) returns (Maps); }
    "#;

#[test]
fn maps_are_in_the_order_of_their_keys_on_the_wire_and_in_json() {
    let schema = Schema::parse(MAPS).expect("a constant");
    let kind = schema.message("test.Maps").expect("declared");
    let names = |reversed: bool| {
        let mut names: Vec<String> = (0..40).map(|n| format!("\"name {n}\":\"{n}\"")).collect();
        if reversed {
            names.reverse();
        }
        format!("{{{}}}", names.join(","))
    };
    let text = |reversed: bool| {
        let names = names(reversed);
        let inner = format!(r#"{{"names":{names},"ratios":{{"true":0.1,"false":2.5}}}}"#);
        format!(
            r#"{{"names":{names},"inner":{{"10":{inner},"9":{{}},"-1":{{}}}},"list":[{inner},{{}}],
               "open":{{"z":[{names}],"a":null}},"one":{inner},"first":"x"}}"#
        )
    };
    let limits = Limits::default();
    let wire = |reversed| {
        let text = text(reversed);
        message_from_json(&kind, text.as_bytes(), &limits).expect("it fits")
    };
    let json = |bytes: &[u8]| message_to_json(&kind, bytes, &limits).expect("a message");
    let (bytes, text) = (wire(false), json(&wire(false)));
    for turn in 0..8 {
        let again = wire(turn % 2 == 0);
        assert_eq!(again, bytes, "{turn}");
        assert_eq!(json(&again), text, "{turn}");
    }
    let read: Value = serde_json::from_slice(&text).expect("JSON");
    let keys = |value: &Value| -> Vec<String> {
        let members = value.as_object().expect("an object");
        members.keys().cloned().collect()
    };
    // The fields of messages are in the order of the interface, members of maps in that of their
    // names.
    assert_eq!(keys(&read["inner"]), ["-1", "10", "9"]);
    assert_eq!(keys(&read["one"]["ratios"]), ["false", "true"]);
    assert_eq!(keys(&read["open"]), ["a", "z"]);
    assert_eq!(keys(&read)[..2], ["names", "inner"]);
    assert_eq!(read["one"]["ratios"]["true"], json!(0.1));
    let sorted = keys(&read["list"][0]["names"]);
    assert!(sorted.is_sorted() && sorted.len() == 40);
    // On the wire, keys that are numbers are in numerical order: -1, 9 and 10.
    let place = |needle: &[u8]| {
        bytes
            .windows(needle.len())
            .position(|window| window == needle)
    };
    let minus_one = place(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").expect("-1");
    let nine = place(b"\x08\x09\x12\x00").expect("9");
    assert!(minus_one < nine);
    // Messages without maps are written by the library.
    let decoded = message_from_json(&kind, b"{\"first\":\"x\"}", &limits).expect("it fits");
    assert_eq!(decoded, b"\x4a\x01x");
}

#[test]
fn json_that_does_not_fit_is_named() {
    for (json, part) in [
        (json!({"text": 5}), "string"),
        (json!({"unknown": 5}), "unknown"),
        (json!({"small": 1, "inner": {}}), "choice"),
        (json!({"small": 3_000_000_000_u32}), "out of range"),
        (json!({"colour": "GREEN"}), "GREEN"),
        (json!({"data": "*"}), "base64"),
        (json!([]), "expected a map"),
    ] {
        let error = item(&json).unwrap_err();
        assert_eq!(error.reason(), "bad_json", "{json}");
        assert!(error.to_string().contains(part), "{json} {part}: {error}");
    }
}

#[test]
fn interfaces_are_read_and_refused() {
    let schema = schema();
    let paths: Vec<&str> = schema
        .methods()
        .iter()
        .map(|method| &*method.path)
        .collect();
    let expected = ["Shop/Echo", "Shop/Clear", "Shop/Watch", "Other/Clear"];
    assert_eq!(paths, expected.map(|name| format!("/shop.v1.{name}")));
    let unary: Vec<bool> = schema.methods().iter().map(|method| method.unary).collect();
    assert_eq!(unary, [true, true, false, true]);
    for name in ["shop.v1.Shop.Echo", "v1.Shop.Echo", "Shop.Echo", "Echo"] {
        assert_eq!(
            schema.find(name).ok(),
            schema.find_path("/shop.v1.Shop/Echo").ok(),
            "{name}"
        );
    }
    let ambiguous = schema.find("Clear").unwrap_err().to_string();
    assert!(ambiguous.contains("/shop.v1.Other/Clear"), "{ambiguous}");
    for name in ["cho", "Shop.Sell", "", "Shop/Echo"] {
        assert_eq!(
            schema.find(name).unwrap_err().reason(),
            "unknown_method",
            "{name}"
        );
    }
    let unknown = schema
        .find_path("/shop.v1.Shop/Sell")
        .unwrap_err()
        .to_string();
    assert!(unknown.contains("'shop.v1.Shop.Sell'") && unknown.contains("shop.v1.Shop.Echo"));
    for (text, part) in [
        ("message {", "interface.proto:1:9"),
        (
            "syntax = \"proto3\";\nmessage A { B b = 1; }",
            "interface.proto:2",
        ),
        ("import \"nowhere.proto\";", "nowhere.proto"),
        ("syntax = \"proto3\"; message A {}", "no service"),
    ] {
        let error = Schema::parse(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

/// Runs accelerators in sequence.
fn run(job: &mut Job, accelerators: &[Accel]) -> Result<(), AccelError> {
    let settings = Settings::default();
    let policy = Box::new(RoundRobin::default());
    let mut ensemble = Ensemble::software(&settings, policy, CoreLoads::idle(1))?;
    accelerators
        .iter()
        .try_for_each(|accel| ensemble.run(*accel, job))
}

#[test]
fn a_request_and_its_response_go_through_the_accelerators() {
    let limits = Limits::default();
    for codec in [None, Some(Codec::Gzip)] {
        let call = GrpcCall::request(schema(), "Shop.Echo", codec).expect("declared");
        let text = json!({"text": "x".repeat(1_000), "small": 9})
            .to_string()
            .into_bytes();
        let mut job = Job::send(text, Format::Json, Call::Grpc(call), Session::default());
        let (pack, unpack) = match codec {
            Some(_) => (
                &[Accel::Ser, Accel::Cmp, Accel::Rpc][..],
                &[Accel::Rpc, Accel::Dcmp, Accel::Dser][..],
            ),
            None => (
                &[Accel::Ser, Accel::Rpc][..],
                &[Accel::Rpc, Accel::Dser][..],
            ),
        };
        run(&mut job, pack).expect("sends");
        assert_eq!(
            message_length(&job.bytes, &limits),
            Ok(Some(job.bytes.len() - 5))
        );
        assert_eq!(job.bytes[0], u8::from(codec.is_some()));

        let call = GrpcCall::received(schema(), "/shop.v1.Shop/Echo", codec);
        let mut received = Job::receive(job.bytes, Session::default());
        received.call = Call::Grpc(call);
        run(&mut received, unpack).expect("arrives");
        let json: Value = serde_json::from_slice(&received.bytes).expect("JSON");
        assert_eq!(
            (json["text"].as_str().map(str::len), &json["small"]),
            (Some(1_000), &json!(9))
        );
        let facts = &received.facts;
        assert_eq!(facts.get("small"), Some(9));
        // The message has a field of that name, which is false.
        assert_eq!(facts.get("compressed"), Some(codec.is_some().into()));
        assert_eq!(
            (facts.text("service"), facts.text("method")),
            (Some("shop.v1.Shop"), Some("Echo"))
        );

        let Call::Grpc(call) = &received.call else {
            panic!("{:?}", received.call);
        };
        let reply = call.response(codec);
        let mut job = Job::send(
            received.bytes,
            Format::Json,
            Call::Grpc(reply),
            Session::default(),
        );
        run(&mut job, pack).expect("replies");
        assert_eq!(
            message_length(&job.bytes, &limits),
            Ok(Some(job.bytes.len() - 5))
        );
    }
}

#[test]
fn malformed_prefixes_are_refused() {
    let limits = Limits::default();
    let receive = |bytes: &[u8], path: &str, codec| {
        let mut job = Job::receive(bytes.to_vec(), Session::default());
        job.call = Call::Grpc(GrpcCall::received(schema(), path, codec));
        let error = run(&mut job, &[Accel::Rpc]).unwrap_err();
        assert_eq!(job.bytes, bytes, "the job is as it was");
        error.reason()
    };
    let echo = "/shop.v1.Shop/Echo";
    assert_eq!(receive(b"\0\0\0\0", echo, None), "truncated");
    assert_eq!(receive(b"\0\0\0\0\x02x", echo, None), "truncated");
    assert_eq!(receive(b"\0\0\0\0\x01xy", echo, None), "trailing_bytes");
    assert_eq!(receive(b"\x02\0\0\0\0", echo, None), "bad_frame");
    assert_eq!(receive(b"\x01\0\0\0\0", echo, None), "bad_frame");
    assert_eq!(receive(b"\0\xff\xff\xff\xff", echo, None), "too_large");
    assert_eq!(
        receive(b"\0\0\0\0\0", "/shop.v1.Shop/Sell", None),
        "unknown_method"
    );
    assert_eq!(message_length(b"\0\0\0", &limits), Ok(None));
    assert_eq!(
        write_message(b"ab", true, &limits),
        Ok(b"\x01\0\0\0\x02ab".to_vec())
    );
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes: Vec<u8>) {
        let limits = Limits::default();
        if let Ok(json) = json_of(&bytes, &limits) {
            prop_assert!(json.is_object());
        }
    }

    #[test]
    fn items_come_back(
        text in ".*", numbers: Vec<i64>, data: Vec<u8>, small: Option<i32>, count: Option<u32>,
        shares in proptest::collection::btree_map(".*", -1e300f64..1e300, 0..4), things: u64,
    ) {
        use base64::Engine;
        let data = base64::engine::general_purpose::STANDARD.encode(data);
        let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let mut value = json!({
            "text": text, "data": data, "numbers": numbers, "shares": shares,
            "colour": "RED", "compressed": true, "numberOfThings": things.to_string(),
        });
        if let Some(small) = small {
            value["small"] = small.into();
        }
        if let Some(count) = count {
            value["count"] = count.into();
        }
        let back = json_of(&item(&value).expect("fits"), &Limits::default()).expect("decodes");
        prop_assert_eq!(back, value);
    }
}

/// JSON has no number for them, and the library would write null, as for an absent wrapper.
#[test]
fn wrapped_numbers_that_are_not_finite_are_refused() {
    let interface = r#"
        syntax = "proto3";
        import "google/protobuf/wrappers.proto";
        message Deep { map<string, Held> by_name = 1; }
        message Held { repeated google.protobuf.FloatValue shares = 1; }
        service S { rpc Echo(Deep) returns (Deep); }
    "#;
    let schema = Schema::parse(interface).expect("a constant");
    let kind = schema.message("Deep").expect("declared");
    let read = |value: f32| {
        let share = [&[0x0d][..], &value.to_le_bytes()].concat();
        let held = [&[0x0a, 5][..], &share].concat();
        let entry = [&[0x0a, 1, b'a', 0x12, 7][..], &held].concat();
        let bytes = [&[0x0a, entry.len() as u8][..], &entry].concat();
        message_to_json(&kind, &bytes, &Limits::default())
    };
    assert_eq!(
        read(0.5).expect("it is finite"),
        br#"{"byName":{"a":{"shares":[0.5]}}}"#
    );
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let error = read(value).expect_err("it is not finite").to_string();
        let said = format!("wrapped number = {value}: must be finite");
        assert!(error.contains(&said), "{error}");
    }
}

/// A length-delimited field with a number below 16.
fn part(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut left = content.len();
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
    [&out, content].concat()
}

/// Regression: the library merges the pieces of a message, so a type and a content in different
/// pieces made an `Any` whose content nobody had checked. Nested deeply, it ended the process.
#[test]
fn any_in_pieces_is_refused() {
    let interface = r#"
        syntax = "proto3";
        import "google/protobuf/any.proto";
        import "google/protobuf/wrappers.proto";
        message Open { google.protobuf.Any any = 1; Open open = 2; map<int32, Open> more = 3; }
        message Held { google.protobuf.DoubleValue number = 1; }
        service S { rpc Echo(Open) returns (Open); rpc Hold(Held) returns (Held); }
    "#;
    let schema = Schema::parse(interface).expect("a constant");
    let kind = schema.message("Open").expect("declared");
    let read = |bytes: &[u8]| message_to_json(&kind, bytes, &Limits::default());
    let any = part(1, b"x/google.protobuf.Any");
    let deep = (0..5_000).fold(Vec::new(), |inner, _| [&any[..], &part(2, &inner)].concat());
    let content = part(2, &deep);
    let whole = read(&part(1, &[&any[..], &content].concat()));
    assert_eq!(whole.expect_err("it is deep").reason(), "too_deep");
    let pieces = [part(1, &any), part(1, &content)].concat();
    let entry = |open: &[u8]| part(3, &[&[8, 1][..], open].concat());
    for bytes in [
        pieces.clone(),
        [part(2, &part(1, &any)), part(2, &part(1, &content))].concat(),
        entry(&[part(2, &part(1, &any)), part(2, &part(1, &content))].concat()),
        entry(&part(2, &pieces)),
    ] {
        let error = read(&bytes).expect_err("it is in pieces");
        assert!(error.to_string().contains("comes twice"), "{error}");
    }
    // Entries of a map may have the same key, and the last one counts.
    let twice = [entry(&part(2, b"")), entry(&part(2, b""))].concat();
    assert!(read(&twice).is_ok());
    let infinite = [&[9][..], &f64::INFINITY.to_le_bytes()].concat();
    let url = part(1, b"x/google.protobuf.DoubleValue");
    let error = read(&part(1, &[url, part(2, &infinite)].concat())).expect_err("infinite");
    assert!(error.to_string().contains("must be finite"), "{error}");
}

/// Regression: extensions were skipped, so the content of an `Any` in one was unchecked.
#[test]
fn any_in_extensions_is_checked() {
    let interface = r#"
        syntax = "proto2";
        import "google/protobuf/any.proto";
        import "google/protobuf/wrappers.proto";
        message Ext { optional int32 number = 1; extensions 9 to 15; }
        extend Ext { optional google.protobuf.Any held = 9; }
        extend Ext { optional google.protobuf.DoubleValue wrapped = 10; repeated int32 many = 11; }
        service S { rpc Echo(Ext) returns (Ext); }
    "#;
    let schema = Schema::parse(interface).expect("a constant");
    let kind = schema.message("Ext").expect("declared");
    let read = |bytes: &[u8]| message_to_json(&kind, bytes, &Limits::default());
    let any = part(1, b"x/Ext");
    let nested = |levels: usize| {
        (0..levels).fold(Vec::new(), |inner, _| {
            part(9, &[&any[..], &part(2, &inner)].concat())
        })
    };
    assert!(read(&nested(20)).is_ok());
    assert_eq!(
        read(&nested(5_000)).expect_err("it is deep").reason(),
        "too_deep"
    );
    let pieces = [part(9, &any), part(9, &part(2, &nested(5_000)))].concat();
    let error = read(&pieces).expect_err("it is in pieces").to_string();
    assert!(error.contains("comes twice"), "{error}");
    let infinite = [&[9][..], &f64::INFINITY.to_le_bytes()].concat();
    let error = read(&part(10, &infinite))
        .expect_err("it is infinite")
        .to_string();
    assert!(error.contains("must be finite"), "{error}");
    let many = part(11, &[7; 20]);
    let few = Limits {
        max_elements: 20,
        ..Limits::default()
    };
    assert!(read(&many).is_ok());
    let error = message_to_json(&kind, &many, &few).expect_err("one too many");
    assert_eq!(error.reason(), "too_large");
}
