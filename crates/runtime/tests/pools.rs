//! Worker pools do what the calling core does, byte for byte, and no more than they have room for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use accelflow_accel::Settings;
use accelflow_accel::balance::{Affinity, CoreLoads};
use accelflow_accel::{AccelError, Accelerator, Ensemble, Job};
use accelflow_runtime::{
    Bodies, Executor, PhaseRun, Policy, PoolError, PoolSettings, PooledBodies, Pools, Priority,
    ServiceRun, Terms, demo, run_service,
};
use accelflow_trace::{Accel, Image, Transform, templates};
use accelflow_workload::services::social_network;
use proptest::prelude::*;

fn image() -> Image {
    templates().expect("templates").link().expect("links")
}

fn pooled(pools: &Arc<Pools>) -> Executor<PooledBodies> {
    Executor::new(image(), PooledBodies::new(pools.clone()).expect("bodies"))
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
fn services_do_the_same_in_pools_as_inline() {
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
struct OnTerms(PooledBodies, Terms);

impl Bodies for OnTerms {
    fn begin(&mut self, trace: &str, _: Terms) {
        self.0.begin(trace, self.1);
    }

    fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        self.0.run(accel, job)
    }

    fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError> {
        self.0.transform(step, job)
    }
}

fn run_schedule(pools: &Arc<Pools>, schedule: &Schedule) -> Vec<String> {
    let bodies = PooledBodies::new(pools.clone()).expect("bodies");
    let mut executor = Executor::new(image(), OnTerms(bodies, Terms::default()));
    let services = social_network().expect("the built-in services");
    let run = |&(service, index, level, due_us): &(usize, u64, u8, Option<u64>)| {
        executor.bodies_mut().1 = Terms {
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
        0..Policy::ALL.len(),
    )
        .prop_map(
            |(instances, workers, queue_entries, overflow_entries, policy)| PoolSettings {
                instances,
                workers,
                queue_entries,
                overflow_entries,
                policy: Policy::ALL[policy],
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

/// An LdB that waits at a gate, tells who came through, and panics at the number 13.
struct Gate {
    open: Arc<(Mutex<bool>, Condvar)>,
    order: Arc<Mutex<Vec<u64>>>,
}

impl Accelerator for Gate {
    fn kind(&self) -> Accel {
        Accel::Ldb
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let mut open = self.open.0.lock().expect("no panic holds it");
        while !*open {
            open = self.open.1.wait(open).expect("no panic holds it");
        }
        drop(open);
        assert_ne!(job.affinity, 13, "unlucky");
        self.order.lock().expect("short").push(job.affinity);
        job.core = Some(7);
        Ok(())
    }
}

#[test]
fn a_full_queue_overflows_and_then_falls_back_to_the_core() {
    let settings = PoolSettings {
        workers: 1,
        queue_entries: 2,
        overflow_entries: 1,
        policy: Policy::Priority,
        ..PoolSettings::default()
    };
    let Gated { pools, gate, order } = Gated::start(settings);
    let ldb = Accel::Ldb.index();
    let balance = |key: u64| {
        let pools = pools.clone();
        move || {
            let mut bodies = PooledBodies::new(pools).expect("bodies");
            let priority = match key {
                0..10 => Priority::Normal,
                10..20 => Priority::High,
                _ => Priority::Low,
            };
            let terms = Terms {
                priority,
                ..Terms::default()
            };
            bodies.begin("by hand", terms);
            let mut job = Job {
                affinity: key,
                ..Job::default()
            };
            bodies.run(Accel::Ldb, &mut job).map(|()| job.core)
        }
    };
    std::thread::scope(|scope| {
        // One is with the worker, two are queued, one overflows. Each is there before the next.
        let mut waits = Vec::new();
        for (key, waiting) in [(1, 0), (20, 1), (10, 2), (2, 3)] {
            waits.push(scope.spawn(balance(key)));
            while pools.waiting()[ldb] != waiting || (key == 1 && !is_taken(&pools, &waits)) {
                std::thread::yield_now();
            }
        }
        // There is no room: this thread does it itself, and without delay.
        assert_eq!(balance(3)(), Ok(Some(0)));
        *gate.0.lock().expect("free") = true;
        gate.1.notify_all();
        for wait in waits {
            assert_eq!(wait.join().expect("no panic"), Ok(Some(7)));
        }
    });
    assert_eq!(*order.lock().expect("free"), [1, 10, 2, 20]);
    let counted = pools.counters()[ldb];
    assert_eq!((counted.done, counted.overflowed, counted.full), (4, 1, 1));
}

/// Whether the worker has taken the first job: it then no longer waits, but is not done either.
fn is_taken<T>(pools: &Pools, waits: &[std::thread::ScopedJoinHandle<'_, T>]) -> bool {
    std::thread::sleep(std::time::Duration::from_millis(200));
    pools.waiting()[Accel::Ldb.index()] == 0 && !waits[0].is_finished()
}

/// Pools whose LdB waits at a gate, and what they did in order.
struct Gated {
    pools: Arc<Pools>,
    gate: Arc<(Mutex<bool>, Condvar)>,
    order: Arc<Mutex<Vec<u64>>>,
}

impl Gated {
    fn start(settings: PoolSettings) -> Gated {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let order = Arc::new(Mutex::new(Vec::new()));
        let gated = settings.instances * settings.workers;
        let made = AtomicUsize::new(0);
        let inside = (gate.clone(), order.clone());
        let make = move || {
            let mut ensemble = Ensemble::with_cores(1)?;
            // The first ones are the workers'; the others are those of cores.
            if made.fetch_add(1, Ordering::Relaxed) < gated {
                let (open, order) = inside.clone();
                ensemble.replace(Box::new(Gate { open, order }));
            }
            Ok(ensemble)
        };
        let pools = Arc::new(Pools::start(settings, make).expect("starts"));
        Gated { pools, gate, order }
    }

    /// Balances a job with a key on a thread of its own.
    fn balance<'s>(&self, scope: &'s std::thread::Scope<'s, '_>, key: u64, due: Option<Instant>) {
        let pools = self.pools.clone();
        scope.spawn(move || {
            let mut bodies = PooledBodies::new(pools).expect("bodies");
            let terms = Terms {
                due,
                ..Terms::default()
            };
            bodies.begin("by hand", terms);
            let mut job = Job {
                affinity: key,
                ..Job::default()
            };
            bodies.run(Accel::Ldb, &mut job).expect("balances");
        });
    }

    /// Waits until exactly so many jobs are in queues.
    fn await_waiting(&self, count: usize) {
        while self.pools.waiting()[Accel::Ldb.index()] != count {
            std::thread::yield_now();
        }
    }

    fn set_open(&self, open: bool) {
        *self.gate.0.lock().expect("free") = open;
        self.gate.1.notify_all();
    }

    fn done(&self) -> u64 {
        self.pools.counters()[Accel::Ldb.index()].done
    }
}

#[test]
fn a_step_that_would_be_late_changes_places_with_one_that_is_in_no_hurry() {
    let gated = Gated::start(PoolSettings {
        policy: Policy::Deadline,
        ..PoolSettings::default()
    });
    std::thread::scope(|scope| {
        // The first step teaches the pool how long a step takes.
        let begun = Instant::now();
        gated.balance(scope, 1, None);
        std::thread::sleep(Duration::from_millis(400));
        gated.set_open(true);
        while gated.done() == 0 {
            std::thread::yield_now();
        }
        let step = begun.elapsed();
        gated.set_open(false);
        // One is with the worker for longer than that, so that it may end at any time, and two
        // wait behind it without a deadline.
        gated.balance(scope, 2, None);
        std::thread::sleep(step * 2);
        gated.await_waiting(0);
        for (key, waiting) in [(3, 1), (4, 2)] {
            gated.balance(scope, key, None);
            gated.await_waiting(waiting);
        }
        // The next is late already, and not even the first place helps: it stays where it is.
        gated.balance(scope, 5, Some(Instant::now()));
        gated.await_waiting(3);
        // The last has the time of two steps and a half, and is the fourth.
        gated.balance(scope, 6, Some(Instant::now() + step * 5 / 2));
        gated.await_waiting(4);
        gated.set_open(true);
    });
    assert_eq!(*gated.order.lock().expect("free"), [1, 2, 3, 6, 5, 4]);
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
    std::thread::scope(|scope| {
        // Two are with the workers, one each; two fill the queues; the fifth finds no room in
        // either and does it itself, on a body without a gate.
        for (key, waiting) in [(1, 0), (2, 0), (3, 1), (4, 2)] {
            gated.balance(scope, key, None);
            std::thread::sleep(Duration::from_millis(200));
            gated.await_waiting(waiting);
        }
        let mut bodies = PooledBodies::new(gated.pools.clone()).expect("bodies");
        let mut job = Job::default();
        bodies.run(Accel::Ldb, &mut job).expect("balances");
        assert_eq!(job.core, Some(0), "a core's own LdB");
        gated.set_open(true);
    });
    let counted = gated.pools.counters()[Accel::Ldb.index()];
    assert_eq!((counted.done, counted.full, counted.retried), (4, 1, 1));
    assert_eq!(counted.overflowed, 0);
}

#[test]
fn a_worker_that_panics_is_replaced() {
    let open = Arc::new((Mutex::new(true), Condvar::new()));
    let order = Arc::new(Mutex::new(Vec::new()));
    let make = move || {
        let mut ensemble = Ensemble::with_cores(1)?;
        let (open, order) = (open.clone(), order.clone());
        ensemble.replace(Box::new(Gate { open, order }));
        Ok(ensemble)
    };
    let pools = Pools::start(PoolSettings::default(), make);
    let pools = Arc::new(pools.expect("starts"));
    let mut executor = pooled(&pools);
    let packets = demo::request("ComposePost", 1, 0, true).expect("known");
    let mut run = |affinity| {
        let message = accelflow_runtime::Message {
            affinity,
            ..accelflow_runtime::Message::received(&packets)
        };
        demo::run_trace_as(&mut executor, "T1", &message, Default::default())
    };
    for _ in 0..3 {
        let failure = run(13).expect_err("panics");
        assert_eq!(failure.error.reason, "panic");
        assert!(failure.error.message.contains("unlucky"), "{failure}");
        let outcome = run(1).expect("the next one works");
        assert_eq!(
            outcome.result().and_then(|arrival| arrival.job.core),
            Some(7)
        );
    }
    assert_eq!(pools.counters()[Accel::Ldb.index()].panics, 3);
}

#[test]
fn pools_of_nobody_are_refused() {
    for (settings, name) in [
        (
            PoolSettings {
                instances: 0,
                ..PoolSettings::default()
            },
            "instances",
        ),
        (
            PoolSettings {
                workers: 0,
                ..PoolSettings::default()
            },
            "workers",
        ),
        (
            PoolSettings {
                queue_entries: 0,
                ..PoolSettings::default()
            },
            "queue_entries",
        ),
    ] {
        let made = Pools::start(settings, || Ensemble::with_cores(1));
        assert!(matches!(made, Err(PoolError::Nothing(found)) if found == name));
    }
}
