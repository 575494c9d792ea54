//! Figs. 8 and 9.

use accelflow_shaping::{Clock, FlowConfig, Splitting};
use accelflow_units::{Bytes, Time};

use super::report::{Paper, Report, Row, Series};
use crate::control::{Rate, registers_for};
use crate::parameters::datapath;
use crate::{
    Arrivals, Flow, Mechanism, Order, Path, Platform, PlatformError, RunResult, Settings, simulate,
};

/// A flow's shaping to `rate`, in segments of at most `segment`.
pub(super) fn shaped(rate: Rate, largest: u64, segment: u64) -> Result<FlowConfig, PlatformError> {
    let passed = Bytes(largest.min(segment));
    let registers = registers_for(rate, passed, Clock::PAPER)?;
    let mut config = FlowConfig::new(rate.unit(), registers);
    if largest > segment {
        config.splitting = Splitting::segments(Bytes(segment), Bytes(0))?;
    }
    Ok(config)
}

/// 4 KB of VM1 beside 1 to 512 KB of VM2, both calls of one accelerator.
pub(super) fn fig8(seed: u64) -> Result<Report, PlatformError> {
    let platform = Platform::prototype(vec![datapath()]);
    let settings = Settings::lasting(Time::from_us(8_000)).seeded(seed);
    let flow = |vm, kib| Flow {
        queue_limit: 16,
        ..Flow::new(
            vm,
            Path::FunctionCall,
            Bytes::from_kib(kib),
            Arrivals::Backlogged,
        )
    };
    let run = |kib, mechanism: &Mechanism| {
        simulate(&platform, &[flow(0, 4), flow(1, kib)], mechanism, &settings)
    };
    // What the profile says of two equal flows; each is promised half, with 2 % to spare.
    let capacity = run(4, &Mechanism::NoShaping)?.total_gbit_per_s();
    let half = Rate::GbitPerS(0.49 * capacity);
    let sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
    let mut curves: Vec<Vec<(f64, f64)>> = vec![Vec::new(); 4];
    for kib in sizes {
        let unshaped = run(kib, &Mechanism::NoShaping)?;
        let flows = vec![
            shaped(half, 4_096, 4_096)?,
            shaped(half, kib * 1_024, 4_096)?,
        ];
        let arcus = run(kib, &Mechanism::arcus(flows))?;
        let values = [&unshaped, &arcus].map(|it| [it.gbit_per_s(0), it.gbit_per_s(1)]);
        for (curve, value) in curves.iter_mut().zip(values.concat()) {
            curve.push((kib as f64, value / capacity));
        }
    }
    let rows = fig8_rows(&curves);
    let names = ["Host_noTS VM1", "Host_noTS VM2", "Arcus VM1", "Arcus VM2"];
    let series = names.into_iter().zip(curves).map(|(name, points)| Series {
        name: name.to_owned(),
        x: "message KiB of VM2",
        y: "share of capacity",
        points,
    });
    Ok(Report {
        rows,
        series: series.collect(),
        ..Report::default()
    })
}

fn fig8_rows(curves: &[Vec<(f64, f64)>]) -> Vec<Row> {
    let lost = |share: f64| 1.0 - share / 0.5;
    let large = curves[0]
        .iter()
        .filter(|it| it.0 > 4.0)
        .map(|it| lost(it.1));
    let (least, most) = large.fold((f64::MAX, f64::MIN), |(a, b), it| (a.min(it), b.max(it)));
    let of_arcus = || curves[2].iter().chain(&curves[3]).map(|it| it.1);
    let worst = of_arcus().fold(0.0, |worst: f64, it| worst.max((it / 0.5 - 1.0).abs()));
    let none = "Host_noTS";
    vec![
        Row::new(
            none,
            "VM1's least loss beside more than 4 KB",
            "",
            least,
            Paper::Is(0.36),
        ),
        Row::new(
            none,
            "VM1's greatest loss beside more than 4 KB",
            "",
            most,
            Paper::Is(0.67),
        ),
        Row::new(
            none,
            "VM2's loss with 1 KB",
            "",
            lost(curves[1][0].1),
            Paper::Is(0.60),
        ),
        Row::new(
            "Arcus",
            "largest deviation from half",
            "",
            worst,
            Paper::Is(0.0),
        ),
    ]
}

/// The slices of time that throughput and latency are taken over.
const SLICE: Time = Time::from_us(10);

/// Bursts of 64 B, which must be through within 1 us, beside 1500 B promised 32 Gbit/s. VM2 sends
/// more than that for 200 us, and less afterwards.
pub(super) fn fig9(seed: u64) -> Result<Report, PlatformError> {
    let platform = Platform::prototype(vec![datapath()]);
    let weighted = Mechanism::Panic {
        order: Order::WeightedFair,
        buffer: 256,
    };
    let arcus = Mechanism::arcus(vec![
        shaped(Rate::GbitPerS(8.0), 64 * 8, 4_096)?,
        shaped(Rate::GbitPerS(32.0), 1_500, 4_096)?,
    ]);
    let mut report = Report::default();
    for (phase, offered) in [("first 200 us", 48.0), ("after", 28.0)] {
        for mechanism in [&weighted, &arcus] {
            let result = bursts(&platform, mechanism, offered, seed)?;
            report
                .rows
                .extend(fig9_rows(mechanism.name(), phase, &result));
            report
                .series
                .extend(fig9_series(mechanism.name(), phase, &result));
        }
    }
    let p99 = |number: usize| report.rows[number].ours;
    let times = p99(1) / p99(FIG9_ROWS + 1);
    let why = "Which accelerator, how large the bursts and how deep the baseline's buffers are is not \
               printed.";
    report.rows.push(
        Row::new(
            "Arcus",
            "99th percentile, baseline over Arcus",
            "times",
            times,
            Paper::Is(1.9),
        )
        .because(why),
    );
    Ok(report)
}

/// Rows of each run of Fig. 9.
const FIG9_ROWS: usize = 3;

fn bursts(
    platform: &Platform,
    mechanism: &Mechanism,
    offered: f64,
    seed: u64,
) -> Result<RunResult, PlatformError> {
    // Bursts of 4 that make 2.5 Gbit/s.
    let tiny = Arrivals::Bursts {
        burst: 4,
        every: Time::from_ns(819),
    };
    let large = Arrivals::poisson_gbit_per_s(Bytes(1_500), offered);
    let flows = [
        Flow::new(0, Path::InlineRx, Bytes(64), tiny).over_port(0),
        Flow::new(1, Path::InlineRx, Bytes(1_500), large).over_port(1),
    ];
    let settings = Settings {
        warmup: Time::from_us(20),
        ..Settings::lasting(Time::from_us(2_000)).seeded(seed)
    };
    simulate(platform, &flows, mechanism, &settings)
}

fn fig9_rows(name: &'static str, phase: &str, result: &RunResult) -> Vec<Row> {
    let mut latencies = result.flows[0].latencies();
    let mean = latencies.mean_ps().unwrap_or(0.0) / 1e6;
    let p99 = latencies.percentile(99.0).unwrap_or(Time::ZERO).as_us_f64();
    let arcus = name == "Arcus";
    let first = phase.starts_with("first");
    let mean_why = match arcus {
        true => {
            "0.3 us are the link's one-way latency and the memory's, of which the text says nothing, nor \
                 where a latency ends."
        }
        false => "",
    };
    let (mean_paper, p99_paper, rate_paper) = match (arcus, first) {
        (true, true) => (Paper::Is(0.5), Paper::Within(0.0, 0.74), Paper::Is(32.0)),
        (true, false) => (Paper::Is(0.5), Paper::Within(0.0, 0.74), Paper::Silent(())),
        (false, true) => (
            Paper::Silent(()),
            Paper::Within(1.0, 1.41),
            Paper::Within(32.0, 50.0),
        ),
        (false, false) => (Paper::Silent(()), Paper::Silent(()), Paper::Silent(())),
    };
    vec![
        Row::new(name, format!("64 B mean, {phase}"), "us", mean, mean_paper).because(mean_why),
        Row::new(
            name,
            format!("64 B 99th percentile, {phase}"),
            "us",
            p99,
            p99_paper,
        ),
        Row::new(
            name,
            format!("1500 B, {phase}"),
            "Gbit/s",
            result.gbit_per_s(1),
            rate_paper,
        ),
    ]
}

fn fig9_series(name: &str, phase: &str, result: &RunResult) -> Vec<Series> {
    let slices = |flow: usize| result.flows[flow].slices(Time::from_us(20), SLICE, 20);
    let at = |number: usize| number as f64 * SLICE.as_us_f64();
    let rate = slices(1)
        .into_iter()
        .enumerate()
        .map(|(it, slice)| (at(it), slice.0));
    let tail = slices(0)
        .into_iter()
        .enumerate()
        .filter_map(|(it, mut slice)| {
            slice
                .1
                .percentile(99.0)
                .map(|time| (at(it), time.as_us_f64()))
        });
    let series = |what: &str, y, points| Series {
        name: format!("{name} {what}, {phase}"),
        x: "us",
        y,
        points,
    };
    vec![
        series("1500 B", "Gbit/s", rate.collect()),
        series("64 B 99th percentile", "us", tail.collect()),
    ]
}
