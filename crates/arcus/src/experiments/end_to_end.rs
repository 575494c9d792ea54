//! Fig. 11 and Table 4.

use accelflow_shaping::{Clock, FlowConfig, Splitting};
use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant};
use super::report::{Report, Row};
use crate::control::{Rate, registers_for};
use crate::parameters::{PANIC_BUFFER, aes_cbc, checksum, compression, sha1_hmac};
use crate::{
    Arrivals, Flow, Mechanism, Order, Path, Platform, PlatformError, RunResult, Settings, Sizes,
    StorageConfig, simulate,
};

/// A flow's shaping to `rate`, in segments of at most `segment`.
fn shaped(rate: Rate, largest: u64, segment: u64) -> Result<FlowConfig, PlatformError> {
    let passed = Bytes(largest.min(segment));
    let registers = registers_for(rate, passed, Clock::PAPER)?;
    let mut config = FlowConfig::new(rate.unit(), registers);
    if largest > segment {
        config.splitting = Splitting::segments(Bytes(segment), Bytes(0))?;
    }
    Ok(config)
}

pub(super) fn fig11(seed: u64) -> Result<Report, PlatformError> {
    let mut rows = key_value_rows(seed)?;
    rows.extend(raid_rows(seed)?);
    Ok(Report {
        rows,
        ..Report::default()
    })
}

/// The promise to each key-value user, in operations a second. The paper prints none.
const KEY_VALUE_SLO: f64 = 8e6;

/// Panel (a): two users of MICA with values of 64 B and 256 B, encrypted and authenticated, next to
/// an encrypted live migration. The users send as fast as their ports allow.
fn key_value_rows(seed: u64) -> Result<Vec<Row>, PlatformError> {
    let platform = Platform::prototype(vec![aes_cbc(), sha1_hmac()]);
    let user = |vm, size| {
        let flow = Flow::new(vm, Path::InlineRx, Bytes(size), Arrivals::Backlogged);
        flow.through(&[0, 1]).over_port(vm).with_weight(2.0)
    };
    let migration = Flow::new(2, Path::InlineTx, Bytes(1_500), Arrivals::Backlogged).over_port(0);
    let flows = [user(0, 64), user(1, 256), migration];
    let promised = Rate::OperationsPerS(KEY_VALUE_SLO);
    let mechanisms = [
        Mechanism::Panic {
            order: Order::WeightedFair,
            buffer: PANIC_BUFFER,
        },
        Mechanism::arcus(vec![
            shaped(promised, 64, 4_096)?,
            shaped(promised, 256, 4_096)?,
            // The remaining use of the accelerator.
            shaped(Rate::GbitPerS(8.0), 1_500, 4_096)?,
        ]),
    ];
    let settings = Settings::lasting(Time::from_us(2_000)).seeded(seed);
    let mut rows = Vec::new();
    for mechanism in &mechanisms {
        let result = simulate(&platform, &flows, mechanism, &settings)?;
        rows.extend(key_value_result(mechanism.name(), &result));
    }
    Ok(rows)
}

fn key_value_result(name: &'static str, result: &RunResult) -> Vec<Row> {
    let note = "The paper prints neither the SLOs nor the accelerators' rates; here both users may have 8 M \
               operations a second, and send what their ports take.";
    let mut rows = Vec::new();
    for (user, number) in [(0, 1), (1, 2)] {
        let over = result.per_s(user) / KEY_VALUE_SLO - 1.0;
        let key = format!("arcus.fig11.user_{number}_over_slo.{name}");
        let what = format!("user {number}, over its SLO");
        rows.push(Row::new(key, name, what, "", over).noting(note));
        let mut latencies = result.flows[user].latencies();
        let mean = latencies.mean_ps().unwrap_or(1.0);
        let p99 = latencies.percentile(99.0).unwrap_or(Time::ZERO).as_ps() as f64;
        let key = format!("arcus.fig11.user_{number}_p99_over_mean.{name}");
        let what = format!("user {number}, 99th percentile over mean");
        rows.push(Row::new(key, name, what, "times", p99 / mean));
    }
    // The ratio needs no SLO: both users have the same one.
    let ratio = result.per_s(0) / result.per_s(1);
    let key = format!("arcus.fig11.user_1_over_user_2.{name}");
    rows.push(Row::new(key, name, "user 1 over user 2", "times", ratio));
    let migrated = result.gbit_per_s(2);
    let key = format!("arcus.fig11.live_migration.{name}");
    rows.push(Row::new(key, name, "live migration", "Gbit/s", migrated));
    rows
}

/// Panel (b): a user who reads 1 KB at random and one who writes 4 KB, of a RAID-0 of four SSDs.
fn raid_rows(seed: u64) -> Result<Vec<Row>, PlatformError> {
    let mut platform = Platform::prototype(Vec::new());
    platform.storage = Some(StorageConfig::paper(4));
    let flow = |vm, path, size, clients| {
        let think = Time::ZERO;
        Flow::new(vm, path, Bytes(size), Arrivals::Closed { clients, think }).through(&[])
    };
    let flows = [
        flow(0, Path::StorageRead, 1_024, 512),
        flow(1, Path::StorageWrite, 4_096, 40),
    ];
    let [reads, writes] = [2e6, 25e3];
    let shaping = vec![
        shaped(Rate::OperationsPerS(reads), 1_024, 4_096)?,
        shaped(Rate::OperationsPerS(writes), 4_096, 4_096)?,
    ];
    let settings = Settings::lasting(Time::from_us(100_000)).seeded(seed);
    let mut rows = Vec::new();
    for mechanism in [Mechanism::NoShaping, Mechanism::arcus(shaping)] {
        let result = simulate(&platform, &flows, &mechanism, &settings)?;
        let name = mechanism.name();
        for (user, slo) in [reads, writes].into_iter().enumerate() {
            let kind = RAID_USERS[user];
            let key = format!("arcus.fig11.raid_{kind}_over_slo.{name}");
            let what = format!("{kind} over their SLO");
            rows.push(Row::new(key, name, what, "times", result.per_s(user) / slo));
        }
        let all = (result.per_s(0) + result.per_s(1)) / 1e3;
        let key = format!("arcus.fig11.raid_operations.{name}");
        rows.push(Row::new(key, name, "all operations", "K/s", all));
        rows.extend(raid_tails(name, &result));
    }
    Ok(rows)
}

const RAID_USERS: [&str; 2] = ["reads", "writes"];

fn raid_tails(name: &'static str, result: &RunResult) -> Vec<Row> {
    let note = "The paper's load is the highest within 2 ms; here the writer keeps 40 under way, \
               and they wait for room in the SSDs' buffers.";
    let tail = |(user, kind): (usize, &str)| {
        let p99 = result.flows[user].latency(99.0).unwrap_or(Time::ZERO);
        let key = format!("arcus.fig11.raid_{kind}_p99.{name}");
        let what = format!("{kind}, 99th percentile");
        let row = Row::new(key, name, what, "ms", p99.as_us_f64() / 1e3);
        match user == 1 && name != "Arcus" {
            true => row.noting(note),
            false => row,
        }
    };
    RAID_USERS.into_iter().enumerate().map(tail).collect()
}

/// RocksDB's background threads, two for each of the VM's eight cores (assumed).
const THREADS: f64 = 16.0;
/// Megabytes a second and cores without the accelerator (Table 4): an input here.
const SOFTWARE: (f64, f64) = (161.7, 5.23);
/// Megabytes per second and cores with the accelerator (Table 4): an input here, from which the
/// cost per megabyte follows.
const OFFLOADED: (f64, f64) = (231.2, 2.15);
/// Cores of ARCUS's own software (section 5.4).
const RUNTIME_CORES: f64 = 0.175;
/// The runtime's period.
const PERIOD: Time = Time::from_us(10_000);
/// Bytes that a thread compresses at once.
const BLOCK: Bytes = Bytes::from_kib(64);

/// The reason why the rows of cores agree.
const FROM_THE_SAME_ROW: &str = "No prediction: what a megabyte costs a core with the accelerator is \
     computed from the row that this is compared with (2.15 cores, of which ARCUS's own software has \
     0.175, at 231.2 MB/s). It shows how far our throughput is from the paper's.";

/// Table 4, through admission: one call compresses a block and computes its checksum. The cost of a
/// megabyte on a core, with and without the accelerators, is the paper's; a thread's wait for the
/// disk follows from the paper's throughput. The throughput with the accelerators is simulated: the
/// threads call them in a closed loop.
pub(super) fn table4(seed: u64) -> Result<Report, PlatformError> {
    let (throughput, cores) = SOFTWARE;
    let core_s_per_mb = (OFFLOADED.1 - RUNTIME_CORES) / OFFLOADED.0;
    let waiting_s_per_mb = (THREADS - cores) / throughput;
    let megabytes = BLOCK.get() as f64 / 1e6;
    let think = Time::from_s_f64(megabytes * (core_s_per_mb + waiting_s_per_mb));
    let platform = Platform::prototype(vec![compression(), checksum()]);
    let clients = THREADS as u32;
    let (sizes, rate) = (Sizes::Fixed(BLOCK), Rate::GbitPerS(10.0));
    let calls = Tenant::new("RocksDB", "compression", Path::FunctionCall, sizes, rate);
    let arrivals = Arrivals::Closed { clients, think };
    let calls = calls.then(&["checksum"]).sending(arrivals);
    let settings = Settings::lasting(Time::from_us(1_000_000)).seeded(seed);
    let result = Admitted::new(&platform, &[calls])?.run(&settings, PERIOD)?;
    let ours = result.per_s(0) * megabytes;
    let used = ours * core_s_per_mb + RUNTIME_CORES;
    let row = |key: &str, what: &str, unit, ours| {
        Row::new(format!("arcus.rocksdb.{key}"), "Arcus", what, unit, ours)
    };
    let rows = vec![
        row("throughput", "throughput", "MB/s", ours),
        row(
            "throughput_gain",
            "throughput over ext4's",
            "times",
            ours / throughput,
        ),
        row("cores", "cores", "cores", used).noting(FROM_THE_SAME_ROW),
        row("cpu_saving", "cores saved", "", 1.0 - used / cores).noting(FROM_THE_SAME_ROW),
    ];
    Ok(Report {
        rows,
        ..Report::default()
    })
}
