//! Handles of traces that run in the ensemble: waiting, awaiting, callbacks, many at once; and
//! traces that wait for a response without a thread.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use accelflow_accel::storage::{Operation, StorageCall};
use accelflow_accel::{AccelError, Accelerator, Call, Ensemble, Job, Session};
use accelflow_runtime::{
    Answers, Conversation, Executor, LoopbackPeer, Message, NoPeer, Notification, Peer, PeerError,
    PoolSettings, PooledExecutor, Pools, Reply, RunTraces, TraceHandle, TraceRequest, demo,
};
use accelflow_trace::source::seq;
use accelflow_trace::{Accel, Image, templates};

use crate::common::waits::{LONG, eventually};

fn image() -> Arc<Image> {
    Arc::new(templates().expect("templates").link().expect("links"))
}

fn pools() -> Pools {
    let settings = PoolSettings::default();
    Pools::start(settings, || Ensemble::with_cores(4)).expect("starts")
}

/// T1 on the demo client's packets.
fn receive() -> TraceRequest {
    let packets = demo::request("ComposePost", 1, 0, true).expect("known");
    let message = Message::received(&packets);
    demo::trace_request("T1", &message, Answers::default()).expect("the demo's connections")
}

fn begin(pools: &Pools, request: TraceRequest) -> TraceHandle {
    pools.enqueue(&image(), request).expect("there is room")
}

fn method(handle: TraceHandle) -> String {
    let outcome = handle.wait().result.expect("runs");
    let arrival = outcome.result().expect("the core was notified");
    arrival.job.facts.text("method").expect("found").to_owned()
}

#[test]
fn a_core_learns_of_the_end_in_every_way() {
    let pools = pools();
    for way in [
        Notification::Wake,
        Notification::Poll,
        Notification::Check(Duration::from_micros(20)),
    ] {
        let handle = begin(&pools, receive());
        assert!(handle.wait_by(way, None));
        assert_eq!(method(handle), "ComposePost");
    }
    let handle = begin(&pools, receive());
    let (told, ends) = mpsc::channel();
    handle.on_done(move || told.send(()).expect("the test waits"));
    ends.recv_timeout(LONG).expect("the callback is called");
    assert!(handle.is_done());
    let (told, ends) = mpsc::channel();
    handle.on_done(move || told.send(()).expect("the test waits"));
    ends.recv_timeout(LONG)
        .expect("it is called at once after the end");
    assert!(handle.take().is_some());
    assert!(handle.take().is_none());
}

#[test]
fn all_callbacks_run_in_the_order_given_also_after_one_that_panics() {
    // One worker, which the first run holds until the callbacks of the second are registered.
    let pools = pools();
    let (open, opened) = mpsc::channel::<()>();
    let (opened, caller) = (Arc::new(Mutex::new(opened)), thread::current().id());
    let mut is_held = false;
    while !is_held {
        // A run that has ended before has its callback called here, at once.
        let (here, opened) = (Arc::new(AtomicBool::new(false)), opened.clone());
        let is_here = here.clone();
        begin(&pools, receive()).on_done(move || match thread::current().id() == caller {
            true => is_here.store(true, Ordering::SeqCst),
            false => drop(opened.lock().expect("one waits").recv_timeout(LONG)),
        });
        is_held = !here.load(Ordering::SeqCst);
    }
    let handle = begin(&pools, receive());
    let (told, ends) = mpsc::channel();
    for number in 0..4 {
        let told = told.clone();
        handle.on_done(move || {
            told.send(number).expect("the test waits");
            assert!(number != 1, "on purpose");
        });
    }
    drop(told);
    assert!(!handle.is_done(), "its worker is held");
    open.send(()).expect("the worker waits");
    let called: Vec<i32> = (0..4).map_while(|_| ends.recv_timeout(LONG).ok()).collect();
    assert_eq!(called, [0, 1, 2, 3]);
    assert_eq!(method(handle), "ComposePost");
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let begun = Instant::now();
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park_timeout(LONG),
        }
        assert!(begun.elapsed() < LONG, "never: a wake-up and its result");
    }
}

#[test]
fn handles_are_futures_and_many_fly_from_one_thread() {
    let pools = pools();
    let handles: Vec<TraceHandle> = (0..40).map(|_| begin(&pools, receive())).collect();
    for handle in handles {
        let finished = block_on(handle);
        assert_eq!(finished.result.expect("runs").arrivals.len(), 1);
        assert!(
            finished.conversation.session.tls.is_some(),
            "the connection returns"
        );
    }
    assert_eq!(pools.running(), 0);
}

#[test]
fn a_dropped_handle_and_a_callback_that_panics_harm_nobody() {
    let pools = pools();
    drop(begin(&pools, receive()));
    begin(&pools, receive()).on_done(|| panic!("on purpose"));
    eventually("both end", || pools.running() == 0);
    assert_eq!(method(begin(&pools, receive())), "ComposePost");
}

#[test]
fn an_unknown_trace_ends_at_once() {
    let handle = begin(
        &pools(),
        TraceRequest {
            name: "T13".to_owned(),
            ..receive()
        },
    );
    let failure = handle.wait().result.expect_err("there is none");
    assert_eq!(failure.error.reason, "unknown_trace");
}

/// A peer that keeps its replies until somebody asks for them.
#[derive(Clone)]
struct Slow {
    inner: Arc<Mutex<LoopbackPeer>>,
    replies: mpsc::Sender<(Reply, Result<Vec<u8>, PeerError>)>,
}

impl Peer for Slow {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        self.inner.lend(call)
    }

    fn take_back(&mut self, call: &Call, session: Option<Session>) {
        self.inner.take_back(call, session);
    }

    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        self.inner.exchange(call, packets)
    }

    fn begin_exchange(&mut self, call: &Call, packets: &[u8], reply: Reply) {
        let response = self.exchange(call, packets);
        drop(self.replies.send((reply, response)));
    }
}

type Replies = mpsc::Receiver<(Reply, Result<Vec<u8>, PeerError>)>;

/// A read of the cache, T4 and what follows, whose responses wait for the test.
fn read(answers: Answers) -> (TraceRequest, Replies) {
    let (replies, kept) = mpsc::channel();
    let peer = LoopbackPeer::new(answers).expect("a peer");
    let call = StorageCall::request(Operation::CacheGet, "user", "42");
    let message = Message::json(&[], Call::Storage(call));
    let peer = Slow {
        inner: Arc::new(Mutex::new(peer)),
        replies,
    };
    (
        TraceRequest::new("T4", Vec::new(), &message, Box::new(peer)),
        kept,
    )
}

fn answer(replies: &Replies) {
    let (reply, response) = replies.recv_timeout(LONG).expect("it was sent");
    reply.give(response);
}

#[test]
fn traces_that_wait_for_a_response_hold_no_worker() {
    let pools = pools();
    let parked: Vec<(TraceHandle, Replies)> = (0..20)
        .map(|_| {
            let (request, replies) = read(Answers::default());
            (begin(&pools, request), replies)
        })
        .collect();
    // All requests have been sent and none is answered. Each accelerator has one worker, so parked
    // traces hold none.
    let replies = parked
        .iter()
        .map(|(_, replies)| replies.recv_timeout(LONG).expect("it was sent"));
    let replies: Vec<_> = replies.collect();
    assert!(parked.iter().all(|(handle, _)| !handle.is_done()));
    assert_eq!(method(begin(&pools, receive())), "ComposePost");
    for (reply, response) in replies.into_iter().rev() {
        reply.give(response);
    }
    for (handle, _) in parked {
        let outcome = handle.wait().result.expect("runs");
        assert_eq!(outcome.result().expect("notified").trace, "T5");
    }
}

#[test]
fn the_core_has_the_data_while_the_cache_is_written() {
    let mut answers = Answers {
        document: b"{\"name\":\"x\"}".to_vec(),
        ..Answers::default()
    };
    answers.cache.hit = false;
    let pools = pools();
    let (request, replies) = read(answers);
    let handle = begin(
        &pools,
        TraceRequest {
            early: true,
            ..request
        },
    );
    // The read of the cache, and that of the database.
    answer(&replies);
    answer(&replies);
    let arrival = handle.next_arrival(None).expect("T6 has forked");
    assert_eq!((&*arrival.trace, arrival.arm), ("T6", 0));
    // The write is under way: its response has not been given.
    let (reply, response) = replies.recv_timeout(LONG).expect("the cache is written");
    assert!(!handle.is_done());
    reply.give(response);
    let outcome = handle.wait().result.expect("runs");
    let arms: Vec<(&str, usize)> = outcome
        .arrivals
        .iter()
        .map(|arrival| (&*arrival.trace, arrival.arm))
        .collect();
    assert_eq!(arms, [("T7", 1)], "the first was taken before");
}

/// A peer that tells which thread waits for its responses.
struct Witness(LoopbackPeer, mpsc::Sender<thread::ThreadId>);

impl Peer for Witness {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        self.0.lend(call)
    }

    fn take_back(&mut self, call: &Call, session: Option<Session>) {
        self.0.take_back(call, session);
    }

    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        self.1.send(thread::current().id()).expect("the test waits");
        self.0.exchange(call, packets)
    }
}

#[test]
fn a_thread_that_waits_for_a_run_waits_for_its_responses_too() {
    let pools = Arc::new(pools());
    let mut executor = PooledExecutor::of(pools, image()).expect("bodies");
    let (seen, threads) = mpsc::channel();
    let peer = LoopbackPeer::new(Answers::default()).expect("a peer");
    let call = StorageCall::request(Operation::CacheGet, "user", "42");
    let message = Message::json(&[], Call::Storage(call));
    let mut conversation = Conversation::default();
    let peer = Box::new(Witness(peer, seen));
    let run = executor.run_trace("T4", &message, &mut conversation, peer);
    assert_eq!(run.expect("runs").arrivals.len(), 1);
    assert_eq!(threads.recv_timeout(LONG), Ok(thread::current().id()));
}

/// A peer that no other thread may have.
struct Local(Rc<RefCell<LoopbackPeer>>);

impl Peer for Local {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        self.0.borrow_mut().lend(call)
    }

    fn take_back(&mut self, call: &Call, session: Option<Session>) {
        self.0.borrow_mut().take_back(call, session);
    }

    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        self.0.borrow_mut().exchange(call, packets)
    }
}

/// `T4` and what follows it, and `direct`, which asks for a connection at once.
#[test]
fn a_run_uses_a_peer_that_the_waiting_thread_keeps() {
    let mut library = templates().expect("templates");
    let direct = seq(&["Encr", "TCP"]).expect("known");
    library.register("direct", direct).expect("a trace");
    let image = Arc::new(library.link().expect("links"));
    let mut inline = Executor::with_cores((*image).clone(), 4).expect("bodies");
    let pools = pools();
    for name in ["T4", "direct"] {
        let call = StorageCall::request(Operation::CacheGet, "user", "42");
        let message = Message::json(b"{}", Call::Storage(call));
        let peer = || LoopbackPeer::new(Answers::default()).expect("a peer");
        let kept = Rc::new(RefCell::new(peer()));
        let request = TraceRequest::new(name, b"{}".to_vec(), &message, Box::new(NoPeer));
        let run = pools.run_with(&image, request, &mut Local(kept));
        let outcome = run.expect("there is room").result.expect("runs");
        let mut conversation = Conversation::default();
        let alike = inline.run(name, &message, &mut conversation, &mut peer());
        let alike = alike.expect("runs");
        assert_eq!(outcome.visits, alike.visits);
        assert_eq!(format!("{:?}", outcome.sent), format!("{:?}", alike.sent));
        assert!(!outcome.sent.is_empty());
    }
    // What its peer refuses ends a run as any other error does.
    let message = Message::json(b"{}", Call::None);
    let request = TraceRequest::new("direct", b"{}".to_vec(), &message, Box::new(NoPeer));
    let run = pools.run_with(&image, request, &mut NoPeer);
    let failure = run.expect("there is room").result.expect_err("no peer");
    assert_eq!(failure.error.reason, "no_peer");
}

/// LdB that counts how often it gives up what it holds.
struct Forgetful(Arc<AtomicUsize>);

impl Accelerator for Forgetful {
    fn kind(&self) -> Accel {
        Accel::Ldb
    }

    fn run(&mut self, _: &mut Job) -> Result<(), AccelError> {
        Ok(())
    }

    fn forget(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn workers_give_up_what_they_hold_before_a_job_of_another_tenant() {
    let forgot = Arc::new(AtomicUsize::new(0));
    let seen = forgot.clone();
    let make = move || {
        let mut ensemble = Ensemble::with_cores(1)?;
        ensemble.replace(Box::new(Forgetful(seen.clone())));
        Ok(ensemble)
    };
    let pools = Pools::start(PoolSettings::default(), make).expect("starts");
    for (tenant, times) in [(1, 0), (1, 0), (2, 1), (2, 1), (1, 2)] {
        let mut request = receive();
        request.terms.tenant = tenant;
        assert_eq!(method(begin(&pools, request)), "ComposePost");
        assert_eq!(forgot.load(Ordering::Relaxed), times, "{tenant}");
    }
}

fn reason(handle: TraceHandle) -> &'static str {
    handle.wait().result.expect_err("no response").error.reason
}

#[test]
fn a_response_that_does_not_come_ends_the_run() {
    let settings = PoolSettings {
        response_timeout: Duration::from_millis(30),
        ..PoolSettings::default()
    };
    let pools = Pools::start(settings, || Ensemble::with_cores(4)).expect("starts");
    let (request, replies) = read(Answers::default());
    let begun = Instant::now();
    assert_eq!(reason(begin(&pools, request)), "peer_timeout");
    assert!(begun.elapsed() >= Duration::from_millis(30));
    // It comes too late, and is nobody's.
    answer(&replies);
    let (request, replies) = read(Answers::default());
    let handle = begin(&pools, request);
    drop(replies.recv_timeout(LONG).expect("it was sent"));
    assert_eq!(reason(handle), "peer_dropped");
}

#[test]
fn an_ensemble_that_ends_ends_its_runs() {
    let pools = pools();
    let (request, _replies) = read(Answers::default());
    let parked = begin(&pools, request);
    let running: Vec<TraceHandle> = (0..10).map(|_| begin(&pools, receive())).collect();
    drop(pools);
    assert_eq!(reason(parked), "peer_timeout");
    for handle in running {
        assert_eq!(method(handle), "ComposePost");
    }
}

/// A body that tells on which cores its thread may run.
struct Where(mpsc::Sender<Vec<usize>>);

impl Accelerator for Where {
    fn kind(&self) -> Accel {
        Accel::Tcp
    }

    fn run(&mut self, _: &mut Job) -> Result<(), AccelError> {
        let cores = accelflow_runtime::affinity::usable_cores().expect("known");
        drop(self.0.send(cores));
        let why = "enough is known".to_owned();
        Err(AccelError::Device { why })
    }
}

#[test]
fn pinned_workers_have_one_core_each_and_accelerators_workers_of_their_own() {
    let mut settings = PoolSettings {
        pinned: true,
        ..PoolSettings::default()
    };
    settings.workers_of[Accel::Tcp.index()] = 3;
    let (told, cores) = mpsc::channel();
    let make = move || {
        let mut ensemble = Ensemble::with_cores(1)?;
        ensemble.replace(Box::new(Where(told.clone())));
        Ok(ensemble)
    };
    let pools = Pools::start(settings, make).expect("starts");
    assert_eq!(reason(begin(&pools, receive())), "device_failed");
    assert_eq!(cores.recv_timeout(LONG).expect("it ran").len(), 1);
}
