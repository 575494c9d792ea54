//! Every byte changed, every truncation, at every layer: a named error or a correct decode.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::http::{HttpCall, response_length};
use accelflow_accel::rpc::{ThriftCall, read_message, write_message};
use accelflow_accel::storage::{Operation, StorageCall, StorageResponse, Stored};
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json, struct_to_json};
use accelflow_accel::{Accelerator, Call, Codec, Direction, Dser, Job, Limits, Packed, messages};
use accelflow_trace::Format;
use accelflow_trace::{Accel, nine::*};

use crate::common::{connection, ensemble, run};

/// A job in front of `accel` that the accelerator accepts.
fn good_job(accel: Accel, protocol: Protocol) -> Job {
    let (client, server) = connection();
    let schema = Schema::social_network();
    let call = ThriftCall::request(&schema, "ComposeMedia", protocol, 7).unwrap();
    let json = messages::request("ComposeMedia", 1, 1)
        .unwrap()
        .to_string()
        .into_bytes();
    let mut job = Job::send(json, Format::Json, Call::Thrift(call), client);
    let mut ensemble = ensemble();
    let before: &[Accel] = match accel {
        Accel::Ser | Accel::Cmp => &[],
        Accel::Dser => &[Ser],
        Accel::Dcmp => &[Cmp],
        Accel::Rpc => &[Ser, Rpc],
        Accel::Decr => &[Ser, Rpc, Encr],
        _ => &[Ser, Rpc, Encr, Tcp],
    };
    run(&mut ensemble, &mut job, before);
    job.direction = Direction::Receive;
    job.session = server;
    job
}

/// Corrupted copies of `bytes`: each byte changed in three ways, and each truncation.
fn corruptions(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let flips = (0..bytes.len()).flat_map(move |at| {
        [0x01, 0x80, 0xff].map(|mask| {
            let mut copy = bytes.to_vec();
            copy[at] ^= mask;
            copy
        })
    });
    flips.chain((0..bytes.len()).map(|end| bytes[..end].to_vec()))
}

fn with_bytes(good: &Job, bytes: Vec<u8>) -> Job {
    let (_, server) = connection();
    Job {
        bytes,
        ..good.fork(server)
    }
}

/// Reasons seen over all corruptions of one layer.
fn reasons(accel: Accel, protocol: Protocol) -> (usize, std::collections::BTreeSet<&'static str>) {
    let good = good_job(accel, protocol);
    let mut ensemble = ensemble();
    let mut clean = with_bytes(&good, good.bytes.clone());
    ensemble
        .run(accel, &mut clean)
        .unwrap_or_else(|error| panic!("{accel}: {error}"));
    let (mut accepted, mut seen) = (0, std::collections::BTreeSet::new());
    for bytes in corruptions(&good.bytes) {
        match ensemble.run(accel, &mut with_bytes(&good, bytes)) {
            Ok(()) => accepted += 1,
            Err(error) => {
                seen.insert(error.reason());
            }
        }
    }
    (accepted, seen)
}

#[test]
fn tcp_accepts_no_corrupted_segment() {
    let (accepted, seen) = reasons(Tcp, Protocol::Binary);
    assert_eq!(accepted, 0);
    assert!(
        seen.contains("bad_checksum") && seen.contains("truncated"),
        "{seen:?}"
    );
}

#[test]
fn decr_accepts_no_corrupted_record() {
    let (accepted, seen) = reasons(Decr, Protocol::Binary);
    assert_eq!(accepted, 0);
    for reason in ["bad_tag", "bad_record", "truncated", "record_overflow"] {
        assert!(seen.contains(reason), "{reason} in {seen:?}");
    }
}

#[test]
fn rpc_and_dser_name_the_fault() {
    for protocol in [Protocol::Binary, Protocol::Compact] {
        let (_, seen) = reasons(Rpc, protocol);
        for reason in [
            "bad_magic_or_version",
            "bad_message_type",
            "truncated",
            "unknown_method",
        ] {
            assert!(seen.contains(reason), "{reason} in {seen:?}");
        }
        let (_, seen) = reasons(Dser, protocol);
        for reason in ["bad_wire_type", "wrong_field_type", "truncated", "bad_utf8"] {
            assert!(seen.contains(reason), "{reason} in {seen:?}");
        }
    }
}

#[test]
fn ser_and_dcmp_survive() {
    let (_, seen) = reasons(Ser, Protocol::Compact);
    assert!(
        seen.contains("bad_json") && seen.contains("unknown_field"),
        "{seen:?}"
    );
    let (_, seen) = reasons(Dcmp, Protocol::Binary);
    assert!(
        seen.contains("corrupt_data") && seen.contains("bad_frame"),
        "{seen:?}"
    );
    let mut job = good_job(Cmp, Protocol::Binary);
    let mut snappy =
        accelflow_accel::compress::Cmp::new(Codec::Snappy, 1, Limits::default()).unwrap();
    job.bytes = snappy.compress(&job.bytes).unwrap();
    job.packed = Some(Packed {
        codec: Codec::Snappy,
        format: Format::Json,
    });
    job.format = Format::Str;
    let mut ensemble = ensemble();
    for bytes in corruptions(&job.bytes) {
        if let Err(error) = ensemble.run(Dcmp, &mut with_bytes(&job, bytes)) {
            assert!(
                ["corrupt_data", "zip_bomb", "bad_json", "bad_utf8"].contains(&error.reason()),
                "{error}"
            );
        }
    }
}

#[test]
fn http_heads_that_cannot_be_forwarded_are_refused() {
    let request = HttpCall::post("media.example", "/upload");
    for (call, head) in [
        (request.clone(), "GET /\u{2d6}q HTTP/1.1\r\n\r\n"),
        (request.response(200), "HTTP/1.1 000 None\r\n\r\n"),
    ] {
        let mut job = Job {
            bytes: head.as_bytes().to_vec(),
            call: Call::Http(call),
            ..Job::default()
        };
        let mut dser = Dser::new(Schema::social_network(), Limits::default());
        let error = dser.run(&mut job).unwrap_err();
        assert_eq!(error.reason(), "bad_http", "{head}: {error}");
        assert_eq!(job.bytes, head.as_bytes());
    }
}

#[test]
fn storage_and_http_survive() {
    let data = Some(Stored {
        bytes: vec![9; 20],
        codec: Some(Codec::Zstd),
        format: Format::Bson,
    });
    let done = StorageResponse::done(Operation::CacheGet);
    let response = StorageResponse {
        hit: true,
        data,
        ..done
    };
    let call = Call::Storage(StorageCall::request(Operation::CacheGet, "c", "k"));
    let storage = Job {
        bytes: response.encode(&Limits::default()).unwrap(),
        call,
        ..Job::default()
    };
    let text = b"HTTP/1.1 200 OK\r\ncontent-encoding: zstd\r\ncontent-length: 4\r\n\r\nbody";
    let call = Call::Http(HttpCall::post("h", "/").response(200));
    let http = Job {
        bytes: text.to_vec(),
        call,
        ..Job::default()
    };
    let mut ensemble = ensemble();
    for job in [storage, http] {
        let mut clean = with_bytes(&job, job.bytes.clone());
        ensemble.run(Dser, &mut clean).unwrap();
        let mut refused = 0;
        for bytes in corruptions(&job.bytes) {
            refused += usize::from(ensemble.run(Dser, &mut with_bytes(&job, bytes)).is_err());
        }
        assert!(
            refused > job.bytes.len(),
            "every truncation, and more: {refused}"
        );
    }
}

fn reason_of(schema: &Schema, name: &str, protocol: Protocol, bytes: &[u8]) -> &'static str {
    let id = schema.struct_id(name).unwrap();
    struct_to_json(schema, id, protocol, bytes, &Limits::default())
        .unwrap_err()
        .reason()
}

#[test]
fn hostile_lengths_and_depths() {
    let schema = Schema::parse(
        "struct Node { 1: Node next, 2: list<i64> items, 3: string text, 4: map<i32, i32> pairs }",
    )
    .unwrap();
    let binary = |bytes: &[u8]| reason_of(&schema, "Node", Protocol::Binary, bytes);
    let compact = |bytes: &[u8]| reason_of(&schema, "Node", Protocol::Compact, bytes);
    assert_eq!(
        binary(&[11, 0, 3, 0xff, 0xff, 0xff, 0xff]),
        "negative_length"
    );
    assert_eq!(binary(&[15, 0, 2, 10, 0x80, 0, 0, 0]), "negative_length");
    assert_eq!(binary(&[15, 0, 2, 10, 0x7f, 0xff, 0xff, 0xff]), "too_large");
    assert_eq!(binary(&[15, 0, 2, 10, 0, 1, 0, 0]), "truncated");
    assert_eq!(binary(&[11, 0, 3, 0x7f, 0xff, 0xff, 0xff]), "truncated");
    assert_eq!(binary(&[13, 0, 4, 8, 8, 0xff, 0, 0, 0]), "negative_length");
    assert_eq!(binary(&[12, 0, 1].repeat(100)), "too_deep");
    assert_eq!(
        binary(&[12, 0, 9].repeat(100)),
        "too_deep",
        "also in fields that are skipped"
    );
    assert_eq!(
        binary(&[11, 0, 3, 0, 0, 0, 0, 11, 0, 3, 0, 0, 0, 0, 0]),
        "duplicate_field"
    );
    assert_eq!(
        compact(&[0x38, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        "negative_length"
    );
    assert_eq!(
        compact(&[0x38, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
        "bad_varint"
    );
    assert_eq!(compact(&[0x1c].repeat(100)), "too_deep");
    assert_eq!(compact(&[0x29, 0xf6, 0xff, 0xff, 0xff, 0x07]), "too_large");
    let id = schema.struct_id("Node").unwrap();
    let deep = "{\"next\":".repeat(100) + "{}" + &"}".repeat(100);
    let error = struct_from_json(
        &schema,
        id,
        Protocol::Compact,
        deep.as_bytes(),
        &Limits::default(),
    );
    assert_eq!(error.unwrap_err().reason(), "too_deep");
}

#[test]
fn json_that_does_not_fit_is_named() {
    let schema = Schema::parse(
        "struct S { 1: i8 tiny, 2: i64 large, 3: binary blob, 4: required string must, 5: bool yes }
         union U { 1: i32 a, 2: i32 b }",
    )
    .unwrap();
    let error = |name: &str, json: &str| {
        let id = schema.struct_id(name).unwrap();
        let limits = Limits::default();
        struct_from_json(&schema, id, Protocol::Binary, json.as_bytes(), &limits).unwrap_err()
    };
    let reason = |name: &str, json: &str| error(name, json).reason();
    assert_eq!(
        error("S", r#"{"large":1.0,"must":""}"#).to_string(),
        "'large' is 1.0 in the JSON: must be i64, as in the schema"
    );
    assert_eq!(reason("S", r#"{"tiny":128,"must":""}"#), "out_of_range");
    assert_eq!(
        reason("S", r#"{"large":9223372036854775808,"must":""}"#),
        "out_of_range"
    );
    assert_eq!(reason("S", r#"{"large":1.5,"must":""}"#), "wrong_json_type");
    assert_eq!(reason("S", r#"{"blob":"?","must":""}"#), "bad_base64");
    assert_eq!(reason("S", r#"{"must":null}"#), "missing_field");
    assert_eq!(reason("S", r#"{"must":"","must":""}"#), "duplicate_field");
    assert_eq!(reason("S", r#"{"other":1}"#), "unknown_field");
    assert_eq!(reason("S", r#"{"must":""} x"#), "bad_json");
    assert_eq!(reason("S", "[]"), "wrong_json_type");
    assert_eq!(reason("U", r#"{"a":1,"b":2}"#), "bad_union");
    assert_eq!(reason("U", "{}"), "bad_union");
}

#[test]
fn dispatch_refuses_unknown_methods() {
    let (schema, limits) = (Schema::social_network(), Limits::default());
    assert_eq!(
        schema.find("NoService:Login").unwrap_err().reason(),
        "unknown_service"
    );
    assert_eq!(
        schema.find("UserService:Nothing").unwrap_err().reason(),
        "unknown_method"
    );
    let multiplexed = schema.find("UserService:Login").unwrap();
    assert_eq!(schema.find("Login").unwrap(), multiplexed);
    for protocol in [Protocol::Binary, Protocol::Compact] {
        let mut call = ThriftCall::request(&schema, "Login", protocol, -3).unwrap();
        call.multiplexed = true;
        let message = write_message(&call, &[0], &limits).unwrap();
        assert!(message.windows(17).any(|part| part == b"UserService:Login"));
        let (read, body) = read_message(&schema, &message, &limits).unwrap();
        assert_eq!((&read, &message[body..]), (&call, &[0][..]));
    }
    let call = ThriftCall::request(&schema, "Login", Protocol::Binary, 1).unwrap();
    let small = Limits {
        max_message_bytes: 20,
        ..limits
    };
    assert_eq!(
        write_message(&call, &[0; 40], &small).unwrap_err().reason(),
        "too_large"
    );
}

#[test]
fn http_lengths_that_are_too_large_are_refused_as_such() {
    let refusal = |head: &str, body: &str| {
        let message = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        let read = response_length(message.as_bytes(), false, false, &Limits::default());
        read.unwrap_err().to_string()
    };
    for (head, body, said) in [
        (
            "content-length: 99999999999999999999",
            "",
            "content-length = 99999999999999999999: must be at most",
        ),
        (
            "content-length: +1",
            "",
            "content-length = '+1': must be digits",
        ),
        (
            "transfer-encoding: chunked",
            "10000000000000002\r\n",
            "size of a chunk = '10000000000000002': must be a hexadecimal number of at most 16 digits",
        ),
        (
            "transfer-encoding: chunked",
            "xyz\r\n",
            "size of a chunk = 'xyz': must be a hexadecimal number",
        ),
    ] {
        let text = refusal(head, body);
        assert!(text.contains(said), "{text}");
    }
}
