//! The parameters of the experiments, and their sources.

mod catalogue;
mod control;
mod table;

use accelflow_parameters::Table;

use crate::Platform;

pub use catalogue::{
    ALMS_OF_A_FLOW, CORES_OF_A_FLOW, PANIC_BUFFER, aes_cbc, catalogue, checksum, compression,
    datapath, ipsec, sha1_hmac, sha3_512, synthetic,
};

/// Every number of the platform and of its control plane that is not an input of an experiment,
/// bound to the prototype's host. They are constants of the model: experiments set what they vary
/// directly.
pub const PARAMETERS: Table<Platform> = Table::new(&[table::ROWS, control::ROWS]);
