//! The accelerator sequences of the paper's traces on two ends of a connection.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::http::HttpCall;
use accelflow_accel::messages::{document, request, response, service_exception};
use accelflow_accel::rpc::{MessageType, ThriftCall};
use accelflow_accel::storage::{Operation, StorageCall, StorageResponse, Stored, read_request};
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_accel::{Call, Direction, Ensemble, Job, Limits, Session};
use accelflow_trace::{Accel, nine::*};
use accelflow_trace::{Format, Transform};
use serde_json::{Value, json};

use crate::common::{JSON_TO_STR, connection, ensemble, receive, run, send};

fn parse(job: &Job) -> Value {
    assert_eq!(job.format, Format::Json);
    serde_json::from_slice(&job.bytes).unwrap()
}

/// T9 to T1 and T2 to T10, with and without compression, in both protocols.
#[test]
fn rpc_request_and_reply() {
    for protocol in [Protocol::Binary, Protocol::Compact] {
        for compressed in [false, true] {
            check_request_and_reply(protocol, compressed);
        }
    }
}

fn check_request_and_reply(protocol: Protocol, compressed: bool) {
    let (mut ensemble, (mut client, server)) = (ensemble(), connection());
    let arguments = request("ComposePost", 3, 4).unwrap();
    let call = ThriftCall::request(&Schema::social_network(), "ComposePost", protocol, 99);
    let call = Call::Thrift(call.unwrap());
    let steps = if compressed {
        &[Cmp, Ser, Rpc, Encr, Tcp][..]
    } else {
        &[Ser, Rpc, Encr, Tcp]
    };
    let data = (arguments.to_string().into_bytes(), Format::Json);
    let wire = send(&mut ensemble, &mut client, call, data, steps);

    let mut job = receive(&mut ensemble, server, Call::None, wire, true);
    assert_eq!(job.facts.get("compressed"), Some(compressed.into()));
    assert_eq!(job.facts.get("exception"), Some(0));
    assert_eq!(job.facts.get("seqid"), Some(99));
    assert_eq!(job.facts.text("method"), Some("ComposePost"));
    assert_eq!(job.facts.text("service"), Some("ComposePostService"));
    if compressed {
        decompress(&mut ensemble, &mut job);
    } else {
        assert_eq!(job.facts.get("user_id"), arguments["user_id"].as_i64());
    }
    ensemble.run(Ldb, &mut job).unwrap();
    assert_eq!(job.core, Some(0));
    assert_eq!(parse(&job), arguments);

    let Call::Thrift(call) = &job.call else {
        panic!("RPC names the call")
    };
    let reply = Call::Thrift(call.reply());
    let mut session = std::mem::take(&mut job.session);
    let data = (b"{}".to_vec(), Format::Json);
    let wire = send(
        &mut ensemble,
        &mut session,
        reply,
        data,
        &[Ser, Rpc, Encr, Tcp],
    );
    let job = receive(&mut ensemble, client, Call::None, wire, true);
    assert_eq!(parse(&job), json!({}));
    assert_eq!(
        job.facts.get("message_type"),
        Some(MessageType::Reply as i64)
    );
}

/// Checks the envelope of a compressed request, and decompresses it as T1 does and as T10 does.
fn decompress(ensemble: &mut Ensemble, job: &mut Job) {
    let envelope = parse(job);
    assert_eq!(
        (&envelope["compressed"], &envelope["codec"]),
        (&json!(1), &json!("zstd"))
    );
    // As in T10, without the transformation that T1 has before Dcmp.
    let mut direct = job.fork(Session::default());
    ensemble.run(Dcmp, &mut direct).unwrap();
    ensemble.transform(JSON_TO_STR, job).unwrap();
    ensemble.run(Dcmp, job).unwrap();
    assert_eq!(direct.bytes, job.bytes);
    assert_eq!((direct.format, direct.envelope), (Format::Json, None));
}

#[test]
fn exceptions_set_the_fact() {
    let (mut ensemble, (mut client, mut server)) = (ensemble(), connection());
    let call = ThriftCall::request(&Schema::social_network(), "Login", Protocol::Binary, 1);
    let call = call.unwrap();
    let declared = (call.reply(), service_exception(2, "wrong password"));
    let layer = (
        call.exception(),
        json!({"message": "internal error", "type": 6}),
    );
    for (reply, body) in [declared, layer] {
        let data = (body.to_string().into_bytes(), Format::Json);
        let reply = Call::Thrift(reply);
        let wire = send(
            &mut ensemble,
            &mut server,
            reply,
            data,
            &[Ser, Rpc, Encr, Tcp],
        );
        let job = receive(
            &mut ensemble,
            std::mem::take(&mut client),
            Call::None,
            wire,
            true,
        );
        assert_eq!(job.facts.get("exception"), Some(1));
        assert_eq!(parse(&job), body);
        client = job.session;
    }
    let empty = Job {
        bytes: vec![0],
        call: Call::Thrift(call.reply()),
        ..Job::default()
    };
    let mut job = empty;
    let error = ensemble.run(Dser, &mut job).unwrap_err();
    assert_eq!(
        error.reason(),
        "missing_field",
        "Login returns a string or throws"
    );
}

/// The service of a storage test, and the store's end of its connection.
struct Exchange {
    ensemble: Ensemble,
    job: Job,
    store: Session,
}

impl Exchange {
    /// Serializes with `steps`, and sends the request; it asks for `operation` with `key`.
    fn ask(&mut self, steps: &[Accel], operation: Operation, key: &str) -> Option<Stored> {
        run(&mut self.ensemble, &mut self.job, steps);
        let asked = read_request(&self.job.bytes, &Limits::default()).unwrap();
        assert_eq!((asked.operation, &*asked.key), (operation, key));
        run(&mut self.ensemble, &mut self.job, &[Encr, Tcp]);
        asked.data
    }

    /// Lets the store send `response`, and the service read it.
    fn answer(&mut self, response: &StorageResponse) {
        let mut other = Job {
            bytes: response.encode(&Limits::default()).unwrap(),
            direction: Direction::Send,
            ..Job::default()
        };
        // The store's session stays in step even if it has not read the request.
        other.session = std::mem::take(&mut self.store);
        other.session.tcp.as_mut().unwrap().receive_next =
            self.job.session.tcp.as_ref().unwrap().send_next;
        run(&mut crate::common::ensemble(), &mut other, &[Encr, Tcp]);
        self.store = other.session;
        self.job.bytes = other.bytes;
        self.job.direction = Direction::Receive;
        run(&mut self.ensemble, &mut self.job, &[Tcp, Decr, Dser]);
    }
}

/// T4, T5 with a miss, T6 with a find, T7: the store's responses are given, the service's requests
/// are read back.
#[test]
fn cache_miss_runs_through_find_and_set_without_a_core() {
    let (service, store) = connection();
    let user = document("Login", 1, 1).unwrap();
    let call = StorageCall::request(Operation::CacheGet, user.collection, &user.key);
    let mut exchange = Exchange {
        ensemble: ensemble(),
        job: Job::send(Vec::new(), Format::Str, Call::Storage(call), service),
        store,
    };
    assert_eq!(exchange.ask(&[Ser], Operation::CacheGet, &user.key), None);
    exchange.answer(&StorageResponse::done(Operation::CacheGet));
    assert_eq!(exchange.job.facts.get("hit"), Some(0));
    exchange.ask(&[Ser], Operation::DbFind, &user.key);

    let bson = to_bson(&user.value);
    exchange.answer(&StorageResponse {
        found: true,
        cache_compressed: true,
        data: Some(Stored {
            bytes: bson.clone(),
            codec: None,
            format: Format::Bson,
        }),
        ..StorageResponse::done(Operation::DbFind)
    });
    let facts = ["found", "compressed", "c_compressed", "exception"]
        .map(|name| exchange.job.facts.get(name));
    assert_eq!(facts, [Some(1), Some(0), Some(1), Some(0)]);
    let mut arm = exchange.job.fork(Session::default());
    run(&mut exchange.ensemble, &mut arm, &[Ldb]);
    exchange.ensemble.transform(JSON_TO_STR, &mut arm).unwrap();
    assert_eq!(arm.bytes, bson, "the core's arm has the document");

    let data = exchange.ask(&[Cmp, Ser], Operation::CacheSet, &user.key);
    let data = data.unwrap();
    let mut dcmp = accelflow_accel::compress::Dcmp::new(Limits::default());
    let inflated = dcmp.decompress(data.codec.unwrap(), &data.bytes);
    assert_eq!(inflated.unwrap(), bson);
    assert_eq!(data.format, Format::Bson);
    exchange.answer(&StorageResponse::done(Operation::CacheSet));
    let (mut ensemble, mut job) = (exchange.ensemble, exchange.job);
    run(&mut ensemble, &mut job, &[Ldb]);
    assert_eq!(job.facts.get("exception"), Some(0));
    let nothing = ensemble.run(Ser, &mut job).unwrap_err();
    assert_eq!(nothing.reason(), "no_call");
}

fn encoded(response: &StorageResponse) -> Vec<u8> {
    response.encode(&Limits::default()).unwrap()
}

fn to_bson(value: &Value) -> Vec<u8> {
    let step = Transform {
        src: Format::Json,
        dst: Format::Bson,
    };
    let json = value.to_string().into_bytes();
    accelflow_accel::transform::convert(&json, step, &Limits::default()).unwrap()
}

/// T5 with a compressed hit, and T8 with BSON from JSON.
#[test]
fn compressed_hit_and_database_insert() {
    let mut ensemble = ensemble();
    let stored = document("ReadH", 5, 6).unwrap();
    let json = stored.value.to_string().into_bytes();
    let packed =
        accelflow_accel::compress::Cmp::new(accelflow_accel::Codec::Snappy, 1, Limits::default())
            .unwrap()
            .compress(&json)
            .unwrap();
    let codec = Some(accelflow_accel::Codec::Snappy);
    let hit = StorageResponse {
        hit: true,
        data: Some(Stored {
            bytes: packed,
            codec,
            format: Format::Json,
        }),
        ..StorageResponse::done(Operation::CacheGet)
    };
    let call = StorageCall::request(Operation::CacheGet, stored.collection, &stored.key);
    let mut job = Job {
        bytes: encoded(&hit),
        call: Call::Storage(call),
        ..Job::default()
    };
    run(&mut ensemble, &mut job, &[Dser]);
    assert_eq!(
        (job.facts.get("hit"), job.facts.get("compressed")),
        (Some(1), Some(1))
    );
    ensemble.transform(JSON_TO_STR, &mut job).unwrap();
    run(&mut ensemble, &mut job, &[Dcmp, Ldb]);
    assert_eq!(parse(&job), stored.value);

    let call = StorageCall::request(Operation::DbInsert, stored.collection, &stored.key);
    let mut job = Job::send(json, Format::Json, Call::Storage(call), Session::default());
    ensemble
        .transform(
            Transform {
                src: Format::Json,
                dst: Format::Bson,
            },
            &mut job,
        )
        .unwrap();
    run(&mut ensemble, &mut job, &[Ser]);
    let asked = read_request(&job.bytes, &Limits::default()).unwrap();
    assert_eq!(
        (asked.operation, asked.data.unwrap().format),
        (Operation::DbInsert, Format::Bson)
    );
}

/// T11 and T12.
#[test]
fn http_request_and_response() {
    for compressed in [false, true] {
        let (mut ensemble, (mut client, server)) = (ensemble(), connection());
        let body = response("ComposeText", 1, 1).unwrap();
        let call = HttpCall::post("media.example", "/v1/compose");
        let steps = if compressed {
            &[Cmp, Ser, Encr, Tcp][..]
        } else {
            &[Ser, Encr, Tcp]
        };
        let data = (body.to_string().into_bytes(), Format::Json);
        let wire = send(
            &mut ensemble,
            &mut client,
            Call::Http(call.clone()),
            data,
            steps,
        );
        let mut job = receive(&mut ensemble, server, Call::Http(call.clone()), wire, false);
        assert_eq!(job.facts.get("compressed"), Some(compressed.into()));
        assert_eq!(job.facts.text("method"), Some("POST"));
        if compressed {
            ensemble.transform(JSON_TO_STR, &mut job).unwrap();
            ensemble.run(Dcmp, &mut job).unwrap();
        }
        assert_eq!(parse(&job), body);

        let reply = Call::Http(call.response(404));
        let mut session = job.session;
        let data = (b"{}".to_vec(), Format::Json);
        let wire = send(&mut ensemble, &mut session, reply, data, &[Ser, Encr, Tcp]);
        let expected = Call::Http(call.response(200));
        let job = receive(&mut ensemble, client, expected, wire, false);
        assert_eq!(
            (job.facts.get("status"), job.facts.get("compressed")),
            (Some(404), Some(0))
        );
    }
}

#[test]
fn a_refused_job_is_unchanged() {
    let mut ensemble = ensemble();
    let call = ThriftCall::request(&Schema::social_network(), "Login", Protocol::Binary, 1);
    for accel in accelflow_trace::Accel::ALL {
        for direction in [Direction::Receive, Direction::Send] {
            let (client, _) = connection();
            let mut job = Job {
                bytes: b"\xff nothing".to_vec(),
                direction,
                ..Job::receive(Vec::new(), client)
            };
            job.call = Call::Thrift(call.clone().unwrap());
            job.facts.set("kept", 5);
            let before = job.fork(Session::default());
            if ensemble.run(accel, &mut job).is_err() {
                assert_eq!(job.bytes, before.bytes, "{accel}");
                assert_eq!(
                    (job.format, &job.facts),
                    (before.format, &before.facts),
                    "{accel}"
                );
                assert_eq!(
                    (&job.call, job.packed),
                    (&before.call, before.packed),
                    "{accel}"
                );
                assert_eq!(
                    (job.direction, job.core),
                    (before.direction, before.core),
                    "{accel}"
                );
                let tls = job.session.tls.as_ref().unwrap();
                assert_eq!(
                    (tls.read.sequence(), tls.write.sequence()),
                    (0, 0),
                    "{accel}"
                );
            }
        }
    }
}
