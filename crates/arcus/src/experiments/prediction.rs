//! The effect of acting before an SLO is missed (section 4.3, scenario 3). Neighbours that send
//! smaller messages than they declared overload an accelerator. The runtime moves a flow to another
//! accelerator, either when the flow misses its SLO or when its rate falls towards the SLO.

use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant};
use super::report::{Report, Row, Series};
use crate::control::{Rate, Runtime};
use crate::parameters::ipsec;
use crate::{Accelerator, Arrivals, Path, Platform, PlatformError, RunResult, Settings, Sizes};

/// How far ahead the runtime looks, in its periods of 100 us; at 0 it waits for violations.
const AHEAD: [u32; 4] = [0, 2, 5, 10];
const PERIOD: Time = Time::from_us(100);
/// The victim's SLO, in gigabits per second: 63 % of an accelerator.
const SLO_GBIT_PER_S: f64 = 20.0;
/// The neighbours, and the SLO of each: together an eighth of the accelerator in the messages that
/// they declare, and nine tenths in those that some send.
const NEIGHBOURS: u32 = 40;
const NEIGHBOUR_GBIT_PER_S: f64 = 0.1;
/// The sizes that they declare, and those that some of them send.
const DECLARED: Bytes = Bytes(1_500);
const SENT: Bytes = Bytes(64);
/// When the first neighbour begins, and the time between two beginnings.
const BEGIN: Time = Time::from_us(4_000);
const BETWEEN: Time = Time::from_us(400);
/// The measured time.
const TIME: Time = Time::from_us(20_000);

/// The messages that the victim of the honest neighbours sends at once, at a share of its SLO: its
/// rate falls after each burst.
const BURST: u32 = 64;
const LOAD: f64 = 0.95;

fn asking(name: &str, gbit_per_s: f64) -> Tenant {
    let sizes = Sizes::Fixed(DECLARED);
    let rate = Rate::GbitPerS(gbit_per_s);
    Tenant::new(name, "ipsec", Path::InlineRx, sizes, rate)
}

/// Neighbours who send messages of `sent`.
fn neighbours(sent: Bytes) -> impl Iterator<Item = Tenant> {
    (0..NEIGHBOURS).map(move |number| {
        let every = Time::from_ns_f64(sent.get() as f64 * 8.0 / NEIGHBOUR_GBIT_PER_S);
        let arrivals = Arrivals::PoissonStep {
            before: TIME * 1_000,
            at: BEGIN + BETWEEN * u64::from(number),
            after: every,
        };
        asking(&format!("neighbour {number}"), NEIGHBOUR_GBIT_PER_S)
            .of_vm(number as usize + 1)
            .sending(arrivals)
    })
}

/// A victim who always has something to send, beside neighbours who send smaller messages than they
/// declared.
fn overloaded(platform: &Platform) -> Result<Admitted, PlatformError> {
    let victim = asking("victim", SLO_GBIT_PER_S).instead(&["spare"]);
    let tenants: Vec<Tenant> = std::iter::once(victim).chain(neighbours(SENT)).collect();
    let mut admitted = Admitted::new(platform, &tenants)?;
    for flow in &mut admitted.flows[1..] {
        flow.sizes = Sizes::Fixed(SENT);
    }
    Ok(admitted)
}

/// A victim who sends bursts within its SLO, beside neighbours who send what they declared.
fn honest(platform: &Platform) -> Result<Admitted, PlatformError> {
    let every = f64::from(BURST) * DECLARED.get() as f64 * 8.0 / (LOAD * SLO_GBIT_PER_S);
    let victim = asking("victim", SLO_GBIT_PER_S)
        .instead(&["spare"])
        .in_bursts(BURST)
        .sending(Arrivals::Bursts {
            burst: BURST,
            every: Time::from_ns_f64(every),
        });
    let tenants: Vec<Tenant> = std::iter::once(victim)
        .chain(neighbours(DECLARED))
        .collect();
    Admitted::new(platform, &tenants)
}

/// Both victims under a runtime that looks more and less far ahead.
pub(super) fn prediction(seed: u64) -> Result<Report, PlatformError> {
    let spare = Accelerator {
        name: "spare".to_owned(),
        ..ipsec()
    };
    let platform = Platform::prototype(vec![ipsec(), spare]);
    let (small, honest) = (overloaded(&platform)?, honest(&platform)?);
    let settings = Settings::lasting(TIME).seeded(seed);
    let mut rows = Vec::new();
    let (mut missed_points, mut false_points) = (Vec::new(), Vec::new());
    for ahead in AHEAD {
        let us = f64::from(ahead) * PERIOD.as_us_f64();
        let beside_overload = small.run_predicting(&settings, PERIOD, ahead)?;
        // Nothing is missed for lack of capacity there: every prediction is false.
        let (_, calm) = honest.run_predicting(&settings, PERIOD, ahead)?;
        rows.extend(rows_of(us, &beside_overload, &calm));
        missed_points.push((us, missed(&beside_overload.0)));
        false_points.push((us, predicted(&calm)));
    }
    let series = [("missed", missed_points), ("false_alarms", false_points)];
    let series = series.into_iter().map(|(panel, points)| Series {
        name: "Arcus".to_owned(),
        panel: panel.to_owned(),
        system: "Arcus",
        x: "us ahead",
        y: "periods",
        points,
        ..Series::default()
    });
    Ok(Report {
        rows,
        series: series.collect(),
        ..Report::default()
    })
}

/// The rows of a runtime that looks `us` ahead: beside an overload, and beside honest neighbours.
fn rows_of(us: f64, (result, runtime): &(RunResult, Runtime), calm: &Runtime) -> Vec<Row> {
    let row = |key: &str, what: &str, ours: f64| {
        let key = format!("arcus.prediction.{key}.{us:.0}_us");
        let what = format!("{what}, looking {us:.0} us ahead");
        Row::new(key, "Arcus", what, "periods", ours)
    };
    let (late, foreseen) = (missed(result), predicted(runtime));
    let moves = "moves to the other accelerator";
    let alarms = "false alarms beside honest neighbours";
    let calm_moves = calm.moves() as f64;
    vec![
        row("missed", "periods below the SLO beside an overload", late),
        row("predicted", "periods of predicted violations", foreseen),
        row("moves", moves, runtime.moves() as f64),
        row("false_alarms", alarms, predicted(calm)),
        row("false_moves", "moves beside honest neighbours", calm_moves),
    ]
}

/// The number of periods in which the victim was predicted to miss its SLO.
fn predicted(runtime: &Runtime) -> f64 {
    runtime.predicted_violations_of("victim").unwrap_or(0) as f64
}

/// The number of periods after the first neighbour's beginning in which the victim got more than 1
/// % less than its SLO, a message apart.
fn missed(result: &RunResult) -> f64 {
    let from = result.warmup.max(BEGIN);
    let count = (result.warmup + result.measured - from).as_ps() / PERIOD.as_ps();
    let message = DECLARED.get() as f64 * 8.0 / PERIOD.as_ns_f64();
    let slices = result.flows[0].slices(from, PERIOD, count as usize);
    let least = 0.99 * SLO_GBIT_PER_S - message;
    slices.iter().filter(|slice| slice.0 < least).count() as f64
}
