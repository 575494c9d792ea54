//! Work of a stated time, for benchmarks: a loop that a preempted thread has to make up for.

use std::hint::black_box;
use std::time::Instant;

/// Runs `turns` turns of a loop. It is not inlined, since a turn can take longer in one copy of the
/// loop than in another.
#[inline(never)]
pub(crate) fn spin(turns: u64) {
    let mut state = 1_u64;
    for _ in 0..turns {
        state = black_box(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        );
    }
}

/// Measures the turns of [`spin`] per microsecond: the quickest of many tries.
pub(crate) fn turns_per_us() -> f64 {
    let turns = 20_000;
    let once = || {
        let begun = Instant::now();
        spin(turns);
        begun.elapsed().as_secs_f64() * 1e6
    };
    turns as f64 / (0..500).map(|_| once()).fold(f64::MAX, f64::min)
}
