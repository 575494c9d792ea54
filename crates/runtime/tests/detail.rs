//! Outcomes that tell results alone tell the same results.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::Call;
use accelflow_accel::storage::Operation;
use accelflow_runtime::peer::{CacheAnswer, DatabaseAnswer};
use accelflow_runtime::{Answers, Detail, Executor, Failure, Message, Outcome, demo};

use crate::common::{document_bytes, executor, http, reply, rpc, storage};

type RunResult = Result<Outcome, Box<Failure>>;

fn run(executor: &mut Executor, name: &str, message: &Message<'_>, answers: &Answers) -> RunResult {
    demo::run_trace_as(executor, name, message, answers.clone())
}

fn same(name: &str, message: &Message<'_>, answers: &Answers) -> RunResult {
    let (mut telling, mut silent) = (executor(), executor());
    silent.set_detail(Detail::Results);
    let everything = run(&mut telling, name, message, answers);
    let results = run(&mut silent, name, message, answers);
    let (all, short) = match (&everything, results) {
        (Ok(all), Ok(short)) => (all, short),
        (Err(all), Err(short)) => {
            assert_eq!(format!("{:?}", all.error), format!("{:?}", short.error));
            assert!(short.visits.is_empty());
            return everything;
        }
        other => panic!("{name}: {other:?}"),
    };
    assert!(short.visits.is_empty() && short.steps.is_empty());
    assert_eq!(all.sent, short.sent, "{name}");
    assert_eq!(all.arrivals.len(), short.arrivals.len());
    let sends = all.steps.last().is_some_and(|step| !step.receives);
    for (complete, kept) in all.arrivals.iter().zip(&short.arrivals) {
        let handed_over = kept.job.bytes.is_empty() && sends;
        assert!(
            handed_over || complete.job.bytes == kept.job.bytes,
            "{name}"
        );
        if handed_over && !complete.job.bytes.is_empty() {
            assert!(
                short
                    .sent
                    .iter()
                    .any(|sent| sent.bytes == complete.job.bytes)
            );
        }
        assert_eq!(complete.job.facts, kept.job.facts);
        assert_eq!((complete.arm, &complete.trace), (kept.arm, &kept.trace));
    }
    everything
}

/// Every way through the cache and the database, and a database that fails.
fn answers() -> Vec<Answers> {
    let mut all = Vec::new();
    for bits in 0..16 {
        let [hit, compressed, found, cache_compressed] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        all.push(Answers {
            document: document_bytes("ReadH"),
            cache: CacheAnswer { hit, compressed },
            database: DatabaseAnswer {
                found,
                compressed,
                cache_compressed,
            },
            ..Answers::default()
        });
    }
    all
}

#[test]
fn every_trace_has_the_same_results() {
    let document = document_bytes("ReadH");
    for compressed in [false, true] {
        let packets = demo::request("ReadHomeTimeline", 1, 2, compressed).unwrap();
        same("T1", &Message::received(&packets), &Answers::default()).unwrap();
    }
    let body = accelflow_accel::messages::response("ReadHomeTimeline", 1, 2).unwrap();
    let body = body.to_string();
    let sent = |call: Call| Message::json(body.as_bytes(), call);
    for name in ["T2", "T3"] {
        let message = sent(reply("ReadHomeTimeline"));
        let outcome = same(name, &message, &Answers::default()).unwrap();
        assert_eq!(outcome.sent.len(), 1);
    }
    let mut sent_messages = 0;
    for answers in answers() {
        let get = Message::json(b"", storage(Operation::CacheGet, "ReadH"));
        let outcome = same("T4", &get, &answers);
        sent_messages += outcome.map_or(0, |outcome| outcome.sent.len());
        let set = Message::json(&document, storage(Operation::DbInsert, "ReadH"));
        let outcome = same("T8", &set, &answers);
        sent_messages += outcome.map_or(0, |outcome| outcome.sent.len());
    }
    assert!(sent_messages > 32, "{sent_messages}");
    let arguments = accelflow_accel::messages::request("ReadHomeTimeline", 1, 2).unwrap();
    let arguments = arguments.to_string();
    let call = Message::json(arguments.as_bytes(), rpc("ReadHomeTimeline"));
    same("T9", &call, &Answers::default()).unwrap();
    same("T11", &Message::json(b"{}", http()), &Answers::default()).unwrap();
}

#[test]
fn failures_name_the_same_place() {
    let nonsense = Message::json(b"[]", reply("ReadHomeTimeline"));
    let failure = same("T2", &nonsense, &Answers::default()).unwrap_err();
    assert_eq!(failure.error.trace, "T2");
    same("T1", &Message::received(b"short"), &Answers::default()).unwrap_err();
    // An error subtrace without anybody to answer is named itself.
    let answers = Answers {
        database: DatabaseAnswer {
            found: false,
            ..Answers::default().database
        },
        cache: CacheAnswer {
            hit: false,
            compressed: false,
        },
        ..Answers::default()
    };
    let find = Message::json(b"", storage(Operation::CacheGet, "ReadH"));
    let (mut telling, mut silent) = (executor(), executor());
    silent.set_detail(Detail::Results);
    let alone = |executor: &mut Executor| {
        let mut peer = accelflow_runtime::LoopbackPeer::new(answers.clone()).unwrap();
        let mut conversation = accelflow_runtime::Conversation::default();
        let failed = executor.run("T4", &find, &mut conversation, &mut peer);
        format!("{:?}", failed.unwrap_err().error)
    };
    let error = alone(&mut telling);
    assert!(error.contains("no_caller"), "{error}");
    assert_eq!(error, alone(&mut silent));
}
