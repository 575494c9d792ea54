//! Bad input at every accelerator: a named error at its step, counted, and the input untouched.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::messages::request;
use accelflow_accel::storage::Operation;
use accelflow_accel::{AccelError, Accelerator, Call, Codec, Ensemble, Job, Packed};
use accelflow_runtime::peer::{CacheAnswer, DatabaseAnswer};
use accelflow_runtime::{
    Answers, Bodies, Conversation, Executor, Failure, LoopbackPeer, MAX_VISITS, Message, NoPeer,
    Peer, PeerError, demo,
};
use accelflow_trace::{Accel, Format, Library, Transform, source, templates};

use crate::common::{data, document_bytes, executor, reply, rpc, storage};

/// Beyond every limit: 16 MiB and one byte.
const OVERSIZED: usize = (16 << 20) + 1;

/// What the demo's client sends when its data is changed after the accelerator `at`. The data
/// before Ser is `compressed`, or else the JSON of a Login request.
fn packets(compressed: Option<&[u8]>, at: Accel, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let (client, _) = demo::connection(0).unwrap();
    let json = request("Login", 1, 2).unwrap().to_string().into_bytes();
    let mut job = Job::send(json, Format::Json, rpc("Login"), client);
    if let Some(data) = compressed {
        job.bytes = data.to_vec();
        job.packed = Some(Packed {
            codec: Codec::Zstd,
            format: std::mem::replace(&mut job.format, Format::Str),
        });
    }
    let mut ensemble = Ensemble::with_cores(1).unwrap();
    let mut change = Some(change);
    for step in [Accel::Ser, Accel::Rpc, Accel::Encr, Accel::Tcp] {
        ensemble.run(step, &mut job).unwrap();
        if step == at {
            change.take().unwrap()(&mut job.bytes);
        }
    }
    job.bytes
}

/// Runs T1 and asserts where and why it fails; that the core is given the input as it was; that
/// it was counted; and that the connection takes a good message afterwards.
fn refused(input: &[u8], (reason, step, accel): (&str, usize, Accel)) {
    let (_, session) = demo::connection(0).unwrap();
    let mut conversation = Conversation {
        session,
        caller: None,
    };
    let (mut executor, before) = (executor(), input.to_vec());
    let message = Message::received(input);
    let refused = executor.run("T1", &message, &mut conversation, &mut NoPeer);
    let error = refused.unwrap_err().error;
    let found = (error.reason, error.step, error.accelerator);
    assert_eq!(found, (reason, Some(step), Some(accel)), "{error}");
    assert_eq!(error.trace, "T1");
    assert!(
        error
            .to_string()
            .starts_with(&format!("trace T1, step {step} ({accel}): "))
    );
    assert!(message.bytes == before, "a fallback has the input");
    let counters = executor.counters();
    assert_eq!((counters.failed_for(reason), counters.runs()), (1, 1));

    let good = demo::request("Login", 1, 2, true).unwrap();
    let outcome = executor.run(
        "T1",
        &Message::received(&good),
        &mut conversation,
        &mut NoPeer,
    );
    assert_eq!(
        data(&outcome.unwrap().result().unwrap().job),
        request("Login", 1, 2).unwrap()
    );
}

#[test]
fn tcp_refuses() {
    let at = |change: fn(&mut Vec<u8>)| packets(None, Accel::Tcp, change);
    let with = |reason| (reason, 1, Accel::Tcp);
    refused(&at(|bytes| bytes[60] ^= 1), with("bad_checksum"));
    refused(&at(|bytes| bytes.truncate(100)), with("truncated"));
    refused(&at(Vec::clear), with("truncated"));
    refused(
        &at(|bytes| bytes.resize(2 * OVERSIZED, 0)),
        with("too_large"),
    );
}

#[test]
fn decr_refuses() {
    let at = |change: fn(&mut Vec<u8>)| packets(None, Accel::Encr, change);
    let with = |reason| (reason, 2, Accel::Decr);
    let wrong_tag = at(|bytes| {
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
    });
    refused(&wrong_tag, with("bad_tag"));
    refused(&at(|bytes| bytes.truncate(50)), with("truncated"));
    refused(&at(|bytes| bytes[3..5].fill(0xff)), with("record_overflow"));
}

#[test]
fn rpc_refuses() {
    let at = |change: fn(&mut Vec<u8>)| packets(None, Accel::Rpc, change);
    let with = |reason| (reason, 3, Accel::Rpc);
    refused(&at(|bytes| bytes[0] = 0x80), with("negative_length"));
    refused(
        &at(|bytes| bytes[..4].copy_from_slice(&[0x7f, 0, 0, 0])),
        with("too_large"),
    );
    refused(&at(|bytes| bytes.truncate(40)), with("truncated"));
    refused(&at(|bytes| bytes[4] = 0), with("bad_magic_or_version"));
    refused(&at(|bytes| bytes[12] = b'X'), with("unknown_method"));
}

/// The length of Login's second field, a string: behind an i64 field of 11 bytes and 3 bytes of
/// field header.
const NAME_LENGTH: std::ops::Range<usize> = 14..18;

#[test]
fn dser_refuses() {
    let at = |change: fn(&mut Vec<u8>)| packets(None, Accel::Ser, change);
    let with = |reason| (reason, 4, Accel::Dser);
    refused(
        &at(|bytes| bytes[NAME_LENGTH].fill(0xff)),
        with("negative_length"),
    );
    refused(&at(|bytes| bytes.truncate(20)), with("truncated"));
    refused(&at(|bytes| bytes[0] = 0x77), with("bad_wire_type"));
    // A field that the interface does not know: a hundred structs, each in the one before.
    let deep = |bytes: &mut Vec<u8>| {
        bytes.pop();
        bytes.extend([0x0c, 0x03, 0xe7].repeat(100));
        bytes.extend([0; 101]);
    };
    refused(&at(deep), with("too_deep"));
    // The same with a list of bytes that says it has two thousand million.
    let large = |bytes: &mut Vec<u8>| {
        bytes.pop();
        bytes.extend([0x0f, 0x03, 0xe7, 0x03, 0x7f, 0xff, 0xff, 0xff, 0]);
    };
    refused(&at(large), with("too_large"));
}

#[test]
fn dcmp_refuses() {
    let compress = |data: &[u8]| {
        let limits = accelflow_accel::Limits {
            max_message_bytes: usize::MAX,
            max_decompression_ratio: usize::MAX,
            ..accelflow_accel::Limits::default()
        };
        let cmp = accelflow_accel::compress::Cmp::new(Codec::Zstd, 1, limits);
        cmp.unwrap().compress(data).unwrap()
    };
    let frame = compress(request("Login", 1, 2).unwrap().to_string().as_bytes());
    let with = |reason| (reason, 6, Accel::Dcmp);
    let send = |data: &[u8]| packets(Some(data), Accel::Ser, |_| ());
    refused(&send(&frame[..frame.len() - 1]), with("truncated"));
    refused(&send(&[&frame[..], &[0]].concat()), with("trailing_bytes"));
    refused(&send(b"no frame"), with("bad_frame"));
    refused(&send(&compress(&vec![0; 8 << 20])), with("zip_bomb"));
    refused(&send(&compress(&vec![0; OVERSIZED])), with("zip_bomb"));
}

fn fails(executor: &mut Executor, trace: &str, bytes: &[u8], call: Call) -> Box<Failure> {
    let message = Message::json(bytes, call);
    let failure = demo::run_trace_as(executor, trace, &message, Answers::default()).unwrap_err();
    assert_eq!(executor.counters().failed_for(failure.error.reason), 1);
    failure
}

#[test]
fn ser_and_cmp_refuse() {
    let reason = |trace, bytes: &[u8], call| {
        let error = fails(&mut executor(), trace, bytes, call).error;
        (error.reason, error.step, error.accelerator)
    };
    let ser = |reason| (reason, Some(1), Some(Accel::Ser));
    assert_eq!(
        reason("T9", b"{\"req_id\": ", rpc("Login")),
        ser("bad_json")
    );
    assert_eq!(
        reason("T9", b"{\"user\": 1}", rpc("Login")),
        ser("unknown_field")
    );
    assert_eq!(reason("T9", b"{}", Call::None), ser("no_call"));
    let large = vec![b' '; OVERSIZED];
    assert_eq!(reason("T9", &large, rpc("Login")), ser("too_large"));
    let cmp = ("too_large", Some(1), Some(Accel::Cmp));
    assert_eq!(reason("T9+Cmp", &large, rpc("Login")), cmp);
}

#[test]
fn encr_and_sending_tcp_refuse() {
    let mut library = Library::new();
    library
        .register("send", source::seq(&["Encr", "TCP"]).unwrap())
        .unwrap();
    let mut executor = executor();
    executor.set_image(library.link().unwrap());
    let large = vec![0; OVERSIZED];
    let failure = fails(&mut executor, "send", &large, reply("Login"));
    assert_eq!(
        (failure.error.reason, failure.error.step),
        ("too_large", Some(1))
    );
    // Within the limit as plaintext, beyond it as records.
    let message = Message::json(&large[1..], reply("Login"));
    let failure = demo::run_trace_as(&mut executor, "send", &message, Answers::default());
    let error = failure.unwrap_err().error;
    let found = (error.reason, error.step, error.accelerator);
    assert_eq!(found, ("too_large", Some(2), Some(Accel::Tcp)));
    assert_eq!(executor.counters().failed_for("too_large"), 2);
}

#[test]
fn ldb_without_cores_refuses() {
    let mut executor = Executor::with_cores(templates().unwrap().link().unwrap(), 0).unwrap();
    let input = demo::request("Login", 1, 2, false).unwrap();
    let error = demo::run_trace(&mut executor, "T1", &input)
        .unwrap_err()
        .error;
    let found = (error.reason, error.step, error.accelerator);
    assert_eq!(found, ("no_core", Some(5), Some(Accel::Ldb)));
}

#[test]
fn no_change_of_any_byte_gets_through_or_panics() {
    let mut executor = executor();
    let good = demo::request("ComposeUniqueId", 1, 2, true).unwrap();
    let mut runs = 0;
    let mut check = |bytes: &[u8]| {
        let failure = demo::run_trace(&mut executor, "T1", bytes).unwrap_err();
        assert_ne!(failure.error.reason, "panic", "{}", failure.error);
        runs += 1;
    };
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        check(&bytes);
        check(&good[..at]);
    }
    assert_eq!(executor.counters().failed.values().sum::<u64>(), runs);
    assert_eq!(executor.counters().completed, 0);
}

#[test]
fn unknown_traces_and_fields_are_named() {
    let mut library = templates().unwrap();
    let mut nodes = source::seq(&["TCP", "Decr", "RPC", "Dser"]).unwrap();
    let more = source::seq(&["LdB"]).unwrap();
    nodes.push(source::branch("out['premium'] == 1", more, vec![]).unwrap());
    library.register("gold", nodes).unwrap();
    let mut executor = executor();
    executor.set_image(library.link().unwrap());
    let input = demo::request("Login", 1, 2, false).unwrap();

    let failure = demo::run_trace(&mut executor, "T13", &input).unwrap_err();
    let text = failure.to_string();
    assert!(text.starts_with("trace T13: must be one of T1, "), "{text}");
    let error = failure.error;
    assert_eq!(
        (error.reason, error.step, error.accelerator),
        ("unknown_trace", None, None)
    );

    let failure = demo::run_trace(&mut executor, "gold", &input).unwrap_err();
    let expected = "trace gold, step 5: a branch tests field 'premium', which the payload does not \
     have";
    assert_eq!(failure.to_string(), expected);
    assert_eq!(failure.error.reason, "missing_field");
    assert_eq!(failure.visits.len(), 5);
    assert_eq!(executor.counters().runs(), 2);
}

/// A body with a defect.
struct Defective;

impl Accelerator for Defective {
    fn kind(&self) -> Accel {
        Accel::Dser
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        job.bytes.clear();
        panic!("index {} out of bounds", 7)
    }
}

#[test]
fn a_panic_in_a_body_is_an_error_like_any_other() {
    let mut ensemble = Ensemble::with_cores(1).unwrap();
    ensemble.replace(Box::new(Defective));
    let mut executor = Executor::new(templates().unwrap().link().unwrap(), ensemble);
    let input = demo::request("Login", 1, 2, false).unwrap();
    let before = input.clone();
    let error = demo::run_trace(&mut executor, "T1", &input)
        .unwrap_err()
        .error;
    assert_eq!(input, before);
    let expected = "trace T1, step 4 (Dser): the body panicked: index 7 out of bounds";
    assert_eq!(error.to_string(), expected);
    assert_eq!(executor.counters().failed_for("panic"), 1);

    *executor.bodies_mut() = Ensemble::with_cores(1).unwrap();
    demo::run_trace(&mut executor, "T1", &input).unwrap();
}

#[test]
fn an_error_subtrace_needs_a_caller() {
    let answers = Answers {
        cache: CacheAnswer {
            hit: false,
            compressed: false,
        },
        database: DatabaseAnswer {
            found: false,
            ..DatabaseAnswer::default()
        },
        ..Answers::default()
    };
    let mut peer = LoopbackPeer::new(answers).unwrap();
    let message = Message::json(b"", storage(Operation::CacheGet, "Login"));
    let mut conversation = Conversation::default();
    let failure = executor()
        .run("T4", &message, &mut conversation, &mut peer)
        .unwrap_err();
    let error = failure.error;
    assert_eq!(
        (error.reason, error.trace.as_str()),
        ("no_caller", "T6_error")
    );
    assert_eq!(error.step, Some(failure.visits.len() - 1));
}

#[test]
fn a_response_needs_a_request() {
    let mut library = templates().unwrap();
    let mut nodes = source::seq(&["TCP", "Decr"]).unwrap();
    nodes.push(source::tail("T5"));
    library.register("odd", nodes).unwrap();
    let mut executor = executor();
    executor.set_image(library.link().unwrap());
    let input = demo::request("Login", 1, 2, false).unwrap();
    let error = demo::run_trace(&mut executor, "odd", &input)
        .unwrap_err()
        .error;
    assert_eq!(
        (error.reason, error.trace.as_str(), error.step),
        ("no_message", "T5", Some(4))
    );
}

/// Changes the response with this number.
struct Tamper {
    peer: LoopbackPeer,
    responses: usize,
    which: usize,
}

impl Peer for Tamper {
    fn lend(&mut self, call: &Call) -> Result<accelflow_accel::Session, PeerError> {
        self.peer.lend(call)
    }

    fn take_back(&mut self, call: &Call, session: Option<accelflow_accel::Session>) {
        self.peer.take_back(call, session);
    }

    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        let mut response = self.peer.exchange(call, packets)?;
        if self.responses == self.which {
            response[50] ^= 0x10;
        }
        self.responses += 1;
        Ok(response)
    }
}

#[test]
fn a_bad_response_fails_the_run_and_the_next_one_gets_a_new_connection() {
    let answers = Answers {
        document: document_bytes("Login"),
        cache: CacheAnswer {
            hit: false,
            compressed: false,
        },
        ..Answers::default()
    };
    let peer = LoopbackPeer::new(answers).unwrap();
    let mut tamper = Tamper {
        peer,
        responses: 0,
        which: 2,
    };
    let mut executor = executor();
    let message = Message::json(b"", storage(Operation::CacheGet, "Login"));
    let mut conversation = Conversation::default();
    // The response to the write, which a second execution waits for: the core has the document.
    let failure = executor
        .run("T4", &message, &mut conversation, &mut tamper)
        .unwrap_err();
    let error = &failure.error;
    assert_eq!((error.reason, error.trace.as_str()), ("bad_checksum", "T7"));
    let [core] = failure.arrivals.as_slice() else {
        panic!("one arm had ended")
    };
    assert_eq!(
        data(&core.job),
        crate::common::json(&document_bytes("Login"))
    );
    let outcome = executor.run("T4", &message, &mut conversation, &mut tamper);
    assert_eq!(outcome.unwrap().arrivals.len(), 2);
}

#[test]
fn without_a_peer_nothing_is_sent() {
    let mut conversation = Conversation::default();
    let message = Message::json(b"", storage(Operation::CacheGet, "Login"));
    let failure = executor()
        .run("T4", &message, &mut conversation, &mut NoPeer)
        .unwrap_err();
    let expected = "trace T4, step 2 (Encr): no connection to the database cache: this run has no \
                    peer for such messages";
    assert_eq!(failure.to_string(), expected);
    assert_eq!(failure.error.reason, "no_peer");
}

#[test]
fn record_numbers_are_used_again_only_if_nothing_was_sent() {
    let numbers = |conversation: &Conversation| {
        let tls = conversation.session.tls.as_ref().unwrap();
        let tcp = conversation.session.tcp.as_ref().unwrap();
        (tls.write.sequence(), tcp.send_next)
    };
    let (session, _) = demo::connection(0).unwrap();
    let mut conversation = Conversation {
        session,
        caller: None,
    };
    let before = numbers(&conversation);
    let text = request("Login", 1, 2).unwrap().to_string();
    let message = Message::json(text.as_bytes(), rpc("Login"));
    let mut library = templates().unwrap();
    let odd = source::seq(&["Ser", "RPC", "Encr", "Dcmp", "TCP"]).unwrap();
    library.register("odd", odd).unwrap();
    let mut executor = executor();
    executor.set_image(library.link().unwrap());
    let failure = executor
        .run("odd", &message, &mut conversation, &mut NoPeer)
        .unwrap_err();
    assert_eq!(failure.error.accelerator, Some(Accel::Dcmp));
    assert_eq!(numbers(&conversation), before, "encrypted, but not sent");
    let failure = executor
        .run("T9", &message, &mut conversation, &mut NoPeer)
        .unwrap_err();
    assert_eq!(failure.error.trace, "T10", "sent, but not answered");
    let after = numbers(&conversation);
    assert!(after.0 == before.0 + 1 && after.1 > before.1);
}

/// Accelerators that accept everything.
struct Idle;

impl Bodies for Idle {
    fn run(&mut self, _: Accel, _: &mut Job) -> Result<(), AccelError> {
        Ok(())
    }

    fn transform(&mut self, _: Transform, _: &mut Job) -> Result<(), AccelError> {
        Ok(())
    }
}

#[test]
fn long_programs_cannot_keep_the_executor_busy() {
    let mut library = Library::new();
    // 64 executions, the most that can be linked, of 200 traces each.
    const FORKS: usize = 6;
    const TRACES: usize = 200;
    let next = |level: usize| vec![source::tail(&format!("f{}", level + 1))];
    for level in 0..FORKS + TRACES {
        let mut nodes = source::seq(&["Cmp"; 12]).unwrap();
        match level < FORKS {
            true => nodes.push(source::fork(vec![next(level), next(level)])),
            false => nodes.extend(next(level)),
        }
        library.register(&format!("f{level}"), nodes).unwrap();
    }
    library
        .register(
            &format!("f{}", FORKS + TRACES),
            source::seq(&["Dcmp"]).unwrap(),
        )
        .unwrap();
    let mut executor = Executor::new(library.link().unwrap(), Idle);
    let failure = executor
        .run(
            "f0",
            &Message::json(b"", Call::None),
            &mut Conversation::default(),
            &mut NoPeer,
        )
        .unwrap_err();
    assert_eq!(failure.error.reason, "too_many_visits");
    assert_eq!(failure.error.step, Some(MAX_VISITS));
}
