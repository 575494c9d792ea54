//! The protocol of the ensemble's queues under a model checker: the files that the ensemble is
//! built of, with the checker's locks: its parts in every order in which their threads may run, and
//! accelerators in a circle in many random orders. The checker fails on a deadlock, on a lost entry
//! and on one that is done twice (`docs/ensemble.md` has the argument).

use accelflow_shaping::dispatch::{DispatchPolicy, Entry, Owner};
use accelflow_units::Time;
use rendezvous::{Rendezvous, Taken};
use shuttle::scheduler::DfsScheduler;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread::{self, JoinHandle};
use shuttle::{Config, Runner};
use station::{Pushed, Sizes, Station};

#[path = "../src/ensemble/rendezvous.rs"]
mod rendezvous;
#[allow(dead_code, reason = "the model needs no look at the queues")]
#[path = "../src/ensemble/station.rs"]
mod station;

/// The checker's locks in the place of `src/ensemble/sync.rs`.
mod sync {
    pub(super) use std::sync::PoisonError;

    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
}

/// A trace: its number, and how often it has been moved on.
type Token = (usize, usize);

fn entry(token: Token) -> Entry<Token> {
    Entry {
        item: token,
        owner: Owner {
            tenant: 0,
            service: 0,
        },
        priority: 0,
        due: Time::MAX,
        work: Time::ZERO,
    }
}

/// Accelerators in a circle, and the queue of the cores behind them.
struct Circle {
    stations: Vec<Station<Token>>,
    core: Station<Token>,
    workers: usize,
    traces: usize,
    hops: usize,
    left: AtomicUsize,
    ended: Mutex<Vec<usize>>,
    /// Entries that found queue and overflow area full.
    fallen_back: AtomicUsize,
}

impl Circle {
    fn new(accelerators: usize, sizes: Sizes, traces: usize, hops: usize) -> Arc<Circle> {
        Arc::new(Circle {
            stations: (0..accelerators).map(|_| Station::new(sizes)).collect(),
            core: Station::new(Sizes {
                workers: 1,
                input: usize::MAX,
                ..sizes
            }),
            workers: sizes.workers,
            traces,
            hops,
            left: AtomicUsize::new(traces),
            ended: Mutex::new(Vec::new()),
            fallen_back: AtomicUsize::new(0),
        })
    }

    /// The output dispatcher: moves a trace on to the next accelerator, or to a core if that is
    /// full; after the last hop, the trace has ended.
    fn dispatch(&self, (number, moved): Token) {
        if moved < self.hops {
            let next = &self.stations[(number + moved) % self.stations.len()];
            if let Err(refused) = next.push(entry((number, moved + 1)), Time::ZERO) {
                self.fallen_back.fetch_add(1, Ordering::SeqCst);
                assert!(matches!(
                    self.core.push(refused, Time::ZERO),
                    Ok(Pushed::Queued(_))
                ));
            }
            return;
        }
        self.ended.lock().expect("free").push(number);
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.stations.iter().for_each(Station::close);
            self.core.close();
        }
    }

    fn work(&self, at: usize, element: usize) {
        let station = &self.stations[at];
        while let Some(entry) = station.next(element, || Time::ZERO) {
            station.finish(entry.item, |token| self.dispatch(token));
        }
    }

    fn work_as_core(&self) {
        while let Some(entry) = self.core.next(0, || Time::ZERO) {
            self.dispatch(entry.item);
        }
    }
}

impl Circle {
    /// Lets the workers of the accelerators at `places`, and a core, end all traces.
    fn end_with(self: &Arc<Circle>, places: Vec<usize>) {
        let worker = |(at, element): (usize, usize)| {
            let circle = self.clone();
            thread::spawn(move || circle.work(at, element))
        };
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        for at in places {
            let elements = 0..self.workers;
            threads.extend(elements.map(|element| worker((at, element))));
        }
        self.work_as_core();
        for thread in threads {
            thread.join().expect("no panic");
        }
        self.check(self.traces);
    }

    /// Each trace has ended once, and nothing is left.
    fn check(&self, traces: usize) {
        let mut ended = self.ended.lock().expect("free").clone();
        ended.sort_unstable();
        assert_eq!(ended, (0..traces).collect::<Vec<_>>());
        let left = self.stations.iter().map(Station::waiting).sum::<usize>();
        assert_eq!(left + self.core.waiting(), 0);
    }
}

/// Runs `traces` of `hops` through a circle of accelerators; all must end.
fn run(accelerators: usize, sizes: Sizes, traces: usize, hops: usize) {
    let circle = Circle::new(accelerators, sizes, traces, hops);
    let begins = circle.clone();
    let begins = thread::spawn(move || (0..traces).for_each(|number| begins.dispatch((number, 0))));
    circle.end_with((0..accelerators).collect());
    begins.join().expect("no panic");
}

/// The smallest queues: one entry each, and nothing behind them.
const TIGHT: Sizes = Sizes {
    workers: 1,
    input: 1,
    overflow: 0,
    output: 1,
    policy: DispatchPolicy::Fifo,
};

/// More schedules than the small models have: a check that stops here is not exhaustive.
const ALL_SCHEDULES: usize = 200_000;

/// Checks a model in every order in which its threads may run.
fn exhaust(model: impl Fn() + Send + Sync + 'static) {
    let scheduler = DfsScheduler::new(Some(ALL_SCHEDULES), false);
    let schedules = Runner::new(scheduler, Config::new()).run(model);
    println!("{schedules} schedules");
    assert!(
        schedules < ALL_SCHEDULES,
        "the model is small enough for all of its orders"
    );
}

#[test]
fn a_worker_takes_what_is_pushed_before_the_end_in_every_order() {
    exhaust(|| {
        let station = Arc::new(Station::<Token>::new(TIGHT));
        let there = station.clone();
        let worker = thread::spawn(move || {
            let taken = std::iter::from_fn(|| there.next(0, || Time::ZERO));
            taken.map(|entry| entry.item.0).collect::<Vec<_>>()
        });
        assert!(station.push(entry((7, 0)), Time::ZERO).is_ok());
        station.close();
        assert_eq!(worker.join().expect("no panic"), [7]);
    });
}

#[test]
fn two_workers_dispatch_all_that_they_finish_in_every_order() {
    exhaust(|| {
        let station = Arc::new(Station::<Token>::new(TIGHT));
        let dispatched = Arc::new(AtomicUsize::new(0));
        let finish = |number: usize| {
            let (station, dispatched) = (station.clone(), dispatched.clone());
            thread::spawn(move || {
                station.finish((number, 0), |_| {
                    dispatched.fetch_add(1, Ordering::SeqCst);
                });
            })
        };
        for worker in [finish(0), finish(1)] {
            worker.join().expect("no panic");
        }
        assert_eq!(dispatched.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn circles_with_full_queues_end_every_trace() {
    for (overflow, workers) in [(0, 1), (1, 1), (0, 2), (1, 2)] {
        let sizes = Sizes {
            overflow,
            workers,
            ..TIGHT
        };
        shuttle::check_pct(move || run(3, sizes, 4, 4), 500, 3);
        shuttle::check_random(move || run(2, sizes, 5, 3), 500);
    }
}

#[test]
fn the_model_fills_the_queues() {
    static FALLEN_BACK: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let once = || {
        let circle = Circle::new(1, TIGHT, 3, 1);
        (0..3).for_each(|number| circle.dispatch((number, 0)));
        let fallen_back = circle.fallen_back.load(Ordering::SeqCst);
        FALLEN_BACK.fetch_add(fallen_back, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(circle.core.waiting(), 2);
    };
    shuttle::check_random(once, 1);
    assert_eq!(FALLEN_BACK.load(std::sync::atomic::Ordering::SeqCst), 2);
}

#[test]
fn the_second_of_two_offers_takes_both_in_every_order() {
    let met = || {
        let place = Arc::new(Rendezvous::<u8, u8>::default());
        let taken = Arc::new(AtomicUsize::new(0));
        let both = |pair: Option<(u8, u8)>, taken: &AtomicUsize| {
            if let Some(pair) = pair {
                assert_eq!(pair.0, 7);
                taken.fetch_add(1, Ordering::SeqCst);
            }
        };
        // A response and a time limit, and the execution that waits for one of them.
        let offers = [1, 2].map(|offer| {
            let (place, taken) = (place.clone(), taken.clone());
            thread::spawn(move || both(place.offer(offer), &taken))
        });
        both(place.wait(7), &taken);
        for offer in offers {
            offer.join().expect("no panic");
        }
        assert_eq!(taken.load(Ordering::SeqCst), 1, "it goes on once");
    };
    shuttle::check_dfs(met, None);
}

#[test]
fn a_closed_place_keeps_no_waiter_in_any_order() {
    let closed = || {
        let place = Arc::new(Rendezvous::<Arc<()>, u8>::default());
        let waiter = Arc::new(());
        let (there, one) = (place.clone(), waiter.clone());
        let waits = thread::spawn(move || assert!(there.wait(one).is_none()));
        place.close();
        waits.join().expect("no panic");
        assert_eq!(Arc::strong_count(&waiter), 1, "it was dropped");
        assert!(matches!(place.take(), Taken::Closed));
    };
    shuttle::check_dfs(closed, None);
}
