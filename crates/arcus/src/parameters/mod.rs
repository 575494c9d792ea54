//! The parameters of the experiments, and their sources.

mod catalogue;
mod table;

pub use catalogue::{
    PANIC_BUFFER, aes_cbc, catalogue, compression, datapath, ipsec, sha1_hmac, sha3_512, synthetic,
};
pub use table::PARAMETERS;
