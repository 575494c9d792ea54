//! Random traces do the same in the ensemble as inline: visits, steps, bytes, messages, connections
//! and errors, with forks and joins whose arms run at the same time.

use std::sync::{Arc, Mutex};
use std::thread;

use accelflow_accel::{AccelError, Accelerator, Call, Ensemble, Job, Session};
use accelflow_runtime::{
    Conversation, Executor, Failure, Message, Outcome, Peer, PeerError, PoolSettings,
    PooledExecutor, Pools, Reply, RunTraces,
};
use accelflow_trace::{Accel, Condition, Image, Library, Node, Nodes};
use proptest::collection::vec;
use proptest::prelude::*;

/// A body that writes its name behind the payload. What it finds depends on the payload alone, and
/// some payloads it refuses.
struct Marker(Accel);

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Accelerator for Marker {
    fn kind(&self) -> Accel {
        self.0
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        job.bytes.push(self.0.index() as u8);
        let found = hash(&job.bytes) >> 32;
        if found.is_multiple_of(31) {
            job.bytes.pop();
            let why = format!("payload {found}");
            return Err(AccelError::Device { why });
        }
        assert!(!found.is_multiple_of(37), "payload {found}");
        job.facts.set("hit", (found % 2) as i64);
        job.facts.set("found", (found % 3) as i64);
        Ok(())
    }
}

fn bodies() -> Result<Ensemble, AccelError> {
    let mut ensemble = Ensemble::with_cores(1)?;
    for accel in Accel::ALL {
        ensemble.replace(Box::new(Marker(accel)));
    }
    Ok(ensemble)
}

/// A peer that writes down what it is asked for, in order, and answers with its turn.
#[derive(Default)]
struct Diary {
    entries: Vec<String>,
    refuses: Option<usize>,
    /// Whether responses come from another thread.
    elsewhere: bool,
}

impl Peer for Diary {
    fn lend(&mut self, _: &Call) -> Result<Session, PeerError> {
        self.entries.push("lend".to_owned());
        match self.refuses == Some(self.entries.len()) {
            true => Err(PeerError::NoPeer("nobody".to_owned())),
            false => Ok(Session::default()),
        }
    }

    fn take_back(&mut self, _: &Call, session: Option<Session>) {
        self.entries.push(format!("back {}", session.is_some()));
    }

    fn exchange(&mut self, _: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        self.entries.push(format!("exchange {packets:?}"));
        Ok(vec![self.entries.len() as u8])
    }

    fn begin_exchange(&mut self, call: &Call, packets: &[u8], reply: Reply) {
        let response = self.exchange(call, packets);
        match self.elsewhere {
            true => drop(thread::spawn(move || reply.give(response))),
            false => reply.give(response),
        }
    }
}

fn inner() -> impl Strategy<Value = Node> {
    let all = Accel::ALL.into_iter();
    let inner: Vec<Accel> = all
        .filter(|accel| !matches!(*accel, Accel::Tcp | Accel::Ldb))
        .collect();
    prop::sample::select(inner).prop_map(Node::Accel)
}

fn condition() -> impl Strategy<Value = Condition> {
    prop::sample::select(vec!["out['hit'] == 1", "out['found'] != 2"])
        .prop_map(|text| Condition::parse(text).expect("a condition"))
}

/// Arms that meet again.
fn joined(depth: u32) -> BoxedStrategy<Nodes> {
    let plain = vec(inner(), 1..4).boxed();
    let arm = match depth {
        0 => plain,
        _ => prop_oneof![3 => plain, 2 => joined(depth - 1)].boxed(),
    };
    (vec(arm, 2..4), inner())
        .prop_map(|(arms, next)| vec![Node::Join(arms), next])
        .boxed()
}

fn ending(next: Option<&'static str>) -> BoxedStrategy<Nodes> {
    let mut send = vec![Node::Accel(Accel::Tcp)];
    send.extend(next.map(|next| Node::Tail(next.to_owned())));
    prop_oneof![
        1 => Just(vec![Node::Notify]),
        1 => Just(vec![Node::Accel(Accel::Ldb)]),
        2 => Just(send),
    ]
    .boxed()
}

/// A trace's nodes after the first; `next` is the only trace that its tails name.
fn body(depth: u32, next: Option<&'static str>) -> BoxedStrategy<Nodes> {
    let plain = vec(inner(), 1..4).boxed();
    let end = match depth {
        0 => ending(next),
        _ => {
            let arms = vec(body(depth - 1, next), 2..4);
            let fork = arms.prop_map(|arms| vec![Node::Fork(arms)]);
            let branch = (condition(), body(depth - 1, next), body(depth - 1, next)).prop_map(
                |(condition, on_true, on_false)| {
                    vec![Node::Branch {
                        condition,
                        on_true,
                        on_false,
                        likely: None,
                    }]
                },
            );
            prop_oneof![2 => ending(next), 4 => fork, 2 => branch].boxed()
        }
    };
    let middle = prop_oneof![2 => plain.clone(), 1 => joined(1)];
    (plain, middle, end)
        .prop_map(|(mut nodes, middle, end)| {
            nodes.extend(middle);
            nodes.extend(end);
            nodes
        })
        .boxed()
}

fn image() -> impl Strategy<Value = Image> {
    let first = |accel, body: BoxedStrategy<Nodes>| {
        body.prop_map(move |nodes| [vec![Node::Accel(accel)], nodes].concat())
    };
    let traces = (
        first(Accel::Ser, body(2, Some("b"))),
        first(Accel::Tcp, body(1, Some("c"))),
        first(Accel::Tcp, body(0, None)),
    );
    traces.prop_filter_map("an impossible combination", |(a, b, c)| {
        let mut library = Library::new();
        for (name, nodes) in [("a", a), ("b", b), ("c", c)] {
            library.register(name, nodes).ok()?;
        }
        library.link().ok()
    })
}

/// All that can be seen of a run, and of what it asked its peer for.
fn seen(result: Result<Outcome, Box<Failure>>, peer: &Mutex<Diary>) -> String {
    let told = match &result {
        Ok(outcome) => format!("{:?} {:?}", outcome.steps, outcome.sent),
        Err(failure) => format!("{:?}", failure.error),
    };
    let (visits, arrivals) = match result {
        Ok(outcome) => (outcome.visits, outcome.arrivals),
        Err(failure) => (failure.visits, failure.arrivals),
    };
    let arrivals: Vec<String> = arrivals
        .iter()
        .map(|arrival| {
            let job = &arrival.job;
            let (arm, trace) = (arrival.arm, &arrival.trace);
            format!("{arm} {trace} {:?} {:?}", job.bytes, job.facts)
        })
        .collect();
    let entries = &peer.lock().expect("free").entries;
    format!("{told} {visits:?} {arrivals:?} {entries:?}")
}

fn run(executor: &mut impl RunTraces, payload: &[u8], diary: Diary) -> String {
    let peer = Arc::new(Mutex::new(diary));
    let message = Message::json(payload, Call::None);
    let result = executor.run_trace(
        "a",
        &message,
        &mut Conversation::default(),
        Box::new(peer.clone()),
    );
    seen(result, &peer)
}

fn settings() -> impl Strategy<Value = PoolSettings> {
    let sizes = (1..3usize, 1..3usize, 0..3usize, 0..4usize);
    sizes.prop_map(
        |(workers, queue_entries, overflow_entries, least_bytes)| PoolSettings {
            workers,
            queue_entries,
            overflow_entries,
            least_bytes,
            ..PoolSettings::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        max_local_rejects: 1_000_000,
        max_global_rejects: 1_000_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_traces_do_the_same_in_the_ensemble_as_inline(
        image in image(),
        settings in settings(),
        payloads in vec(vec(any::<u8>(), 1..4), 12),
        refuses in prop::option::of(1..6usize),
        elsewhere in any::<bool>(),
    ) {
        let diary = || Diary { refuses, elsewhere, ..Diary::default() };
        let mut inline = Executor::new(image.clone(), bodies().expect("bodies"));
        let pools = Arc::new(Pools::start(settings, bodies).expect("starts"));
        let image = Arc::new(image);
        let found: Vec<String> = thread::scope(|scope| {
            let one = |payload: &Vec<u8>| {
                let (pools, image, payload) = (pools.clone(), image.clone(), payload.clone());
                scope.spawn(move || {
                    let mut executor = PooledExecutor::of(pools, image).expect("bodies");
                    run(&mut executor, &payload, diary())
                })
            };
            let threads: Vec<_> = payloads.iter().map(one).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        for (payload, found) in payloads.iter().zip(found) {
            prop_assert_eq!(run(&mut inline, payload, diary()), found);
        }
        let small = payloads.iter().filter(|payload| payload.len() < settings.least_bytes);
        prop_assert_eq!(pools.too_small(), small.count() as u64);
        prop_assert_eq!(pools.running(), 0);
    }
}
