//! Section 4.2: the algorithms that a rate limiter could use. Table 2: registers found by the
//! paper's method.

use accelflow_kernel::{Samples, Stream};
use accelflow_shaping::algorithms::{Algorithm, Limiter};
use accelflow_shaping::{Clock, FlowConfig, Message, Registers, Shaper, Timing, Unit};
use accelflow_units::{Bytes, Time};

use super::report::{Report, Row};
use crate::{PlatformError, gbit_per_s};

/// Messages of 4 KB in bursts of 16, together 70 % of 10 Gbit/s.
const RATE_GBIT_PER_S: f64 = 10.0;
const MESSAGE: Bytes = Bytes(4_096);
const BURST: u64 = 16;
const LOAD: f64 = 0.7;
const BURSTS: usize = 20_000;

/// Messages as bursty as the paper's flows, through each algorithm at the same rate and burst.
pub(super) fn limiters(seed: u64) -> Result<Report, PlatformError> {
    let burst = Bytes(BURST * MESSAGE.get());
    let rate = gbit_per_s(RATE_GBIT_PER_S);
    let every = rate.transfer(burst).scale(1.0 / LOAD);
    let mut found = Vec::new();
    for algorithm in Algorithm::ALL {
        let mut stream = Stream::new(seed, 0);
        let mut limiter = Limiter::new(algorithm, rate, burst);
        let (mut waits, mut passed) = (Samples::new(), Vec::new());
        let mut now = Time::ZERO;
        for _ in 0..BURSTS {
            now += stream.exponential_time(every);
            for _ in 0..BURST {
                let at = limiter.release(now, MESSAGE);
                waits.record(at - now);
                passed.push(at);
            }
        }
        let mean_us = waits.mean_ps().unwrap_or(0.0) / 1e6;
        let most = most_within(&passed, rate.transfer(burst));
        let most = most as f64 / BURST as f64;
        found.push((algorithm, mean_us, most, limiter.state_bytes() as f64));
    }
    let mut rows = Vec::new();
    for (algorithm, mean_us, most, state) in &found {
        let name = algorithm.name();
        let row = |key: &str, what: &str, unit, ours| {
            let what = format!("{what}, {}", name.replace('_', " "));
            Row::new(format!("arcus.limiters.{key}.{name}"), "", what, unit, ours)
        };
        rows.push(row("wait", "mean wait of a message", "us", *mean_us));
        let what = "most in any window, of what may pass";
        rows.push(row("most_in_a_window", what, "times", *most));
        rows.push(row("state", "state of a flow", "bytes", *state));
    }
    Ok(Report {
        rows,
        ..Report::default()
    })
}

/// The most messages that pass in any half-open time of this length.
fn most_within(passed: &[Time], window: Time) -> usize {
    let mut from = 0;
    let count = passed.iter().enumerate().map(|(number, time)| {
        while passed[from] + window <= *time {
            from += 1;
        }
        number + 1 - from
    });
    count.max().unwrap_or(0)
}

/// Promised gigabits a second, bucket and interval of the rows of Table 2.
const TABLE_2: [(f64, u64, u64); 4] = [
    (1.0, 512, 1_000),
    (10.0, 4_096, 800),
    (100.0, 65_536, 320),
    (1_000.0, 1_048_576, 64),
];

/// Table 2 by the paper's method: the bucket is fixed and the refill is swept, here over the powers
/// of two, since all printed values are such. The first that keeps the promise is taken.
pub(super) fn table2(_seed: u64) -> Result<Report, PlatformError> {
    let mut rows = Vec::new();
    for (slo, bucket, interval) in TABLE_2 {
        let mut found = (0, 0.0);
        for refill in (0..=20).map(|power| 1 << power) {
            found = (refill, shaped(refill, bucket, interval)?);
            if found.1 >= slo {
                break;
            }
        }
        let row = |key: &str, what: &str, unit, ours| {
            let key = format!("arcus.table2_by_method.{key}.{slo}");
            Row::new(key, "", format!("{what}, {slo} Gbit/s"), unit, ours)
        };
        let what = "smallest refill that keeps it";
        rows.push(row("refill", what, "bytes", found.0 as f64));
        rows.push(row("rate", "measured with it", "Gbit/s", found.1));
        let every = cycles(interval).as_ns_f64();
        rows.push(row("interval", "interval of its refills", "ns", every));
    }
    let key = "arcus.table2_by_method.pacing";
    let every = gbit_per_s(100.0).transfer(Bytes(1_000)).as_ns_f64();
    let what = "a message of 1 KB at 100 Gbit/s";
    rows.push(Row::new(key, "", what, "ns", every));
    Ok(Report {
        rows,
        ..Report::default()
    })
}

/// The rate of messages that always wait, through the shaper.
fn shaped(refill: u64, bucket: u64, interval: u64) -> Result<f64, PlatformError> {
    let registers = Registers::new(refill, bucket, interval)?;
    let timing = Timing::default();
    let mut shaper = Shaper::new(timing);
    let flow = shaper.add_flow(Time::ZERO, FlowConfig::new(Unit::Bytes, registers))?;
    let size = Bytes(bucket.min(MESSAGE.get()));
    // The warm-up: until the initially full bucket is spent, and as long again.
    let warm = cycles(interval * 8 * (2 + bucket / refill.min(bucket)));
    let end = warm * 5;
    let (mut tag, mut bytes) = (0, 0);
    let offer = |shaper: &mut Shaper, now, tag| shaper.offer(now, flow, Message { tag, size });
    for _ in 0..4 {
        offer(&mut shaper, Time::ZERO, tag)?;
        tag += 1;
    }
    while let Some(now) = shaper.next_grant().filter(|time| *time < end) {
        while let Some(segment) = shaper.poll(now)? {
            bytes += if segment.granted >= warm {
                segment.size.get()
            } else {
                0
            };
            offer(&mut shaper, now, tag)?;
            tag += 1;
        }
    }
    Ok(bytes as f64 * 8.0 / (end - warm).as_ns_f64())
}

fn cycles(count: u64) -> Time {
    Time::from_ns_f64(count as f64 * 1e9 / Clock::PAPER.frequency().as_hz() as f64)
}
