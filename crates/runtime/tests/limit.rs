//! The limit of a tenant's traces: no more than it allows, in the order of asking, and no waiting
//! without end.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use accelflow_runtime::{RunningTrace, TenantBusy, TraceLimit};
use proptest::prelude::*;

use crate::common::waits::eventually;

fn await_waiting(limit: &TraceLimit, count: usize) {
    eventually(&format!("{count} wait"), || limit.waiting() == count);
}

#[test]
fn runs_beyond_the_limit_are_refused_or_wait_in_order() {
    let limit = TraceLimit::new(1);
    let order = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let first = limit.begin(None).expect("nobody runs");
        let refused = limit.begin(Some(Instant::now()));
        assert_eq!(refused.expect_err("one runs"), TenantBusy { most: 1 });
        for number in 0..5 {
            let (limit, order) = (&limit, &order);
            scope.spawn(move || {
                let trace = limit.begin(None).expect("no time limit");
                order.lock().expect("short").push(number);
                drop(trace);
            });
            await_waiting(limit, number + 1);
        }
        // Whoever comes behind them is told the same limit.
        let refused = limit.begin(Some(Instant::now()));
        assert_eq!(refused.expect_err("others wait"), TenantBusy { most: 1 });
        drop(first);
    });
    assert_eq!(order.into_inner().expect("free"), [0, 1, 2, 3, 4]);
    assert_eq!((limit.running(), limit.peak()), (0, 1));
}

#[test]
fn a_turn_keeps_its_place_between_waits_and_ends_when_told() {
    let limit = &TraceLimit::new(1);
    let busy = TenantBusy { most: 1 };
    let order = Mutex::new(Vec::new());
    // The next trace begins only after this one has its place in the order.
    let came = |name, trace| {
        order.lock().expect("short").push(name);
        drop::<RunningTrace>(trace);
    };
    let first = limit.begin(None).expect("nobody runs");
    let (mut turn, mut other) = (limit.turn(), limit.turn());
    let (end, end_other) = (turn.ender(), other.ender());
    // Neither waits yet.
    assert_eq!(limit.waiting(), 0);
    std::thread::scope(|scope| {
        let soon = Some(Instant::now() + Duration::from_millis(20));
        assert_eq!(turn.begin(soon).map(drop), Err(busy));
        let behind = scope.spawn(|| limit.begin(None).map(|trace| came("behind", trace)));
        await_waiting(limit, 1);
        let ended = scope.spawn(|| other.begin(None).map(drop));
        await_waiting(limit, 2);
        end_other.clone().end();
        assert_eq!(ended.join().expect("no panic"), Err(busy));
        // It left the queue by that.
        assert_eq!(limit.waiting(), 1);
        let again = scope.spawn(|| turn.begin(None).map(|trace| came("turn", trace)));
        await_waiting(limit, 2);
        drop(first);
        for each in [behind, again] {
            assert_eq!(each.join().expect("no panic"), Ok(()));
        }
    });
    assert_eq!(order.into_inner().expect("free"), ["turn", "behind"]);
    assert_eq!((limit.waiting(), limit.peak()), (0, 1));
    // A turn can be used again.
    drop(turn.begin(None).expect("nobody runs"));
    end.end();
    assert_eq!(turn.begin(None).map(drop), Err(busy));
}

#[test]
fn a_turn_between_waits_holds_up_nobody() {
    let limit = &TraceLimit::new(1);
    let now = || Some(Instant::now());
    let first = limit.begin(None).expect("nobody runs");
    let mut turn = limit.turn();
    let soon = Some(Instant::now() + Duration::from_millis(20));
    turn.begin(soon).map(drop).expect_err("one runs");
    drop(first);
    // Also on the turn's own thread, which could not wait for itself.
    drop(limit.begin(now()).expect("the turn does not wait"));
    std::thread::scope(|scope| {
        let first = limit.begin(now()).expect("nobody runs");
        let behind = scope.spawn(|| limit.begin(None).map(drop));
        await_waiting(limit, 1);
        drop(first);
        assert_eq!(behind.join().expect("no panic"), Ok(()));
    });
    drop(turn.begin(now()).expect("nobody runs"));
}

#[test]
fn a_cancelled_wait_does_not_block_later_ones() {
    let limit = &TraceLimit::new(1);
    std::thread::scope(|scope| {
        let first = limit.begin(None).expect("nobody runs");
        let soon = Some(Instant::now() + Duration::from_secs(2));
        let gives_up = scope.spawn(move || limit.begin(soon).map(drop));
        await_waiting(limit, 1);
        let stays = scope.spawn(|| limit.begin(None).map(drop));
        await_waiting(limit, 2);
        assert_eq!(
            gives_up.join().expect("no panic"),
            Err(TenantBusy { most: 1 })
        );
        drop(first);
        assert_eq!(stays.join().expect("no panic"), Ok(()));
    });
}

#[test]
fn a_higher_limit_lets_those_pass_who_wait() {
    let limit = TraceLimit::new(1);
    std::thread::scope(|scope| {
        let first = limit.begin(None).expect("nobody runs");
        let waits: Vec<_> = (0..3).map(|_| scope.spawn(|| limit.begin(None))).collect();
        await_waiting(&limit, 3);
        limit.set_most(0);
        let all: Vec<_> = waits
            .into_iter()
            .map(|wait| wait.join().expect("no panic"))
            .collect();
        assert_eq!(limit.running(), 4);
        drop((first, all));
    });
    assert_eq!(limit.running(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn there_are_never_more_than_the_limit(most in 1..4usize, threads in 1..6usize) {
        let limit = TraceLimit::new(most);
        let (now, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| for _ in 0..50 {
                    let trace = limit.begin(None).expect("no time limit");
                    peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                    drop(trace);
                });
            }
        });
        prop_assert!(peak.into_inner() <= most.min(threads));
        prop_assert!(limit.peak() <= most && limit.running() == 0);
    }
}
