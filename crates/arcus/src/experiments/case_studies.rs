//! Table 1 and Fig. 3: the rates that two tenants get without traffic shaping.

use accelflow_units::{Bytes, Time};

use super::report::{Report, Row, Series};
use crate::parameters::{MESSAGES_PER_S_AT_FULL_LOAD, PANIC_BUFFER, ipsec, synthetic};
use crate::{Arrivals, Flow, Mechanism, Order, Path, Platform, PlatformError, Settings, simulate};

/// The loads of VM2, as shares of the full load.
const LOADS: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// The four patterns of messages, and the two pairs of paths.
pub(super) fn fig3(seed: u64) -> Result<Report, PlatformError> {
    let patterns = [(256, 64), (256, 512), (128, 512), (1500, 512)];
    let mut shares = Vec::new();
    let mut series = Vec::new();
    for (pattern, (size1, size2)) in (1..).zip(patterns) {
        let points = pattern_points(size1, size2, seed)?;
        for pick in [0, 1] {
            let curve = points
                .iter()
                .map(|point| (point.0, point.1[pick]))
                .collect();
            series.push(throughput(pattern, pick + 1, curve));
        }
        shares.push(points);
    }
    let mut rows = pattern_rows(&shares);
    rows.extend(path_rows(seed)?);
    Ok(Report {
        rows,
        series,
        ..Report::default()
    })
}

fn throughput(pattern: u32, vm: usize, points: Vec<(f64, f64)>) -> Series {
    Series {
        name: format!("VM{vm}"),
        panel: format!("pattern_{pattern}"),
        system: PANIC,
        user: u32::try_from(vm).ok(),
        x: "load of VM2",
        y: "Gbit/s",
        points,
        ..Series::default()
    }
}

/// The rates of both VMs under PANIC with equal priorities, by load of VM2.
fn pattern_points(
    size1: u64,
    size2: u64,
    seed: u64,
) -> Result<Vec<(f64, [f64; 2])>, PlatformError> {
    let platform = Platform::prototype(vec![ipsec()]);
    let panic = Mechanism::Panic {
        order: Order::Priority,
        buffer: PANIC_BUFFER,
    };
    let settings = Settings::lasting(Time::from_us(1_000)).seeded(seed);
    let point = |load: f64| {
        let flow = |vm, size, load: f64| {
            let arrivals = Arrivals::poisson_per_s(load * MESSAGES_PER_S_AT_FULL_LOAD);
            Flow::new(vm, Path::InlineRx, Bytes(size), arrivals)
        };
        let flows = [flow(0, size1, 0.1), flow(1, size2, load)];
        let result = simulate(&platform, &flows, &panic, &settings)?;
        Ok((load, [result.gbit_per_s(0), result.gbit_per_s(1)]))
    };
    LOADS.into_iter().map(point).collect()
}

const PANIC: &str = "Bypassed_noTS_panic";

fn total(point: &(f64, [f64; 2])) -> f64 {
    point.1[0] + point.1[1]
}

fn share(point: &(f64, [f64; 2])) -> f64 {
    point.1[0] / total(point)
}

fn pattern_rows(patterns: &[Vec<(f64, [f64; 2])>]) -> Vec<Row> {
    let (one, four) = (&patterns[0], &patterns[3]);
    let row =
        |key: &str, what: &str, ours| Row::new(format!("arcus.fig3.{key}"), PANIC, what, "", ours);
    let [most, least] = [0, 8].map(|load: usize| total(&one[load]) / 32.0);
    let mut rows = vec![
        row(
            "pattern_1_share_most",
            "pattern 1, most of the 32 Gbit/s",
            most,
        ),
        row(
            "pattern_1_share_least",
            "pattern 1, least of the 32 Gbit/s",
            least,
        ),
        row(
            "pattern_4_vm1_most",
            "pattern 4, most of VM1",
            share(&four[0]),
        ),
        row(
            "pattern_4_vm1_least",
            "pattern 4, least of VM1",
            share(&four[8]),
        ),
    ];
    rows.extend(fair_rows(patterns));
    rows
}

/// The load at which VM1 and VM2 get the same rate, interpolated; `None` if one of them is always
/// ahead.
fn fair(points: &[(f64, [f64; 2])]) -> Option<f64> {
    points.windows(2).find_map(|pair| {
        let [a, b] = [share(&pair[0]) - 0.5, share(&pair[1]) - 0.5];
        (a >= 0.0 && b < 0.0).then(|| pair[0].0 + (pair[1].0 - pair[0].0) * a / (a - b))
    })
}

fn fair_rows(patterns: &[Vec<(f64, [f64; 2])>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for pattern in [1, 4] {
        if let Some(load) = fair(&patterns[pattern - 1]) {
            let key = format!("arcus.fig3.pattern_{pattern}_fair_load_of_vm2");
            let what = format!("pattern {pattern}, load of VM2 at 50/50");
            rows.push(Row::new(key, PANIC, what, "load", load));
        }
    }
    for pattern in [2, 3] {
        let count = f64::from(u8::from(fair(&patterns[pattern - 1]).is_some()));
        let key = format!("arcus.fig3.pattern_{pattern}_fair_points");
        let what = format!("pattern {pattern}, fair points");
        rows.push(Row::new(key, PANIC, what, "", count));
    }
    let three = &patterns[2];
    let grown = three[8].1[0] / three[0].1[0];
    let key = "arcus.fig3.pattern_3_vm1_highest_over_lowest";
    let what = "pattern 3, VM1 at VM2's highest load over its lowest";
    rows.push(Row::new(key, PANIC, what, "times", grown));
    rows
}

/// Two VMs with an accelerator and a DMA engine each, on one path and on two.
fn path_rows(seed: u64) -> Result<Vec<Row>, PlatformError> {
    let mut platform = Platform::prototype(vec![synthetic("vm1"), synthetic("vm2")]);
    platform.dma.engines = 2;
    let settings = Settings::lasting(Time::from_us(1_000)).seeded(seed);
    // A load of 0.4 starts 4 KB in 100 million cycles a second: more than the port takes. So is
    // every load of 64 B from 0.4 on.
    let small = Flow::new(1, Path::InlineRx, Bytes(64), Arrivals::Backlogged);
    let small = small.through(&[1]).by_engine(1).over_port(1);
    let large = |path| Flow::new(0, path, Bytes(4_096), Arrivals::Backlogged);
    let same = [large(Path::InlineRx).over_port(0), small.clone()];
    let multi = [large(Path::FunctionCall), small];
    let same = simulate(&platform, &same, &Mechanism::NoShaping, &settings)?;
    let multi = simulate(&platform, &multi, &Mechanism::NoShaping, &settings)?;
    let system = "Host_noTS";
    let advantage = same.gbit_per_s(0) / same.gbit_per_s(1);
    let (of_same, of_multi) = (same.total_gbit_per_s(), multi.total_gbit_per_s());
    let row = |key: &str, what: &str, unit, ours| {
        Row::new(format!("arcus.fig3.{key}"), system, what, unit, ours)
    };
    let split = [("same", &same), ("multi", &multi)].into_iter();
    let split = split.flat_map(|(name, result)| {
        [0, 1].map(|vm: usize| {
            let (key, number) = (format!("{name}_path_vm{}", vm + 1), vm + 1);
            let what = format!("{name} path, VM{number}");
            row(&key, &what, "Gbit/s", result.gbit_per_s(vm)).of_user(number)
        })
    });
    let split: Vec<Row> = split.collect();
    let mut rows = vec![
        row(
            "same_path_vm1_over_vm2",
            "same path, VM1 over VM2",
            "times",
            advantage,
        ),
        row(
            "same_path_over_multi_path",
            "same path over multi path",
            "",
            of_same / of_multi,
        ),
        row(
            "multi_path_share_of_ideal",
            "multi path of the ideal 100 Gbit/s",
            "",
            of_multi / 100.0,
        ),
        row(
            "same_path_drop",
            "same path, less than the ideal 100 Gbit/s",
            "",
            1.0 - of_same / 100.0,
        ),
        row("same_path", "same path", "Gbit/s", of_same),
        row("multi_path", "multi path", "Gbit/s", of_multi),
    ];
    rows.extend(split);
    Ok(rows)
}
