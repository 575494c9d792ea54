//! The twelve traces and the error subtraces on real bytes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::messages::{METHODS, SERVICES, request, response, service_exception};
use accelflow_accel::rpc::MessageType;
use accelflow_accel::storage::Operation;
use accelflow_accel::{Call, Codec, Ensemble, Job};
use accelflow_runtime::peer::{CacheAnswer, DatabaseAnswer, HttpAnswer, RpcAnswer};
use accelflow_runtime::{
    Answers, Caller, Conversation, Executor, LoopbackPeer, Message, NoPeer, Outcome, demo,
};
use accelflow_trace::source::{join, seq};
use accelflow_trace::{Accel, Format, Library, Visit};
use serde_json::{Value, json};

use crate::common::{
    data, document_bytes, executor, http, json, names, reply, rpc, storage, thrift,
};

/// What the client of the demo connection makes of packets that the server sent it.
fn client_reads(packets: &[u8]) -> Job {
    let (client, server) = demo::connection(0).unwrap();
    drop(server);
    let mut job = Job::receive(packets.to_vec(), client);
    let mut ensemble = Ensemble::with_cores(1).unwrap();
    for step in [Accel::Tcp, Accel::Decr, Accel::Rpc, Accel::Dser] {
        ensemble.run(step, &mut job).unwrap();
    }
    if job.packed.is_some() {
        ensemble.run(Accel::Dcmp, &mut job).unwrap();
    }
    job
}

fn run(name: &str, bytes: &[u8], call: Call, answers: Answers) -> Outcome {
    let message = Message::json(bytes, call);
    demo::run_trace_as(&mut executor(), name, &message, answers).unwrap()
}

#[test]
fn t1_gives_the_application_the_request_of_every_method() {
    let mut executor = executor();
    for method in METHODS {
        for compressed in [false, true] {
            let packets = demo::request(method, 5, 6, compressed).unwrap();
            let outcome = demo::run_trace(&mut executor, "T1", &packets).unwrap();
            let arrival = outcome.result().unwrap();
            assert_eq!(
                data(&arrival.job),
                request(method, 5, 6).unwrap(),
                "{method}"
            );
            assert_eq!(arrival.job.facts.text("method"), Some(method));
            assert_eq!(arrival.trace, "T1");
            assert!(arrival.job.core.is_some() && outcome.sent.is_empty());
            let expected = match compressed {
                true => "TCP Decr RPC Dser Dcmp LdB",
                false => "TCP Decr RPC Dser LdB",
            };
            assert_eq!(names(&outcome), expected);
        }
    }
    assert_eq!(executor.counters().completed, 2 * METHODS.len() as u64);
    assert_eq!(executor.counters().runs(), executor.counters().completed);
}

#[test]
fn t2_and_t3_answer_the_client() {
    for (trace, expected) in [("T2", "Ser RPC Encr TCP"), ("T3", "Cmp Ser RPC Encr TCP")] {
        for service in SERVICES {
            let body = response(service.method, 1, 2).unwrap();
            let text = body.to_string();
            let call = reply(service.method);
            let outcome = run(trace, text.as_bytes(), call, Answers::default());
            assert_eq!(names(&outcome), expected);
            let arrival = outcome.result().unwrap();
            assert_eq!(outcome.sent[0].bytes, arrival.job.bytes);
            let read = client_reads(&arrival.job.bytes);
            assert_eq!(data(&read), body, "{}", service.name);
            assert_eq!(
                read.facts.get("message_type"),
                Some(MessageType::Reply as i64)
            );
        }
    }
}

fn read(hit: bool, compressed: bool, found: bool, cache_compressed: bool) -> Answers {
    Answers {
        document: document_bytes("ReadH"),
        cache: CacheAnswer { hit, compressed },
        database: DatabaseAnswer {
            found,
            compressed,
            cache_compressed,
        },
        codec: Codec::Snappy,
        ..Answers::default()
    }
}

#[test]
fn t4_and_t5_read_the_cache() {
    for compressed in [false, true] {
        let call = storage(Operation::CacheGet, "ReadH");
        let outcome = run("T4", b"", call, read(true, compressed, true, false));
        let dcmp = if compressed { " Dcmp" } else { "" };
        let expected = format!("Ser Encr TCP TCP Decr Dser{dcmp} LdB");
        assert_eq!(names(&outcome), expected);
        let arrival = outcome.result().unwrap();
        assert_eq!(data(&arrival.job), json(&document_bytes("ReadH")));
        assert_eq!(
            (arrival.trace.as_str(), arrival.job.facts.get("hit")),
            ("T5", Some(1))
        );
    }
}

#[test]
fn t6_hands_the_document_to_a_core_and_refills_the_cache() {
    for (compressed, cache_compressed) in
        [(false, false), (false, true), (true, false), (true, true)]
    {
        let answers = read(false, compressed, true, cache_compressed);
        let mut peer = LoopbackPeer::new(answers).unwrap();
        let message = Message::json(b"", storage(Operation::CacheGet, "ReadH"));
        let mut conversation = Conversation::default();
        let outcome = executor()
            .run("T4", &message, &mut conversation, &mut peer)
            .unwrap();
        let (dcmp, cmp) = (
            if compressed { " Dcmp" } else { "" },
            if cache_compressed { " Cmp" } else { "" },
        );
        let expected = format!(
            "Ser Encr TCP TCP Decr Dser Ser Encr TCP TCP Decr Dser{dcmp} LdB{cmp} Ser Encr TCP \
             TCP Decr Dser LdB"
        );
        assert_eq!(names(&outcome), expected);

        let [core, write] = outcome.arrivals.as_slice() else {
            panic!("two executions")
        };
        assert_eq!((core.trace.as_str(), core.arm), ("T6", 0));
        assert_eq!(data(&core.job), json(&document_bytes("ReadH")));
        assert_eq!((write.trace.as_str(), write.arm), ("T7", 1));
        assert_eq!(write.job.facts.get("exception"), Some(0));

        let asked = peer.take_storage_requests();
        let operations: Vec<Operation> = asked.iter().map(|request| request.operation).collect();
        use Operation::{CacheGet, CacheSet, DbFind};
        assert_eq!(operations, [CacheGet, DbFind, CacheSet]);
        assert!(asked.iter().all(|request| request.key == asked[0].key));
        let kept = asked[2].data.as_ref().unwrap();
        assert_eq!(kept.codec.is_some(), cache_compressed);
        if !cache_compressed {
            assert_eq!(kept.bytes, document_bytes("ReadH"));
        }
    }
}

#[test]
fn t8_and_t7_write() {
    for (trace, expected) in [
        ("T8", "Ser Encr TCP TCP Decr Dser LdB"),
        ("T8+Cmp", "Cmp Ser Encr TCP TCP Decr Dser LdB"),
    ] {
        for operation in [Operation::CacheSet, Operation::DbInsert] {
            let (document, call) = (document_bytes("StoreP"), storage(operation, "StoreP"));
            let outcome = run(trace, &document, call, Answers::default());
            assert_eq!(names(&outcome), expected);
            let arrival = outcome.result().unwrap();
            assert_eq!(arrival.job.facts.get("exception"), Some(0));
        }
    }
}

#[test]
fn t9_and_t10_call_every_nested_function() {
    for service in SERVICES {
        for method in service.nested {
            for compressed in [false, true] {
                let answers = Answers {
                    seed: 1,
                    index: 2,
                    rpc: RpcAnswer {
                        compressed,
                        exception: None,
                    },
                    ..Answers::default()
                };
                let arguments = request(method, 1, 2).unwrap().to_string();
                let trace = if compressed { "T9+Cmp" } else { "T9" };
                let outcome = run(trace, arguments.as_bytes(), rpc(method), answers);
                let expected = match compressed {
                    true => "Cmp Ser RPC Encr TCP TCP Decr RPC Dser Dcmp LdB",
                    false => "Ser RPC Encr TCP TCP Decr RPC Dser LdB",
                };
                assert_eq!(names(&outcome), expected);
                let arrival = outcome.result().unwrap();
                assert_eq!(data(&arrival.job), response(method, 1, 2).unwrap());
                assert_eq!(arrival.job.facts.get("seqid"), Some(7));
            }
        }
    }
}

#[test]
fn t11_and_t12_speak_http() {
    for compressed in [false, true] {
        let answers = Answers {
            document: document_bytes("Login"),
            http: HttpAnswer {
                status: 404,
                compressed,
            },
            ..Answers::default()
        };
        let (trace, expected) = match compressed {
            true => ("T11+Cmp", "Cmp Ser Encr TCP TCP Decr Dser Dcmp LdB"),
            false => ("T11", "Ser Encr TCP TCP Decr Dser LdB"),
        };
        let body = request("ComposeMedia", 1, 2).unwrap().to_string();
        let outcome = run(trace, body.as_bytes(), http(), answers);
        assert_eq!(names(&outcome), expected);
        let arrival = outcome.result().unwrap();
        assert_eq!(arrival.job.facts.get("status"), Some(404));
        assert_eq!(data(&arrival.job), json(&document_bytes("Login")));
    }
}

/// Runs a chain that ends in an error subtrace; gives the trace and what the client reads.
fn error_run(trace: &str, bytes: &[u8], call: Call, answers: Answers) -> (String, Job) {
    let (_, server) = demo::connection(0).unwrap();
    let mut conversation = Conversation {
        caller: Some(Caller {
            call: thrift("ComposePost"),
            session: server,
        }),
        ..Conversation::default()
    };
    let mut peer = LoopbackPeer::new(answers).unwrap();
    let message = Message::json(bytes, call);
    let outcome = executor()
        .run(trace, &message, &mut conversation, &mut peer)
        .unwrap();
    let caller = conversation.caller.unwrap();
    assert!(
        caller.session.tls.unwrap().write.sequence() > 0,
        "the caller's was used"
    );
    assert!(names(&outcome).ends_with("Ser RPC Encr TCP"));
    let last = outcome.arrivals.last().unwrap();
    let read = client_reads(&last.job.bytes);
    assert_eq!(read.facts.text("method"), Some("ComposePost"));
    assert_eq!(read.facts.get("seqid"), Some(7));
    assert_eq!(read.facts.get("exception"), Some(1));
    (last.trace.clone(), read)
}

#[test]
fn error_subtraces_answer_the_caller() {
    let call = storage(Operation::CacheGet, "Login");
    let (trace, read) = error_run("T4", b"", call, self::read(false, false, false, false));
    assert_eq!(trace, "T6_error");
    let why: Value = data(&read);
    assert_eq!(why["type"], 6);
    assert!(
        why["message"].as_str().unwrap().ends_with("was not found"),
        "{why}"
    );

    let answers = Answers {
        write_exception: Some("disk full".to_owned()),
        ..Answers::default()
    };
    let call = storage(Operation::DbInsert, "StoreP");
    let (trace, read) = error_run("T8", &document_bytes("StoreP"), call, answers);
    assert_eq!(trace, "T7_error");
    let why = data(&read);
    assert!(
        why["message"].as_str().unwrap().ends_with("disk full"),
        "{why}"
    );

    let answers = Answers {
        rpc: RpcAnswer {
            compressed: true,
            exception: Some("no such user".to_owned()),
        },
        ..Answers::default()
    };
    let arguments = request("ComposeText", 1, 2).unwrap().to_string();
    let (trace, read) = error_run("T9+Cmp", arguments.as_bytes(), rpc("ComposeText"), answers);
    assert_eq!(trace, "T10_error");
    assert_eq!(data(&read), service_exception(0, "no such user"));
    assert_eq!(
        read.facts.get("message_type"),
        Some(MessageType::Reply as i64)
    );
}

#[test]
fn one_connection_carries_many_messages() {
    let mut executor = executor();
    let (client, server) = demo::connection(3).unwrap();
    let (mut client, mut server) = (
        Conversation {
            session: client,
            caller: None,
        },
        Conversation {
            session: server,
            caller: None,
        },
    );
    for round in 0..5 {
        let arguments = request("StorePost", 8, round).unwrap();
        let text = arguments.to_string();
        let message = Message::json(text.as_bytes(), rpc("StorePost"));
        let sent = executor
            .run("T2", &message, &mut client, &mut NoPeer)
            .unwrap();
        let packets = Message::received(&sent.sent[0].bytes);
        let got = executor
            .run("T1", &packets, &mut server, &mut NoPeer)
            .unwrap();
        assert_eq!(data(&got.result().unwrap().job), arguments);
        let Call::Thrift(call) = &got.result().unwrap().job.call else {
            panic!("a Thrift call")
        };
        let message = Message::json(b"{}", Call::Thrift(call.reply()));
        let sent = executor
            .run("T2", &message, &mut server, &mut NoPeer)
            .unwrap();
        let packets = Message::received(&sent.sent[0].bytes);
        let got = executor
            .run("T10", &packets, &mut client, &mut NoPeer)
            .unwrap();
        assert_eq!(data(&got.result().unwrap().job), json!({}));
    }
}

#[test]
fn runs_are_deterministic() {
    let once = || {
        let answers = read(false, true, true, true);
        let outcome = run("T4", b"", storage(Operation::CacheGet, "ReadH"), answers);
        let ends: Vec<_> = outcome
            .arrivals
            .into_iter()
            .map(|arrival| {
                (
                    arrival.trace,
                    arrival.job.bytes,
                    arrival.job.facts,
                    arrival.job.core,
                )
            })
            .collect();
        (outcome.visits, outcome.steps, outcome.sent, ends)
    };
    assert_eq!(once(), once());
}

#[test]
fn listing_1_and_listing_2() {
    use accelflow_trace::{Library, source};
    let mut library = Library::new();
    let mut nodes = source::seq(&["TCP", "Decr", "RPC", "Dser"]).unwrap();
    let mut decompress = vec![source::trans("JSON", "str").unwrap()];
    decompress.extend(source::seq(&["Dcmp"]).unwrap());
    nodes.push(source::branch("out['compressed'] == 1", decompress, vec![]).unwrap());
    nodes.extend(source::seq(&["LdB"]).unwrap());
    library.register("func_req", nodes).unwrap();
    let mut executor = executor();
    executor.set_image(library.link().unwrap());

    let packets = demo::request("Login", 1, 2, true).unwrap();
    let outcome = demo::run_trace(&mut executor, "func_req", &packets).unwrap();
    assert!(
        outcome
            .visits
            .iter()
            .any(|visit| matches!(visit, Visit::Transform(_)))
    );
    assert_eq!(
        data(&outcome.result().unwrap().job),
        request("Login", 1, 2).unwrap()
    );
    assert_eq!(outcome.result().unwrap().job.format, Format::Json);

    let failure = demo::run_trace(&mut executor, "func_req", b"GET / HTTP/1.1\r\n").unwrap_err();
    assert_eq!(failure.error.accelerator, Some(Accel::Tcp));
    assert!(
        failure
            .error
            .to_string()
            .starts_with("trace func_req, step 1 (TCP): ")
    );
}

/// An executor of one trace: Cmp, a join of such arms, and what follows.
fn joining(arms: &[&[&str]], after: &[&str]) -> Executor {
    let mut nodes = seq(&["Cmp"]).unwrap();
    nodes.push(join(arms.iter().map(|arm| seq(arm).unwrap()).collect()));
    nodes.extend(seq(after).unwrap());
    let mut library = Library::new();
    library.register("batch", nodes).unwrap();
    Executor::with_cores(library.link().unwrap(), 4).unwrap()
}

#[test]
fn a_join_gives_the_bytes_of_its_arms_in_their_order() {
    let document = document_bytes("ReadH");
    let call = storage(Operation::CacheSet, "ReadH");
    // What each arm makes of the document, by itself.
    let alone = |steps: &[Accel]| {
        let mut job = Job::send(
            document.clone(),
            Format::Json,
            call.clone(),
            Default::default(),
        );
        let mut ensemble = Ensemble::with_cores(1).unwrap();
        for step in steps {
            ensemble.run(*step, &mut job).unwrap();
        }
        job.bytes
    };
    let compressed = alone(&[Accel::Cmp, Accel::Ser]);
    let plain = alone(&[Accel::Cmp, Accel::Dcmp, Accel::Ser]);
    assert_ne!(compressed, plain);

    let arms: [&[&str]; 3] = [&["Ser"], &["Dcmp", "Ser"], &["Ser"]];
    let mut executor = joining(&arms, &["LdB"]);
    let message = Message::json(&document, call.clone());
    let outcome = demo::run_trace_as(&mut executor, "batch", &message, Answers::default()).unwrap();
    assert_eq!(names(&outcome), "Cmp Ser Dcmp Ser Ser LdB", "LdB runs once");
    assert_eq!(outcome.arrivals.len(), 1);
    let found = &outcome.result().unwrap().job.bytes;
    assert_eq!(found, &[&compressed[..], &plain, &compressed].concat());
    let joins = outcome.visits.iter().filter(|visit| **visit == Visit::Join);
    assert_eq!(joins.count(), 1);

    // Two requests in one record: what the peer reads is both, one behind the other.
    let mut executor = joining(&[&["Ser"], &["Dcmp", "Ser"]], &["Encr", "TCP"]);
    let outcome = demo::run_trace_as(&mut executor, "batch", &message, Answers::default()).unwrap();
    let (client, peer) = demo::connection(1).unwrap();
    drop(client);
    let mut received = Job::receive(outcome.sent[0].bytes.clone(), peer);
    let mut ensemble = Ensemble::with_cores(1).unwrap();
    for step in [Accel::Tcp, Accel::Decr] {
        ensemble.run(step, &mut received).unwrap();
    }
    assert_eq!(received.bytes, [compressed, plain].concat());
}

#[test]
fn only_protocol_data_can_be_joined() {
    let document = document_bytes("ReadH");
    let message = Message::json(&document, storage(Operation::CacheSet, "ReadH"));
    let mut executor = joining(&[&["Ser"], &["Dcmp"]], &["LdB"]);
    let failure =
        demo::run_trace_as(&mut executor, "batch", &message, Answers::default()).unwrap_err();
    assert_eq!(failure.error.reason, "wrong_format");
    assert_eq!(
        failure.error.message,
        "join needs protocol data (str), but the payload's format is JSON; serialize the payload in \
         its arm of the join"
    );
    // The connection is whole: the next run can have it.
    let mut executor = joining(&[&["Ser"], &["Dcmp", "Ser"]], &["Encr", "TCP"]);
    assert!(demo::run_trace_as(&mut executor, "batch", &message, Answers::default()).is_ok());
}
