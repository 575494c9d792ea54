//! Vectors of independent implementations, listed in `scripts/make_golden_vectors.py`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use accelflow_accel::compress::{Cmp, Dcmp};
use accelflow_accel::rpc::{ThriftCall, read_message, write_message};
use accelflow_accel::thrift::{Protocol, Schema, StructId, struct_from_json, struct_to_json};
use accelflow_accel::tls::{CipherSuite, RecordKeys, open, seal};
use accelflow_accel::{Codec, Direction, Ensemble, Job, Limits, Session, transform};
use accelflow_trace::{Accel, Format, Transform};
use serde_json::Value;

fn load(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn cases<'a>(file: &'a Value, list: &str) -> &'a [Value] {
    let cases = file[list].as_array().unwrap();
    assert!(!cases.is_empty());
    cases
}

fn hex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn body_struct(schema: &Schema, call: &ThriftCall, kind: &str) -> StructId {
    let function = schema.function(call.function).unwrap();
    if kind == "call" {
        function.arguments
    } else {
        function.result
    }
}

#[test]
fn thrift_messages_of_the_apache_library() {
    let limits = Limits::default();
    let kinds = Arc::new(Schema::parse(include_str!("golden/kinds.thrift")).unwrap());
    for case in cases(&load(include_str!("golden/thrift.json")), "cases") {
        let schema = match case["interface"].as_str().unwrap() {
            "kinds" => kinds.clone(),
            _ => Schema::social_network(),
        };
        let (frame, kind) = (hex(&case["frame"]), case["kind"].as_str().unwrap());
        let (call, body) = read_message(&schema, &frame, &limits).unwrap();
        assert_eq!(&*call.method, case["method"].as_str().unwrap());
        assert_eq!(call.sequence, 7);
        let binary = case["protocol"] == "binary";
        assert_eq!(call.protocol == Protocol::Binary, binary);

        let id = body_struct(&schema, &call, kind);
        let json = struct_to_json(&schema, id, call.protocol, &frame[body..], &limits).unwrap();
        assert_eq!(
            serde_json::from_slice::<Value>(&json).unwrap(),
            case["json"],
            "{}",
            call.method
        );

        let text = case["json"].to_string();
        let made = struct_from_json(&schema, id, call.protocol, text.as_bytes(), &limits).unwrap();
        assert_eq!(
            write_message(&call, &made, &limits).unwrap(),
            frame,
            "{}",
            call.method
        );
    }
}

#[test]
fn compression_envelopes_of_the_apache_library() {
    let mut ensemble = Ensemble::with_cores(1).unwrap();
    let to_text = Transform {
        src: Format::Json,
        dst: Format::Str,
    };
    for case in cases(&load(include_str!("golden/envelope.json")), "cases") {
        let frame = hex(&case["frame"]);
        let mut job = Job::receive(frame.clone(), Session::default());
        for accel in [Accel::Rpc, Accel::Dser] {
            ensemble.run(accel, &mut job).unwrap();
        }
        assert_eq!(job.facts.get("compressed"), Some(1));
        ensemble.transform(to_text, &mut job).unwrap();
        let mut sent = job.fork(Session::default());

        ensemble.run(Accel::Dcmp, &mut job).unwrap();
        assert_eq!((job.format, job.packed), (Format::Json, None));
        assert_eq!(job.bytes, case["json"].as_str().unwrap().as_bytes());

        sent.direction = Direction::Send;
        for accel in [Accel::Ser, Accel::Rpc] {
            ensemble.run(accel, &mut sent).unwrap();
        }
        assert_eq!(sent.bytes, frame);
    }
}

fn keys(case: &Value) -> RecordKeys {
    let suite = match case["suite"].as_str().unwrap() {
        "aes128" => CipherSuite::Aes128GcmSha256,
        _ => CipherSuite::Aes256GcmSha384,
    };
    RecordKeys::from_secret(suite, &hex(&case["secret"])).unwrap()
}

#[test]
fn records_of_python_cryptography_and_rfc_8448() {
    let (file, limits) = (load(include_str!("golden/tls.json")), Limits::default());
    for case in cases(&file, "cases") {
        let (plaintext, record) = (hex(&case["plaintext"]), hex(&case["record"]));
        let sequence = case["sequence"].as_u64().unwrap();
        let mut keys = keys(case);
        keys.resume_at(sequence);
        assert_eq!(open(&mut keys, &record, &limits).unwrap(), plaintext);
        assert_eq!(keys.sequence(), sequence + 1);
        if case["padding"] == 0 {
            keys.resume_at(sequence);
            assert_eq!(seal(&mut keys, &plaintext, &limits).unwrap(), record);
        }
    }
    for case in cases(&file, "refused") {
        let mut keys = keys(case);
        let error = open(&mut keys, &hex(&case["record"]), &limits).unwrap_err();
        assert_eq!(error.reason(), case["reason"].as_str().unwrap());
        assert_eq!(
            keys.sequence(),
            0,
            "a refused record uses up no sequence number"
        );
    }
}

#[test]
fn compressed_data_of_python_zstandard_and_cramjam() {
    let (file, limits) = (
        load(include_str!("golden/compression.json")),
        Limits::default(),
    );
    let mut dcmp = Dcmp::new(limits);
    for case in cases(&file, "cases") {
        let codec = Codec::from_name(case["codec"].as_str().unwrap()).unwrap();
        let (data, compressed) = (hex(&case["data"]), hex(&case["compressed"]));
        assert_eq!(
            dcmp.decompress(codec, &compressed).unwrap(),
            data,
            "{}",
            case["name"]
        );
        let ours = Cmp::new(codec, 1, limits).unwrap().compress(&data).unwrap();
        assert_eq!(dcmp.decompress(codec, &ours).unwrap(), data);
    }
    for case in cases(&file, "bombs") {
        let codec = Codec::from_name(case["codec"].as_str().unwrap()).unwrap();
        let error = dcmp
            .decompress(codec, &hex(&case["compressed"]))
            .unwrap_err();
        assert_eq!(error.reason(), "zip_bomb", "{error}");
    }
}

const BSON_TO_JSON: Transform = Transform {
    src: Format::Bson,
    dst: Format::Json,
};
const JSON_TO_BSON: Transform = Transform {
    src: Format::Json,
    dst: Format::Bson,
};

#[test]
fn bson_of_pymongo() {
    let limits = Limits::default();
    for case in cases(&load(include_str!("golden/bson.json")), "cases") {
        let (bson, json) = (hex(&case["bson"]), case["json"].as_str().unwrap());
        let text = transform::convert(&bson, BSON_TO_JSON, &limits).unwrap();
        assert_eq!(load(std::str::from_utf8(&text).unwrap()), load(json));
        assert_eq!(
            transform::convert(json.as_bytes(), JSON_TO_BSON, &limits).unwrap(),
            bson
        );
    }
}

#[test]
fn bson_corpus() {
    let (file, limits) = (
        load(include_str!("golden/bson_corpus.json")),
        Limits::default(),
    );
    for case in cases(&file, "cases") {
        let (bson, json) = (hex(&case["bson"]), load(case["json"].as_str().unwrap()));
        let text = transform::convert(&bson, BSON_TO_JSON, &limits).unwrap();
        assert_eq!(
            load(std::str::from_utf8(&text).unwrap()),
            json,
            "{}",
            case["name"]
        );
    }
    for case in cases(&file, "refused") {
        let error = transform::convert(&hex(&case["bson"]), BSON_TO_JSON, &limits).unwrap_err();
        assert_eq!(error.reason(), "bad_bson", "{}: {error}", case["name"]);
    }
}

#[test]
fn json_test_suite() {
    let step = Transform {
        src: Format::Str,
        dst: Format::Json,
    };
    for case in cases(&load(include_str!("golden/json_suite.json")), "cases") {
        let outcome = transform::convert(&hex(&case["text"]), step, &Limits::default());
        assert_eq!(
            outcome.is_ok(),
            case["valid"].as_bool().unwrap(),
            "{}",
            case["name"]
        );
    }
}
