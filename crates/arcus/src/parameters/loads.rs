//! The inputs of ARCUS's experiments that the paper does not print, and their sources.

use accelflow_parameters::{Provenance, Row};

use super::table::fixed;
use crate::Platform;

/// The number of messages per second at a load of 1 in Table 1: one message per cycle of the
/// on-board traffic generator.
pub const MESSAGES_PER_S_AT_FULL_LOAD: f64 = 250e6;
/// The number of requests that each of the two users of Fig. 6 keeps in flight, in proportion to
/// the users' SLOs: 300,000 and 200,000 requests per second.
pub const SSD_CLIENTS: [u32; 2] = [21, 14];
/// The number of messages in each burst of the 64-byte flow of Fig. 9.
pub const TINY_BURST: u32 = 4;
/// The mean time between the bursts of the 64-byte flow of Fig. 9, in nanoseconds.
pub const TINY_EVERY_NS: u64 = 819;
/// The rates of the 1500-byte flow of Fig. 9, in gigabits per second: before and after 200 us.
pub const STREAM_GBIT_PER_S: [f64; 2] = [48.0, 28.0];
/// The size of a key of the key-value store MICA in Fig. 11(a), in bytes.
pub const MICA_KEY_BYTES: u64 = 16;
/// The size of the answer to a SET request in Fig. 11(a), in bytes.
pub const MICA_ACK_BYTES: u64 = 16;
/// The time that the host takes from a request to its answer in Fig. 11(a), in nanoseconds.
pub const MICA_SERVICE_NS: u64 = 500;
/// The SLO of each user of Fig. 11(a), as a share of the largest rate that can be promised to both
/// users as reserved flows.
pub const MICA_SLO_SHARE: f64 = 0.9;
/// The number of operations that the reader and the writer of Fig. 11(b) keep in flight.
pub const RAID_CLIENTS: [u32; 2] = [512, 40];
/// The number of background threads of RocksDB in Table 4.
pub const ROCKSDB_THREADS: u32 = 16;
/// The throughput in megabytes per second and the number of busy cores of RocksDB without
/// accelerators (Table 4, with Ext4).
pub const ROCKSDB_EXT4: (f64, f64) = (161.7, 5.23);
/// The throughput in megabytes per second and the number of busy cores of RocksDB with accelerators
/// (Table 4).
pub const ROCKSDB_OFFLOADED: (f64, f64) = (231.2, 2.15);
/// The number of cores that ARCUS's own software uses beside RocksDB (section 5.4).
pub const ROCKSDB_RUNTIME_CORES: f64 = 0.175;

/// The core time that RocksDB with accelerators (Table 4) needs for each megabyte of throughput, in
/// core-seconds per megabyte, without the time of ARCUS's own software.
pub fn rocksdb_core_s_per_mb() -> f64 {
    let (throughput, cores) = ROCKSDB_OFFLOADED;
    (cores - ROCKSDB_RUNTIME_CORES) / throughput
}

pub(super) const ROWS: &[Row<Platform>] = &[
    fixed(
        "load.messages_at_full_load",
        250e6,
        "1/s",
        Provenance::Derived,
        "ARCUS, section 3.1: pattern 4 is equal at 0.1 and 0.3, and VM1 has 26 to 75 %, if a load is a share of the generator's cycles",
        |_| MESSAGES_PER_S_AT_FULL_LOAD,
    ),
    fixed(
        "load.ssd_clients",
        35.0,
        "requests",
        Provenance::Assumed,
        "of both users in proportion to their rates: few more than the rates need; with ARCUS's tail latencies of section 5.2 in view",
        |_| f64::from(SSD_CLIENTS.iter().sum::<u32>()),
    ),
    fixed(
        "load.tiny_burst",
        4.0,
        "messages",
        Provenance::Assumed,
        "bursts of 64 B, with Fig. 9 in view",
        |_| f64::from(TINY_BURST),
    ),
    fixed(
        "load.tiny_every",
        819.0,
        "ns",
        Provenance::Assumed,
        "2.5 Gbit/s in bursts of four, with Fig. 9 in view",
        |_| TINY_EVERY_NS as f64,
    ),
    fixed(
        "load.stream_before",
        48.0,
        "Gbit/s",
        Provenance::Assumed,
        "what a port takes of 1500 B, since Fig. 9 says only that the stream has more than 32",
        |_| STREAM_GBIT_PER_S[0],
    ),
    fixed(
        "load.stream_after",
        28.0,
        "Gbit/s",
        Provenance::Assumed,
        "below the promise of 32, since Fig. 9 says only that the stream becomes stable",
        |_| STREAM_GBIT_PER_S[1],
    ),
    fixed(
        "load.mica_key",
        16.0,
        "bytes",
        Provenance::Paper,
        "Lim and others, MICA, NSDI 2014: the key of the data set with small values",
        |_| MICA_KEY_BYTES as f64,
    ),
    fixed(
        "load.mica_ack",
        16.0,
        "bytes",
        Provenance::Assumed,
        "the answer to a SET: as large as a key",
        |_| MICA_ACK_BYTES as f64,
    ),
    fixed(
        "load.mica_service",
        500.0,
        "ns",
        Provenance::Assumed,
        "from a request in the host's memory to its answer: some accesses of the memory",
        |_| MICA_SERVICE_NS as f64,
    ),
    fixed(
        "load.mica_slo_share",
        0.9,
        "",
        Provenance::Assumed,
        "of the largest SLO that both users can be promised, so that the live migration has something left",
        |_| MICA_SLO_SHARE,
    ),
    fixed(
        "load.raid_reads",
        512.0,
        "operations",
        Provenance::Assumed,
        "in flight, enough to keep four SSDs busy; with Fig. 11(b) in view",
        |_| f64::from(RAID_CLIENTS[0]),
    ),
    fixed(
        "load.raid_writes",
        40.0,
        "operations",
        Provenance::Assumed,
        "in flight, with Fig. 11(b) in view",
        |_| f64::from(RAID_CLIENTS[1]),
    ),
    fixed(
        "rocksdb.threads",
        16.0,
        "threads",
        Provenance::Assumed,
        "two for each core of the VM, with Table 4 in view",
        |_| f64::from(ROCKSDB_THREADS),
    ),
    fixed(
        "rocksdb.ext4_throughput",
        161.7,
        "MB/s",
        Provenance::Paper,
        "ARCUS, Table 4, which gives a thread's time for a megabyte",
        |_| ROCKSDB_EXT4.0,
    ),
    fixed(
        "rocksdb.ext4_cores",
        5.23,
        "cores",
        Provenance::Paper,
        "ARCUS, Table 4, which gives a core's time for a megabyte",
        |_| ROCKSDB_EXT4.1,
    ),
    fixed(
        "rocksdb.runtime_cores",
        0.175,
        "cores",
        Provenance::Paper,
        "ARCUS, section 5.4",
        |_| ROCKSDB_RUNTIME_CORES,
    ),
    fixed(
        "rocksdb.offloaded",
        0.008_542_387_543_252_595,
        "s/MB",
        Provenance::Derived,
        "ARCUS, Table 4: a core's time for a megabyte with accelerators, (2.15 - 0.175) cores at 231.2 MB/s",
        |_| rocksdb_core_s_per_mb(),
    ),
];
