//! Round trips of any value: Thrift, compression, formats.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::compress::{Cmp, Dcmp};
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json, struct_to_json};
use accelflow_accel::{AccelError, Codec, Limits, transform};
use accelflow_trace::{Format, Transform};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const KINDS: &str = include_str!("golden/kinds.thrift");

fn doubles() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("JSON has no others", |value| value.is_finite())
}

fn points() -> impl Strategy<Value = Value> {
    (doubles(), doubles(), proptest::option::of(".*")).prop_map(|(x, y, label)| match label {
        Some(label) => json!({"x": x, "y": y, "label": label}),
        None => json!({"x": x, "y": y}),
    })
}

fn list<S: Strategy<Value = Value>>(items: S) -> impl Strategy<Value = Value> {
    proptest::collection::vec(items, 0..20).prop_map(Value::Array)
}

/// A value of `Kinds`, with each field present or absent.
fn kinds() -> impl Strategy<Value = Value> {
    let text = || any::<String>().prop_map(Value::from).boxed();
    let strategies: Vec<(&str, BoxedStrategy<Value>)> = vec![
        ("yes", any::<bool>().prop_map(Value::from).boxed()),
        ("no", any::<bool>().prop_map(Value::from).boxed()),
        ("tiny", any::<i8>().prop_map(Value::from).boxed()),
        ("small", any::<i16>().prop_map(Value::from).boxed()),
        ("medium", any::<i32>().prop_map(Value::from).boxed()),
        ("large", any::<i64>().prop_map(Value::from).boxed()),
        ("real", doubles().prop_map(Value::from).boxed()),
        ("text", text()),
        (
            "blob",
            any::<Vec<u8>>()
                .prop_map(|bytes| STANDARD.encode(bytes).into())
                .boxed(),
        ),
        ("colour", any::<i32>().prop_map(Value::from).boxed()),
        ("flags", list(any::<bool>().prop_map(Value::from)).boxed()),
        ("numbers", list(any::<i32>().prop_map(Value::from)).boxed()),
        ("names", list(text()).boxed()),
        ("nested", list(list(text())).boxed()),
        ("point", points().boxed()),
        ("path", list(points()).boxed()),
        (
            "counts",
            proptest::collection::hash_map(any::<String>(), any::<i64>(), 0..20)
                .prop_map(|map| json!(map))
                .boxed(),
        ),
        (
            "points",
            list((any::<i32>(), points()).prop_map(|(key, point)| json!([key, point]))).boxed(),
        ),
    ];
    let fields: Vec<_> = strategies
        .into_iter()
        .map(|(name, strategy)| {
            proptest::option::of(strategy)
                .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    fields.prop_shuffle_and_collect()
}

trait Shuffle {
    fn prop_shuffle_and_collect(self) -> BoxedStrategy<Value>;
}

impl<S: Strategy<Value = Option<(String, Value)>> + 'static> Shuffle for Vec<S> {
    /// JSON members in any order: the field numbers on the wire then also decrease.
    fn prop_shuffle_and_collect(self) -> BoxedStrategy<Value> {
        self.prop_map(|fields| fields.into_iter().flatten().collect::<Vec<_>>())
            .prop_shuffle()
            .prop_map(|fields| Value::Object(Map::from_iter(fields)))
            .boxed()
    }
}

fn step(src: Format, dst: Format) -> Transform {
    Transform { src, dst }
}

/// JSON with numbers that BSON can hold, and no member that looks like extended JSON.
fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        doubles().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(6, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            proptest::collection::vec(("[a-z]{1,8}", inner), 0..6)
                .prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    });
    proptest::collection::vec(("[a-z]{1,8}", value), 0..6)
        .prop_map(|members| Value::Object(Map::from_iter(members)))
}

proptest! {
    #[test]
    fn thrift_struct(value in kinds(), compact in any::<bool>()) {
        let (schema, limits) = (Schema::parse(KINDS).unwrap(), Limits::default());
        let id = schema.struct_id("Kinds").unwrap();
        let protocol = if compact { Protocol::Compact } else { Protocol::Binary };
        let text = value.to_string();
        let wire = struct_from_json(&schema, id, protocol, text.as_bytes(), &limits).unwrap();
        let json = struct_to_json(&schema, id, protocol, &wire, &limits).unwrap();
        prop_assert_eq!(serde_json::from_slice::<Value>(&json).unwrap(), value);
    }

    #[test]
    fn thrift_reader_survives_any_bytes(bytes: Vec<u8>, compact: bool) {
        let (schema, limits) = (Schema::parse(KINDS).unwrap(), Limits::default());
        let id = schema.struct_id("Kinds").unwrap();
        let protocol = if compact { Protocol::Compact } else { Protocol::Binary };
        if let Ok(json) = struct_to_json(&schema, id, protocol, &bytes, &limits) {
            prop_assert!(serde_json::from_slice::<Value>(&json).is_ok());
        }
    }

    #[test]
    fn compression(data: Vec<u8>, repeat in 1usize..50, which in 0..Codec::ALL.len(), level in 1i32..=6) {
        let codec = Codec::ALL[which];
        let (data, limits) = (data.repeat(repeat), Limits::default());
        let compressed = Cmp::new(codec, level, limits).unwrap().compress(&data).unwrap();
        prop_assert_eq!(Dcmp::new(limits).decompress(codec, &compressed).unwrap(), data);
    }

    #[test]
    fn json_and_bson(value in documents()) {
        let limits = Limits::default();
        let text = value.to_string().into_bytes();
        for other in [Format::Json, Format::Str] {
            let bson = transform::convert(&text, step(other, Format::Bson), &limits).unwrap();
            let back = transform::convert(&bson, step(Format::Bson, other), &limits).unwrap();
            prop_assert_eq!(&serde_json::from_slice::<Value>(&back).unwrap(), &value);
        }
    }

    #[test]
    fn json_and_string(value in documents()) {
        let limits = Limits::default();
        let text = value.to_string().into_bytes();
        let string = transform::convert(&text, step(Format::Json, Format::Str), &limits).unwrap();
        let back = transform::convert(&string, step(Format::Str, Format::Json), &limits).unwrap();
        prop_assert_eq!(back, text);
    }

    #[test]
    fn transforms_survive_any_bytes(bytes: Vec<u8>) {
        for nibble in 0..16 {
            let Some(step) = Transform::from_nibble(nibble) else { continue };
            if let Err(error) = transform::convert(&bytes, step, &Limits::default()) {
                prop_assert!(["bad_json", "bad_bson", "bad_utf8", "too_deep"].contains(&error.reason()));
            }
        }
    }
}

fn refused(bytes: &[u8], step: Transform) -> AccelError {
    transform::convert(bytes, step, &Limits::default()).unwrap_err()
}

#[test]
fn transforms_name_the_fault() {
    let (json, bson) = (Format::Json, Format::Bson);
    assert_eq!(
        refused(b"[1]", step(json, bson)).reason(),
        "bad_bson",
        "the top is an object"
    );
    assert_eq!(refused(b"{", step(json, bson)).reason(), "bad_json");
    assert_eq!(
        refused(b"\"\xff\"", step(json, Format::Str)).reason(),
        "bad_utf8"
    );
    let deep = [b'['].repeat(65);
    assert_eq!(refused(&deep, step(Format::Str, json)).reason(), "too_deep");
    // A document in a document, 70 times: each is its length, a type, a name and a final zero.
    let mut document = vec![5, 0, 0, 0, 0];
    for _ in 0..70 {
        let length = (document.len() as u32 + 8).to_le_bytes();
        document = [&length[..], &[3, b'a', 0], &document, &[0]].concat();
    }
    assert_eq!(refused(&document, step(bson, json)).reason(), "too_deep");
    let limits = Limits {
        max_message_bytes: 10,
        ..Limits::default()
    };
    let error =
        transform::convert(b"\"0123456789\"", step(Format::Str, json), &limits).unwrap_err();
    assert_eq!(error.reason(), "too_large");
}

#[test]
fn compressed_data_is_bounded_and_whole() {
    let limits = Limits {
        max_decompressed_bytes: 1 << 20,
        ..Limits::default()
    };
    let mut dcmp = Dcmp::new(limits);
    for codec in Codec::ALL {
        let mut cmp = Cmp::new(codec, 1, Limits::default()).unwrap();
        let random: Vec<u8> = (0u32..1 << 21)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let compressed = cmp.compress(&random).unwrap();
        let error = dcmp.decompress(codec, &compressed).unwrap_err();
        assert_eq!(error.reason(), "zip_bomb", "beyond the absolute limit");
        let mut small = cmp.compress(&random[..1_000]).unwrap();
        small.extend_from_slice(b"tail");
        let error = dcmp.decompress(codec, &small).unwrap_err();
        let expected = match codec {
            Codec::Zstd | Codec::Gzip => "trailing_bytes",
            Codec::Snappy => "corrupt_data",
        };
        assert_eq!(error.reason(), expected);
    }
    for codec in [Codec::Zstd, Codec::Gzip] {
        let mut cmp = Cmp::new(codec, 1, limits).unwrap();
        let frame = cmp.compress(&[5; 300]).unwrap();
        let error = dcmp
            .decompress(codec, &frame[..frame.len() - 1])
            .unwrap_err();
        assert_eq!(error.reason(), "truncated");
    }
    assert_eq!(
        Cmp::new(Codec::Zstd, 23, limits).unwrap_err().reason(),
        "out_of_range"
    );
    assert_eq!(
        Codec::from_name("br").unwrap_err().reason(),
        "unknown_codec"
    );
}

#[test]
fn data_that_compresses_beyond_the_ratio_can_be_read_with_the_same_limits() {
    let mixed: Vec<u8> = (0..3 << 20).map(|n: u32| (n >> 16) as u8 | 1).collect();
    for max_decompression_ratio in [1, 2, 20, 256, 5_000] {
        let limits = Limits {
            max_decompression_ratio,
            ..Limits::default()
        };
        for (codec, level) in [(Codec::Zstd, 1), (Codec::Zstd, 19), (Codec::Snappy, 1)] {
            let mut cmp = Cmp::new(codec, level, limits).unwrap();
            let mut dcmp = Dcmp::new(limits);
            for size in [65_536, 65_537, 70_000, 131_073, 1 << 20, 3 << 20] {
                for data in [&vec![b'x'; size], &mixed[..size]] {
                    let packed = cmp.compress(data).unwrap();
                    assert_eq!(dcmp.decompress(codec, &packed).unwrap(), data);
                    let most = size.div_ceil(max_decompression_ratio) + 100 + size / 16;
                    assert!(packed.len() <= most, "{} of {size} bytes", packed.len());
                }
            }
        }
    }
}

#[test]
fn the_refusal_of_inflated_data_names_its_limit() {
    let generous = Limits {
        max_decompression_ratio: usize::MAX,
        ..Limits::default()
    };
    let mut cmp = Cmp::new(Codec::Zstd, 1, generous).unwrap();
    let packed = cmp.compress(&[b'x'; 1 << 20]).unwrap();
    let refusal = |limits| Dcmp::new(limits).decompress(Codec::Zstd, &packed);
    let text = refusal(Limits::default()).unwrap_err().to_string();
    assert!(
        text.ends_with("65536 bytes, the limit of max_decompression_ratio"),
        "{text}"
    );
    let small = Limits {
        max_decompressed_bytes: 1_000,
        ..generous
    };
    let text = refusal(small).unwrap_err().to_string();
    assert!(
        text.ends_with("1000 bytes, the limit of max_decompressed_bytes"),
        "{text}"
    );
}

#[test]
fn dates_beyond_the_year_9999_are_kept() {
    let limits = Limits::default();
    let (there, back) = (
        step(Format::Bson, Format::Json),
        step(Format::Json, Format::Bson),
    );
    for (ms, json) in [
        (
            253_402_300_799_999_i64,
            r#"{"$date":"9999-12-31T23:59:59.999Z"}"#,
        ),
        (
            253_402_300_800_000,
            r#"{"$date":{"$numberLong":"253402300800000"}}"#,
        ),
        (
            i64::MAX,
            r#"{"$date":{"$numberLong":"9223372036854775807"}}"#,
        ),
        (-1, r#"{"$date":{"$numberLong":"-1"}}"#),
        (
            i64::MIN,
            r#"{"$date":{"$numberLong":"-9223372036854775808"}}"#,
        ),
    ] {
        // {"a": [date]}
        let array = [&b"\x10\0\0\0\x090\0"[..], &ms.to_le_bytes(), b"\0"].concat();
        let bson = [&b"\x18\0\0\0\x04a\0"[..], &array, b"\0"].concat();
        let text = transform::convert(&bson, there, &limits).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&text),
            format!(r#"{{"a":[{json}]}}"#)
        );
        assert_eq!(transform::convert(&text, back, &limits).unwrap(), bson);
    }
}
