//! Fig. 9: bursts of 64-byte messages beside a stream that at first sends more than it was
//! promised.

use accelflow_kernel::Samples;
use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant};
use super::report::{Report, Row, Series};
use crate::control::Rate;
use crate::parameters::{PANIC_BUFFER, STREAM_GBIT_PER_S, TINY_BURST, TINY_EVERY_NS, datapath};
use crate::{
    Arrivals, Mechanism, Order, Path, Platform, PlatformError, RunResult, Settings, Sizes,
};

/// The length of the time slices for which the figure's curves have points.
const SLICE: Time = Time::from_us(10);
/// The number of time slices on the figure's axis.
const SLICES: usize = 50;
/// The number of episodes of one seed, each of which starts on an idle platform. A slice of one
/// episode has about 50 of the 64-byte messages, too few for a 99th percentile.
const EPISODES: u64 = 50;
/// The time when VM2 begins to send less than it was promised.
const CALMER: Time = Time::from_us(200);
/// A part of the figure's time.
struct Phase {
    /// The phase's name in keys of results.
    key: &'static str,
    /// The phase's name in reports.
    name: &'static str,
    slices: std::ops::Range<usize>,
}

/// The phase before VM2 sends less, and the phase in which, according to the paper, both systems
/// are alike.
const PHASES: [Phase; 2] = [
    Phase {
        key: "burst",
        name: "first 200 us",
        slices: 0..20,
    },
    Phase {
        key: "after",
        name: "from 380 us",
        slices: 38..SLICES,
    },
];
/// The SLO of VM1's 99th percentile.
const SLO_US: f64 = 1.0;

/// Bursts of 64 B with a promised latency of 1 us, next to messages of 1500 B with a promised 32
/// Gbit/s; both request admission. VM2 sends more than its promise for 200 us, and less afterwards.
pub(super) fn fig9(seed: u64) -> Result<Report, PlatformError> {
    let platform = Platform::prototype(vec![datapath()]);
    let weighted = Mechanism::Panic {
        order: Order::WeightedFair,
        buffer: PANIC_BUFFER,
    };
    let admitted = Admitted::new(&platform, &tenants())?;
    let panic = Course::of(weighted.name(), seed, |settings| {
        admitted.without(&weighted, settings)
    })?;
    let arcus = Course::of(admitted.name(), seed, |settings| {
        admitted.run(settings, settings.control_period)
    })?;
    let mut rows = Vec::new();
    for phase in &PHASES {
        for result in [&panic, &arcus] {
            rows.extend(phase_rows(result, phase));
        }
    }
    rows.extend(ratio_rows(&panic, &arcus));
    let series = [&panic, &arcus].into_iter().flat_map(curves).collect();
    Ok(Report {
        rows,
        series,
        ..Report::default()
    })
}

/// The results of both VMs in each slice, over all episodes.
struct Course {
    name: &'static str,
    /// Latencies of VM1 and of VM2.
    latencies: [Vec<Samples>; 2],
    /// Gigabits a second of VM1 and of VM2.
    rates: [Vec<f64>; 2],
}

impl Course {
    fn of(
        name: &'static str,
        seed: u64,
        run: impl Fn(&Settings) -> Result<RunResult, PlatformError>,
    ) -> Result<Course, PlatformError> {
        let mut course = Course {
            name,
            latencies: [vec![Samples::new(); SLICES], vec![Samples::new(); SLICES]],
            rates: [vec![0.0; SLICES], vec![0.0; SLICES]],
        };
        for episode in 0..EPISODES {
            let seed = seed.wrapping_mul(EPISODES).wrapping_add(episode);
            let settings = Settings {
                warmup: Time::ZERO,
                ..Settings::lasting(SLICE * SLICES as u64).seeded(seed)
            };
            let result = run(&settings)?;
            for flow in [0, 1] {
                let slices = result.flows[flow].slices(Time::ZERO, SLICE, SLICES);
                for (number, (rate, latencies)) in slices.iter().enumerate() {
                    course.latencies[flow][number].merge(latencies);
                    course.rates[flow][number] += rate / EPISODES as f64;
                }
            }
        }
        Ok(course)
    }

    /// VM1's latencies.
    fn tiny(&self, slices: std::ops::Range<usize>) -> Samples {
        let mut all = Samples::new();
        for slice in &self.latencies[0][slices] {
            all.merge(slice);
        }
        all
    }

    /// The mean rate of a flow over these slices, in gigabits per second.
    fn rate(&self, flow: usize, slices: &std::ops::Range<usize>) -> f64 {
        let rates = &self.rates[flow][slices.clone()];
        rates.iter().sum::<f64>() / slices.len() as f64
    }

    /// VM1's 99th percentile over these slices, in microseconds.
    fn p99_us(&self, slices: std::ops::Range<usize>) -> f64 {
        p99_us(self.tiny(slices))
    }
}

fn p99_us(mut latencies: Samples) -> f64 {
    latencies.percentile(99.0).unwrap_or(Time::ZERO).as_us_f64()
}

fn tenants() -> [Tenant; 2] {
    // The bucket has room for two bursts.
    let tiny = Arrivals::Bursts {
        burst: TINY_BURST,
        every: Time::from_ns(TINY_EVERY_NS),
    };
    let every = |gbit_per_s: f64| Time::from_ns_f64(1_500.0 * 8.0 / gbit_per_s);
    let large = Arrivals::PoissonStep {
        before: every(STREAM_GBIT_PER_S[0]),
        at: CALMER,
        after: every(STREAM_GBIT_PER_S[1]),
    };
    let tenant = |name, size, gbit_per_s| {
        let sizes = Sizes::Fixed(Bytes(size));
        let rate = Rate::GbitPerS(gbit_per_s);
        Tenant::new(name, "datapath", Path::InlineRx, sizes, rate)
    };
    [
        tenant("VM1", 64, 8.0)
            .over_port(0)
            .sending(tiny)
            .within(99.0, Time::from_us(1))
            .in_bursts(2 * TINY_BURST),
        tenant("VM2", 1_500, 32.0)
            .of_vm(1)
            .over_port(1)
            .sending(large),
    ]
}

fn phase_rows(course: &Course, phase: &Phase) -> Vec<Row> {
    let (name, slices) = (course.name, &phase.slices);
    let latencies = course.tiny(slices.clone());
    let mean = latencies.mean_ps().unwrap_or(0.0) / 1e6;
    let p99 = p99_us(latencies);
    let late = |samples: &&Samples| p99_us(Samples::clone(samples)) > SLO_US;
    let late = course.latencies[0][slices.clone()]
        .iter()
        .filter(late)
        .count() as f64;
    let [tiny, large] = [0, 1].map(|flow: usize| course.rate(flow, slices));
    let row = |key: &str, what: &str, unit, ours| {
        let key = format!("arcus.fig9.{}_{key}.{name}", phase.key);
        Row::new(key, name, format!("{what}, {}", phase.name), unit, ours)
    };
    vec![
        row("mean", "64 B mean", "us", mean),
        row("p99", "64 B 99th percentile", "us", p99),
        row(
            "share_above_1_us",
            "share of 10 us slices whose 99th percentile is above 1 us",
            "",
            late / slices.len() as f64,
        ),
        row("64_b", "64 B", "Gbit/s", tiny),
        row("1500_b", "1500 B", "Gbit/s", large),
    ]
}

/// The ratios of VM1's tail latency without shaping to its tail latency with ARCUS.
fn ratio_rows(panic: &Course, arcus: &Course) -> Vec<Row> {
    let row = |key: &str, what: &str, ours| {
        let key = format!("arcus.fig9.{key}_p99_over_arcus");
        Row::new(key, "Arcus", what, "times", ours)
    };
    let [first, last] = PHASES.map(|phase| phase.slices);
    let times = |slices: &std::ops::Range<usize>| {
        panic.p99_us(slices.clone()) / arcus.p99_us(slices.clone())
    };
    let each = (0..SLICES).map(|slice| times(&(slice..slice + 1)));
    let most = each.fold(0.0, f64::max);
    let rates = panic.rate(0, &first) / arcus.rate(0, &first);
    vec![
        row(
            "burst",
            "99th percentile, baseline over Arcus, first 200 us",
            times(&first),
        ),
        row(
            "most",
            "99th percentile, baseline over Arcus, most in any 10 us",
            most,
        ),
        row(
            "after",
            "99th percentile, baseline over Arcus, from 380 us",
            times(&last),
        ),
        Row::new(
            "arcus.fig9.burst_64_b_over_arcus",
            "Arcus",
            "64 B throughput, baseline over Arcus, first 200 us",
            "times",
            rates,
        ),
    ]
}

fn curves(course: &Course) -> Vec<Series> {
    let at = |number: usize| number as f64 * SLICE.as_us_f64();
    let series = |panel: &str, y, points: Vec<(f64, f64)>| Series {
        name: course.name.to_owned(),
        panel: panel.to_owned(),
        system: course.name,
        x: "us",
        y,
        points,
        ..Series::default()
    };
    let tail = |flow: usize| {
        let slices = course.latencies[flow].iter().enumerate();
        slices
            .map(|(number, slice)| (at(number), p99_us(slice.clone())))
            .collect()
    };
    let rate = |flow: usize| {
        let slices = course.rates[flow].iter().enumerate();
        slices.map(|(number, rate)| (at(number), *rate)).collect()
    };
    vec![
        series("tiny_p99", "us", tail(0)),
        series("tiny_rate", "Gbit/s", rate(0)),
        series("large_rate", "Gbit/s", rate(1)),
        series("large_p99", "us", tail(1)),
    ]
}
