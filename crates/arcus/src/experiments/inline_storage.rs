//! The inline mode with storage (section 4.1, "Inline mode (P2P)"). The experiment measures how
//! much the second shaper, which limits an accelerator's results, helps a neighbour on the same
//! SSD. The paper describes the second shaper and reports no measurement of it.

use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant};
use super::report::{Report, Row};
use crate::control::{Rate, STORAGE};
use crate::parameters::compression;
use crate::{
    Arrivals, Mechanism, Path, Platform, PlatformError, RunResult, Settings, Sizes, StorageConfig,
};

/// The promises to the reader and to the writer, in operations a second: a third of the SSD each.
const READS_PER_S: f64 = 300e3;
const WRITES_PER_S: f64 = 5e3;
/// The number of messages in each burst of the writer. A burst may pass at once, since the writer's
/// first shaper has the tokens.
const BURST: u32 = 128;
/// The load of the writer, as a share of its promise.
const LOAD: f64 = 0.2;
/// The runtime's period: ten writes.
const PERIOD: Time = Time::from_us(2_000);

fn tenants() -> [Tenant; 2] {
    let sizes = || Sizes::Fixed(Bytes(4_096));
    let arrivals = |per_s: f64| Arrivals::Poisson(Time::from_s_f64(1.0 / per_s));
    let every = Time::from_s_f64(f64::from(BURST) / (LOAD * WRITES_PER_S));
    let reads = Rate::OperationsPerS(READS_PER_S);
    let writes = Rate::OperationsPerS(WRITES_PER_S);
    [
        Tenant::new("reader", STORAGE, Path::StorageRead, sizes(), reads)
            .sending(arrivals(0.9 * READS_PER_S)),
        Tenant::new("writer", "compression", Path::StorageWrite, sizes(), writes)
            .of_vm(1)
            .in_bursts(BURST)
            .sending(Arrivals::Bursts {
                burst: BURST,
                every,
            }),
    ]
}

/// Reads of one VM, beside bursts of writes that another VM sends through the compression.
pub(super) fn inline_storage(seed: u64) -> Result<Report, PlatformError> {
    let mut platform = Platform::prototype(vec![compression()]);
    platform.storage = Some(StorageConfig::paper(1));
    let settings = Settings::lasting(Time::from_us(2_000_000)).seeded(seed);
    let twice = Admitted::new(&platform, &tenants())?;
    let once = Admitted::shaped_once(&platform, &tenants())?;
    let none = Mechanism::NoShaping;
    let runs = [
        (none.name(), "not shaped", once.without(&none, &settings)?),
        ("Arcus", "shaped once", once.run(&settings, PERIOD)?),
        ("Arcus", "shaped twice", twice.run(&settings, PERIOD)?),
    ];
    let mut rows = Vec::new();
    for (system, how, result) in &runs {
        rows.extend(measured(system, how, result));
    }
    let tail = |number: usize| p99(&runs[number].2, 0).as_us_f64();
    let what = "reader's 99th percentile, shaped twice over once";
    let key = "arcus.inline_storage.reads_p99_twice_over_once.Arcus";
    rows.push(Row::new(key, "Arcus", what, "times", tail(2) / tail(1)));
    Ok(Report {
        rows,
        ..Report::default()
    })
}

fn measured(system: &'static str, how: &str, result: &RunResult) -> Vec<Row> {
    let row = |name: &str, what: &str, unit, ours| {
        let key = format!("arcus.inline_storage.{name}.{}", how.replace(' ', "_"));
        Row::new(key, system, format!("{how}: {what}"), unit, ours)
    };
    let writer = &result.flows[1];
    let mean = writer.latencies().mean_ps().unwrap_or(0.0) / 1e6;
    let served = writer.arrived - writer.dropped - writer.under_way;
    let served = served as f64 / writer.arrived.max(1) as f64;
    let tail = p99(result, 0).as_us_f64();
    vec![
        row("reads_p99", "reader's 99th percentile", "us", tail),
        row("writes_mean", "writer's mean latency", "us", mean),
        row("writes_served", "writes served, of those sent", "", served),
    ]
}

fn p99(result: &RunResult, flow: usize) -> Time {
    result.flows[flow].latency(99.0).unwrap_or(Time::ZERO)
}
