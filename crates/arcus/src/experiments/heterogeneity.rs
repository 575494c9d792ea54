//! Fig. 7: the throughput of several accelerators by message size, the total rate of 1 to 16 flows,
//! and the fairness between flows.

use accelflow_shaping::Timing;
use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant};
use super::report::{Report, Row, Series};
use crate::control::Rate;
use crate::parameters::{
    ALMS_OF_A_FLOW, CORES_OF_A_FLOW, aes_cbc, compression, datapath, decompression, ipsec,
    sha1_hmac, sha3_512,
};
use crate::{
    Accelerator, Arrivals, Curve, Flow, Mechanism, Path, Platform, PlatformError, Settings, Sizes,
    SoftwareConfig, simulate,
};

pub(super) fn fig7(seed: u64) -> Result<Report, PlatformError> {
    let (flows, mut rows) = flow_numbers(seed)?;
    let (shares, fair) = shares(seed)?;
    rows.push(fair);
    rows.extend(egress_rows(seed)?);
    rows.extend(cost_rows(settings(seed).control_period));
    let mut series = curves();
    series.extend(flows);
    series.extend(shares);
    Ok(Report {
        rows,
        series,
        ..Report::default()
    })
}

fn settings(seed: u64) -> Settings {
    Settings::lasting(Time::from_us(500)).seeded(seed)
}

/// Panel (a): throughput against message size. The paper shows three types of curve,
/// "logarithmically, exponentially, and uniquely ad-hoc", without values.
fn curves() -> Vec<Series> {
    let sizes = || (5..=14).map(|power| 1 << power);
    let of = |accelerator: Accelerator| {
        let kind = match accelerator.curve {
            Curve::Saturating { .. } => "logarithmic",
            Curve::Blocks { .. } => "exponential",
            Curve::Points(_) => "ad hoc",
        };
        let points = sizes().map(|size: u32| {
            let rate = accelerator.curve.gbit_per_s(Bytes(size.into()));
            (f64::from(size), rate)
        });
        Series {
            points: points.collect(),
            name: format!("{} ({kind})", accelerator.name),
            panel: "curves".to_owned(),
            x: "message bytes",
            y: "Gbit/s",
            ..Series::default()
        }
    };
    [ipsec(), aes_cbc(), sha1_hmac(), compression()]
        .map(of)
        .to_vec()
}

/// The numbers of flows in panel (b).
const COUNTS: [u32; 6] = [1, 2, 4, 8, 12, 16];
const NAMES: [&str; 6] = [
    "one_flow",
    "two_flows",
    "four_flows",
    "eight_flows",
    "12_flows",
    "16_flows",
];

/// Panel (b): the total rate of 1 to 16 flows of 4 KB, without shaping and under ARCUS.
fn flow_numbers(seed: u64) -> Result<(Vec<Series>, Vec<Row>), PlatformError> {
    let platform = Platform::prototype(vec![datapath()]);
    let total = |count: u32| -> Result<(f64, f64), PlatformError> {
        let flow = |vm| {
            Flow::new(
                vm as usize,
                Path::FunctionCall,
                Bytes(4_096),
                Arrivals::Backlogged,
            )
        };
        let flows: Vec<Flow> = (0..count).map(flow).collect();
        let result = simulate(&platform, &flows, &Mechanism::NoShaping, &settings(seed))?;
        Ok((f64::from(count), result.total_gbit_per_s()))
    };
    let points = COUNTS.map(total).into_iter();
    let points = points.collect::<Result<Vec<_>, _>>()?;
    let most = points.last().map_or(f64::NAN, |point| point.1);
    let rows = points
        .iter()
        .zip(NAMES)
        .take(COUNTS.len() - 1)
        .map(|((count, total), name)| {
            let key = format!("arcus.fig7.{name}_of_16");
            let what = format!("{count} flows, of what 16 get");
            Row::new(key, "", what, "times", total / most)
        });
    let mut rows: Vec<Row> = rows.collect();
    let mut shaped = Vec::new();
    for (count, name) in COUNTS.into_iter().zip(NAMES) {
        let key = format!("arcus.fig7.{name}_of_full.Arcus");
        let what = format!("{count} flows through admission and shaping, of what is there");
        let got = shaped_total(&platform, count, most, seed)?;
        rows.push(Row::new(key, "Arcus", what, "times", got / most));
        shaped.push((f64::from(count), got));
    }
    let curve = |system: &'static str, points| Series {
        name: system.to_owned(),
        panel: "flows".to_owned(),
        system,
        x: "flows",
        y: "Gbit/s",
        points,
        ..Series::default()
    };
    let series = vec![curve("Host_noTS", points), curve("Arcus", shaped)];
    Ok((series, rows))
}

/// The promise to all flows together, as a share of their rate without shaping.
const PROMISED: f64 = 0.99;

/// The total rate of `count` flows that are promised equal parts of `most`.
fn shaped_total(
    platform: &Platform,
    count: u32,
    most: f64,
    seed: u64,
) -> Result<f64, PlatformError> {
    let each = Rate::GbitPerS(PROMISED * most / f64::from(count));
    let tenant = |number| {
        let name = format!("flow {number}");
        let sizes = Sizes::Fixed(Bytes(4_096));
        Tenant::new(&name, "datapath", Path::FunctionCall, sizes, each)
    };
    let tenants: Vec<Tenant> = (0..count).map(tenant).collect();
    let admitted = Admitted::new(platform, &tenants)?;
    let settings = settings(seed);
    let period = settings.control_period;
    Ok(admitted.run(&settings, period)?.total_gbit_per_s())
}

/// Panel (c): the ratio of VM1's rate to VM2's without shaping. VM1 has flows of 1 KB and VM2 has 4
/// flows of 4 KB. The number of flows, their paths and the accelerator vary.
fn shares(seed: u64) -> Result<(Vec<Series>, Row), PlatformError> {
    let (rx, tx, call) = (Path::InlineRx, Path::InlineTx, Path::FunctionCall);
    let cases = [
        ("RX beside RX, one path", rx, rx, datapath()),
        ("RX beside calls, two paths", rx, call, datapath()),
        ("TX beside RX, two paths", tx, rx, datapath()),
        (
            "RX beside calls, compression, two paths",
            rx,
            call,
            compression(),
        ),
    ];
    let mut series = Vec::new();
    for (name, first, second, accelerator) in cases {
        let platform = Platform::prototype(vec![accelerator]);
        let point = |flows: u32| -> Result<(f64, f64), PlatformError> {
            let ratio = share(&platform, seed, flows as usize, (first, second))?;
            Ok((f64::from(flows), ratio))
        };
        let points = [1, 2, 4, 8, 16, 32].map(point).into_iter();
        series.push(Series {
            name: name.to_owned(),
            panel: "shares".to_owned(),
            x: "flows of VM1",
            y: "VM1 over VM2",
            points: points.collect::<Result<_, _>>()?,
            ..Series::default()
        });
    }
    let fair = series[0].points.iter().find(|point| point.0 == 16.0);
    let row = Row::new(
        "arcus.fig7.vm1_over_vm2",
        "",
        "16 flows of 1 KB over 4 of 4 KB",
        "times",
        fair.map_or(f64::NAN, |point| point.1),
    );
    Ok((series, row))
}

fn share(
    platform: &Platform,
    seed: u64,
    count: usize,
    (first, second): (Path, Path),
) -> Result<f64, PlatformError> {
    let flow = |vm, path, size| {
        let flow = Flow::new(vm, path, Bytes(size), Arrivals::Backlogged);
        Flow {
            port: (path == Path::InlineTx).then_some(0),
            ..flow
        }
    };
    let mut flows = vec![flow(0, first, 1_024); count];
    flows.extend(vec![flow(1, second, 4_096); 4]);
    let result = simulate(platform, &flows, &Mechanism::NoShaping, &settings(seed))?;
    let of = |range: std::ops::Range<usize>| range.map(|flow| result.gbit_per_s(flow)).sum::<f64>();
    Ok(of(0..count) / of(count..count + 4))
}

/// The paper's costs of a flow, which no simulation checks: the share of the FPGA is of a
/// synthesis, and the cores are a measurement of its driver. The latencies are parameters of the
/// shaper and of the software.
fn cost_rows(period: Time) -> Vec<Row> {
    let row = |key: &str, system, what: &str, unit, ours| {
        let key = format!("arcus.cost.{key}");
        Row::new(key, system, what, unit, ours)
    };
    let (alms, cores) = (ALMS_OF_A_FLOW, CORES_OF_A_FLOW);
    let timing = Timing::default();
    let software = SoftwareConfig::REFLEX.period.as_us_f64();
    let reconfiguration = timing.reconfiguration.as_us_f64();
    let time = cores * period.as_us_f64();
    vec![
        row("alms", "Arcus", "of the ALMs, a flow", "", alms),
        row(
            "flows_of_all_alms",
            "Arcus",
            "flows that fill the FPGA",
            "",
            (1.0 / alms).floor(),
        ),
        row("cores", "Arcus", "of the host, a flow", "cores", cores),
        row(
            "time_of_a_flow",
            "Arcus",
            "of a core, for a flow in each period of the runtime",
            "us",
            time,
        ),
        row(
            "shaping_latency",
            "Arcus",
            "latency of the shaper",
            "ns",
            timing.shaping_latency.as_ns_f64(),
        ),
        row(
            "software_latency",
            "Host_TS_reflex",
            "latency of software shaping",
            "us",
            software,
        ),
        row(
            "reconfiguration",
            "Arcus",
            "new registers",
            "us",
            reconfiguration,
        ),
    ]
}

/// The traffic on the link in each direction for a byte of input: the cause of interference.
fn egress_rows(seed: u64) -> Result<Vec<Row>, PlatformError> {
    let row = |accelerator: Accelerator| {
        let key = format!("arcus.fig7.egress_over_ingress.{}", accelerator.name);
        let what = format!("{}, bytes up for a byte down", accelerator.name);
        let platform = Platform::prototype(vec![accelerator]);
        let flow = Flow::new(0, Path::FunctionCall, Bytes(4_096), Arrivals::Backlogged);
        let result = simulate(&platform, &[flow], &Mechanism::NoShaping, &settings(seed))?;
        let ratio = result.up_bytes.get() as f64 / result.down_bytes.get() as f64;
        Ok(Row::new(key, "", what, "", ratio))
    };
    [sha3_512(), compression(), aes_cbc(), decompression()]
        .into_iter()
        .map(row)
        .collect()
}
