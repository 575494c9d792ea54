//! Worker pools do what the calling core does, byte for byte, and no more than they have room for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use accelflow_accel::{AccelError, Accelerator, Ensemble, Job};
use accelflow_runtime::{
    Bodies, Executor, PhaseRun, PoolError, PoolSettings, PooledBodies, Pools, Priority, ServiceRun,
    demo, run_service,
};
use accelflow_trace::{Accel, Image, templates};
use accelflow_workload::services::social_network;

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
        .map(|it| format!("{:?} {:?} {:?}", it.visits, it.steps, it.sent))
        .collect();
    let arrivals: Vec<String> = run
        .phases
        .iter()
        .flat_map(PhaseRun::chains)
        .flat_map(|it| &it.arrivals)
        .map(|it| {
            format!(
                "{} {:?} {:?} {:?}",
                it.trace, it.job.core, it.job.facts, it.job.bytes
            )
        })
        .collect();
    format!("{chains:?} {arrivals:?} {:?}", run.response)
}

#[test]
fn services_do_the_same_in_pools_as_inline() {
    let pools = Pools::start(
        PoolSettings::default(),
        || Ensemble::with_cores(4),
        |_| Priority::Normal,
    );
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
    let done: u64 = pools.counters().iter().map(|it| it.done).sum();
    let steps: u64 = apart.counters().completed;
    assert!(done > 3 * steps, "{done} steps of {steps} traces");
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
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let order = Arc::new(Mutex::new(Vec::new()));
    let made = Arc::new(AtomicUsize::new(0));
    let make = {
        let (gate, order) = (gate.clone(), order.clone());
        move || {
            let mut ensemble = Ensemble::with_cores(1)?;
            // The first one is the worker's; the others are those of cores.
            if made.fetch_add(1, Ordering::Relaxed) == 0 {
                let (open, order) = (gate.clone(), order.clone());
                ensemble.replace(Box::new(Gate { open, order }));
            }
            Ok(ensemble)
        }
    };
    let settings = PoolSettings {
        workers: 1,
        queue_entries: 2,
        overflow_entries: 1,
    };
    let choose = |job: &Job| match job.affinity {
        0..10 => Priority::Normal,
        10..20 => Priority::High,
        _ => Priority::Low,
    };
    let pools = Arc::new(Pools::start(settings, make, choose).expect("starts"));
    let ldb = Accel::Ldb.index();
    let balance = |key: u64| {
        let pools = pools.clone();
        move || {
            let mut bodies = PooledBodies::new(pools).expect("bodies");
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
    let pools = Pools::start(PoolSettings::default(), make, |_| Priority::Normal);
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
        assert_eq!(outcome.result().and_then(|it| it.job.core), Some(7));
    }
    assert_eq!(pools.counters()[Accel::Ldb.index()].panics, 3);
}

#[test]
fn pools_of_nobody_are_refused() {
    for (settings, name) in [
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
        let made = Pools::start(settings, || Ensemble::with_cores(1), |_| Priority::Normal);
        assert!(matches!(made, Err(PoolError::Nothing(found)) if found == name));
    }
}
