//! The ensemble does what the calling core does, byte for byte, and no more than it has room for.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use accelflow_accel::balance::{Affinity, CoreLoads};
use accelflow_accel::{AccelError, Accelerator, Ensemble, Job, Settings};
use accelflow_runtime::{
    Busy, Conversation, DispatchPolicy, Executor, Failure, Message, NoPeer, Outcome,
    POOL_PARAMETERS, Peer, PhaseRun, PoolError, PoolSettings, PooledExecutor, Pools, Priority,
    RunTraces, ServiceRun, Terms, TraceHandle, TraceRequest, run_service,
};
use accelflow_trace::{Accel, Image, Library, Node, templates};
use accelflow_workload::suites::social_network;
use proptest::prelude::*;

use crate::common::waits::{LONG, eventually};

fn image() -> Image {
    templates().expect("templates").link().expect("links")
}

fn pooled(pools: &Arc<Pools>) -> PooledExecutor {
    PooledExecutor::of(pools.clone(), Arc::new(image())).expect("bodies")
}

/// Everything that a run did, bytes included.
fn text(run: &ServiceRun) -> String {
    let chains = run.phases.iter().flat_map(PhaseRun::chains);
    let chains: Vec<String> = chains
        .map(|chain| format!("{:?} {:?} {:?}", chain.visits, chain.steps, chain.sent))
        .collect();
    let arrivals: Vec<String> = run
        .phases
        .iter()
        .flat_map(PhaseRun::chains)
        .flat_map(|chain| &chain.arrivals)
        .map(|phase| {
            format!(
                "{} {:?} {:?} {:?}",
                phase.trace, phase.job.core, phase.job.facts, phase.job.bytes
            )
        })
        .collect();
    format!("{chains:?} {arrivals:?} {:?}", run.response)
}

#[test]
fn services_do_the_same_in_the_ensemble_as_inline() {
    let pools = Pools::start(PoolSettings::default(), || Ensemble::with_cores(4));
    let pools = Arc::new(pools.expect("starts"));
    let mut apart = pooled(&pools);
    let mut inline = Executor::with_cores(image(), 4).expect("bodies");
    for service in &social_network().expect("the built-in services") {
        for index in 0..3 {
            let here = run_service(&mut inline, service, 1, index).expect("runs");
            let there = run_service(&mut apart, service, 1, index).expect("runs");
            assert_eq!(text(&here), text(&there), "{}", service.name());
        }
    }
    let done: u64 = pools.counters().iter().map(|counter| counter.done).sum();
    let steps: u64 = apart.counters().completed;
    assert!(done > 3 * steps, "{done} steps of {steps} traces");
}

/// Bodies whose results depend on the job alone: this policy has no memory.
fn by_key() -> Result<Ensemble, AccelError> {
    let policy = Box::new(Affinity::default());
    Ensemble::software(&Settings::default(), policy, CoreLoads::idle(4))
}

/// What a thread runs: (service, request, priority, due in so many microseconds).
type Schedule = Vec<(usize, u64, u8, Option<u64>)>;

/// Executors are given terms by whoever makes messages; services make their own.
struct OnTerms(PooledExecutor, Terms);

impl RunTraces for OnTerms {
    fn run_trace(
        &mut self,
        name: &str,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: Box<dyn Peer + Send>,
    ) -> Result<Outcome, Box<Failure>> {
        let message = Message {
            terms: self.1,
            ..message.clone()
        };
        self.0.run_trace(name, &message, conversation, peer)
    }
}

fn run_schedule(pools: &Arc<Pools>, schedule: &Schedule) -> Vec<String> {
    let mut executor = OnTerms(pooled(pools), Terms::default());
    let services = social_network().expect("the built-in services");
    let run = |&(service, index, level, due_us): &(usize, u64, u8, Option<u64>)| {
        executor.1 = Terms {
            tenant: u16::from(level),
            priority: [Priority::Low, Priority::Normal, Priority::High][usize::from(level)],
            due: due_us.map(|us| Instant::now() + Duration::from_micros(us)),
        };
        let run = run_service(&mut executor, &services[service], 1, index);
        text(&run.expect("runs"))
    };
    schedule.iter().map(run).collect()
}

fn settings() -> impl Strategy<Value = PoolSettings> {
    (
        1..3usize,
        1..4usize,
        1..4usize,
        0..3usize,
        0..DispatchPolicy::ALL.len(),
    )
        .prop_map(
            |(instances, workers, queue_entries, overflow_entries, policy)| PoolSettings {
                instances,
                workers,
                queue_entries,
                overflow_entries,
                policy: DispatchPolicy::ALL[policy],
                ..PoolSettings::default()
            },
        )
}

fn schedules() -> impl Strategy<Value = Vec<Schedule>> {
    let due = prop_oneof![Just(None), (0..5_000u64).prop_map(Some)];
    let run = (0..8usize, 0..4u64, 0..3u8, due);
    prop::collection::vec(prop::collection::vec(run, 1..4), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever order the pools choose, whatever overflows or falls back to a core, and whoever
    /// else runs at the time.
    #[test]
    fn every_schedule_gives_the_bytes_of_inline_execution(
        settings in settings(),
        schedules in schedules(),
    ) {
        let pools = Arc::new(Pools::start(settings, by_key).expect("starts"));
        let found: Vec<Vec<String>> = std::thread::scope(|scope| {
            let pools = &pools;
            let run = |schedule| scope.spawn(move || run_schedule(pools, schedule));
            let threads: Vec<_> = schedules.iter().map(run).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let mut inline = Executor::new(image(), by_key().expect("bodies"));
        let services = social_network().expect("the built-in services");
        for (schedule, found) in schedules.iter().zip(found) {
            for (&(service, index, ..), found) in schedule.iter().zip(found) {
                let run = run_service(&mut inline, &services[service], 1, index);
                prop_assert_eq!(text(&run.expect("runs")), found);
            }
        }
        let counted = pools.counters();
        prop_assert!(counted.iter().all(|counters| counters.overflowed <= counters.done && counters.late <= counters.done));
        prop_assert_eq!(counted.iter().map(|counters| counters.panics).sum::<u64>(), 0);
        prop_assert_eq!(pools.waiting(), [0; Accel::COUNT]);
    }
}

/// An LdB that waits at a gate if it is the accelerator's and not a core's, tells who came through,
/// and panics at the number 13.
struct Gate {
    door: Arc<Door>,
    order: Arc<Mutex<Vec<u64>>>,
}

#[derive(Default)]
struct Door {
    state: Mutex<DoorState>,
    changed: Condvar,
}

#[derive(Default)]
struct DoorState {
    open: bool,
    /// How many have come to it so far.
    came: usize,
}

impl Door {
    fn state(&self) -> MutexGuard<'_, DoorState> {
        self.state.lock().expect("no panic holds it")
    }

    fn pass(&self) {
        let mut state = self.state();
        state.came += 1;
        self.changed.notify_all();
        let passed = (self.changed).wait_timeout_while(state, LONG, |state| !state.open);
        let (state, late) = passed.expect("no panic holds it");
        drop(state);
        assert!(!late.timed_out(), "nobody opened the gate");
    }

    fn await_came(&self, count: usize) {
        let state = self.state();
        let came = (self.changed).wait_timeout_while(state, LONG, |state| state.came < count);
        let (state, late) = came.expect("no panic holds it");
        let came = state.came;
        drop(state);
        assert!(!late.timed_out(), "{came} and not {count} came to the gate");
    }
}

impl Accelerator for Gate {
    fn kind(&self) -> Accel {
        Accel::Ldb
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let thread = std::thread::current();
        if !thread.name().is_some_and(|name| name.starts_with("LdB")) {
            job.core = Some(0);
            return Ok(());
        }
        self.door.pass();
        assert_ne!(job.affinity, 13, "unlucky");
        self.order.lock().expect("short").push(job.affinity);
        job.core = Some(7);
        Ok(())
    }
}

/// A Cmp that does nothing.
struct Pass;

impl Accelerator for Pass {
    fn kind(&self) -> Accel {
        Accel::Cmp
    }

    fn run(&mut self, _: &mut Job) -> Result<(), AccelError> {
        Ok(())
    }
}

/// An ensemble whose LdB waits at a gate, and what it did in order.
struct Gated {
    pools: Pools,
    image: Arc<Image>,
    door: Arc<Door>,
    order: Arc<Mutex<Vec<u64>>>,
}

/// A test that fails ends: the ensemble waits for its runs, and they for the gate.
impl Drop for Gated {
    fn drop(&mut self) {
        self.set_open(true);
    }
}

impl Gated {
    fn start(settings: PoolSettings) -> Gated {
        let door = Arc::<Door>::default();
        let order = Arc::new(Mutex::new(Vec::new()));
        let inside = (door.clone(), order.clone());
        let make = move || {
            let mut ensemble = Ensemble::with_cores(1)?;
            let (door, order) = inside.clone();
            ensemble.replace(Box::new(Gate { door, order }));
            ensemble.replace(Box::new(Pass));
            Ok(ensemble)
        };
        let mut library = Library::new();
        for (name, before) in [("balance", None), ("through", Some(Accel::Cmp))] {
            let accels = before.into_iter().chain([Accel::Ldb]);
            let trace = library.register(name, accels.map(Node::Accel).collect());
            trace.expect("a trace");
        }
        Gated {
            pools: Pools::start(settings, make).expect("starts"),
            image: Arc::new(library.link().expect("links")),
            door,
            order,
        }
    }

    fn try_begin(&self, trace: &str, key: u64, terms: Terms) -> Result<TraceHandle, Busy> {
        let message = Message {
            affinity: key,
            terms,
            ..Message::received(&[])
        };
        let request = TraceRequest::new(trace, Vec::new(), &message, Box::new(NoPeer));
        let begun = self.pools.enqueue(&self.image, request);
        begun.map_err(|refused| refused.why)
    }

    fn begin(&self, trace: &str, key: u64, terms: Terms) -> TraceHandle {
        self.try_begin(trace, key, terms).expect("there is room")
    }

    /// Waits until exactly so many jobs are in LdB's queues.
    fn await_waiting(&self, count: usize) {
        let waiting = || self.pools.waiting()[Accel::Ldb.index()];
        eventually(&format!("{count} are in LdB's queues"), || {
            waiting() == count
        });
    }

    fn set_open(&self, open: bool) {
        self.door.state().open = open;
        self.door.changed.notify_all();
    }

    fn done(&self) -> u64 {
        self.pools.counters()[Accel::Ldb.index()].done
    }

    fn order(&self) -> Vec<u64> {
        self.order.lock().expect("free").clone()
    }
}

fn core_of(handle: TraceHandle) -> Option<usize> {
    let outcome = handle.wait().result.expect("runs");
    outcome.result().and_then(|arrival| arrival.job.core)
}

fn at(priority: Priority) -> Terms {
    Terms {
        priority,
        ..Terms::default()
    }
}

#[test]
fn the_processor_time_of_a_step_has_none_of_its_waits() {
    let gated = Gated::start(PoolSettings::default());
    let first = gated.begin("balance", 1, Terms::default());
    gated.door.await_came(1);
    let second = gated.begin("balance", 2, Terms::default());
    gated.await_waiting(1);
    let begun = Instant::now();
    std::thread::sleep(Duration::from_millis(100));
    let waited = begun.elapsed();
    gated.set_open(true);
    // The first waits in its body, the second in the queue.
    for handle in [first, second] {
        let outcome = handle.wait().result.expect("runs");
        let [time] = outcome.times[..] else {
            panic!("{} times of one step", outcome.times.len());
        };
        assert!(time.queued <= begun && time.took >= waited, "{time:?}");
        assert!(
            time.worked > Duration::ZERO && time.worked < waited / 2,
            "{time:?}"
        );
    }
}

#[test]
fn a_full_queue_overflows_and_then_falls_back_to_the_core() {
    let gated = Gated::start(PoolSettings {
        queue_entries: 2,
        overflow_entries: 1,
        policy: DispatchPolicy::Priority,
        ..PoolSettings::default()
    });
    // One is with the worker, two are queued, one overflows. Each is there before the next.
    let mut waits = Vec::new();
    for (key, priority, waiting) in [
        (1, Priority::Normal, 0),
        (20, Priority::Low, 1),
        (10, Priority::High, 2),
        (2, Priority::Normal, 3),
    ] {
        waits.push(gated.begin("through", key, at(priority)));
        // Once the worker is at the gate, the number that waits only grows.
        gated.door.await_came(1);
        gated.await_waiting(waiting);
    }
    // There is no room: a core does it, and without delay.
    assert_eq!(
        core_of(gated.begin("through", 3, at(Priority::Normal))),
        Some(0)
    );
    // A core that begins a trace is told, and may retry or do all of it.
    let refused = gated.try_begin("balance", 4, Terms::default());
    assert_eq!(refused.err(), Some(Busy::Queue(Accel::Ldb)));
    assert!(waits.iter().all(|handle| !handle.is_done()));
    gated.set_open(true);
    for handle in waits {
        assert_eq!(core_of(handle), Some(7));
    }
    assert_eq!(gated.order(), [1, 10, 2, 20]);
    let counted = gated.pools.counters()[Accel::Ldb.index()];
    assert_eq!((counted.done, counted.overflowed, counted.full), (4, 1, 1));
}

#[test]
fn a_step_that_would_be_late_changes_places_with_one_that_is_in_no_hurry() {
    let gated = Gated::start(PoolSettings {
        policy: DispatchPolicy::Deadline,
        ..PoolSettings::default()
    });
    let due = |at: Option<Instant>| Terms {
        due: at,
        ..Terms::default()
    };
    // The first step teaches the accelerator how long a step takes.
    let begun = Instant::now();
    let first = gated.begin("balance", 1, due(None));
    std::thread::sleep(Duration::from_millis(400));
    gated.set_open(true);
    first.wait().result.expect("runs");
    eventually("the first step is counted", || gated.done() > 0);
    let step = begun.elapsed();
    gated.set_open(false);
    // One is with the worker for longer than that, so that it may end at any time, and two
    // wait behind it without a deadline.
    let mut handles = vec![gated.begin("balance", 2, due(None))];
    std::thread::sleep(step * 2);
    gated.await_waiting(0);
    for key in [3, 4] {
        handles.push(gated.begin("balance", key, due(None)));
    }
    // The next is late already, and not even the first place helps: it stays where it is.
    handles.push(gated.begin("balance", 5, due(Some(Instant::now()))));
    // The last has the time of two steps and a half, and is the fourth.
    handles.push(gated.begin("balance", 6, due(Some(Instant::now() + step * 5 / 2))));
    gated.await_waiting(4);
    gated.set_open(true);
    for handle in handles {
        handle.wait().result.expect("runs");
    }
    assert_eq!(gated.order(), [1, 2, 3, 6, 5, 4]);
    let counted = gated.pools.counters()[Accel::Ldb.index()];
    assert_eq!((counted.with_deadline, counted.exchanged), (2, 1));
    assert!(counted.late >= 1, "{counted:?}");
}

#[test]
fn a_full_instance_is_no_reason_to_fall_back_while_another_has_room() {
    let gated = Gated::start(PoolSettings {
        instances: 2,
        queue_entries: 1,
        overflow_entries: 0,
        ..PoolSettings::default()
    });
    // Two are with the workers, one each, and two fill the queues.
    let mut handles = Vec::new();
    for (key, waiting) in [(1, 0), (2, 0), (3, 1), (4, 2)] {
        handles.push(gated.begin("balance", key, Terms::default()));
        gated.await_waiting(waiting);
    }
    // The fifth finds no room in either, and a core does it.
    assert_eq!(
        core_of(gated.begin("through", 5, Terms::default())),
        Some(0)
    );
    gated.set_open(true);
    for handle in handles {
        assert_eq!(core_of(handle), Some(7));
    }
    let counted = gated.pools.counters()[Accel::Ldb.index()];
    assert_eq!((counted.done, counted.full, counted.retried), (4, 1, 1));
    assert_eq!(counted.overflowed, 0);
}

#[test]
fn a_worker_that_panics_is_replaced() {
    let gated = Gated::start(PoolSettings::default());
    gated.set_open(true);
    for _ in 0..3 {
        let finished = gated.begin("balance", 13, Terms::default()).wait();
        let failure = finished.result.expect_err("panics");
        assert_eq!(failure.error.reason, "panic");
        assert_eq!(failure.error.accelerator, Some(Accel::Ldb));
        assert!(failure.error.message.contains("unlucky"), "{failure}");
        assert_eq!(
            core_of(gated.begin("balance", 1, Terms::default())),
            Some(7)
        );
    }
    assert_eq!(gated.pools.counters()[Accel::Ldb.index()].panics, 3);
}

#[test]
fn no_more_runs_begin_than_a_tenant_and_all_of_them_may_have() {
    let gated = Gated::start(PoolSettings {
        most_runs: 3,
        tenant_runs: 2,
        ..PoolSettings::default()
    });
    let of = |tenant| Terms {
        tenant,
        ..Terms::default()
    };
    let begun = [1, 1, 2].map(|tenant| gated.begin("balance", 0, of(tenant)));
    let busy = gated.try_begin("balance", 0, of(2)).expect_err("three run");
    assert_eq!(busy, Busy::Runs { most: 3 });
    gated.set_open(true);
    begun
        .into_iter()
        .for_each(|handle| assert_eq!(core_of(handle), Some(7)));
    gated.set_open(false);
    let begun = [1, 1].map(|tenant| gated.begin("balance", 0, of(tenant)));
    let busy = gated.try_begin("balance", 0, of(1)).expect_err("two run");
    assert_eq!(busy.reason(), "tenant_busy");
    let other = gated.begin("balance", 0, of(2));
    gated.set_open(true);
    let all = begun.into_iter().chain([other]);
    all.for_each(|handle| assert_eq!(core_of(handle), Some(7)));
    assert_eq!(gated.pools.running(), 0);
}

#[test]
fn an_ensemble_of_nobody_is_refused() {
    let default = PoolSettings::default;
    for (settings, name) in [
        (
            PoolSettings {
                instances: 0,
                ..default()
            },
            "instances",
        ),
        (
            PoolSettings {
                workers: 0,
                ..default()
            },
            "workers",
        ),
        (
            PoolSettings {
                core_workers: 0,
                ..default()
            },
            "core_workers",
        ),
        (
            PoolSettings {
                queue_entries: 0,
                ..default()
            },
            "queue_entries",
        ),
        (
            PoolSettings {
                most_runs: 0,
                ..default()
            },
            "most_runs",
        ),
    ] {
        let made = Pools::start(settings, || Ensemble::with_cores(1));
        assert!(matches!(made, Err(PoolError::Setting(refusal)) if refusal.place == name));
    }
}

#[test]
fn the_table_describes_the_defaults_and_every_field() {
    assert_eq!(
        POOL_PARAMETERS.faults(PoolSettings::default),
        Vec::<String>::new()
    );
}
