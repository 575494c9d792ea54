//! What a barrier between threads costs: prints the nanoseconds of the quickest of many batches.
//!
//! Usage: rustc -O barrier.rs && ./barrier THREADS

use std::env;
use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

const BATCHES: usize = 400;
const ROUNDS: usize = 500;

/// Threads that spin until all of them have arrived.
struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
}

impl Barrier {
    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.store(round + 1, Ordering::Release);
        } else {
            while self.round.load(Ordering::Acquire) == round {
                hint::spin_loop();
            }
        }
    }
}

fn main() {
    let threads = env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(2);
    let barrier = Barrier {
        threads,
        arrived: AtomicUsize::new(0),
        round: AtomicUsize::new(0),
    };
    let mut quickest_ns = f64::INFINITY;
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| (0..BATCHES * ROUNDS).for_each(|_| barrier.wait()));
        }
        for _ in 0..BATCHES {
            let begin = Instant::now();
            (0..ROUNDS).for_each(|_| barrier.wait());
            quickest_ns = quickest_ns.min(begin.elapsed().as_nanos() as f64 / ROUNDS as f64);
        }
    });
    println!("{quickest_ns:.0}");
}
