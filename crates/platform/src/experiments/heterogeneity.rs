//! Fig. 7: heterogeneous accelerators, numbers of flows, and fairness.

use accelflow_units::{Bytes, Time};

use super::report::{Paper, Report, Row, Series};
use crate::parameters::{aes_cbc, compression, datapath, ipsec, sha1_hmac, sha3_512};
use crate::{Arrivals, Flow, Mechanism, Path, Platform, PlatformError, Settings, simulate};

pub(super) fn fig7(seed: u64) -> Result<Report, PlatformError> {
    let mut rows = flow_rows(seed)?;
    rows.push(fair_row(seed)?);
    rows.extend(egress_rows(seed)?);
    Ok(Report {
        rows,
        series: curves(),
        ..Report::default()
    })
}

/// Panel (a): throughput against message size.
fn curves() -> Vec<Series> {
    let of = |it: crate::Accelerator| Series {
        name: it.name,
        x: "message bytes",
        y: "Gbit/s",
        points: (5..=14)
            .map(|power| {
                (
                    f64::from(1 << power),
                    it.curve.gbit_per_s(Bytes(1 << power)),
                )
            })
            .collect(),
    };
    [ipsec(), aes_cbc(), sha1_hmac(), compression()]
        .map(of)
        .to_vec()
}

/// Panel (b): all flows together, from 1 to 16 of 4 KB, over one flow's link.
fn flow_rows(seed: u64) -> Result<Vec<Row>, PlatformError> {
    let platform = Platform::prototype(vec![datapath()]);
    let settings = Settings::lasting(Time::from_us(500)).seeded(seed);
    let total = |count: usize| -> Result<f64, PlatformError> {
        let flow = |vm| Flow::new(vm, Path::FunctionCall, Bytes(4_096), Arrivals::Backlogged);
        let flows: Vec<Flow> = (0..count).map(flow).collect();
        Ok(simulate(&platform, &flows, &Mechanism::NoShaping, &settings)?.total_gbit_per_s())
    };
    let most = total(16)?;
    let row = |count| {
        let share = total(count)? / most;
        let paper = if count == 1 {
            Paper::Is(1.0)
        } else {
            Paper::Silent(())
        };
        Ok(Row::new(
            "",
            format!("{count} flows, of what 16 get"),
            "times",
            share,
            paper,
        ))
    };
    [1, 2, 4, 8].into_iter().map(row).collect()
}

/// Panel (c): 16 flows of 1 KB beside 4 flows of 4 KB from the network.
fn fair_row(seed: u64) -> Result<Row, PlatformError> {
    let platform = Platform::prototype(vec![datapath()]);
    let settings = Settings::lasting(Time::from_us(500)).seeded(seed);
    let flow = |vm, size| Flow::new(vm, Path::InlineRx, Bytes(size), Arrivals::Backlogged);
    let flows: Vec<Flow> = (0..20)
        .map(|it| {
            if it < 16 {
                flow(0, 1_024)
            } else {
                flow(1, 4_096)
            }
        })
        .collect();
    let result = simulate(&platform, &flows, &Mechanism::NoShaping, &settings)?;
    let of = |range: std::ops::Range<usize>| range.map(|it| result.gbit_per_s(it)).sum::<f64>();
    let ratio = of(0..16) / of(16..20);
    Ok(Row::new(
        "",
        "16 flows of 1 KB over 4 of 4 KB",
        "times",
        ratio,
        Paper::Is(1.0),
    ))
}

/// What crosses the link in each direction for a byte of input: where accelerators interfere.
fn egress_rows(seed: u64) -> Result<Vec<Row>, PlatformError> {
    let settings = Settings::lasting(Time::from_us(500)).seeded(seed);
    let row = |it: crate::Accelerator| {
        let what = format!("{}, bytes up for a byte down", it.name);
        let platform = Platform::prototype(vec![it]);
        let flow = Flow::new(0, Path::FunctionCall, Bytes(4_096), Arrivals::Backlogged);
        let result = simulate(&platform, &[flow], &Mechanism::NoShaping, &settings)?;
        let ratio = result.up_bytes.get() as f64 / result.down_bytes.get() as f64;
        Ok(Row::new("", what, "", ratio, Paper::Silent(())))
    };
    [sha3_512(), compression(), aes_cbc()]
        .into_iter()
        .map(row)
        .collect()
}
