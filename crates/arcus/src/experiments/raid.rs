//! Fig. 11(b): a reader and a writer share a RAID-0 of four SSDs.

use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant, highest};
use super::report::Row;
use crate::control::{Rate, STORAGE};
use crate::parameters::RAID_CLIENTS;
use crate::{
    Arrivals, Mechanism, Path, Platform, PlatformError, RunResult, Settings, Sizes, StorageConfig,
};

/// The users: their operations, their promises in operations per second, and the bytes of an
/// operation.
const USERS: [(&str, f64, u64); 2] = [("reads", 2e6, 1_024), ("writes", 25e3, 4_096)];
/// The highest load of the writer that is tried: the rate that its clients would write at if writes
/// took no time, over its promise. Clients without think time would be held back only by the SSDs'
/// buffers, and some writes would wait for a whole wave of programs.
const MOST_LOAD: f64 = 4.0;
/// The criterion of section 5.4: the largest 99th percentile of latencies.
const MOST: Time = Time::from_us(2_000);
/// The runtime's period: 50 writes.
const PERIOD: Time = Time::from_us(2_000);

fn tenants(load: f64) -> [Tenant; 2] {
    [0, 1].map(|user| {
        let (name, slo, size) = USERS[user];
        let path = [Path::StorageRead, Path::StorageWrite][user];
        let sizes = Sizes::Fixed(Bytes(size));
        let clients = RAID_CLIENTS[user];
        let think = match path {
            Path::StorageWrite => Time::from_s_f64(f64::from(clients) / (load * slo)),
            _ => Time::ZERO,
        };
        Tenant::new(name, STORAGE, path, sizes, Rate::OperationsPerS(slo))
            .of_vm(user)
            .within(99.0, MOST)
            .sending(Arrivals::Closed { clients, think })
    })
}

/// Panel (b): the highest load of the writer at which the 99th percentile of both users is below
/// 2 ms, beside a reader who keeps the array busy.
pub(super) fn panel(seed: u64) -> Result<Vec<Row>, PlatformError> {
    let mut platform = Platform::prototype(Vec::new());
    platform.storage = Some(StorageConfig::paper(4));
    let settings = Settings::lasting(Time::from_us(100_000)).seeded(seed);
    let admitted = Admitted::new(&platform, &tenants(1.0))?;
    let none = Mechanism::NoShaping;
    let sending = |load| admitted.sending(&tenants(load));
    let good = |result: &RunResult| (0..USERS.len()).all(|user| p99(result, user) < MOST);
    let unshaped = |load| sending(load).without(&none, &settings);
    let unshaped = highest(MOST_LOAD, unshaped, good)?;
    let shaped = highest(MOST_LOAD, |load| sending(load).run(&settings, PERIOD), good)?;
    let mut found = [rows(none.name(), &unshaped), rows(admitted.name(), &shaped)].concat();
    found.extend(between(&unshaped.1, &shaped.1));
    Ok(found)
}

/// What ARCUS gains in all, and how far apart the users are without it.
fn between(unshaped: &RunResult, shaped: &RunResult) -> Vec<Row> {
    let total = |result: &RunResult| result.per_s(0) + result.per_s(1);
    let over = |user: usize| unshaped.per_s(user) / USERS[user].1;
    let row = |key: &str, system, what: &str, ours| {
        let key = format!("arcus.fig11.raid_{key}");
        Row::new(key, system, what, "times", ours)
    };
    vec![
        row(
            "gain",
            "Arcus",
            "all operations, over those without shaping",
            total(shaped) / total(unshaped),
        ),
        row(
            "writes_over_reads",
            "Host_noTS",
            "writes over their SLO, over reads over theirs",
            over(1) / over(0),
        ),
    ]
}

fn p99(result: &RunResult, user: usize) -> Time {
    result.flows[user].latency(99.0).unwrap_or(Time::ZERO)
}

fn rows(name: &'static str, (load, result): &(f64, RunResult)) -> Vec<Row> {
    let row = |key: &str, what: String, unit, ours| {
        let key = format!("arcus.fig11.raid_{key}.{name}");
        Row::new(key, name, what, unit, ours)
    };
    let mut rows = Vec::new();
    for (user, (kind, slo, _)) in USERS.into_iter().enumerate() {
        let over = result.per_s(user) / slo;
        let what = format!("{kind} over their SLO");
        rows.push(row(&format!("{kind}_over_slo"), what, "times", over).of_user(user + 1));
        let kiops = result.per_s(user) / 1e3;
        let what = format!("{kind} per second");
        rows.push(row(&format!("{kind}_kiops"), what, "K/s", kiops).of_user(user + 1));
        let what = format!("the SLO of {kind}");
        rows.push(row(&format!("{kind}_slo"), what, "K/s", slo / 1e3).of_user(user + 1));
        let tail = p99(result, user).as_us_f64() / 1e3;
        let what = format!("{kind}, 99th percentile");
        rows.push(row(&format!("{kind}_p99"), what, "ms", tail));
    }
    let all = (result.per_s(0) + result.per_s(1)) / 1e3;
    rows.push(row("operations", "all operations".to_owned(), "K/s", all));
    let what = "highest load of the writer by the criterion, of its SLO".to_owned();
    rows.push(row("highest_load", what, "times", *load));
    rows
}
