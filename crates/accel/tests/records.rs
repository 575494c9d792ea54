//! Thrift records are read and written as the JSON of the same bytes, with the same refusals.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use accelflow_accel::rpc::{MessageType, ThriftCall};
use accelflow_accel::thrift::{
    FunctionId, FunctionSet, Protocol, Schema, struct_from_json, struct_to_json,
};
use accelflow_accel::{AccelError, Accelerator, Call, Dser, Job, Limits, Record, Ser, Session};
use accelflow_trace::Format;
use proptest::prelude::*;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const INTERFACE: &str = "
    enum Colour { RED = 1, BLUE = 7 }
    union Either { 1: string text, 2: i64 number }
    struct Point { 1: double x, 2: optional double y = 0.5, 3: i16 z = 3 }
    struct Item {
        1: string text,
        2: list<i64> numbers,
        3: optional bool yes,
        4: binary blob,
        5: map<string, i32> counts,
        6: map<i64, Point> points,
        7: Colour colour = Colour.BLUE,
        8: Either either,
        9: set<string> names,
        10: list<Point> path,
        11: i8 tiny,
    }
    exception Refused { 1: i32 code }
    service Bench {
        Item echo(1: Item value, 2: bool flag) throws (1: Refused refused)
        void nothing(1: i32 number)
    }
";

fn schema() -> Arc<Schema> {
    Arc::new(Schema::parse(INTERFACE).unwrap())
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct Point {
    x: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<f64>,
    z: i16,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Either<'a> {
    #[serde(borrow)]
    Text(Cow<'a, str>),
    Number(i64),
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Item<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    numbers: Vec<i64>,
    yes: Option<bool>,
    blob: String,
    counts: BTreeMap<String, i32>,
    points: Vec<(i64, Point)>,
    colour: i32,
    either: Either<'a>,
    names: Vec<&'a str>,
    path: Vec<Point>,
    tiny: i8,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Arguments<'a> {
    #[serde(borrow)]
    value: Item<'a>,
    flag: bool,
}

fn item() -> Value {
    json!({
        "text": "caf\u{e9} \"quoted\"\n",
        "numbers": [0, -1, i64::MAX, i64::MIN],
        "yes": true,
        "blob": "AAEC/w==",
        "counts": {"a": 1, "b": -2},
        "points": [[-5, {"x": 1.5, "y": 2.25, "z": 9}]],
        "colour": 1,
        "either": {"number": 12},
        "names": ["one", "two"],
        "path": [{"x": 0.1, "y": 0.2, "z": 1}, {"x": -0.0, "y": 1e300, "z": 2}],
        "tiny": -128,
    })
}

/// A request to `method` before Dser.
fn request(method: &str, protocol: Protocol, arguments: &Value) -> Job {
    let (schema, limits) = (schema(), Limits::default());
    let call = ThriftCall::request(&schema, method, protocol, 1).unwrap();
    let id = schema.function(call.function).unwrap().arguments;
    let text = arguments.to_string();
    let bytes = struct_from_json(&schema, id, protocol, text.as_bytes(), &limits).unwrap();
    let mut job = Job::receive(bytes, Session::default());
    job.call = Call::Thrift(call);
    job
}

fn function(method: &str) -> FunctionId {
    schema().find(method).unwrap()
}

/// The output of Dser: as text, and as a record.
fn delivered(job: Job) -> (Result<Job, AccelError>, Result<Job, AccelError>) {
    let (schema, limits) = (schema(), Limits::default());
    let records: FunctionSet = [function("echo"), function("nothing")]
        .into_iter()
        .collect();
    let dser = || Dser::new(schema.clone(), limits);
    let [text, in_place, split] = [
        dser(),
        dser().with_records(records.clone()),
        dser().with_records(records).with_split_schema(true),
    ]
    .map(|mut dser| {
        let mut job = job.fork(Session::default());
        dser.run(&mut job).map(|()| job)
    });
    match (&in_place, &split) {
        (Ok(whole), Ok(split)) => {
            assert_eq!((&whole.bytes, &whole.facts), (&split.bytes, &split.facts));
            assert_eq!(whole.record.is_some(), split.record.is_some());
        }
        (whole, split) => assert_eq!(whole.as_ref().err(), split.as_ref().err()),
    }
    (text, in_place)
}

/// The output of Dser with a split schema.
fn split(job: &Job) -> Job {
    let records: FunctionSet = [function("echo")].into_iter().collect();
    let mut dser = Dser::new(schema(), Limits::default())
        .with_records(records)
        .with_split_schema(true);
    let mut job = job.fork(Session::default());
    dser.run(&mut job).unwrap();
    job
}

/// Reads an object, of whose members and those of `value` in it only some.
struct Chosen<'c>(&'c [&'c str]);

impl<'de> DeserializeSeed<'de> for Chosen<'_> {
    type Value = serde_json::Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Chosen<'_> {
    type Value = serde_json::Map<String, Value>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut read = serde_json::Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if name == "value" {
                let value = members.next_value_seed(Chosen(self.0))?;
                read.insert(name, Value::Object(value));
            } else if self.0.contains(&&*name) {
                read.insert(name, members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(read)
    }
}

fn record(job: &Job) -> &Record {
    job.record.as_ref().unwrap()
}

const BOTH: [Protocol; 2] = [Protocol::Binary, Protocol::Compact];

#[test]
fn a_record_is_read_as_its_json_is() {
    for protocol in BOTH {
        let job = request("echo", protocol, &json!({"value": item(), "flag": false}));
        let wire = job.bytes.clone();
        let (text, in_place) = delivered(job);
        let (text, in_place) = (text.unwrap(), in_place.unwrap());
        assert_eq!(in_place.bytes, wire);
        assert_eq!(text.facts, in_place.facts);
        assert_eq!(text.format, in_place.format);
        assert_eq!(record(&in_place).to_json(&wire).unwrap(), text.bytes);
        assert_eq!(
            in_place.data().unwrap(),
            (Cow::Owned(text.bytes.clone()), Format::Json)
        );
        let read: Arguments<'_> = record(&in_place).read(&wire).unwrap();
        assert_eq!(read, serde_json::from_slice(&text.bytes).unwrap());
        assert!(matches!(read.value.text, Cow::Borrowed(_)));
        let tree: Value = record(&in_place).read(&wire).unwrap();
        assert_eq!(tree, serde_json::from_slice::<Value>(&text.bytes).unwrap());
    }
}

#[test]
fn absent_fields_have_their_default_values() {
    for protocol in BOTH {
        let job = request(
            "echo",
            protocol,
            &json!({"value": {"text": "x", "colour": null}}),
        );
        let (text, in_place) = delivered(job);
        let (text, in_place) = (text.unwrap(), in_place.unwrap());
        let tree: Value = record(&in_place).read(&in_place.bytes).unwrap();
        assert_eq!(tree, serde_json::from_slice::<Value>(&text.bytes).unwrap());
        assert_eq!(tree["value"]["colour"], 7);
    }
}

#[test]
fn a_type_that_does_not_fit_the_interface_is_refused_by_name() {
    let job = request("echo", Protocol::Binary, &json!({"value": item()}));
    let (_, in_place) = delivered(job);
    let in_place = in_place.unwrap();
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it cannot be read")]
    struct Wrong {
        value: BTreeMap<String, i64>,
    }
    let error = record(&in_place)
        .read::<Wrong>(&in_place.bytes)
        .unwrap_err();
    assert_eq!(error.reason(), "bad_value");
    assert!(error.to_string().contains("expected i64"), "{error}");
}

#[test]
fn members_that_nobody_reads_are_skipped() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Few {
        tiny: i8,
    }
    #[derive(Debug, Deserialize, PartialEq)]
    struct Some {
        value: Few,
    }
    for protocol in BOTH {
        let job = request("echo", protocol, &json!({"value": item(), "flag": true}));
        let in_place = delivered(job).1.unwrap();
        let read: Some = record(&in_place).read(&in_place.bytes).unwrap();
        assert_eq!(read.value, Few { tiny: -128 });
    }
}

#[test]
fn records_refuse_what_json_refuses() {
    for protocol in BOTH {
        let good = request("echo", protocol, &json!({"value": item(), "flag": true}));
        for at in 0..good.bytes.len() {
            for change in [0x01, 0x10, 0x80, 0xff] {
                let mut job = good.fork(Session::default());
                job.bytes[at] ^= change;
                let (text, in_place) = delivered(job);
                match (text, in_place) {
                    (Ok(text), Ok(in_place)) => {
                        let json = record(&in_place).to_json(&in_place.bytes).unwrap();
                        assert_eq!(json, text.bytes);
                    }
                    (Err(text), Err(in_place)) => assert_eq!(text, in_place),
                    (text, in_place) => panic!("byte {at} ^ {change}: {text:?} but {in_place:?}"),
                }
            }
        }
    }
}

#[test]
fn addresses_of_another_message_do_no_harm() {
    for protocol in BOTH {
        let one = split(&request("echo", protocol, &json!({"value": item()})));
        let few = json!({"value": {"text": "a text that is longer", "path": []}});
        let other = request("echo", protocol, &few);
        let whole = delivered(other.fork(Session::default())).1.unwrap();
        for bytes in [&other.bytes[..], &other.bytes[..5], &[]] {
            let read = |job: &Job| {
                record(job)
                    .read_seed(bytes, Chosen(&["tiny"]))
                    .map_err(|error| error.reason())
            };
            let (split, whole) = (read(&one), read(&whole));
            // What begins elsewhere is walked through.
            assert_eq!(split, whole);
        }
    }
}

/// Regression: bytes within the depth limit for text were beyond it for records.
#[test]
fn unknown_fields_are_as_deep_as_known_ones_may_be() {
    let deepest = Limits::default().max_depth - 1;
    for levels in 1..deepest + 3 {
        let mut job = request("nothing", Protocol::Binary, &json!({}));
        // A list of lists, and so on, in a field that no function has.
        let mut bytes = vec![15, 0, 99];
        bytes.extend([15, 0, 0, 0, 1].repeat(levels - 1));
        bytes.extend([3, 0, 0, 0, 0, 0]);
        job.bytes = bytes;
        let (text, in_place) = delivered(job);
        if levels > deepest {
            assert_eq!(text.unwrap_err().reason(), "too_deep");
            assert_eq!(in_place.unwrap_err().reason(), "too_deep");
            continue;
        }
        let in_place = in_place.unwrap();
        let read: Value = record(&in_place).read(&in_place.bytes).unwrap();
        assert_eq!(
            read,
            serde_json::from_slice::<Value>(&text.unwrap().bytes).unwrap()
        );
    }
}

/// The body of a reply that Ser writes.
fn sent(job: &mut Job) -> Result<Vec<u8>, AccelError> {
    Ser::new(schema(), Limits::default()).run(job)?;
    Ok(std::mem::take(&mut job.bytes))
}

fn reply(protocol: Protocol) -> ThriftCall {
    let call = ThriftCall::request(&schema(), "echo", protocol, 1).unwrap();
    assert_eq!(call.message_type, MessageType::Call);
    call.reply()
}

/// Both ways from a value to the wire.
fn results<T: Serialize>(value: &T, protocol: Protocol) -> [Result<Vec<u8>, AccelError>; 2] {
    // Ser accepts records of its own schema alone.
    let schema = schema();
    let limits = Limits::default();
    let call = ThriftCall::request(&schema, "echo", protocol, 1).unwrap();
    let arguments = schema.function(call.function).unwrap().arguments;
    let empty = struct_from_json(&schema, arguments, protocol, b"{}", &limits).unwrap();
    let mut asked = Job::receive(empty, Session::default());
    asked.call = Call::Thrift(call.clone());
    let records: FunctionSet = [call.function].into_iter().collect();
    let mut dser = Dser::new(schema.clone(), limits).with_records(records);
    dser.run(&mut asked).unwrap();
    let mut bytes = b"what was there before".to_vec();
    let made = record(&asked)
        .result(call.function, value, &mut bytes)
        .and_then(|record| {
            let kind = Call::Thrift(reply(protocol));
            let mut job = Job::send(bytes, Format::Json, kind, Session::default());
            job.record = Some(record);
            Ser::new(schema.clone(), limits).run(&mut job)?;
            assert!(job.record.is_none());
            Ok(job.bytes)
        });
    let text = serde_json::to_vec(&json!({"success": value})).unwrap();
    let kind = Call::Thrift(reply(protocol));
    let mut job = Job::send(text, Format::Json, kind, Session::default());
    [sent(&mut job), made]
}

#[test]
fn a_result_is_written_as_its_json_is() {
    for protocol in BOTH {
        let text = item().to_string();
        let value: Item<'_> = serde_json::from_str(
            // Borrowed names cannot have escapes.
            &text,
        )
        .unwrap();
        let [by_json, by_record] = results(&value, protocol);
        assert_eq!(by_json.unwrap(), by_record.unwrap());
    }
}

#[test]
fn results_that_do_not_fit_are_refused_alike() {
    let wrong = [
        json!({"text": 5}),
        json!({"tiny": 128}),
        json!({"tiny": -129}),
        json!({"numbers": [1, "two"]}),
        json!({"numbers": [null]}),
        json!({"unknown": 1}),
        json!({"blob": "no base64"}),
        json!({"either": {}}),
        json!({"either": {"text": "a", "number": 1}}),
        json!({"counts": [1]}),
        json!({"path": {"x": 1}}),
        json!({"yes": 1}),
        json!(5),
        json!([]),
        json!("text"),
    ];
    for value in wrong {
        let [by_json, by_record] = results(&value, Protocol::Binary);
        let (by_json, by_record) = (by_json.unwrap_err(), by_record.unwrap_err());
        assert_eq!(
            by_json.reason(),
            by_record.reason(),
            "{value}: {by_json}, {by_record}"
        );
    }
}

/// The JSON of such numbers is that of ProtoJSON; a record has the numbers themselves.
#[test]
fn numbers_that_json_does_not_have_are_texts_in_it() {
    #[derive(Clone, Copy, Serialize)]
    struct Place {
        x: f64,
    }
    #[derive(Serialize)]
    struct Places {
        path: [Place; 3],
        points: [(i64, Place); 1],
    }
    let texts = json!({
        "path": [{"x": "NaN"}, {"x": "Infinity"}, {"x": "-Infinity"}], "points": [[1, {"x": "NaN"}]],
    });
    let places = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(|x| Place { x });
    let numbers = Places {
        path: places,
        points: [(1, places[0])],
    };
    let schema = schema();
    let function = schema.function(function("echo")).unwrap();
    for protocol in BOTH {
        let [by_json, by_record] = results(&texts, protocol).map(Result::unwrap);
        assert_eq!(by_json, by_record);
        let [_, of_numbers] = results(&numbers, protocol);
        assert_eq!(by_json, of_numbers.unwrap());
        let limits = Limits::default();
        let back = struct_to_json(&schema, function.result, protocol, &by_json, &limits).unwrap();
        let back: Value = serde_json::from_slice(&back).unwrap();
        assert_eq!(back["success"]["path"][2]["x"], "-Infinity");
        assert_eq!(
            back["success"]["points"],
            json!([[1, {"x": "NaN", "y": 0.5, "z": 3}]])
        );
    }
    for other in ["nan", "inf", "1.0", "+Infinity"] {
        let [by_json, by_record] = results(&json!({"path": [{"x": other}]}), Protocol::Compact);
        for refused in [by_json, by_record] {
            assert_eq!(refused.unwrap_err().reason(), "wrong_json_type");
        }
    }
}

#[test]
fn a_function_without_a_result_has_no_record_of_it() {
    let job = request("nothing", Protocol::Binary, &json!({"number": 1}));
    let in_place = delivered(job).1.unwrap();
    let refused = record(&in_place)
        .result(function("nothing"), &1, &mut Vec::new())
        .unwrap_err();
    assert_eq!(refused.reason(), "unknown_field");
    let unknown = record(&in_place).result(FunctionId(9), &1, &mut Vec::new());
    let refused = unknown.unwrap_err();
    assert_eq!(refused.reason(), "unknown_method");
}

/// Any value of the interface, with each field present or absent.
fn items() -> impl Strategy<Value = Value> {
    let text = || ".{0,40}".prop_map(Value::from).boxed();
    let point = || {
        (-1e9..1e9f64, any::<i16>(), any::<bool>()).prop_map(|(x, z, y)| match y {
            true => json!({"x": x, "y": x / 3.0, "z": z}),
            false => json!({"z": z}),
        })
    };
    let fields: Vec<(&str, BoxedStrategy<Value>)> = vec![
        ("text", text()),
        (
            "numbers",
            prop::collection::vec(any::<i64>(), 0..9)
                .prop_map(Value::from)
                .boxed(),
        ),
        ("yes", any::<bool>().prop_map(Value::from).boxed()),
        (
            "counts",
            prop::collection::btree_map(".{0,9}", any::<i32>(), 0..5)
                .prop_map(|map| json!(map))
                .boxed(),
        ),
        (
            "points",
            prop::collection::vec((any::<i64>(), point()), 0..5)
                .prop_map(|pairs| json!(pairs))
                .boxed(),
        ),
        (
            "path",
            prop::collection::vec(point(), 0..5)
                .prop_map(Value::from)
                .boxed(),
        ),
        ("tiny", any::<i8>().prop_map(Value::from).boxed()),
        (
            "either",
            text().prop_map(|text| json!({"text": text})).boxed(),
        ),
    ];
    let members: Vec<_> = fields
        .into_iter()
        .map(|(name, strategy)| {
            prop::option::of(strategy).prop_map(move |value| value.map(|value| (name, value)))
        })
        .collect();
    members.prop_map(|members| {
        let there = members.into_iter().flatten();
        Value::Object(
            there
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    })
}

proptest! {
    #[test]
    fn any_value_is_read_and_written_as_its_json_is(value in items(), compact in any::<bool>()) {
        let protocol = if compact { Protocol::Compact } else { Protocol::Binary };
        let [by_json, by_record] = results(&value, protocol);
        let bytes = by_json.unwrap();
        prop_assert_eq!(&bytes, &by_record.unwrap());
        let job = request("echo", protocol, &json!({"value": value}));
        let (text, in_place) = delivered(job);
        let (text, in_place) = (text.unwrap(), in_place.unwrap());
        let tree: Value = record(&in_place).read(&in_place.bytes).unwrap();
        prop_assert_eq!(tree, serde_json::from_slice::<Value>(&text.bytes).unwrap());
        let split = split(&request("echo", protocol, &json!({"value": value})));
        let by_split: Value = record(&split).read(&split.bytes).unwrap();
        let by_text = serde_json::from_slice::<Value>(&text.bytes).unwrap();
        prop_assert_eq!(by_split, by_text);
        let schema = schema();
        let id = schema.function(function("echo")).unwrap().result;
        let json = struct_to_json(&schema, id, protocol, &bytes, &Limits::default());
        prop_assert!(json.is_ok());
    }

    #[test]
    fn skipped_fields_are_skipped_completely(
        value in items(),
        compact in any::<bool>(),
        chosen in prop::sample::subsequence(
            vec!["text", "numbers", "yes", "counts", "points", "path", "tiny", "either", "colour", "flag"],
            0..10,
        ),
    ) {
        let protocol = if compact { Protocol::Compact } else { Protocol::Binary };
        let mut job = request("echo", protocol, &json!({"value": value, "flag": true}));
        // A list of a struct in a field that the function does not have, before the others.
        let unknown: &[u8] = match protocol {
            Protocol::Binary => &[15, 0, 99, 12, 0, 0, 0, 2, 3, 0, 1, 7, 0, 0],
            Protocol::Compact => &[0x09, 0xc6, 0x01, 0x2c, 0x13, 7, 0, 0],
        };
        let header = match protocol {
            Protocol::Binary => vec![],
            // The next field's number is no longer a difference to that before.
            Protocol::Compact => vec![job.bytes[0] & 0x0f, 2],
        };
        let rest = match protocol {
            Protocol::Binary => &job.bytes[..],
            Protocol::Compact => &job.bytes[1..],
        };
        job.bytes = [unknown, &header, rest].concat();
        let in_place = delivered(job.fork(Session::default())).1.unwrap();
        let split = split(&job);
        let of_whole = record(&in_place).read_seed(&job.bytes, Chosen(&chosen)).unwrap();
        let of_split = record(&split).read_seed(&job.bytes, Chosen(&chosen)).unwrap();
        prop_assert_eq!(&of_whole, &of_split);
        let read = of_whole["value"].as_object().unwrap();
        prop_assert!(read.keys().all(|name| chosen.contains(&&**name)));
        if let Some(numbers) = value.get("numbers").filter(|_| chosen.contains(&"numbers")) {
            prop_assert_eq!(&read["numbers"], numbers);
        }
    }
}
