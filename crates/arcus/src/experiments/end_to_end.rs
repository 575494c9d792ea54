//! Fig. 11 (a key-value store and a RAID-0) and Table 4 (RocksDB).

use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant};
use super::report::{Report, Row};
use super::{key_value, raid};
use crate::control::Rate;
use crate::parameters::{
    ROCKSDB_EXT4, ROCKSDB_RUNTIME_CORES, ROCKSDB_THREADS, checksum, compression,
    rocksdb_core_s_per_mb,
};
use crate::{Arrivals, Path, Platform, PlatformError, Settings, Sizes};

/// Both panels of Fig. 11. Under ARCUS, every user is admitted and runs through the whole protocol.
pub(super) fn fig11(seed: u64) -> Result<Report, PlatformError> {
    let mut rows = key_value::panel(seed)?;
    rows.extend(raid::panel(seed)?);
    Ok(Report {
        rows,
        ..Report::default()
    })
}

/// The runtime's period.
const PERIOD: Time = Time::from_us(10_000);
/// The number of bytes that a thread compresses at once.
const BLOCK: Bytes = Bytes::from_kib(64);

/// Table 4, through admission: one call compresses a block and computes its checksum. The cost of a
/// megabyte on a core, with and without the accelerators, is the paper's; a thread's wait for the
/// disk follows from the paper's throughput. The throughput with the accelerators is simulated: the
/// threads call them in a closed loop.
pub(super) fn table4(seed: u64) -> Result<Report, PlatformError> {
    let (throughput, cores) = ROCKSDB_EXT4;
    let core_s_per_mb = rocksdb_core_s_per_mb();
    let waiting_s_per_mb = (f64::from(ROCKSDB_THREADS) - cores) / throughput;
    let megabytes = BLOCK.get() as f64 / 1e6;
    let think = Time::from_s_f64(megabytes * (core_s_per_mb + waiting_s_per_mb));
    let platform = Platform::prototype(vec![compression(), checksum()]);
    let clients = ROCKSDB_THREADS;
    let (sizes, rate) = (Sizes::Fixed(BLOCK), Rate::GbitPerS(10.0));
    let calls = Tenant::new("RocksDB", "compression", Path::FunctionCall, sizes, rate);
    let arrivals = Arrivals::Closed { clients, think };
    let calls = calls.then(&["checksum"]).sending(arrivals);
    let settings = Settings::lasting(Time::from_us(1_000_000)).seeded(seed);
    let result = Admitted::new(&platform, &[calls])?.run(&settings, PERIOD)?;
    let ours = result.per_s(0) * megabytes;
    let used = ours * core_s_per_mb + ROCKSDB_RUNTIME_CORES;
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
        row("cores", "cores", "cores", used),
        row("cpu_saving", "cores saved", "", 1.0 - used / cores),
        row(
            "runtime_cores",
            "cores of ARCUS's software",
            "cores",
            ROCKSDB_RUNTIME_CORES,
        ),
        row("ext4_throughput", "throughput of ext4", "MB/s", throughput),
        row("ext4_cores", "cores of ext4", "cores", cores),
    ];
    Ok(Report {
        rows,
        ..Report::default()
    })
}
