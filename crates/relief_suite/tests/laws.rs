//! What holds for every graph under every orchestrator.

#![allow(clippy::unwrap_used)]

use accelflow_relief_suite::dag::{Dag, Kind, Operation, Source};
use accelflow_relief_suite::{
    Arrivals, Load, Orchestrator, Order, Payload, Platform, simulate, suite,
};
use accelflow_units::{Bytes, Time};
use proptest::prelude::*;

const OPERATIONS: [Operation; 8] = [
    Operation::Isp,
    Operation::Grayscale,
    Operation::Convolution3,
    Operation::Convolution5,
    Operation::Add,
    Operation::Sqr,
    Operation::CannyNonMax,
    Operation::HarrisNonMax,
];

/// A graph from numbers: for each task its operation and where its two sources come from.
fn graph(numbers: &[(usize, usize, usize)]) -> Dag {
    let mut dag = Dag::new("random", Time::from_us(2_000));
    for (task, &(operation, a, b)) in numbers.iter().enumerate() {
        let source = |n: usize| match n % (task + 1) {
            0 => Source::Memory(Bytes::from_kib(64)),
            from => Source::Task(from - 1),
        };
        let operation = OPERATIONS[operation % OPERATIONS.len()];
        dag.task(operation, &[source(a), source(b)]).unwrap();
    }
    dag
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_graph_ends_and_every_task_computes_once(
        numbers in prop::collection::vec((0..64_usize, 0..64_usize, 0..64_usize), 1..40),
        in_flight in 1..5_usize,
        units in 1..3_usize,
        entries in 1..5_usize,
    ) {
        let dag = graph(&numbers);
        let platform = Platform {
            units: [units; Kind::COUNT],
            queue_entries: entries,
            ..Platform::default()
        };
        for orchestrator in Orchestrator::ALL {
            let run = simulate(&dag, &platform, orchestrator, &Load::closed(in_flight, 6)).unwrap();
            prop_assert_eq!(run.latency.count(), 6, "{:?}", orchestrator);
            for kind in Kind::ALL {
                prop_assert_eq!(run.compute[kind.index()], dag.compute_of(kind) * 6);
                let capacity = run.makespan * units as u64;
                prop_assert!(run.compute[kind.index()] <= capacity);
            }
            prop_assert_eq!(run.forwards + run.reloads, 6 * dag.edges() as u64);
            prop_assert!(run.manager <= run.makespan);
        }
    }
}

#[test]
fn the_same_run_twice_is_the_same_to_the_bit() {
    let load = Load {
        arrivals: Arrivals::Poisson(Time::from_us(4_000), 11),
        graphs: 60,
        warmup: 6,
    };
    for orchestrator in Orchestrator::ALL {
        let run = || simulate(&suite::lstm(), &Platform::default(), orchestrator, &load).unwrap();
        assert_eq!(run(), run());
        let other = Load {
            arrivals: Arrivals::Poisson(Time::from_us(4_000), 12),
            ..load
        };
        let other = simulate(&suite::lstm(), &Platform::default(), orchestrator, &other).unwrap();
        assert_ne!(other.latency, run().latency);
    }
}

#[test]
fn graphs_that_do_not_meet_do_not_slow_each_other() {
    let far_apart = Load {
        arrivals: Arrivals::Periodic(Time::from_us(50_000)),
        graphs: 4,
        warmup: 0,
    };
    for dag in suite::all() {
        for orchestrator in Orchestrator::ALL {
            let platform = Platform::default();
            let alone = simulate(&dag, &platform, orchestrator, &Load::closed(1, 1)).unwrap();
            let run = simulate(&dag, &platform, orchestrator, &far_apart).unwrap();
            assert_eq!(run.latency.max(), Some(alone.makespan));
            assert_eq!(run.latency.mean(), Some(alone.makespan));
        }
    }
}

#[test]
fn relief_forwards_at_least_what_fcfs_does() {
    for dag in suite::all() {
        let forwards = |orchestrator| {
            let load = Load::closed(1, 1);
            simulate(&dag, &Platform::default(), orchestrator, &load)
                .unwrap()
                .forwards
        };
        assert!(forwards(Orchestrator::Relief) >= forwards(Orchestrator::Fcfs));
    }
    let lstm = |orchestrator| {
        simulate(
            &suite::lstm(),
            &Platform::default(),
            orchestrator,
            &Load::closed(1, 1),
        )
        .unwrap()
        .forwards
    };
    assert!(lstm(Orchestrator::Relief) > lstm(Orchestrator::Fcfs));
}

#[test]
fn queues_by_deadline_shorten_the_tail_and_keep_the_work() {
    let load = Load {
        arrivals: Arrivals::Poisson(Time::from_us(4_000), 1),
        graphs: 200,
        warmup: 20,
    };
    let run = |order| {
        let platform = Platform {
            order,
            ..Platform::default()
        };
        simulate(&suite::canny(), &platform, Orchestrator::AccelFlow, &load).unwrap()
    };
    let (mut fifo, mut deadline) = (run(Order::Fifo), run(Order::Deadline));
    assert_eq!(fifo.compute, deadline.compute);
    assert!(deadline.latency.percentile(99.0) < fifo.latency.percentile(99.0));
}

#[test]
fn every_application_ends_with_queues_of_one_entry() {
    let orders = [Order::Fifo, Order::Deadline];
    let payloads = [Payload::InQueue, Payload::ByPointer];
    let loads = [1, 4, 16].map(|in_flight| Load::closed(in_flight, 20));
    let at_once = Load {
        arrivals: Arrivals::Periodic(Time::from_ps(1)),
        graphs: 20,
        warmup: 0,
    };
    for dag in suite::all() {
        for (order, payload) in orders.into_iter().flat_map(|o| payloads.map(|p| (o, p))) {
            let platform = Platform {
                queue_entries: 1,
                adma_engines: 1,
                order,
                payload,
                ..Platform::default()
            };
            for load in loads.iter().chain([&at_once]) {
                let run = simulate(&dag, &platform, Orchestrator::AccelFlow, load).unwrap();
                let case = format!("{} {order:?} {payload:?} {load:?}", dag.name());
                assert_eq!(run.latency.count(), 20, "{case}");
                assert_eq!(
                    run.forwards + run.reloads,
                    20 * dag.edges() as u64,
                    "{case}"
                );
                assert!(run.overflows > 0, "{case}: the queues were never full");
            }
        }
    }
}
