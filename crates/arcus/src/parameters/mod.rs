//! The parameters of ARCUS's platform, control plane and experiments, with their sources.

mod catalogue;
mod control;
mod loads;
mod table;

use accelflow_parameters::Table;

use crate::Platform;

pub use catalogue::{
    ALMS_OF_A_FLOW, CORES_OF_A_FLOW, PANIC_BUFFER, aes_cbc, catalogue, checksum, compression,
    datapath, decompression, ipsec, sha1_hmac, sha3_512, synthetic,
};
pub use loads::{
    MESSAGES_PER_S_AT_FULL_LOAD, MICA_ACK_BYTES, MICA_KEY_BYTES, MICA_SERVICE_NS, MICA_SLO_SHARE,
    RAID_CLIENTS, ROCKSDB_EXT4, ROCKSDB_OFFLOADED, ROCKSDB_RUNTIME_CORES, ROCKSDB_THREADS,
    SSD_CLIENTS, STREAM_GBIT_PER_S, TINY_BURST, TINY_EVERY_NS, rocksdb_core_s_per_mb,
};

/// The table of ARCUS's parameters, each with its value and source: parameters of the platform,
/// parameters of the control plane, and inputs of experiments that the paper does not print. The
/// platform's values are those of the paper's prototype; a simulation of another platform changes
/// [`Platform`], not this table.
pub const PARAMETERS: Table<Platform> = Table::new(&[table::ROWS, control::ROWS, loads::ROWS]);
